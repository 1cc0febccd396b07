#!/bin/sh
# Fits data/kernel-times.json anew from the runs in data/kernel-runs; the priors stay as they are.
#   scripts/make_kernel_times.sh build/apps/natten-sim/natten-sim
set -eu
program=${1:?the natten-sim program}
folder=$(cd "$(dirname "$0")/.." && pwd)/data
priors=$folder/kernel-times.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The launches of recordings of kernel natten, as runs.
runs_of() {
  python3 - "$@" <<'PY'
import json, sys
columns = ["pass", "input", "window", "stride", "dilation", "causal", "q_tile", "kv_tile", "heads", "head_dim", "dtype"]
print(",".join(["kernel", "device", *columns, "ms", "min_ms", "max_ms", "rest_ms"]))
for path in sys.argv[1:]:
    recording = json.load(open(path))
    for row in recording["rows"]:
        point, time = row["point"], row["time_ms"]
        print(",".join([point["runs"], recording["device"]["profile"], *(str(point.get(each, "")) for each in columns),
                        *(str(time[each]) for each in ("median", "smallest", "largest")), str(time.get("rest_ms", ""))]))
PY
}
# The runs of one device are fitted together: how power slows one kernel is expected of the others.
runs_on() {
  python3 - "$@" <<'PY'
import csv, sys
device, *paths = sys.argv[1:]
rows = []
for path in paths:
    with open(path, encoding="utf-8") as file:
        rows += [row for row in csv.DictReader(line for line in file if not line.startswith("#")) if row["device"] == device]
columns = list(dict.fromkeys(column for row in rows for column in row))
print(",".join(columns))
for row in rows:
    print(",".join(row.get(column) or "" for column in columns))
PY
}
fit_runs() { # NAME DEVICE SOURCE FILE...
  name=$1 device=$2 source=$3
  shift 3
  runs_on "$device" "$@" > "$work/runs.csv"
  "$program" calibrate "$work/runs.csv" --costs "$priors" --quiet --save "$work/$name.json" --source "$source" > /dev/null
}
runs=$folder/kernel-runs
published="sample outputs that NATTEN 0.21.6 publishes (data/kernel-runs/natten-published.csv)"
fit_runs a h200 "measured on an H200, medians (data/kernel-runs/natten-h200.csv)" "$runs/natten-h200.csv"
# NATTEN's Hopper kernels have more launches of suites, which come first by name; the ten runs above judge hopper-fna at
# head dim 128. How power slows one of the two kernels is told to the other by priors.
hopper=$folder/recordings/nvidia-h200-hopper
runs_of "$hopper-costs.json" "$hopper.json" "$hopper-128-costs.json" > "$work/fna.csv"
fit_runs 0-fna h200 "measured on an H200 (data/recordings/nvidia-h200-hopper.json, -costs, -128-costs)" "$work/fna.csv"
runs_of "$hopper-fmha-costs.json" > "$work/fmha.csv"
grep '^kernel,\|^hopper-fmha,' "$runs/natten-h200.csv" > "$work/long.csv"
fit_runs 0-fmha h200 "measured on H200s (data/recordings/nvidia-h200-hopper-fmha-costs.json; data/kernel-runs/natten-h200.csv)" \
  "$work/long.csv" "$work/fmha.csv"
fit_runs b h100 "measured on an H100, medians (data/kernel-runs/natten-h100.csv), and $published" \
  "$runs/natten-h100.csv" "$runs/natten-published.csv"
fit_runs c b200 "few runs: $published" "$runs/natten-published.csv"
# Dense kernels of libraries. A pass that runs above have costs of keeps those.
dense=$folder/dense-runs
fit_dense() { # NAME SOURCE
  "$program" calibrate "$dense/$1.csv" --costs "$priors" --quiet --save "$work/z-dense-$1.json" --source "$2 (data/dense-runs/$1.csv)" > /dev/null
}
fit_dense h100 "measured on H100s in turns with others"
fit_dense h200 "measured on an H200 in turns with others"
# FlashAttention-2 forward, also with few Q tiles; comes before all others.
runs_of "$folder/recordings/nvidia-h200-fa2-splits.json" > "$work/splits.csv"
for file in "$dense/h200.csv" "$work/splits.csv"; do
  grep -E '^kernel,|^fa2,h200,forward,.*,(64|128),(bf16|fp16),' "$file" > "$work/fa2-$(basename "$file")"
done
fit_runs x-fa2 h200 "measured on H200s (data/dense-runs/h200.csv, data/recordings/nvidia-h200-fa2-splits.json)" \
  "$work/fa2-h200.csv" "$work/fa2-splits.csv"
