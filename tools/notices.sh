#!/usr/bin/env bash
# Prints the licences of the modules whose code is in the programs of cmd/, for the
# archives of a release: bash tools/notices.sh >NOTICES
set -euo pipefail
cd "$(dirname "$0")/../cmd"
go list -deps -f '{{with .Module}}{{if not (or .Main .Replace)}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./... | sort -u |
	while read -r module version dir; do
		mapfile -t licences < <(find "$dir" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) | sort)
		[ ${#licences[@]} -gt 0 ] || { echo "$module has no licence" >&2; exit 1; }
		printf '== %s %s\n\n' "$module" "$version"
		cat "${licences[@]}"
		echo
	done
