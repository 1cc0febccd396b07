#!/usr/bin/env bash
# What a release has to pass beyond scripts/test.sh: hours on two cores. Each part can be run alone. A part that passes
# stores its figures in docs/reliability/, from which the tables of docs/reliability.md are made. Stops at the first
# part that fails; output is in build/reliability/.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/release.sh [tests|packages|sanitizers|threads|compilers|coverage|fuzz|soak|mutants]...

Without arguments all parts, in this order:
  tests       scripts/test.sh, from a bare system
  packages    the .deb, the static program, SBOM, wheel, site and the steps of Containerfile, each built and tried;
              the pages in Chromium, where Emscripten and Chromium are
  sanitizers  every test but those of whole installs, with address and undefined-behaviour sanitizers, and with
              those of integer conversions where clang is
  threads     tests that start threads, with the thread sanitizer
  compilers   g++ -O0, g++ -O3 and clang++ -O3, warnings are errors: the same bytes from all golden scenarios,
              searches with 1, 2 and 7 threads too
  coverage    lines of core, models, sim and search that unit and property tests run (needs gcovr)
  fuzz        every fuzz target until 1,000,000 inputs each, or FUZZ_SECONDS if that is sooner, with the same
              sanitizers; libFuzzer where clang is
  soak        1,000,000 random cases of all property tests
  mutants     500 changed operators, constants and bounds, and whether a test notices (needs python3-clang)
Environment: FUZZ_RUNS, FUZZ_SECONDS (of each target; 0: no limit), SOAK_CASES, MUTANTS change those numbers.
USAGE
}

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
cd -P -- "$root"
out=build/reliability
mkdir -p "$out"
jobs=$(nproc)
patience=7200  # seconds of a sanitized test: the machine may be busy

build() {  # folder option...
  local folder=$1
  shift
  cmake -S . -B "$folder" -G Ninja -DNATTEN_SIM_CUDA=OFF -DNATTEN_SIM_UNITY=ON "$@" >"$out/configure.log"
  cmake --build "$folder" --parallel "$jobs" --target "${targets[@]}" >"$out/build.log" || {
    tail -n 40 "$out/build.log"
    return 1
  }
}

store() { scripts/reliability_report.py --store "$1" "$out"; }  # part

