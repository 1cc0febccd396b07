#!/usr/bin/env bash
# schedule_gains.sh [options]: the tables of docs/schedule-search.md that compare `natten-sim schedule --algorithm best` with
# the named algorithms, as Markdown. `options` prints the options of each row, otherwise the makespans are printed.
# natten-sim must be on the PATH. Costs: compute 7, reduce 2.
set -euo pipefail

show=${1:-makespans}
number=0
if [ "$show" = options ]; then
  echo "| row | options of \`natten-sim schedule\` |"
  echo '|---|---|'
else
  echo '| row | what | published | generalised | best | bound | gap | best saves |'
  echo '|---|---|---|---|---|---|---|---|'
fi

row() {  # LABEL OPTIONS..
  local label=$1
  shift
  number=$((number + 1))
  if [ "$show" = options ]; then
    printf "| %d | \`%s\` |\n" "$number" "$*"
    return
  fi
  {  # among all, best runs on small problems only
    natten-sim schedule --quiet --csv --algorithm all --compute 7 --reduce 2 "$@"
    natten-sim schedule --quiet --csv --algorithm best --compute 7 --reduce 2 "$@" | tail -n +2
  } | awk -F, -v label="$label" -v row="$number" '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { time = $(column["makespan"]) }
    $1 == "symmetric-shift" {
      # As published: even tiles and heads, as many workers as tiles.
      if (time != "" && label ~ /published form/) { consider($1, time) } else if (time != "") general = time + 0
      next
    }
    $1 == "best" { best = time + 0; bound = $(column["lower_bound"]) + 0; next }
    $1 == "outside-in" || $1 == "first-come" || $1 == "wave-shift" { next }  # not of these papers
    $(column["ordered"]) == "true" && time != "" { consider($1, time) }
    function consider(name, time) { if (who == "" || time + 0 < named) { who = name; named = time + 0 } }
    END {
      least = general != "" && general < named ? general : named
      printf "| %d | %s | %d %s | %s | %d | %s | %s | %s |\n", row, label, named, who,
        general == "" ? "" : general, best, bound, best <= bound ? "0" : sprintf("%.1f%%", 100 * (best / bound - 1)),
        best < least ? sprintf("%.1f%%", 100 * (1 - best / least)) : "nothing"
    }'
}

row 'full, n tiles and workers' --q-tiles 8 --heads 4 --mask full
row 'full, n odd, other workers' --q-tiles 7 --heads 3 --workers 5 --mask full
row 'full, more workers than chains' --q-tiles 16 --heads 5 --workers 132 --mask full
row 'full, more KV than Q tiles' --q-tiles 4 --kv-tiles 8 --heads 3 --mask full
row 'causal, n and m even: published form' --q-tiles 8 --heads 2 --mask causal
row 'causal, one head' --q-tiles 8 --heads 1 --mask causal
row 'causal, m odd' --q-tiles 8 --heads 3 --mask causal
row 'causal, n odd' --q-tiles 9 --heads 2 --mask causal
row 'causal, n and m odd' --q-tiles 9 --heads 3 --mask causal
row 'causal, other workers' --q-tiles 7 --heads 3 --workers 5 --mask causal
row 'causal, other workers' --q-tiles 9 --heads 3 --workers 7 --mask causal
row 'causal, Sq != Sk' --q-tiles 8 --kv-tiles 12 --heads 2 --workers 8 --mask causal
row 'window' --q-tiles 16 --heads 4 --mask window:4,0
row 'window, n odd' --q-tiles 9 --heads 3 --workers 7 --mask window:3,0
row 'window, two-sided' --q-tiles 15 --heads 3 --mask window:2,2
row 'documents' --q-tiles 16 --heads 3 --mask document:5,8,3
row 'documents, few chains' --q-tiles 9 --heads 3 --workers 7 --mask document:3,5,1
row 'neighborhood 2-D' --heads 3 --mask gna:i=32x32,w=12x12,q-tile=8x8,kv-tile=8x8
row 'neighborhood 2-D, strided' --heads 3 --workers 32 --mask gna:i=24x24,w=8x8,s=4x4,q-tile=4x4,kv-tile=4x4 --effort 1000
row 'neighborhood 3-D' --heads 4 --workers 132 --mask gna:i=16x24x24,w=6x12x12,q-tile=4x4x8,kv-tile=4x4x8 --effort 20
row 'GQA' --q-tiles 8 --heads 4 --heads-kv 2 --mask causal
row 'handoff' --q-tiles 9 --heads 3 --mask causal --handoff 2
large=(-i 8192 --q-tile 64 --heads 16 -b 2 --workers 132 --effort 8)
row 'H200, 8k, full' "${large[@]}" --mask full
row 'H200, 8k, causal' "${large[@]}" --mask causal
row 'H200, 8k, window' "${large[@]}" --mask window:1024,0
row 'H200, 8k, documents' "${large[@]}" --mask document:4096,1024,2048,512,512
