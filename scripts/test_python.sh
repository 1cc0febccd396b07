#!/usr/bin/env bash
# The Python package as a user gets it: installed from this clone into a fresh virtual environment, then its tests.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/test_python.sh BUILD_FOLDER [--help] [pytest argument...]

Makes a virtual environment in BUILD_FOLDER/python-test, installs the package of this clone into it, on the libraries
and the program that BUILD_FOLDER holds already, and runs python/tests. PYTHON names the interpreter [python3].

Exits 77 with the reason where it cannot be tried: no Python 3.11 or later with its headers, or no packages from pip.
USAGE
}

skip() {
  printf 'skipped: %s\n' "$1"
  exit 77
}

if [[ $# -lt 1 || $1 == -h || $1 == --help ]]; then
  usage
  [[ $# -ge 1 ]] && exit 0
  exit 2
fi
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
build=$(cd -P -- "$1" && pwd)
shift
folder=$build/python-test
environment=$folder/environment
python=${PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
unset PYTHONPATH PYTHONHOME
mkdir -p "$folder"

[[ -f $build/natten_sim_prebuilt.cmake ]] || skip "$build is no build folder with the program"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "$python is not Python 3.11 or later"
"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
  skip "$python has no headers (Debian: python3-dev)"
if [[ ! -x $environment/bin/pip ]]; then
  rm -rf "$environment"
  "$python" -m venv "$environment" >"$folder/log" 2>&1 || skip "$python makes no virtual environments (Debian: python3-venv)"
fi
"$environment/bin/pip" install -q nanobind scikit-build-core numpy pytest hypothesis mypy mkdocs-material >"$folder/log" 2>&1 ||
  skip "pip cannot fetch what the tests need: $(tail -n 1 "$folder/log")"

launcher=()
if [[ -n ${CMAKE_CXX_COMPILER_LAUNCHER:-} ]]; then launcher=("-Ccmake.define.CMAKE_CXX_COMPILER_LAUNCHER=$CMAKE_CXX_COMPILER_LAUNCHER"); fi
(
  PATH=$environment/bin:$PATH
  "$environment/bin/pip" install -q --no-build-isolation --no-deps --force-reinstall "$root" \
    -Cbuild-dir="$folder/wheel" -Ccmake.define.NATTEN_SIM_PREBUILT="$build" ${launcher[@]+"${launcher[@]}"}
) >"$folder/log" 2>&1 || {
  cat "$folder/log"
  exit 1
}
cd "$folder"
export HYPOTHESIS_STORAGE_DIRECTORY=$folder/hypothesis
"$environment/bin/python" -m pytest -q -p no:cacheprovider -c "$root/pyproject.toml" --rootdir "$root" "$root/python/tests" "$@"
