#!/usr/bin/env bash
# Compiles the Go code of the README, of docs/testing.md and of the package comment: a whole
# program or test file as it is, anything else within a function that has the names of
# prelude. Code that uses go-vcr, which this module does not need, is left out.
set -euo pipefail
cd "$(dirname "$0")/.."
out=.bin/snippets
rm -rf "$out"
mkdir -p "$out"

prelude='package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

var _, _, _, _, _, _ = errors.Is, fmt.Print, log.Print, time.Now, horseracingtest.NewServer, ledger.Open

func main() {}

func run(context.Context, *horseracing.Client) {}

func readAgain(time.Time) error { return nil }

func snippet(ctx context.Context, client *horseracing.Client, id horseracing.RaceID, race horseracing.Race, horse horseracing.HorseNumber, userKey horseracing.UserKey, budget horseracing.BigInt, lastWeek time.Time, stored string, save func(*horseracing.Race, string) error) error {
	{'

# Each block becomes out/N/main.go.
blocks=$(mktemp -d)
trap 'rm -rf "$blocks" "$out"' EXIT
awk -v dir="$blocks" '/^```go$/ { n++; code = 1; next } /^```/ { code = 0 } code { print > (dir "/readme" n) }' README.md
awk -v dir="$blocks" '/^```go$/ { n++; code = 1; next } /^```/ { code = 0 } code { print > (dir "/testing" n) }' docs/testing.md
awk -v dir="$blocks" '/^\/\/\t/ { if (!code) n++; code = 1; sub(/^\/\/\t/, ""); print > (dir "/doc" n); next } /^\/\/$/ && code { print "" > (dir "/doc" n); next } { code = 0 }' doc.go
n=0
for block in "$blocks"/*; do
	grep -qE ':=|func |\{' "$block" || continue # a table, or a command
	if grep -q 'go-vcr' "$block"; then continue; fi
	name=$(basename "$block")
	mkdir "$out/$name"
	if grep -q '^func Test' "$block"; then
		cp "$block" "$out/$name/main_test.go"
		n=$((n + 1))
		go vet "./$out/$name"
		continue
	elif grep -q '^package main' "$block"; then
		cp "$block" "$out/$name/main.go"
	else
		{
			echo "$prelude"
			cat "$block"
			printf '\t}\n\treturn nil\n}\n'
		} >"$out/$name/main.go"
	fi
	n=$((n + 1))
	go build -o /dev/null "./$out/$name" || { cat -n "$out/$name/main.go" >&2; exit 1; }
done
[ "$n" -ge 5 ] || { echo "only $n snippets were found" >&2; exit 1; }
echo "$n snippets compile"
