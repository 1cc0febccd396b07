#!/usr/bin/env bash
# count_batch.sh [PROGRAM [LINES [OPTION...]]]: user CPU microseconds a line, and lines a second and core, of
# `count --batch` on random windows and strides of 30x48x80. Options of `count` replace the tile shapes:
#
#     bench/count_batch.sh build/apps/natten-sim/natten-sim
#     bench/count_batch.sh build/apps/natten-sim/natten-sim 20000 --device h200 -d 128 --dtype bf16
#
# The program's start is measured with an empty batch and taken off.
set -euo pipefail
program=${1:-natten-sim}
lines=${2:-200000}
options=("${@:3}")
[ ${#options[@]} -gt 0 ] || options=(--q-tile 4 8 8 --kv-tile 2 8 8)
questions=$(mktemp)
trap 'rm -f "$questions"' EXIT
awk -v lines="$lines" 'BEGIN {
  srand(1)
  split("30 48 80", length_of, " ")
  for (line = 0; line < lines; ++line) {
    for (axis = 1; axis <= 3; ++axis) {
      window[axis] = 2 + int(rand() * (length_of[axis] - 1))
      stride[axis] = 1 + int(rand() * window[axis])
    }
    printf "{\"window\":[%d,%d,%d],\"stride\":[%d,%d,%d]}\n", window[1], window[2], window[3], stride[1], stride[2], stride[3]
  }
}' >"$questions"

TIMEFORMAT=%U
user_seconds() {  # BATCH
  { time "$program" count -i 30 48 80 "${options[@]}" --batch "$1" >/dev/null 2>&3; } 3>&2 2>&1
}
started=$(user_seconds /dev/null)
for run in 1 2 3 4 5; do user_seconds "$questions"; done | sort -n | sed -n 3p |
  awk -v started="$started" -v lines="$lines" '{
    seconds = $1 - started
    printf "%.2f us a line, %d lines a second and core (median of 5 runs, %d lines)\n", 1e6 * seconds / lines, lines / seconds, lines
  }'
