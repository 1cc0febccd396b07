#!/usr/bin/env bash
# Compiles attention backward for sm_90a and reads what ptxas says: no wgmma that is serialised or waits where the
# source does not (C75xx), and no more spills than the loader thread's few words (it has 24 registers, and waits
# most of the time) and two of a consumer where a chain begins and ends: nothing is spilled between the products of a
# task. Then its machine code: wgmma (HGMMA), TMA loads, bulk reductions (UBLKRED), no mma.sync (HMMA).
# The engine for sm_80 and later is compiled for sm_80 and sm_90a: no spills at all;
# mma.sync (HMMA), asynchronous copies (LDGSTS) and ldmatrix (LDSM), no wgmma.
#
#   check_machine_code.sh NVCC SOURCE_DIR
#
# Machine code is read by cuobjdump or, where that is missing, by count_opcodes.py. Exit 0 all well, 1 not, 77 nvcc
# is missing, or both readers.
set -euo pipefail
nvcc=$1 source=$2
most_spilled=48
command -v "$nvcc" >/dev/null || { echo "skipped: no nvcc at $nvcc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
# read_code CUBIN: its machine code to $work/sass; false where nothing reads it.
read_code() {
  local cuobjdump=${CUOBJDUMP:-$(dirname "$(command -v "$nvcc")")/cuobjdump}
  if command -v "$cuobjdump" >/dev/null; then
    "$cuobjdump" -sass "$1" >"$work/sass"
  elif command -v python3 >/dev/null; then
    python3 "$source/tests/gpu/attention_forward/count_opcodes.py" "$1" >"$work/sass"
  else
    no_reader=1
    return 1
  fi
}
for file in head_dim_64.cu head_dim_128.cu in_time.cu; do
  "$nvcc" -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -Xptxas -v -cubin -o "$work/kernels.cubin" \
    -I"$source/kernels/include" -I"$source/core/include" -I"$source/kernels/src" \
    "$source/kernels/src/attention_backward/sm90a/$file" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  kernels=$(grep -c 'bytes spill stores' "$work/log" || true)
  spilled=$(sed -n 's/.* \([0-9]*\) bytes spill stores.*/\1/p' "$work/log" | sort -n | tail -n 1)
  serialised=$(grep -c '(C75' "$work/log" || true)
  echo "$file: $kernels kernels, $spilled bytes spilled at most, $serialised remarks about serialised wgmma"
  if [ "$kernels" -eq 0 ] || [ "$spilled" -gt "$most_spilled" ] || [ "$serialised" -ne 0 ]; then failed=1; fi
  if command -v python3 >/dev/null; then
    python3 "$source/tests/gpu/attention_forward/count_opcodes.py" "$work/kernels.cubin" HGMMA >"$work/tasks"
    grep -q '^HGMMA' "$work/tasks" || { echo "$file: no task was found"; failed=1; }
    read_back=$(sed -n 's/^LDL //p' "$work/tasks")  # one word a task in the kernels of pairs of head dimension 64
    if grep -q '^STL ' "$work/tasks" || [ "${read_back:-0}" -gt 2 ]; then
      echo "$file: spills between the products of a task"
      failed=1
    fi
  fi
  read_code "$work/kernels.cubin" || continue
  for instruction in HGMMA UTMALDG UBLKRED SYNCS MUFU; do
    grep -q "$instruction" "$work/sass" || { echo "$file: no $instruction"; failed=1; }
  done
  if grep -qE '(^|[^G])HMMA' "$work/sass"; then echo "$file: mma.sync"; failed=1; fi
done
for target in 80 90a; do
  for file in head_dim_64.cu head_dim_128.cu; do
    "$nvcc" -std=c++20 -O3 -gencode "arch=compute_$target,code=sm_$target" -Xptxas -v -cubin -o "$work/kernels.cubin" \
      -I"$source/kernels/include" -I"$source/core/include" -I"$source/kernels/src" \
      "$source/kernels/src/attention_backward/sm80/$file" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    kernels=$(grep -c 'bytes spill stores' "$work/log" || true)
    clean=$(grep -c ' 0 bytes spill stores, 0 bytes spill loads' "$work/log" || true)
    echo "sm80/$file for sm_$target: $clean of $kernels kernels without spills"
    if [ "$kernels" -eq 0 ] || [ "$clean" -ne "$kernels" ]; then failed=1; fi
    read_code "$work/kernels.cubin" || continue
    for instruction in HMMA LDGSTS LDSM MUFU; do
      grep -q "$instruction" "$work/sass" || { echo "sm80/$file: no $instruction"; failed=1; }
    done
    if grep -q HGMMA "$work/sass"; then echo "sm80/$file: wgmma"; failed=1; fi
  done
done
[ "$failed" -eq 0 ] || exit 1
if [ -n "${no_reader:-}" ]; then echo "skipped: machine code not read, neither cuobjdump nor python3"; exit 77; fi
