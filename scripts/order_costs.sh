#!/usr/bin/env bash
# order_costs.sh: the table of docs/schedule-times.md that says what orders cost on the masks of FlashAttention's users, as
# Markdown: makespan over that of `unordered`, with FlashAttention-4's costs on an H200 (fa4-h200-d128, in ns). natten-sim
# must be on the PATH.
set -euo pipefail

echo '| mask | walk | ascending | descending | outside-in | greedy | shift | `best` | its bound |'
echo '|---|---|---|---|---|---|---|---|---|'

makespan() {  # ALGORITHM COLUMN OPTIONS..
  local algorithm=$1 column=$2
  shift 2
  natten-sim schedule --quiet --csv --algorithm "$algorithm" --overlap async:1 --compute 1869 --reduce 500 --tax 1587 \
    --handoff 887 --prologue 2328 --epilogue 2328 --workers 132 "$@" | awk -F, -v wanted="$column" '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == wanted) at = i; next } { print $at }'
}

row() {  # LABEL WALK OPTIONS..
  local label=$1 walk=$2
  shift 2
  local base
  base=$(makespan unordered makespan --walk "$walk" "$@")
  local cells=''
  for algorithm in ascending spt outside-in first-come shift; do
    cells+=" $(makespan $algorithm makespan --walk "$walk" "$@" | awk -v b="$base" '{ printf "%.2f", $1 / b }') |"
  done
  local best bound
  best=$(makespan best makespan --effort 8 "$@" | awk -v b="$base" '{ printf "%.2f", $1 / b }')
  bound=$(makespan best lower_bound --effort 0 "$@" | awk -v b="$base" '{ printf "%.2f", $1 / b }')
  echo "| $label | $walk |$cells $best | $bound |"
}

# Block masks at the level of tiles, as text: dilated windows, and radial masks of a video, in which a frame sees a
# band of another frame that halves with the distance of the two in time (8 frames within 1 whole).
masks=$(mktemp -d)
trap 'rm -rf "$masks"' EXIT
dilated() {  # TILES WIDTH DILATION
  awk -v n="$1" -v w="$2" -v d="$3" 'BEGIN { for (q = 0; q < n; q++) { line = ""
    for (k = 0; k < n; k++) { b = q - k; line = line (b >= 0 && b < w * d && b % d == 0 ? (b == 0 ? "+" : "#") : ".") }
    print line } }'
}
radial() {  # FRAMES TILES_A_FRAME
  awk -v f="$1" -v t="$2" 'BEGIN { for (q = 0; q < f * t; q++) { line = ""
    for (k = 0; k < f * t; k++) {
      apart = int(q / t) - int(k / t); if (apart < 0) apart = -apart
      width = t; for (far = 1; far < apart; far *= 2) width /= 2
      at = q % t - k % t; if (at < 0) at = -at
      line = line (apart <= 1 || at < width / 2 ? "#" : at < width ? "+" : ".") }
    print line } }'
}
# 256 positions of which every other one is attended, in tiles of 128: all of them partial (FlashAttention's tests).
positions() { dilated 64 3 1 | tr '#' '+'; }
# Documents of 1,024 to 5,120 tokens, causal within each.
causal_documents() {
  awk 'BEGIN { n = split("40 8 16 32 8 24", tiles, " "); at = 0
    for (d = 1; d <= n; d++) { for (q = 0; q < tiles[d]; q++) { line = ""
      for (k = 0; k < 128; k++) { b = k - at; line = line (b < 0 || b > q ? "." : b == q ? "+" : "#") }
      print line } at += tiles[d] } }'
}
dilated 64 8 2 >"$masks/dilated-2"
positions >"$masks/positions"
causal_documents >"$masks/causal-documents"
dilated 64 8 4 >"$masks/dilated-4"
radial 16 8 >"$masks/radial"

window512=(-i 4096 --q-tile 128 -n 16 --mask window:512,0)
window2048=(-i 4096 --q-tile 128 -n 16 --mask window:2048,0)
row 'sliding window, 512 of 4,096' partial-first "${window512[@]}"
row 'sliding window, 512 of 4,096' in-order "${window512[@]}"
row 'sliding window, 2,048 of 4,096' partial-first "${window2048[@]}"
row 'sliding window, 2,048 of 4,096' in-order "${window2048[@]}"
row 'two-sided window, 512 of 8,192' in-order -i 8192 --q-tile 128 -n 8 --mask window:512,512
row 'causal, 4,096' in-order -i 4096 --q-tile 128 -n 16 --mask causal
row 'documents of 1,024 to 5,120' in-order -i 16384 --q-tile 128 -n 4 --mask document:5120,1024,2048,4096,1024,3072
row 'the same documents, causal' in-order -n 4 --mask "$masks/causal-documents"
row 'neighborhood, 30x48x80 by 18x24x24, stride 16x8x8' in-order --mask gna:i=30x48x80,w=18x24x24,s=16x8x8,q-tile=2x8x8,kv-tile=2x8x8
row 'dilated window, 8 tiles, every 2nd, of 8,192' in-order -n 16 --mask "$masks/dilated-2"
row 'dilated window, 8 tiles, every 4th, of 8,192' in-order -n 16 --mask "$masks/dilated-4"
row 'dilated window, 8 tiles, every 2nd, of 8,192' partial-first -n 16 --mask "$masks/dilated-2"
row 'window of 256 positions, every 2nd, of 8,192' in-order -n 16 --mask "$masks/positions"
row 'batch of 8,192, 2,048, 512 and 4,096, causal' in-order -i 14848 --q-tile 128 -n 4 --mask varlen:causal:8192,2048,512,4096
row 'radial video, 16 frames of 8 tiles' in-order -n 8 --mask "$masks/radial"
row 'radial video, 16 frames of 8 tiles' partial-first -n 8 --mask "$masks/radial"
