#!/usr/bin/env bash
# Fuzz every target of the module for MINUTES in all: fuzz.sh MINUTES
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
minutes=${1:-5}
mapfile -t targets < <(grep -rlE '^func Fuzz' --include='*_test.go' . | sort | while read -r f; do
  grep -oE '^func Fuzz[A-Za-z0-9_]*' "$f" | sed "s|^func |$(dirname "$f") |"
done)
[ "${#targets[@]}" -gt 0 ] || { echo "no fuzz target" >&2; exit 1; }
each=$(( minutes * 60 / ${#targets[@]} ))
[ "$each" -ge 5 ] || each=5
for t in "${targets[@]}"; do
  read -r dir name <<<"$t"
  echo "== $name in $dir for $each s"
  go test -tags duckdb_arrow -run '^$' -fuzz "^$name\$" -fuzztime "${each}s" "$dir"
done