# The compiler of a build folder, and what is special about it: "Clang 14.0.6, address".
describe() {  # folder words
  local compiler
  compiler=$(sed -n 's/^set(CMAKE_CXX_COMPILER_\(ID\|VERSION\) "\(.*\)")$/\2/p' "$1"/CMakeFiles/*/CMakeCXXCompiler.cmake | paste -sd ' ')
  printf '%s\n' "${compiler/GNU/g++}${2:+, $2}"
}

with_clang() { command -v clang++ >/dev/null; }

tests() {
  scripts/test.sh --strict | tee "$out/tests.txt"
  echo "build: $(describe build/release)" >"$out/tests-build.txt"
  store tests
}

# One folder for the tests and the fuzz targets. Its name differs from that of scripts/test.sh --sanitized.
sanitized=build/sanitized-g++
if with_clang; then sanitized=build/sanitized-clang; fi
sanitized_build() {  # part
  local options=(-DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -g1" -DNATTEN_SIM_HARDENED=OFF) kinds=address,undefined
  if with_clang; then
    kinds+=,implicit-conversion
    options+=(-DCMAKE_CXX_COMPILER=clang++ -DNATTEN_SIM_FUZZER=ON
      "-DCMAKE_CXX_FLAGS=-fsanitize=fuzzer-no-link -fsanitize-ignorelist=$PWD/tests/fuzz/foreign_conversions.txt")
  fi
  build "$sanitized" "${options[@]}" -DNATTEN_SIM_SANITIZE=$kinds
  echo "build: $(describe "$sanitized" "sanitizers: ${kinds//,/, }")" >"$out/$1-build.txt"
}

packages() {
  scripts/build_packages.sh "$out/packages" | tee "$out/packages.txt"
  if command -v emcmake >/dev/null && command -v chromium >/dev/null; then
    python3 tests/web/browser.py build/web-pages --screenshots "$out/screenshots" \
      --program build/package/apps/web/natten_sim_lessons | tee -a "$out/packages.txt"
  fi
  scripts/build_wheels.sh "$out/wheels" python3 | tee -a "$out/packages.txt"
  python3 -m venv "$out/site-tools"
  "$out/site-tools/bin/pip" install -q mkdocs-material "$out"/wheels/natten_sim-*.whl
  PYTHON=$out/site-tools/bin/python scripts/build_site.sh "$out/site" | tail -n 1 | tee -a "$out/packages.txt"
  scripts/try_containerfile.py "$out/container" | tee -a "$out/packages.txt"
}

sanitizers() {
  targets=(all)
  sanitized_build sanitizers
  # Properties over a few hundred cases of theirs: the soak draws the many, and a sanitizer sees a path the first time.
  export RC_PARAMS="max_success=300 max_size=100"
  # Wrong constants of the timed model and its scores take hundreds of simulations, which no sanitizer learns from.
  ctest --test-dir "$sanitized" -j"$jobs" --timeout "$patience" --output-on-failure --no-tests=error \
    -E 'natten_checks|schedules_exact_solver|a constant of the timed model|the timed model holds its scores' | tee "$out/sanitizers.txt"
  store sanitizers
}

threads() {
  targets=(natten-sim search_tests study_tests golden_tests)
  build build/tsan -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -g1" -DNATTEN_SIM_HARDENED=OFF \
    -DNATTEN_SIM_SANITIZE=thread
  echo "build: $(describe build/tsan "sanitizer: thread")" >"$out/threads-build.txt"
  ctest --test-dir build/tsan -j"$jobs" --timeout "$patience" --output-on-failure --no-tests=error \
    -R '^(search|study|golden)_tests' | tee "$out/threads.txt"
  store threads
}

scenarios() {  # program: what it answers to every golden scenario, searches also with more threads
  local scenario first more
  for scenario in tests/golden/scenarios/*.txt; do
    IFS= read -r first <"$scenario"
    for more in '' ' --threads 1' ' --threads 2' ' --threads 7'; do
      if [[ -n $more && $first != '$ natten-sim search '* ]]; then continue; fi
      printf '%s\n' "$first$more"
      eval "\"$1\" ${first#\$ natten-sim }$more" 2>/dev/null || printf 'exit %s\n' $?
    done
  done
}

compilers() {
  local name compiler folder
  targets=(natten-sim)
  : >"$out/compilers.txt"
  for name in g++-O0 g++-O3 clang++-O3; do
    compiler=${name%-*} folder=build/$name
    command -v "$compiler" >/dev/null || { echo "$name: no such compiler"; continue; }
    # A build type that adds no flags: this level is that of every file.
    build "$folder" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="-${name##*-}" \
      -DNATTEN_SIM_WARNINGS_AS_ERRORS=ON -DNATTEN_SIM_BUILD_TESTS=OFF
    scenarios "$PWD/$folder/apps/natten-sim/natten-sim" >"$out/scenarios-$name.txt"
    cmp "$out/scenarios-g++-O0.txt" "$out/scenarios-$name.txt" || return 1
    echo "$name ($(describe "$folder")): $(wc -c <"$out/scenarios-$name.txt") bytes, the same" | tee -a "$out/compilers.txt"
  done
  store compilers
}

coverage() {
  local name
  targets=(core_tests io_tests models_tests sim_tests search_tests study_tests)
  for name in tests/property/*_test.cpp; do targets+=("property_$(basename "$name" .cpp)"); done
  build build/coverage -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DNATTEN_SIM_COVERAGE=ON
  find build/coverage -name '*.gcda' -delete
  for name in "${targets[@]}"; do "build/coverage/tests/$name" >"$out/coverage-$name.log" || return 1; done
  : >"$out/coverage.txt"
  for name in core models sim search; do
    # A loop of the tests turns 6e9 times, which gcovr takes for a fault of gcov.
    gcovr --root . --object-directory build/coverage --filter "$name/" --exclude-throw-branches \
      --gcov-ignore-parse-errors=suspicious_hits.warn_once_per_file \
      --print-summary --fail-under-line 90 >"$out/coverage-$name.txt"
    echo "$name: $(grep '^lines' "$out/coverage-$name.txt")" | tee -a "$out/coverage.txt"
  done
  store coverage
}

# One target until it has tried enough; its log ends as the driver's does. Paths are absolute: the target of command
# lines runs them in a folder of its own.
fuzz_one() {  # target
  local program=$sanitized/tests/fuzz/fuzz_$1 corpus=$PWD/tests/fuzz/corpus/$1 seconds=${FUZZ_SECONDS:-0}
  if ! with_clang; then
    "$program" --runs "${FUZZ_RUNS:-1000000}" "$corpus"
    return
  fi
  local found=$PWD/$out
  mkdir -p "$found/corpus/$1"
  # What was answered of old is replayed first: an input that once failed is one of those.
  "$program" -timeout=60 "$corpus"/* && "$program" -runs="${FUZZ_RUNS:-1000000}" -max_total_time="$seconds" -timeout=60 \
    -rss_limit_mb=4096 -max_len=16384 -reload=0 -artifact_prefix="$found/$1-" "$found/corpus/$1" "$corpus"
}

fuzz() {
  local name names=()
  for name in tests/fuzz/targets/*.cpp; do names+=("$(basename "$name" .cpp)"); done
  targets=("${names[@]/#/fuzz_}")
  sanitized_build fuzz
  rm -f "$out"/fuzz-*.log
  for name in "${names[@]}"; do
    fuzz_one "$name" >"$out/fuzz-$name.log" 2>&1 || {
      tail -n 40 "$out/fuzz-$name.log"
      return 1
    }
    echo "$name: $(tail -n 1 "$out/fuzz-$name.log")"
  done
  store fuzz
}

soak() {
  targets=(soak)
  build build/soak -DCMAKE_BUILD_TYPE=Release
  build/soak/tests/soak --cases "${SOAK_CASES:-1000000}" | tee "$out/soak.txt"
  store soak
}

mutants() {
  scripts/mutate.py build/mutants --count "${MUTANTS:-500}" --list "$out/mutants.jsonl" | tee "$out/mutants.txt"
  store mutants
}

parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(tests packages sanitizers threads compilers coverage fuzz soak mutants)
for part in "${parts[@]}"; do
  case $part in
    tests | packages | sanitizers | threads | compilers | coverage | fuzz | soak | mutants) ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
done
for part in "${parts[@]}"; do
  echo "== $part"
  "$part"
done
if [[ -x build/release/apps/natten-sim/natten-sim ]]; then
  scripts/update_documents.py build/release/apps/natten-sim docs/reliability.md
fi
