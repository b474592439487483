#!/usr/bin/env bash
# Runs what the documents tell a reader to type, in a clean clone: the commands within
# backquotes, and in blocks, that begin with go, horseracing, curl or bash. The service
# is the fake. It prints each command with its status, which has to be 0.
set -euo pipefail
cd "$(dirname "$0")/.."
pages="README.md $(git ls-files '*.md' ':!README.md' ':!docs/service.md' ':!docs/fake.md' ':!examples/beam/*') docs/fake.md" # which moves the clock
commands=$(awk 'function spans(n, span, i) { n = split(text, span, "`"); for (i = 2; i <= n; i += 2) print span[i]; text = "" }
	FNR == 1 { spans(); code = 0 } /^```/ { spans(); code = !code; next } code { sub(/^\$ /, ""); print; next }
	/^$/ { spans() } { text = text " " $0 } END { spans() }' $pages |
	grep -E '^(go (run|test|doc|mod|install|-C)|horseracing|curl|bash) ' | sed -E 's/\\\|/|/g; s/  +# .*//; s/  +/ /g' | awk '!seen[$0]++')

work=$(mktemp -d)
trap 'kill %1 2>/dev/null || true; rm -rf "$work"' EXIT
git clone -q . "$work/horseracing"
cd "$work/horseracing"
mkdir "$work/program" # the reader's module: the first program of the README
awk '/^```go$/ { code = 1; next } /^```/ && code { exit } code' README.md >"$work/program/main.go"
(cd "$work/program" && go mod init example.test/program 2>/dev/null)
export GOBIN="$work/bin" PATH="$work/bin:$PATH" TMPDIR="$work"
go install ./cmd/horseracing
horseracing fake -control 127.0.0.1:8081 -json >"$work/keys" &
until [ -s "$work/keys" ]; do kill -0 %1; sleep 0.1; done
value() { grep -oE "\"$1\":\"[^\"]*" "$work/keys" | head -1 | cut -d'"' -f4; }
HORSERACING_BASE_URL=$(value url) HORSERACING_API_KEY=$(value api_key) HORSERACING_USER_KEY=$(value user_key)
export HORSERACING_BASE_URL HORSERACING_API_KEY HORSERACING_USER_KEY KEY=$HORSERACING_API_KEY USER_KEY=$HORSERACING_USER_KEY

failed=0
while read -r command; do
	folder=. seconds=300 wanted=0
	case $command in
	'go test ./...' | 'bash .ci/'* | 'bash tools/api.sh -w' | *' -bench '* | *' -fuzz '*) continue ;; # .ci does, or it changes files
	*FILE* | *DIR* | 'go mod edit' | 'horseracing register' | *'horseracing fake'*) continue ;;       # a name, not a line to type; the service above
	'go mod '* | 'go doc -all github.com'*) folder=$work/program ;;
	*examples/web\ run* | *examples/board\ run* | *watch*) seconds=20 wanted=124 ;; # until it is interrupted
	*' -race 4711 '*) wanted=3 ;; # no such race
	esac
	status=0
	(cd "$folder" && timeout -s INT "$seconds" bash -c "$command") <"/dev/null" >"$work/output" 2>&1 || status=$?
	echo "$status  $command"
	if [ "$status" != "$wanted" ]; then
		tail -20 "$work/output"
		failed=1
	fi
done <<<"$commands"
(cd "$work/program" && go run . >/dev/null)
exit $failed
