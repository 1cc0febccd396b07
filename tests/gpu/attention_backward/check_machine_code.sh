#!/usr/bin/env bash
# Compiles attention backward for sm_90a and reads what ptxas says: no wgmma that is serialised or waits where the
# source does not (C75xx), and no more spills than the loader thread's few words (it has 24 registers, and waits
# most of the time). Then its machine code: wgmma (HGMMA), TMA loads, bulk reductions (UBLKRED), no mma.sync (HMMA).
#
#   check_machine_code.sh NVCC SOURCE_DIR
#
# Machine code is read by cuobjdump or, where that is missing, by count_opcodes.py. Exit 0 all well, 1 not, 77 nvcc
# is missing, or both readers.
set -euo pipefail
nvcc=$1 source=$2
most_spilled=40
command -v "$nvcc" >/dev/null || { echo "skipped: no nvcc at $nvcc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for file in head_dim_64.cu head_dim_128.cu in_time.cu; do
  "$nvcc" -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -Xptxas -v -cubin -o "$work/kernels.cubin" \
    -I"$source/kernels/include" -I"$source/core/include" -I"$source/kernels/src" \
    "$source/kernels/src/attention_backward/sm90a/$file" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  kernels=$(grep -c 'bytes spill stores' "$work/log" || true)
  spilled=$(sed -n 's/.* \([0-9]*\) bytes spill stores.*/\1/p' "$work/log" | sort -n | tail -n 1)
  serialised=$(grep -c '(C75' "$work/log" || true)
  echo "$file: $kernels kernels, $spilled bytes spilled at most, $serialised remarks about serialised wgmma"
  if [ "$kernels" -eq 0 ] || [ "$spilled" -gt "$most_spilled" ] || [ "$serialised" -ne 0 ]; then failed=1; fi
  cuobjdump=${CUOBJDUMP:-$(dirname "$(command -v "$nvcc")")/cuobjdump}
  if command -v "$cuobjdump" >/dev/null; then
    "$cuobjdump" -sass "$work/kernels.cubin" >"$work/sass"
  elif command -v python3 >/dev/null; then
    python3 "$source/tests/gpu/attention_forward/count_opcodes.py" "$work/kernels.cubin" >"$work/sass"
  else
    no_reader=1
    continue
  fi
  for instruction in HGMMA UTMALDG UBLKRED SYNCS MUFU; do
    grep -q "$instruction" "$work/sass" || { echo "$file: no $instruction"; failed=1; }
  done
  if grep -qE '(^|[^G])HMMA' "$work/sass"; then echo "$file: mma.sync"; failed=1; fi
done
[ "$failed" -eq 0 ] || exit 1
if [ -n "${no_reader:-}" ]; then echo "skipped: machine code not read, neither cuobjdump nor python3"; exit 77; fi
