#!/usr/bin/env bash
# Compares the exported API with api.txt, so that every change of it is
# deliberate. With -w it records the API as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
api() {
	for package in . ./horseracingtest; do
		# The first line names the package; the doc comments of declarations are part of the listing.
		go doc -all "$package"
	done
}
if [ "${1:-}" = -w ]; then
	api >api.txt
else
	diff -u api.txt <(api)
fi
