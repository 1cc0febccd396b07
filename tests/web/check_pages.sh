#!/usr/bin/env bash
# The pages of the source with the module that was built, in a headless Chromium.
# usage: check_pages.sh MODULE PAGES FOLDER LESSONS_PROGRAM. Exit code 77: skipped.
set -euo pipefail
module=$1 pages=$2 folder=$3 program=$4
if [[ ! -f $module ]]; then echo "skipped: $module is missing; scripts/build_web.sh builds it, with Emscripten"; exit 77; fi
rm -rf "$folder/pages"
python3 "$pages/../write_pages.py" "$module" "$folder/pages"
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
python3 "$here/browser.py" "$folder/pages" --screenshots "$folder/screenshots" --program "$program"
