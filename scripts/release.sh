#!/usr/bin/env bash
# What a release has to pass beyond scripts/test.sh: hours on two cores. Each part can be run alone, and each
# prints what docs/reliability.md shows. Stops at the first part that fails; output is in build/reliability/.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/release.sh [tests|packages|sanitizers|threads|compilers|coverage|fuzz|soak|mutants]...

Without arguments all parts, in this order:
  tests       scripts/test.sh, from a bare system
  packages    the .deb, the static program, SBOM, wheel, site and the steps of Containerfile, each built and tried;
              the pages in Chromium, where Emscripten and Chromium are
  sanitizers  every test but those of whole installs, with address and undefined-behaviour sanitizers
  threads     tests that start threads, with the thread sanitizer
  compilers   g++ -O0, g++ -O3 and clang++ -O3, warnings are errors: the same bytes from all golden scenarios
  coverage    lines of core, models, sim and search that unit and property tests run (needs gcovr)
  fuzz        every fuzz target until 1,000,000 inputs each, with both sanitizers; libFuzzer where clang is
  soak        1,000,000 random cases of all property tests
  mutants     500 changed operators, constants and bounds, and whether a test notices (needs python3-clang)
Environment: FUZZ_RUNS, SOAK_CASES, MUTANTS change those numbers.
USAGE
}

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
cd -P -- "$root"
out=build/reliability
mkdir -p "$out"
jobs=$(nproc)

build() {  # folder option...
  local folder=$1
  shift
  cmake -S . -B "$folder" -G Ninja -DNATTEN_SIM_CUDA=OFF -DNATTEN_SIM_UNITY=ON "$@" >"$out/configure.log"
  cmake --build "$folder" --parallel "$jobs" --target "${targets[@]}" >"$out/build.log" || {
    tail -n 40 "$out/build.log"
    return 1
  }
}

tests() { scripts/test.sh; }

packages() {
  scripts/build_packages.sh "$out/packages" | tee "$out/packages.txt"
  if command -v emcmake >/dev/null && command -v chromium >/dev/null; then
    python3 tests/web/browser.py build/web-pages --screenshots "$out/screenshots" | tee -a "$out/packages.txt"
  fi
  scripts/build_wheels.sh "$out/wheels" python3 | tee -a "$out/packages.txt"
  python3 -m venv "$out/site-tools"
  "$out/site-tools/bin/pip" install -q mkdocs-material "$out"/wheels/natten_sim-*.whl
  PYTHON=$out/site-tools/bin/python scripts/build_site.sh "$out/site" | tail -n 1 | tee -a "$out/packages.txt"
  scripts/try_containerfile.py "$out/container" | tee -a "$out/packages.txt"
}

sanitizers() {
  targets=(all)
  build build/asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DNATTEN_SIM_SANITIZE=address,undefined
  # A wrong constant of the timed model is looked for by a hundred simulations, which no sanitizer learns from.
  ctest --test-dir build/asan -j"$jobs" --output-on-failure --no-tests=error \
    -E 'natten_checks|schedules_exact_solver|a constant of the timed model' | tee "$out/sanitizers.txt"
}

threads() {
  targets=(natten-sim search_tests study_tests golden_tests)
  build build/tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DNATTEN_SIM_SANITIZE=thread
  ctest --test-dir build/tsan -j"$jobs" --output-on-failure --no-tests=error -R '^(search|study|golden)_tests' |
    tee "$out/threads.txt"
}

scenarios() {  # program: what it answers to every golden scenario
  local scenario first
  for scenario in tests/golden/scenarios/*.txt; do
    IFS= read -r first <"$scenario"
    printf '%s\n' "$first"
    eval "\"$1\" ${first#\$ natten-sim }" 2>/dev/null || printf 'exit %s\n' $?
  done
}

compilers() {
  local name compiler level
  targets=(natten-sim)
  for name in g++-O0 g++-O3 clang++-O3; do
    compiler=${name%-*} level=-${name##*-}
    command -v "$compiler" >/dev/null || { echo "$name: no such compiler"; continue; }
    build "build/$name" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_CXX_FLAGS_RELEASE="$level" -DNATTEN_SIM_WARNINGS_AS_ERRORS=ON -DNATTEN_SIM_BUILD_TESTS=OFF
    scenarios "$PWD/build/$name/apps/natten-sim/natten-sim" >"$out/scenarios-$name.txt"
    cmp "$out/scenarios-g++-O0.txt" "$out/scenarios-$name.txt" || return 1
    echo "$name: $(wc -c <"$out/scenarios-$name.txt") bytes, the same" | tee -a "$out/compilers.txt"
  done
}

coverage() {
  local name
  targets=(core_tests io_tests models_tests sim_tests search_tests study_tests)
  for name in tests/property/*_test.cpp; do targets+=("property_$(basename "$name" .cpp)"); done
  build build/coverage -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DNATTEN_SIM_COVERAGE=ON
  find build/coverage -name '*.gcda' -delete
  for name in "${targets[@]}"; do "build/coverage/tests/$name" >"$out/coverage-$name.log" || return 1; done
  for name in core models sim search; do
    gcovr --root . --object-directory build/coverage --filter "$name/" --exclude-throw-branches \
      --print-summary --fail-under-line 90 >"$out/coverage-$name.txt"
    echo "$name: $(grep '^lines' "$out/coverage-$name.txt")" | tee -a "$out/coverage.txt"
  done
}

fuzz() {
  local runs=${FUZZ_RUNS:-1000000} name names=()
  for name in tests/fuzz/targets/*.cpp; do names+=("$(basename "$name" .cpp)"); done
  targets=("${names[@]/#/fuzz_}")
  if command -v clang++ >/dev/null; then
    CXX=clang++ build build/fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DNATTEN_SIM_FUZZER=ON \
      -DNATTEN_SIM_SANITIZE=address,undefined -DCMAKE_CXX_FLAGS=-fsanitize=fuzzer-no-link
  else
    build build/fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DNATTEN_SIM_SANITIZE=address,undefined
  fi
  : >"$out/fuzz.txt"
  for name in "${names[@]}"; do
    if command -v clang++ >/dev/null; then
      mkdir -p "$out/corpus/$name"
      build/fuzz/tests/fuzz/fuzz_"$name" -runs="$runs" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="$out/$name-" "$out/corpus/$name" tests/fuzz/corpus/"$name" 2>"$out/fuzz-$name.log" || {
        tail -n 40 "$out/fuzz-$name.log"
        return 1
      }
      echo "$name: $(grep -o 'number_of_executed_units: .*' "$out/fuzz-$name.log")" | tee -a "$out/fuzz.txt"
    else
      build/fuzz/tests/fuzz/fuzz_"$name" --runs "$runs" tests/fuzz/corpus/"$name" | tee -a "$out/fuzz.txt"
    fi
  done
}

soak() {
  targets=(soak)
  build build/soak -DCMAKE_BUILD_TYPE=Release
  build/soak/tests/soak --cases "${SOAK_CASES:-1000000}" | tee "$out/soak.txt"
}

mutants() {
  scripts/mutate.py build/mutants --count "${MUTANTS:-500}" --list "$out/mutants.jsonl" | tee "$out/mutants.txt"
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
