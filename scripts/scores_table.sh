#!/usr/bin/env bash
# scores_table.sh [-v] PATTERN: the stored scores of suites whose line matches PATTERN (grep -E; -v: does not), as Markdown.
# natten-sim must be on the PATH.
set -euo pipefail

natten-sim validate --list | sed '1,/^Stored scores/d' | sed -E 's/  +/ | /g; s/^/| /; s/$/ |/' | {
  IFS= read -r head
  printf '%s\n%s\n' "$head" '|---|---|---|---:|---:|---:|---:|---:|---:|---:|'
  grep -E "$@"
}
