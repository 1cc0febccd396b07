#!/usr/bin/env bash
# check_pytorch_script.sh ROOT PROGRAM PYTHON: scripts/time_pytorch_sdpa.py on a made-up PyTorch (tests/fake_torch)
# keeps what ran and why the rest did not, resumes, overwrites nothing; the program reads what it wrote.
set -euo pipefail
root=$1 program=$2 python=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PYTHONPATH=$root/tests/fake_torch PYTHONDONTWRITEBYTECODE=1
times() { env -u LD_PRELOAD PATH=/usr/bin:/bin "$python" "$root/scripts/time_pytorch_sdpa.py" --out "$scratch/sdpa.json" "$@"; }
die() { printf 'FAILED: %s\n' "$1"; exit 1; }

times --tokens 512,32768 --head-dims 64,160 --dtypes bf16 >"$scratch/log"
# 2 lengths, 2 head dims, full and causal, 5 backends.
[ "$(grep -c '"backend"' "$scratch/sdpa.json")" = 40 ] || die 'a row for each problem and backend'
[ "$(grep -c 'out of memory' "$scratch/sdpa.json")" = 4 ] || die 'the math path at 32768 tokens says out of memory'
[ "$(grep -c 'refused: No available kernel. Aborting execution. head_dim should be no more than 128"' "$scratch/sdpa.json")" = 4 ] ||
  die 'the refusal of cuDNN comes with the reason for cuDNN alone'
# A call takes a thousandth of a millisecond a token on the made-up GPU, half of it causal; 20 repetitions.
grep -q '"tokens": 512, "head_dim": 64, "dtype": "bf16", "causal": true}, "backend": "auto", "status": "measured", "time_ms": {"median": 0.256' "$scratch/sdpa.json" ||
  die 'medians are those of the calls alone, without the overwriting and the wait before them'
grep -q '"repetitions": 20}' "$scratch/sdpa.json" || die '20 repetitions'

if times >/dev/null 2>"$scratch/stderr"; then die 'a recording that is there is refused'; fi
grep -q -- --resume "$scratch/stderr" || die 'the refusal names --resume'
times --resume --tokens 512,32768,1024 --head-dims 64,160 --dtypes bf16 >"$scratch/log"
[ "$(wc -l <"$scratch/log")" = 4 ] || die 'a resumed run times what is missing alone'
[ "$(grep -c '"backend"' "$scratch/sdpa.json")" = 60 ] || die 'a resumed run keeps what was there'
if times --resume --dtypes fp8 2>/dev/null; then die 'an unknown dtype is refused'; fi

# The same machine as the shipped recording of our kernel.
driver=$(sed -n 's/^  "driver": "\(.*\)",$/\1/p' "$scratch/sdpa.json")
sed "s/^  \"driver\": .*/  \"driver\": \"$driver\",/" "$root/data/recordings/nvidia-h200-tiles.json" >"$scratch/tiles.json"
"$program" validate --recorded "$scratch" --view heat-map >"$scratch/map" || die 'the program reads what the script wrote'
grep -q 'refused: No available kernel' "$scratch/map" || die 'the map shows refusals'
printf 'passed\n'
