#!/usr/bin/env bash
# From a bare Debian 12 or Ubuntu 24.04 to every test, in one command. Exits as ctest does.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/test.sh [--no-install] [--strict] [--sanitized] [--help] [ctest argument...]

Installs the packages that are missing for building and testing (says which; through sudo when not root),
builds Release into build/release and runs every test. Further arguments go to ctest, e.g. -R property.

  --no-install  do not install: exit 2 and name what is missing, if anything is
  --strict      warnings are errors, where the compiler is g++ 12, as CI has it: a later one may know more of them
  --sanitized   instead: every fuzz target with its seeds, and the unit tests of core, io, sim, models and search, with
                address and undefined-behaviour sanitizers in build/sanitized
USAGE
}

packages=install
sanitized=no
strict=no
ctest_arguments=()
for argument in "$@"; do
  case $argument in
    --no-install) packages=check ;;
    --sanitized) sanitized=yes ;;
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

if [[ $sanitized == yes ]]; then
  configure build/sanitized -DNATTEN_SIM_CUDA=OFF -DNATTEN_SIM_BUILD_BENCH=OFF -DNATTEN_SIM_HARDENED=OFF \
    -DNATTEN_SIM_SANITIZE=address,undefined "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -g1"
  targets=(core_tests io_tests sim_tests models_tests search_tests)
  for target in tests/fuzz/targets/*.cpp; do targets+=("fuzz_$(basename "$target" .cpp)"); done
  run cmake --build build/sanitized --parallel "$(nproc)" --target "${targets[@]}"
  run ctest --test-dir build/sanitized --output-on-failure --no-tests=error -j"$(nproc)" \
    -R '^(fuzz_|(core|io|sim|models|search)_tests)' ${ctest_arguments[@]+"${ctest_arguments[@]}"}
  exit
fi
warnings=OFF
if [[ $strict == yes && $("${CXX:-g++}" -dumpversion) =~ ^12($|\.) ]]; then warnings=ON; fi
configure build/release -DNATTEN_SIM_WARNINGS_AS_ERRORS=$warnings
run cmake --build build/release --parallel "$(nproc)"
run ctest --test-dir build/release --output-on-failure --no-tests=error -j"$(nproc)" \
  ${ctest_arguments[@]+"${ctest_arguments[@]}"}
