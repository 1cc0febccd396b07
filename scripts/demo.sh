#!/usr/bin/env bash
# From a bare Debian 12 or Ubuntu 24.04 to natten-sim's main job on a real model, in one command.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/demo.sh [--no-install] [--program FOLDER] [--help]

Installs the build packages that are missing (says which; through sudo when not root), builds into
build/demo, then counts tiles and searches parameters for Hunyuan Video's attention, and draws a mask.

  --no-install      do not install: exit 2 and name what is missing, if anything is
  --program FOLDER  build nothing: FOLDER holds natten-sim
USAGE
}

packages=install
folder=''
while (($# > 0)); do
  case $1 in
    --no-install) packages=check ;;
    --program)
      if [[ ! -x ${2:-}/natten-sim ]]; then
        printf 'demo: --program takes the folder of natten-sim, not "%s"\n' "${2:-}" >&2
        exit 2
      fi
      folder=$(cd -P -- "$2" && pwd)
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      printf 'demo: unknown argument: %s\n' "$1" >&2
      exit 2
      ;;
  esac
  shift
done

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
cd -P -- "$root"
# shellcheck source-path=SCRIPTDIR source=setup.sh
. scripts/setup.sh
if [[ -z $folder ]]; then
  ensure_packages build "$packages"
  folder=$PWD/build/demo/bin
  # Hardly optimised: half of what takes long to compile, and what follows takes seconds either way.
  configure build/demo -DNATTEN_SIM_BUILD_TESTS=OFF -DNATTEN_SIM_BUILD_BENCH=OFF -DNATTEN_SIM_CUDA=OFF \
    -DNATTEN_SIM_HARDENED=OFF -DNATTEN_SIM_WARNINGS=OFF "-DCMAKE_CXX_FLAGS_RELEASE=-Og -DNDEBUG" \
    -DNATTEN_SIM_LIGHT_OPTIMISATION=-Og -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$folder"
  run cmake --build build/demo --target natten-sim --parallel "$(nproc)"
fi
mkdir -p build/demo
PATH=$folder:$PATH

printf '\nHunyuan Video, 91%% sparsity: what one configuration costs.\n'
run natten-sim count --preset hunyuan-video -w 18 24 24 --q-tile 4 8 8 --kv-tile 2 8 8

printf '\nThe best configurations between 90%% and 92%% sparsity.\n'
run natten-sim search --preset hunyuan-video --sparsity 0.90:0.92 --top 5

printf '\nThe strides worth trying for that window and those tiles.\n'
run natten-sim search --preset hunyuan-video -w 18 24 24 --q-tile 4 8 8 --kv-tile 2 8 8 --ladder

printf '\nWhich KV tiles each Q tile visits, as a picture.\n'
run natten-sim count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4 --picture build/demo/mask.svg

printf '\nPicture: %s\nProgram: %s (--help tells the rest)\n' "$PWD/build/demo/mask.svg" "$folder/natten-sim"
