#!/usr/bin/env bash
# Runs what the documents tell a reader to type, in a clean clone: the commands within
# backquotes, and in blocks, that begin with go, horseracing, curl or bash; the README's
# program; and the test of docs/testing.md. The program horseracing reads a fake. Each
# command is printed with its status, which has to be 0. Needs curl.
set -euo pipefail
cd "$(dirname "$0")/.."
pages="README.md $(git ls-files '*.md' ':!README.md' ':!docs/service.md' ':!docs/testing.md' ':!examples/beam/*') docs/testing.md"
commands=$(awk 'function spans(  n, span, i) { gsub(/ +/, " ", text); n = split(text, span, "`"); text = ""; for (i = 2; i <= n; i += 2) print span[i] }
	FNR == 1 { spans(); code = 0 } /^```/ { spans(); code = !code; next } code { sub(/^\$ /, ""); print; next }
	/^$/ { spans() } { text = text " " $0 } END { spans() }' $pages |
	grep -E '^(go (run|doc|mod|install|-C)|horseracing|curl|bash) ' | sed -E 's/\\\|/|/g; s/ +# .*//' | awk '!seen[$0]++')
block() { awk -v first="^\`\`\`$1\$" '$0 ~ first { code = 1; next } /^```/ && code { exit } code' "$2"; } # the first of a language

work=$(mktemp -d)
trap 'kill %1 2>/dev/null || true; rm -rf "$work"' EXIT
git clone -q . "$work/horseracing"
cd "$work/horseracing"
mkdir "$work/program" # the reader's module: the first program of the README
block go README.md >"$work/program/main.go"
block go docs/testing.md >"$work/program/main_test.go"
export GOBIN="$work/bin" PATH="$work/bin:$PATH" TMPDIR="$work" CURL_HOME="$work"
echo fail >"$work/.curlrc" # a status of 400 or more is the failure of a command
go -C cmd install ./...
horseracing fake --json >"$work/keys" &
until [ -s "$work/keys" ]; do kill -0 $!; sleep 0.1; done
value() { grep -oE "\"$1\":\"[^\"]*" "$work/keys" | head -1 | cut -d'"' -f4; }
KEY=$(value api_key) USER_KEY=$(value user_key)
export KEY USER_KEY
service=(HORSERACING_BASE_URL="$(value url)" HORSERACING_API_KEY="$KEY" HORSERACING_USER_KEY="$USER_KEY")

failed=0
while read -r command; do
	folder=. seconds=300 wanted=0 environment=()
	case $command in
	'go -C '*' test '* | *gremlins* | 'bash .ci/'* | 'go generate ./...' | 'bash tools/commands.sh' | 'go run .') continue ;; # .ci runs tests; it takes long; it changes files; itself; below
	*FILE* | *DIR* | 'go mod edit' | 'horseracing login' | 'horseracing register' | *'horseracing fake'* | *@latest | *'|' | *'$URL'*) continue ;; # not lines to type; the service above; not published; parts of one
	'go mod '* | 'go doc -all github.com'*) folder=$work/program ;;
	*examples/web\ run* | *examples/register\ -yes* | *watch* | *--follow*) seconds=20 wanted=124 ;; # until it is interrupted
	*' --race 4711 '*) wanted=3 ;; # no such race
	esac
	case $command in horseracing*) environment=("${service[@]}") ;; esac
	status=0
	(cd "$folder" && env "${environment[@]}" timeout -s INT "$seconds" bash -c "${command//\/tmp\//$work/}") <"/dev/null" >"$work/output" 2>&1 || status=$?
	echo "$status  $command"
	if [ "$status" != "$wanted" ]; then
		tail -20 "$work/output"
		failed=1
	fi
done <<<"$commands"
(cd "$work/program" && env "${service[@]}" go run . >/dev/null && go test .)
exit $failed
