#!/usr/bin/env bash
# schedule_misses.sh order|length: the tables of docs/schedule-times-measured.md that hold explanations of missed predictions against
# the recordings of FlashAttention-4's backward on an H200, as Markdown. natten-sim must be on the PATH.
#   order   what an order costs (deterministic less unordered), and what it costs more than predicted, a chain
#   length  deviation of unordered times by their duration
set -euo pipefail
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")

# One line a problem: head dim, tokens, batch, heads/KV heads, mask; then us, predicted and measured, unordered and
# deterministic. The first recording of a problem counts: later ones are those that the costs were fitted to.
problems() {
  natten-sim validate schedules --quiet --recorded "$root/data/recordings" --csv | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    {
      line = $0; point = $(column["point"])
      if (point ~ /^"/) { match(line, /"[^"]*"/); point = substr(line, RSTART + 1, RLENGTH - 2) }
      if (point !~ /^fa4 /) next
      gsub(/"[^"]*"/, "-", line); split(line, cell, ",")
      split(point, w, " ")
      mode = w[9]; key = substr(w[6], 2) " " substr(w[5], 2) " " substr(w[3], 2) " " substr(w[4], 2) " " w[8]
      if ((key, mode) in measured) next
      if (mode == "unordered") order[++n] = key
      predicted[key, mode] = cell[column["predicted"]] / 1e3
      measured[key, mode] = cell[column["measured"]] / 1e3
    }
    END { for (i = 1; i <= n; i++) { k = order[i]
      print k, predicted[k, "unordered"], measured[k, "unordered"],
        predicted[k, "deterministic"], measured[k, "deterministic"] } }'
}

case ${1:-} in
  order)
    echo '| head dim | problems | chains a worker | an order costs, us | predicted | more, us a chain |'
    echo '|---|---|---|---|---|---|'
    problems | awk '
      function range(a, b, digits) {
        return a == b ? sprintf("%.*f", digits, a) : sprintf("%.*f to %.*f", digits, a, digits, b)
      }
      {
        split($4, heads, "/"); if (heads[1] != heads[2] || $2 > 8192 && $5 !~ /window/) next
        chains = $3 * heads[1] * ($2 / 128) / 132
        if ($5 ~ /window/) kind = "windows of 128 to 2,048 behind, 4,096 tokens and more"
        else kind = $5 ", " $2 " tokens, batch " $3
        if ($5 ~ /window/ && ($5 !~ /,0$/ || chains < 15)) next
        kind = $1 " | " kind
        if (!(kind in count)) order[++n] = kind
        cost = $9 - $7; said = $8 - $6; more = (cost - said) / chains
        if (!(kind in count) || cost < low[kind]) low[kind] = cost
        if (!(kind in count) || cost > high[kind]) high[kind] = cost
        if (!(kind in count) || said < least[kind]) least[kind] = said
        if (!(kind in count) || said > most[kind]) most[kind] = said
        if (!(kind in count) || more < from[kind]) from[kind] = more
        if (!(kind in count) || more > to[kind]) to[kind] = more
        if (!(kind in count) || chains < few[kind]) few[kind] = chains
        if (!(kind in count) || chains > many[kind]) many[kind] = chains
        ++count[kind]
      }
      END { for (i = 1; i <= n; i++) { k = order[i]
        printf "| %s | %s | %s | %s | %s |\n", k, range(few[k], many[k], 1), range(low[k], high[k], 0),
          range(least[k], most[k], 0), range(from[k], to[k], 1) } }'
    ;;
  length)
    echo '| unordered, full and causal | problems | deviation, mean | from | to |'
    echo '|---|---|---|---|---|'
    problems | awk '
      {
        if ($5 ~ /window/) next
        ms = $7 / 1000; bin = ms < 1 ? 1 : ms < 3 ? 2 : ms < 8 ? 3 : ms < 12 ? 4 : ms < 25 ? 5 : ms < 60 ? 6 : 7
        deviation = 100 * ($6 / $7 - 1)
        if (!count[bin] || deviation < low[bin]) low[bin] = deviation
        if (!count[bin] || deviation > high[bin]) high[bin] = deviation
        sum[bin] += deviation; ++count[bin]
      }
      END {
        split("below 1 ms;1 to 3 ms;3 to 8 ms;8 to 12 ms;12 to 25 ms;25 to 60 ms;beyond 60 ms", name, ";")
        for (bin = 1; bin <= 7; bin++)
          printf "| %s | %d | %+.1f%% | %+.1f%% | %+.1f%% |\n", name[bin], count[bin], sum[bin] / count[bin], low[bin],
            high[bin]
      }'
    ;;
  *)
    sed -n '2,5s/^# //p' "$0" >&2
    exit 2
    ;;
esac
