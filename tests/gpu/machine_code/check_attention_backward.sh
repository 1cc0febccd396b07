#!/usr/bin/env bash
# What ptxas says of attention backward for sm_90a: no wgmma that is serialised or waits where the source does not
# (C75xx), and no more spills than the loader thread's few words (it has 24 registers, and waits most of the time) and
# two of a consumer where a chain begins and ends: nothing is spilled between the products of a task. Then its machine
# code: wgmma (HGMMA), TMA loads, bulk reductions (UBLKRED), no mma.sync (HMMA).
# The engine for sm_80 and later, compiled for sm_80 and sm_90a: no spills at all; mma.sync (HMMA), asynchronous copies
# (LDGSTS) and ldmatrix (LDSM), no wgmma.
#
#   check_attention_backward.sh NVCC FOLDER NAME...
#
# FOLDER/NAME.cubin and .ptxas are what compile.sh wrote; the engine's names hold "sm80/". Exit 0 all well, 1 not,
# 77 nothing reads machine code.
set -euo pipefail
nvcc=$1 folder=$2
shift 2
# shellcheck source-path=SCRIPTDIR source=reader.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/reader.sh"
most_spilled=48
failed=0

check_wgmma() {
  local name=$1 kernels spilled serialised code instruction tasks read_back
  kernels=$(kernels_of "$name") spilled=$(spilled_of "$name") serialised=$(serialised_of "$name")
  echo "$name: $kernels kernels, $spilled bytes spilled at most, $serialised remarks about serialised wgmma"
  if [ "$kernels" -eq 0 ] || [ "$spilled" -gt "$most_spilled" ] || [ "$serialised" -ne 0 ]; then failed=1; fi
  if command -v python3 >/dev/null; then
    tasks=$(count_opcodes "$name" HGMMA)
    grep -q '^HGMMA' <<<"$tasks" || { echo "$name: no task was found"; failed=1; }
    read_back=$(sed -n 's/^LDL //p' <<<"$tasks")  # one word a task in the kernels of pairs of head dimension 64
    if grep -q '^STL ' <<<"$tasks" || [ "${read_back:-0}" -gt 2 ]; then
      echo "$name: spills between the products of a task"
      failed=1
    fi
  fi
  code=$(read_code "$name") || { no_reader=1; return; }
  for instruction in HGMMA UTMALDG UBLKRED SYNCS MUFU; do
    grep -q "$instruction" <<<"$code" || { echo "$name: no $instruction"; failed=1; }
  done
  if grep -qE '(^|[^G])HMMA' <<<"$code"; then echo "$name: mma.sync"; failed=1; fi
}

check_mma_sync() {
  local name=$1 kernels clean code instruction
  kernels=$(kernels_of "$name") clean=$(clean_of "$name")
  echo "$name: $clean of $kernels kernels without spills"
  if [ "$kernels" -eq 0 ] || [ "$clean" -ne "$kernels" ]; then failed=1; fi
  code=$(read_code "$name") || { no_reader=1; return; }
  for instruction in HMMA LDGSTS LDSM MUFU; do
    grep -q "$instruction" <<<"$code" || { echo "$name: no $instruction"; failed=1; }
  done
  if grep -q HGMMA <<<"$code"; then echo "$name: wgmma"; failed=1; fi
}

for name in "$@"; do
  case $name in
    *sm80/*) check_mma_sync "$name" ;;
    *) check_wgmma "$name" ;;
  esac
done
[ "$failed" -eq 0 ] || exit 1
if [ -n "${no_reader:-}" ]; then echo "skipped: machine code not read, neither cuobjdump nor python3"; exit 77; fi
