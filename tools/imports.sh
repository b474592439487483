#!/usr/bin/env bash
# Holds the direction of imports: the root imports internal/, never the other
# way round, and an engine imports the standard library alone. internal/drift
# may read JSON tokens, internal/transport may import the retry loop, the pace
# and the redaction, and of the root only the files that read responses and write
# request bodies import the JSON decoder. ledger is the only package that locks files, and imports nothing
# else but the root. Tests may import what they need.
set -euo pipefail
cd "$(dirname "$0")/.."
module=$(go list -m)
json=github.com/go-json-experiment/json
failed=0
while read -r package import; do
	case $import in
	*.*/*) ;; # not of the standard library
	*) continue ;;
	esac
	if [ "$package" = "$module/internal/drift" ] && [ "$import" = "$json/jsontext" ]; then
		continue
	fi
	case "$package $import" in
	"$module/internal/transport github.com/hashicorp/go-retryablehttp") continue ;;
	"$module/internal/transport $module/internal/pace") continue ;;
	"$module/internal/transport $module/internal/redact") continue ;;
	esac
	echo "$package must not import $import" >&2
	failed=1
done < <(go list -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}' ./internal/... | sed '/^$/d')
for file in $(grep -l "\"$json" ./*.go | grep -v '_test\.go$'); do
	case $file in
	./decode.go | ./list.go | ./call.go) ;;
	*)
		echo "$file must not import the JSON decoder: decode.go, list.go and call.go do" >&2
		failed=1
		;;
	esac
done
flock=github.com/gofrs/flock
while read -r package import; do
	case "$package $import" in
	"$module/ledger $module" | "$module/ledger $flock") continue ;;
	"$module/ledger "*.*/* | *" $flock") ;;
	*) continue ;;
	esac
	echo "$package must not import $import" >&2
	failed=1
done < <(go list -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}' ./... | sed '/^$/d')
exit $failed
