#!/usr/bin/env bash
# check_namespaces.sh PROGRAM: what takes namespaces to see. Two runs that each are process 1 of their own write one
# file, and one of them wins; a disk that is really full, or read-only, keeps the old file. 77 where no namespace may be made.
set -euo pipefail
program=$1
unshare --user --map-root-user --mount --pid --fork true 2>/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
fail() {
  echo "FAILED: $*"
  exit 1
}

count=("$program" count -i 64 -s 8 --q-tile 8 --kv-tile 4)
for window in 16 32; do
  for line in {1..2000}; do printf '{"window": [%d]}\n' $((window + line % 8)); done >"in$window"
  "${count[@]}" -w 16 --batch "in$window" --output "whole$window"
done
cmp -s whole16 whole32 && fail "the two files are one"

as_process_1() { unshare --user --map-root-user --pid --fork "$@"; }
mkdir shared
[[ $(as_process_1 sh -c 'echo $$') == 1 ]] || fail "a namespace of its own begins with another process"
for round in {1..20}; do
  as_process_1 "${count[@]}" -w 16 --batch in16 --output shared/out &
  as_process_1 "${count[@]}" -w 16 --batch in32 --output shared/out
  wait $!
  cmp -s shared/out whole16 || cmp -s shared/out whole32 || fail "round $round: neither of both files"
done
[[ $(ls -A shared) == out ]] || fail "left behind: $(ls -A shared)"

mkdir disk
# shellcheck disable=SC2016 # expanded by the inner shell
unshare --user --map-root-user --mount bash -c '
  mount -t tmpfs -o size=64k none disk || exit 77
  echo old >disk/out
  code=0
  "$@" -w 16 --batch in16 --output disk/out 2>said || code=$?
  echo "$code $(ls -A disk) $(cat disk/out)" >seen
  mount -o remount,ro none disk
  for path in out new; do
    code=0
    "$@" -w 16 --output disk/$path 2>>said || code=$?
    echo "$code $(ls -A disk) $(cat disk/out)" >>seen
  done' bash "${count[@]}"
[[ $(cat seen) == $'1 out old\n2 out old\n2 out old' ]] || fail "on a full disk, then on a read-only one: $(cat seen)"
for reason in 'No space left on device' 'disk/out (Read-only file system)' 'disk/new (Read-only file system)'; do
  grep -qF "$reason" said || fail "it says: $(cat said)"
done
