#!/usr/bin/env bash
# run.sh ROOT GENERATOR PYTHON FOLDER: holds every release in data/natten, and the library's call rules for it, against
# NATTEN's own checks. Fetches the source packages with pip into FOLDER, once; exits 77 (skipped) with the reason when one cannot
# be had.
set -euo pipefail
root=$1 generator=$2 python=$3 folder=$4
here=$root/tests/natten_checks
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
export PYTHONDONTWRITEBYTECODE=1 NATTEN_LOG_LEVEL=critical
unset LD_PRELOAD
skip() { printf 'skipped: %s\n' "$1"; exit 77; }

fetch() {
  local version=$1
  [ ! -f "$folder/natten-$version/src/natten/__init__.py" ] || return 0
  "$python" -m pip --version >/dev/null 2>&1 || skip "$python has no pip (scripts/setup.sh --tests installs it)"
  # Only metadata is built, against a made-up torch; setuptools and wheel may be missing or too old.
  [ -d "$folder/tools" ] ||
    "$python" -m pip install -q --no-input --disable-pip-version-check --target "$folder/tools" setuptools wheel >"$folder/log" 2>&1 ||
    skip "pip cannot fetch setuptools: $(tail -n 1 "$folder/log")"
  PYTHONPATH=$folder/tools:$here/fake_torch "$python" -m pip download -q --no-input --disable-pip-version-check --no-deps \
    --no-binary natten --no-build-isolation -d "$folder" "natten==$version" >"$folder/log" 2>&1 ||
    skip "pip cannot fetch natten $version: $(tail -n 1 "$folder/log")"
  grep "natten-$version.tar.gz" "$here/digests.txt" | (cd "$folder" && sha256sum --check --quiet)
  tar -xzf "$folder/natten-$version.tar.gz" -C "$folder"
}

for release in "$root"/data/natten/*.json; do
  version=$(basename "$release" .json)
  fetch "$version"
  "$python" "$root/scripts/natten_release.py" check "$folder/natten-$version/src" "$release"
  "$generator" "$version" 2000 2000 >"$folder/calls.jsonl"
  PYTHONPATH=$here/fake_torch "$python" "$here/check_calls.py" "$folder/natten-$version/src" "$folder/calls.jsonl"
done
