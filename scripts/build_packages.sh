#!/usr/bin/env bash
# What a release offers besides wheels: a Debian package, a static program, and what they are made of.
set -euo pipefail

if [[ $# -lt 1 || $1 == -h || $1 == --help ]]; then
  cat <<'USAGE'
usage: scripts/build_packages.sh OUTPUT_FOLDER [CMAKE_ARGUMENT...] [--help]

Builds natten-sim_VERSION_ARCH.deb, natten-sim-VERSION-SYSTEM.tar.gz (static) and natten-sim.cdx.json into
OUTPUT_FOLDER, and tries each: lintian where it is installed, the program of both packages, no library
in the static one. With Emscripten the packages hold the classroom.
Environment: BUILD, the build folder (build/package).
USAGE
  [[ ${1-} == -h || ${1-} == --help ]] && exit 0
  exit 2
fi
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
mkdir -p "$1"
output=$(cd -P -- "$1" && pwd)
shift
build=${BUILD-$root/build/package}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

pages=${CLASSROOM-}
if [[ -z $pages ]] && command -v emcmake >/dev/null; then
  pages=$root/build/web-pages
  "$root/scripts/build_web.sh" "$pages"
fi
[[ -n $pages ]] || echo 'without the classroom: Emscripten is missing'

configure() {
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNATTEN_SIM_UNITY=ON -DNATTEN_SIM_CUDA=OFF -DNATTEN_SIM_STATIC=ON \
    -DNATTEN_SIM_BUILD_TESTS=OFF -DNATTEN_SIM_BUILD_BENCH=OFF -DCMAKE_INSTALL_PREFIX=/usr -DNATTEN_SIM_CLASSROOM="$pages" "$@" >/dev/null
  cmake --build "$build"
}
try() {  # FOLDER of the package's usr/
  "$1/bin/natten-sim" count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4 --csv >"$scratch/answer"
  grep -q . "$scratch/answer"
  if [[ -n $pages ]]; then
    "$1/bin/natten-sim" classroom --out "$scratch/classroom" >/dev/null
    diff -r "$pages" "$scratch/classroom"
  fi
}

configure "$@" -DCMAKE_EXE_LINKER_FLAGS=
(cd "$build" && cpack -G DEB -B "$scratch/deb" >/dev/null)
cp "$scratch"/deb/*.deb "$output"
dpkg-deb -x "$output"/natten-sim_*.deb "$scratch/unpacked"
try "$scratch/unpacked/usr"
if command -v lintian >/dev/null; then lintian --fail-on warning "$output"/natten-sim_*.deb; else echo 'lintian is missing: not run'; fi

configure "$@" -DCMAKE_EXE_LINKER_FLAGS=-static
(cd "$build" && cpack -G TGZ -B "$scratch/tgz" >/dev/null)
cp "$scratch"/tgz/*.tar.gz "$output"
mkdir "$scratch/static"
tar -xzf "$output"/natten-sim-*.tar.gz -C "$scratch/static"
program=$(find "$scratch/static" -path '*/bin/natten-sim')
if ldd "$program" >"$scratch/libraries" 2>&1; then cat "$scratch/libraries"; echo 'the static program has libraries'; exit 1; fi
try "$(dirname -- "$(dirname -- "$program")")"

version=$("$program" --version | sed -n 's/^natten-sim //p')
"$root/scripts/sbom.py" "$version" "$output"/natten-sim_*.deb "$output"/natten-sim-*.tar.gz >"$output/natten-sim.cdx.json"
ls -l "$output"
