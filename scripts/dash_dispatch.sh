#!/usr/bin/env bash
# dash_dispatch.sh: the table of docs/dash-reproduction.md that says which dispatch pull request 2207's figures fit, as
# Markdown: time of `ascending` over that of a shift, full mask, head dim 64, 16,384 tokens in all. Costs are those fitted
# to pull request 1893; 63.2 tasks is the time of the kernels around. natten-sim must be on the PATH.
set -euo pipefail

makespan() {  # ALGORITHM DISPATCH TOKENS
  natten-sim schedule --quiet --csv --algorithm "$1" --dispatch "$2" -i "$3" -n 32 -b $((16384 / $3)) --workers 132 \
    --overlap async:1 --reduce 0.2857 --tax 0.8512 --handoff 0.1597 | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == "makespan") at = i; next } { print $at }'
}

echo '| tokens | published | shift, dynamic | shift, static | wave-shift, static | all static |'
echo '|---|---|---|---|---|---|'
for row in 512:1.0801 1024:1.1382 2048:1.1817 4096:1.1878 8192:1.1181 16384:1.0135; do
  tokens=${row%:*}
  echo "$tokens ${row#*:} $(makespan ascending dynamic "$tokens") $(makespan ascending static "$tokens")" \
    "$(makespan shift dynamic "$tokens") $(makespan shift static "$tokens") $(makespan wave-shift static "$tokens")"
done | awk '
  function ratio(a, b) { return (a + 63.2) / (b + 63.2) }
  {
    r[1] = ratio($3, $5); r[2] = ratio($3, $6); r[3] = ratio($3, $7); r[4] = ratio($4, $7)
    line = "| " $1 " | " $2 " |"
    for (i = 1; i <= 4; i++) { line = line sprintf(" %.3f |", r[i]); sum[i] += (r[i] - $2) ^ 2 }
    print line
  }
  END { line = "| rms deviation | |"; for (i = 1; i <= 4; i++) line = line sprintf(" %.3f |", sqrt(sum[i] / NR)); print line }'
