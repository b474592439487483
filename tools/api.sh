#!/usr/bin/env bash
# Compares the exported API with the listings in api/, so that every change of
# it is deliberate. With -w it records the API as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
# The signatures, without prose: go doc indents what it prints of a comment by four spaces.
signatures() {
	go doc -all "$1" | awk 'NR == 1 { print; next } /^[A-Z]+$/ { seen = 1 } seen' |
		sed -e '/^    /d' -e '/^[[:space:]]*\/\//d' -e 's/[[:space:]]*\/\/ .*$//' | cat -s
}
for package in horseracing horseracingtest ledger ledger/sqlite; do
	dir=.
	[ "$package" = horseracing ] || dir=./$package
	listing=api/${package/\//-}.txt
	if [ "${1:-}" = -w ]; then
		signatures "$dir" >"$listing"
	else
		diff -u "$listing" <(signatures "$dir")
	fi
done
