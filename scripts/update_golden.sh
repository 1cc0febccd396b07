#!/usr/bin/env bash
# Rewrites tests/golden/scenarios/*.txt from the program: scripts/update_golden.sh [path of natten-sim]. Review the diff.
set -euo pipefail
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
program=${1:-$root/build/tests/apps/natten-sim/natten-sim}
for scenario in "$root"/tests/golden/scenarios/*.txt; do
  IFS= read -r first <"$scenario"
  arguments=${first#\$ natten-sim }
  eval "set -- $arguments"
  output=$("$program" "$@" 2>/dev/null; printf x)
  printf '%s\n%s' "$first" "${output%x}" >"$scenario"
done
