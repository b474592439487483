#!/usr/bin/env bash
# Writes anew what follows from the code: the listings in api/, and the files that tests
# compare with what they see. go generate runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/api.sh -w
for module in . cmd; do
	packages=() tests=
	while read -r dir; do
		names=$(find "$dir" -maxdepth 1 -name "*_test.go" -exec cat {} + | awk '/^func Test/ { name = $2; sub(/\(.*/, "", name) } /^}/ { name = "" } name && /double\.(Golden|Transcript)\(|transcript\(t, / { print name; name = "" }')
		[ -z "$names" ] || packages+=("$dir") tests+="${names//$'\n'/|}|"
	done < <(go -C "$module" list -f '{{.Dir}}' ./...)
	go -C "$module" test "${packages[@]}" -run "^(${tests%|})\$" -vet=off -update
done
