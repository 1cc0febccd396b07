#!/usr/bin/env bash
# Compiles one CUDA file of the kernels to machine code, and keeps what ptxas says of it.
#
#   compile.sh NVCC SOURCE_DIR FILE TARGET OUTPUT
#
# FILE: below kernels/src. Writes OUTPUT.cubin, OUTPUT.ptxas and OUTPUT.d, the files that it was made of.
set -euo pipefail
nvcc=$1 source=$2 file=$3 target=$4 output=$5
mkdir -p "$(dirname -- "$output")"
"$nvcc" -std=c++20 -O3 -gencode "arch=compute_$target,code=sm_$target" -Xptxas -v -cubin -MD -MF "$output.d" \
  -I"$source/kernels/include" -I"$source/core/include" -I"$source/kernels/src" \
  -o "$output.cubin" "$source/kernels/src/$file" >"$output.ptxas" 2>&1 || { cat "$output.ptxas"; exit 1; }
