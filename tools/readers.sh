#!/usr/bin/env bash
# Checks that the lines of docs/programs.md for pandas and DuckDB read amounts without loss. It needs
# python3 (or PYTHON) with pandas, and node, which installs DuckDB.
set -euo pipefail
cd "$(dirname "$0")/.."
line() { grep "^| $1 |" docs/programs.md | grep -o '`[^`]*`' | tail -1 | tr -d '`'; }
pandas=$(line pandas) duckdb=$(line DuckDB)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for fee in 9000000000000000001 9000000000000000001 36893488147419103233; do echo "{\"entry_fee\":$fee}"; done >results.jsonl
sum=54893488147419103235
expect() { [ "$2" = "$sum" ] && echo "$1 reads $sum" || { echo "$1 reads $2, want $sum"; exit 1; }; }
expect pandas "$("${PYTHON:-python3}" -c "import json, pandas as pd; print($pandas.entry_fee.sum())")"
npm install --silent @duckdb/node-api
expect DuckDB "$(node -e "require('@duckdb/node-api').DuckDBInstance.create().then(async db => {
  const read = await (await db.connect()).runAndReadAll(\`SELECT sum(entry_fee)::VARCHAR $duckdb\`)
  console.log(read.getRows()[0][0])
})")"
