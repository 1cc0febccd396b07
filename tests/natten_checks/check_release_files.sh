#!/usr/bin/env bash
# check_release_files.sh ROOT PYTHON: the rules in data/natten are those that were read off the releases (digests.txt
# has their digests; natten_checks reads the sources again), and what differs between two releases is told.
set -euo pipefail
root=$1 python=$2
script=$root/scripts/natten_release.py
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { printf 'FAILED %s\n' "$1"; exit 1; }

for release in "$root"/data/natten/*.json; do
  name=$(basename "$release")
  grep -qx "$("$python" "$script" digest "$release")  $name" "$root/tests/natten_checks/digests.txt" ||
    fail "the rules of $name have another digest: check them with $script and store the new one"
  [ -z "$("$python" "$script" diff "$release" "$release")" ] || fail "$name differs from itself"
done
wanted='cutlass-fna.forward_gemms: [{"gemm": "64x128", "without_compute_capabilities": [86, 89]}] -> [{"gemm": "64x128", "compute_capabilities": [80, 90, 100, 103]}]'
[ "$("$python" "$script" diff "$root/data/natten/0.21.6.json" "$root/data/natten/0.21.7.json")" = "$wanted" ] ||
  fail "the difference of 0.21.6 and 0.21.7"
# One rule fewer: another digest, and a line that says so.
sed 's/"value_head_dim_may_differ": true,//' "$root/data/natten/0.21.7.json" >"$folder/changed.json"
[ "$("$python" "$script" digest "$folder/changed.json")" != "$("$python" "$script" digest "$root/data/natten/0.21.7.json")" ] ||
  fail "a rule fewer has the same digest"
[ "$("$python" "$script" diff "$root/data/natten/0.21.7.json" "$folder/changed.json")" = \
  'cutlass-fna.value_head_dim_may_differ: true -> none' ] || fail "a rule fewer is not told"
"$python" "$script" check "$folder" "$root/data/natten/0.21.7.json" 2>/dev/null && fail "a folder without NATTEN passes"
printf 'checked\n'
