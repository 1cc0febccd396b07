# shellcheck shell=bash
# Sourced by the checks of machine code, which set nvcc and folder, where compile.sh has written.

# read_code NAME: its machine code, to standard output; false where nothing reads it. cuobjdump or, where that is
# missing, count_opcodes.py.
read_code() {
  local cuobjdump=${CUOBJDUMP:-$(dirname -- "$(command -v "$nvcc")")/cuobjdump}
  if command -v "$cuobjdump" >/dev/null; then
    "$cuobjdump" -sass "$folder/$1.cubin"
  elif command -v python3 >/dev/null; then
    count_opcodes "$1"
  else
    return 1
  fi
}
count_opcodes() {  # name [opcode at which a task begins]
  python3 "$(dirname -- "${BASH_SOURCE[0]}")/count_opcodes.py" "$folder/$1.cubin" "${@:2}"
}
# What ptxas says: kernels, those without spills, the bytes that the worst one spills, remarks about serialised wgmma.
kernels_of() { grep -c 'bytes spill stores' "$folder/$1.ptxas" || true; }
clean_of() { grep -c ' 0 bytes spill stores, 0 bytes spill loads' "$folder/$1.ptxas" || true; }
spilled_of() { sed -n 's/.* \([0-9]*\) bytes spill stores.*/\1/p' "$folder/$1.ptxas" | sort -n | tail -n 1; }
serialised_of() { grep -c '(C75' "$folder/$1.ptxas" || true; }
