#!/usr/bin/env bash
# Compares the exported API with the listings in api/, so that every change of
# it is deliberate. With -w it records the API as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
for package in horseracing horseracingtest ledger; do
	dir=.
	[ "$package" = horseracing ] || dir=./$package
	# The first line names the package; doc comments are part of the listing.
	if [ "${1:-}" = -w ]; then
		go doc -all "$dir" >"api/$package.txt"
	else
		diff -u "api/$package.txt" <(go doc -all "$dir")
	fi
done
