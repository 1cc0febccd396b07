#!/usr/bin/env bash
# Every recording made anew on this GPU, in one command, and compared with what is predicted for it.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/measure_again.sh [--no-pytorch] FOLDER

Builds natten-sim with CUDA into build/cuda, measures all suites of its kernels, and FlexAttention, FlashAttention-2 and
cuDNN where Python has PyTorch and natten_sim (their DRAM reads where ncu is on PATH). Writes the recordings and the order of SMs into
FOLDER and compares them with the predictions. Takes hours on an H200; exits as `natten-sim validate` does.

  --no-pytorch  the suites of this project's kernels only
USAGE
}

pytorch=yes
case ${1:-} in
  -h | --help)
    usage
    exit 0
    ;;
  --no-pytorch)
    pytorch=no
    shift
    ;;
esac
if [[ $# -ne 1 || $1 == -* ]]; then
  usage >&2
  exit 2
fi
folder=$(realpath -m -- "$1")
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
cd -P -- "$root"
command -v nvidia-smi >/dev/null || {
  echo "measure_again: no NVIDIA GPU here (nvidia-smi is not on PATH)" >&2
  exit 4
}
commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
program=build/cuda/apps/natten-sim/natten-sim
cmake --preset cuda -DNATTEN_SIM_BUILD_BENCH=ON
cmake --build build/cuda --parallel
mkdir -p "$folder"
build/cuda/bench/launch_order >"$folder/launch-order.json"
"$program" validate --out "$folder/recordings" || [[ $? -eq 3 ]]
if [[ $pytorch == yes ]] && python3 -c 'import torch, natten_sim' 2>/dev/null; then
  python3 scripts/timing suites flex sdpa-times --out "$folder/recordings" --commit "$commit"
  if command -v ncu >/dev/null; then
    python3 scripts/timing count sdpa-reads --out "$folder/recordings" --commit "$commit"
  else
    echo "measure_again: ncu is not on PATH, so DRAM reads of FlashAttention-2 and cuDNN are not counted" >&2
  fi
else
  echo "measure_again: without PyTorch or natten_sim, so FlexAttention, FlashAttention-2 and cuDNN are not measured" >&2
fi
exec "$program" validate --recorded "$folder/recordings" --fidelity timed
