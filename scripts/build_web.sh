#!/usr/bin/env bash
# The classroom: pages that call the library in the browser, as a folder of static files.
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 || $1 == -h || $1 == --help ]]; then
  cat <<'USAGE'
usage: scripts/build_web.sh OUTPUT_FOLDER [BUILD_FOLDER] [--help]

Compiles the library to WebAssembly and writes index.html and what it loads: open it in a browser, no
server is needed. Needs Emscripten (Debian: apt-get install emscripten) and the build's libraries.
USAGE
  [[ ${1-} == -h || ${1-} == --help ]] && exit 0
  exit 2
fi
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
build=${2-$root/build/web}
command -v emcmake >/dev/null || { printf 'scripts/build_web.sh: emcmake is missing: apt-get install emscripten\n' >&2; exit 2; }
# Debian's Emscripten does not look where Debian puts its JavaScript.
export NODE_PATH=${NODE_PATH-/usr/share/nodejs}
launcher=$(command -v ccache || true)
emcmake cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel -DCMAKE_CXX_FLAGS_MINSIZEREL="-Oz -DNDEBUG" \
  -DNATTEN_SIM_UNITY=ON -DNATTEN_SIM_CUDA=OFF ${launcher:+-DCMAKE_CXX_COMPILER_LAUNCHER="$launcher"}
cmake --build "$build" --target natten_sim_web_module
mkdir -p "$1"
"$root/apps/web/write_pages.py" "$build/apps/web/natten-sim-web.js" "$1"
printf '%s\n' "$1/index.html"
