#!/usr/bin/env bash
# What ptxas says of attention forward for sm_90a: no spills, no wgmma that is serialised or waits where the source
# does not (C75xx). Then its machine code: wgmma (HGMMA), TMA loads and stores, no mma.sync (HMMA).
#
#   check_attention_forward.sh NVCC FOLDER NAME...
#
# FOLDER/NAME.cubin and .ptxas are what compile.sh wrote. Exit 0 all well, 1 not, 77 nothing reads machine code.
set -euo pipefail
nvcc=$1 folder=$2
shift 2
# shellcheck source-path=SCRIPTDIR source=reader.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/reader.sh"
failed=0
for name in "$@"; do
  kernels=$(kernels_of "$name") clean=$(clean_of "$name") serialised=$(serialised_of "$name")
  echo "$name: $kernels kernels, $clean without spills, $serialised remarks about serialised wgmma"
  if [ "$kernels" -eq 0 ] || [ "$clean" -ne "$kernels" ] || [ "$serialised" -ne 0 ]; then failed=1; fi
  code=$(read_code "$name") || { no_reader=1; continue; }
  for instruction in HGMMA UTMALDG UTMASTG SYNCS MUFU; do
    grep -q "$instruction" <<<"$code" || { echo "$name: no $instruction"; failed=1; }
  done
  if grep -qE '(^|[^G])HMMA' <<<"$code"; then echo "$name: mma.sync"; failed=1; fi
  if grep -qwE 'STL|LDL' <<<"$code"; then echo "$name: local memory"; failed=1; fi
done
[ "$failed" -eq 0 ] || exit 1
if [ -n "${no_reader:-}" ]; then echo "skipped: machine code not read, neither cuobjdump nor python3"; exit 77; fi
