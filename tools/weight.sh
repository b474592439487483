#!/usr/bin/env bash
# Prints how heavy the project is: lines of code, without comments and blank
# lines, of each package, of the library (the root and internal/) and of the
# tests (guarantees/double is one), and the words of its documents without docs/service.md.
set -euo pipefail
cd "$(dirname "$0")/.."

# Lines that are neither blank nor comments alone. A /* comment */ counts as code.
lines() { if [ $# -eq 0 ]; then echo 0; else cat "$@" | grep -vcE '^[[:space:]]*(//|$)' || true; fi; }
code() { git ls-files "$@" | grep -v '_test\.go$' || true; }

printf '%7s  %s\n' lines package
git ls-files '*.go' | grep -v '_test\.go$' | xargs -n 1 dirname | sort -u | while read -r dir; do
	mapfile -t files < <(code "$dir/*.go" | awk -F/ -v depth="$(awk -F/ '{ print NF }' <<<"$dir/x")" -v root="$dir" 'root == "." ? NF == 1 : NF == depth')
	printf '%7d  %s\n' "$(lines "${files[@]}")" "$dir"
done
mapfile -t library < <(code '*.go' | grep -E '^([^/]+|internal/.*)$')
mapfile -t tests < <(git ls-files '*_test.go' 'guarantees/double/*.go')
printf '\n%7d  the library: root and internal\n' "$(lines "${library[@]}")"
printf '%7d  tests\n' "$(lines "${tests[@]}")"
printf '%7d  words of Markdown without docs/service.md\n' "$(git ls-files '*.md' | grep -vx docs/service.md | xargs cat | wc -w)"
