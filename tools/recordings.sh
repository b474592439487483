#!/usr/bin/env bash
# Decodes every recorded response in a folder with the type of its operation,
# and reports what cannot be read and what drifts: tools/recordings.sh DIR.
# What lies in testdata/recorded is checked by go test ./... anyway.
set -euo pipefail
if [ $# -ne 1 ] || [ ! -d "$1" ]; then
	echo "usage: tools/recordings.sh DIRECTORY" >&2
	exit 2
fi
recorded=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
go test -count=1 -run TestRecordings . -args -recorded "$recorded"
