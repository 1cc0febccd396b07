#!/bin/sh
# Fits the constants of data/tile-physics.json anew to all measured cells (data/kernel-times.json).
#   scripts/make_tile_physics.sh build/apps/natten-sim/natten-sim
set -eu
program=${1:?the natten-sim program}
target=$(cd "$(dirname "$0")/.." && pwd)/data/tile-physics.json
fit=$(mktemp)
trap 'rm -f "$fit"' EXIT
"$program" list transfers --json > "$fit"
python3 - "$fit" "$target" <<'PY'
import json, sys
fit = json.load(open(sys.argv[1], encoding="utf-8"))["result"]["fit"]
data = json.load(open(sys.argv[2], encoding="utf-8"))
data.update(fit)
tables = ",\n".join('  "%s": [\n%s\n  ]' % (name, ",\n".join("    " + json.dumps(entry) for entry in data[name]))
                    for name in ("kernels", "priors", "constants", "factors", "transfers"))
open(sys.argv[2], "w", encoding="utf-8").write('{\n  "schema": "%s",\n%s\n}\n' % (data["schema"], tables))
PY
