#!/usr/bin/env bash
# check_hardened.sh PROGRAM: the binary has what NATTEN_SIM_HARDENED promises. 77 without readelf.
set -euo pipefail
program=$1
command -v readelf >/dev/null || exit 77
failures=0
has() {  # what TEXT PATTERN
  if ! grep -qE -- "$3" <<<"$2"; then
    echo "FAILED: $1"
    failures=$((failures + 1))
  fi
}
dynamic=$(readelf -dW "$program")
segments=$(readelf -lW "$program")
symbols=$(readelf -sW "$program")
has "position-independent: loaded anywhere" "$dynamic" 'FLAGS_1.* PIE'
has "all bindings at start" "$dynamic" 'FLAGS_1.* NOW'
has "bindings are read-only from then on" "$segments" 'GNU_RELRO'
has "the stack is no code" "$segments" 'GNU_STACK.* RW '
has "a stack protector" "$symbols" '__stack_chk_fail'
has "checked string functions" "$symbols" '__(memcpy|snprintf|vsnprintf|fprintf|read)_chk'
[[ $failures == 0 ]]
