#!/usr/bin/env bash
# The module answers what the native program answers.
# usage: check_module.sh MODULE LESSONS_PROGRAM FOLDER. Exit code 77: skipped.
set -euo pipefail
module=$1 native=$2 folder=$3
if ! command -v node >/dev/null; then echo "skipped: node is missing"; exit 77; fi
if [[ ! -f $module ]]; then echo "skipped: $module is missing; scripts/build_web.sh builds it, with Emscripten"; exit 77; fi
mkdir -p "$folder"
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
node "$here/door_requests.js" "$here/../golden/doors.json" >"$folder/doors.jsonl"
for requests in "$here/requests.jsonl" "$folder/doors.jsonl"; do
  "$native" <"$requests" >"$folder/native.jsonl"
  node "$here/compare.js" "$module" "$requests" "$folder/native.jsonl"
done