# Other head dims than 64 and 128; of these the runs above stay.
runs_of "$folder/recordings/nvidia-h200-head-dims-costs.json" "$folder/recordings/nvidia-h200-fa2-splits.json" > "$work/libraries.csv"
fit_runs z-libraries h200 "measured on an H200 (data/recordings/nvidia-h200-head-dims-costs.json, -fa2-splits)" "$work/libraries.csv"
fit_dense ours-h200 "measured on H200s in turns with others, and by natten_sim.check"
fit_dense published "published times"
for recording in "$folder"/recordings/*-flex-costs.json "$folder"/recordings/*-flex-dims-costs.json \
  "$folder"/recordings/*-h100-hopper-costs.json; do
  [ -e "$recording" ] || continue
  name=$(basename "$recording")
  runs=$recording
  if [ "$name" = nvidia-h200-flex-dims-costs.json ]; then
    # At head dim 96 masks of one axis let two CTAs share an SM there, and others one: no costs hold for both.
    runs=$work/flex-dims.rows
    python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); r["rows"] = [each for each in r["rows"] if each["point"]["head_dim"] != 96]
json.dump(r, open(sys.argv[2], "w"))' "$recording" "$runs"
  fi
  "$program" calibrate "$runs" --costs "$priors" --quiet --save "$work/$name" --source "measured (data/recordings/$name)" > /dev/null
done
# This project's kernel: one launch after the other, and in turns with another kernel.
for costs in "$folder"/recordings/*-gna-costs.json; do
  turns=${costs%gna-costs.json}turns-costs.json
  [ -e "$turns" ] || continue # without launches after rests the slow-down by power is not told
  name=$(basename "$costs")
  python3 - "$costs" "$turns" > "$work/gna.csv" <<'PY'
import json, sys
columns = ["input", "window", "stride", "dilation", "causal", "q_tile", "kv_tile", "heads", "head_dim", "dtype"]
print(",".join(["kernel", "device", *columns, "schedule", "ms", "min_ms", "max_ms", "rest_ms"]))
for path in sys.argv[1:]:
    recording = json.load(open(path))
    for row in recording["rows"]:
        point, time = row["point"], row["time_ms"]
        if point.get("runs", "gna") != "gna":
            continue
        schedule = "pingpong" if point.get("dispatch") == "static" else "cooperative"
        print(",".join(["gna", recording["device"]["profile"], *(str(point[each]) for each in columns), schedule,
                        *(str(time[each]) for each in ("median", "smallest", "largest")), str(time.get("rest_ms", ""))]))
PY
  "$program" calibrate "$work/gna.csv" --costs "$priors" --quiet --save "$work/$name" \
    --source "measured, by itself and in turns (data/recordings/$name, $(basename "$turns"))" > /dev/null
done
# NATTEN's kernels of CUTLASS: a kernel for each size of tiles, so one entry for each.
for costs in "$folder"/recordings/*-cutlass-costs.json; do
  name=$(basename "$costs")
  stem=${costs%costs.json}
  runs_of "$costs" "${stem}shapes.json" "${stem}draw.json" "${stem}draw-again.json" "${stem}fmha-costs.json" > "$work/cutlass.csv"
  "$program" calibrate "$work/cutlass.csv" --costs "$priors" --quiet --save "$work/$name" \
    --source "measured (data/recordings/$name, -shapes, -draw, -draw-again, -fmha-costs)" > /dev/null
done
python3 - "$folder/kernel-times.json" "$work"/*.json <<'PY'
import json, sys
target, *parts = sys.argv[1:]
data = json.load(open(target))
kernels = []
walks = ("forward", "backward")
for entry in (entry for part in parts for entry in json.load(open(part))["kernels"]):
    cell = [entry[key] for key in ("kernel", "device", "head_dim", "dtypes")]
    known = [each for each in kernels if [each[key] for key in ("kernel", "device", "head_dim", "dtypes")] == cell]
    if not known or (entry["kernel"].startswith("cutlass-") and any(walk in entry and walk in known[-1] for walk in walks)):
        kernels.append(entry)
        continue
    for walk in walks:
        if walk in entry:
            known[0].setdefault(walk, entry[walk])
# Launches one right after the other for 2.5 s tell how power slows FlashAttention-2; rested ones hardly tell. Of what
# fits them, numbers with which no stored score falls.
paced = {(64, "forward"): (0.02, 6), (64, "backward"): (0.015, 6), (128, "forward"): (0.035, 12), (128, "backward"): (0.015, 6)}
for entry in (each for each in kernels if (each["kernel"], each["device"]) == ("fa2", "h200")):
    for walk in (walk for walk in walks if (entry["head_dim"], walk) in paced):
        entry[walk]["slowdown"], entry[walk]["slowdown_ms"] = paced[entry["head_dim"], walk]
        entry[walk]["source"] += "; how power slows it: data/recordings/nvidia-h200-fa2-rest-costs.json"
priors = data["priors"]
own = priors.pop("kernels")
lines = ",\n".join("    " + json.dumps(entry) for entry in kernels)
by_pass = ",\n".join(
    '    "%s": [\n%s\n    ]' % (name, ",\n".join("      " + json.dumps(prior) for prior in priors[name]))
    for name in priors)
own_lines = ",\n".join(
    '      {"kernel": "%s",%s\n%s}' % (each["kernel"], ' "head_dims": %s,' % each["head_dims"] if "head_dims" in each else "", ",\n".join(
        '       "%s": [%s]' % (name, "".join("\n        " + json.dumps(prior) + ("," if prior is not each[name][-1] else "\n       ")
                                            for prior in each[name]))
        for name in ("forward", "backward")))
    for each in own)
open(target, "w").write(
    '{\n  "schema": "natten-sim.kernel-times/1",\n  "kernels": [\n%s\n  ],\n  "priors": {\n%s,\n    "kernels": [\n%s\n    ]\n  }\n}\n'
    % (lines, by_pass, own_lines))
PY
