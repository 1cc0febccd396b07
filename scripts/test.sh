#!/usr/bin/env bash
# From a bare Debian 12 or Ubuntu 24.04 to every test, in one command. Exits as ctest does.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/test.sh [--no-install] [--strict] [--sanitized | --kernels] [--help] [ctest argument...]

Installs the packages that are missing for building and testing (says which; through sudo when not root),
builds the program and the tests of every commit into build/tests and runs them: no GPU and no CUDA are needed,
but where nvcc is, one kernel file of each pass is compiled and its machine code is read. Further arguments go to
ctest, e.g. -R property. What takes longer is for scripts/nightly.sh.

  --no-install  do not install: exit 2 and name what is missing, if anything is
  --strict      as CI builds: hardened, and warnings are errors where the compiler is g++ 12 (a later one may know
                more of them); without it neither is asked for, which takes a sixth less time to compile
  --sanitized   compiles core, io, sim, models and search a second time, with address and undefined-behaviour
                sanitizers, and runs their unit tests, and io's fuzz inputs, on that
  --kernels     instead: the product with its kernels (needs nvcc) in build/kernels, and the tests that need a GPU,
                which are skipped without one
USAGE
}

packages=install
sanitized=OFF
kernels=no
strict=no
ctest_arguments=()
for argument in "$@"; do
  case $argument in
    --no-install) packages=check ;;
    --sanitized) sanitized=ON ;;
    --kernels) kernels=yes ;;
    --strict) strict=yes ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) ctest_arguments+=("$argument") ;;
  esac
done

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
cd -P -- "$root"
# shellcheck source-path=SCRIPTDIR source=setup.sh
. scripts/setup.sh
ensure_packages tests "$packages"

build_and_test() {  # folder ctest-argument...
  run cmake --build "$1" --parallel "$(nproc)"
  run ctest --test-dir "$1" --output-on-failure --no-tests=error -j"$(nproc)" "${@:2}" \
    ${ctest_arguments[@]+"${ctest_arguments[@]}"}
}

if [[ $kernels == yes ]]; then
  configure build/kernels -DNATTEN_SIM_CUDA=ON -DNATTEN_SIM_BUILD_BENCH=ON
  build_and_test build/kernels -L kernels
  exit
fi
warnings=OFF hardened=OFF
if [[ $strict == yes ]]; then hardened=ON; fi
if [[ $strict == yes && $("${CXX:-g++}" -dumpversion) =~ ^12($|\.) ]]; then warnings=ON; fi
# Compiling takes longer than the tests: optimised lightly, both together are soonest done.
configure build/tests -DNATTEN_SIM_CUDA=OFF -DNATTEN_SIM_BUILD_BENCH=OFF -DNATTEN_SIM_WARNINGS=$warnings \
  -DNATTEN_SIM_WARNINGS_AS_ERRORS=$warnings -DNATTEN_SIM_HARDENED=$hardened \
  -DNATTEN_SIM_SANITIZED_ROOMS=$sanitized "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG" -DNATTEN_SIM_LIGHT_OPTIMISATION=-Og
build_and_test build/tests
