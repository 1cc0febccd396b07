# shellcheck shell=bash disable=SC2154
# The parts of scripts/nightly.sh, which sources this: one function each, in a shell of its own that ends at the first
# command that fails. Standard output and error are the part's log.
# It sets part, out, seed, jobs, patience and the sizes of its usage text; the current folder is the clone's.

# What a part says of itself, for the report.
amount() { printf '%s\n' "$*" >"$out/$part.amount"; }
repeat_by() { printf '%s\n' "$*" >"$out/$part.note"; }
skip() {
  printf '%s\n' "$*" >"$out/$part.note"
  exit 77
}
need() { command -v "$1" >/dev/null || skip "$1 is missing"; }
with_clang() { command -v clang++ >/dev/null; }
sum() { awk '{ sum += $1 } END { print sum + 0 }'; }

build() {  # folder option...: of what stands in targets
  cmake -S . -B "$1" -G Ninja -DNATTEN_SIM_CUDA=OFF -DNATTEN_SIM_UNITY=ON \
    "-DCMAKE_CXX_COMPILER_LAUNCHER=$(compiler_launcher)" "${@:2}"
  cmake --build "$1" --parallel "$jobs" --target "${targets[@]}"
}
release_build() {  # target...: in the folder of scripts/test.sh
  [[ -f build/release/CMakeCache.txt ]] || configure build/release
  cmake --build build/release --parallel "$jobs" --target "$@"
}

# The compiler of a build folder, and what is special about it: "Clang 14.0.6, address".
describe() {  # folder words
  local compiler
  compiler=$(sed -n 's/^set(CMAKE_CXX_COMPILER_\(ID\|VERSION\) "\(.*\)")$/\2/p' "$1"/CMakeFiles/*/CMakeCXXCompiler.cmake | paste -sd ' ')
  printf '%s\n' "${compiler/GNU/g++}${2:+, $2}" | tee "$out/$part.build"
}

# After a command whose output ends with ctest's summary: what was run, and how failures are repeated.
judge_ctest() {  # status folder option...
  local counts failed
  counts=$(sed -n 's/.* \([0-9]*\) tests\? failed out of \([0-9]*\)$/\2 tests, \1 failed/p' "$out/$part.log" | tail -n 1)
  [[ -z $counts ]] || amount "$counts, $(grep -c '(Skipped)$' "$out/$part.log" || true) skipped"
  (($1 != 0)) || return 0
  failed=$(sed '1,/^The following tests FAILED:/d' "$out/$part.log" | sed -n '/(Skipped)/!s/^\s*\([0-9]\+\) - .*/\1/p' | paste -sd ,)
  [[ -z $failed ]] || repeat_by "NATTEN_SIM_SEED=$seed${NATTEN_SIM_CASES:+ NATTEN_SIM_CASES=$NATTEN_SIM_CASES}" \
    "ctest --test-dir $2${3:+ ${*:3}} --output-on-failure -I ,0,,$failed"
  return "$1"
}
# Options before -- give tests their numbers, by which they are repeated; the others choose among them.
run_ctest() {  # folder option... -- option...
  local folder=$1 numbering=() status=0
  shift
  while [[ $1 != -- ]]; do numbering+=("$1"); shift; done
  shift
  ctest --test-dir "$folder" -j"$jobs" --timeout "$patience" --output-on-failure --no-tests=error \
    ${numbering[@]+"${numbering[@]}"} "$@" || status=$?
  judge_ctest $status "$folder" ${numbering[@]+"${numbering[@]}"}
}

tests() {
  local status=0
  scripts/test.sh --strict || status=$?
  judge_ctest $status build/tests
  describe build/tests
}

nightly() {
  release_build all
  describe build/release
  run_ctest build/release -C nightly -- -L nightly
}

soak_round() {  # seed
  local log=$out/soak/$1
  if NATTEN_SIM_SEED=$1 NATTEN_SIM_CASES=10 build/release/tests/property_tests >"$log.part" 2>&1; then
    mv "$log.part" "$log.log"
  else
    echo "$1" >>"$out/soak/failed"
    return 255  # xargs starts no more
  fi
}
cases_of() { cat "$@" | grep -o 'OK, passed [0-9]* test' | cut -d ' ' -f 3 | sum; }
soak() {
  local next=$seed cases=0 seconds=0 begin
  release_build property_tests
  mkdir -p "$out/soak"
  rm -f "$out"/soak/{failed,*.part}
  export -f soak_round
  while [[ -f $out/soak/$next.log ]]; do next=$((next + 1)); done
  if ((next > seed)); then cases=$(cases_of "$out"/soak/*.log) seconds=$(cat /dev/null "$out"/soak/second[s] | sum); fi
  while ((cases < SOAK_CASES && (SOAK_SECONDS == 0 || seconds < SOAK_SECONDS))); do
    begin=$SECONDS
    if ! seq "$next" "$((next + jobs - 1))" | xargs -P "$jobs" -I SEED bash -c 'soak_round SEED'; then
      read -r next <"$out/soak/failed"
      amount "$(cases_of "$out"/soak/[0-9]*.* /dev/null) of $SOAK_CASES cases, from seed $seed"
      repeat_by "NATTEN_SIM_SEED=$next NATTEN_SIM_CASES=10 build/release/tests/property_tests"
      cat "$out/soak/$next.part"
      return 1
    fi
    next=$((next + jobs)) cases=$(cases_of "$out"/soak/*.log)
    echo $((SECONDS - begin)) >>"$out/soak/seconds"
    seconds=$((seconds + SECONDS - begin))
    ((cases > 0)) || { echo 'property_tests prints "OK, passed N tests" for no property'; return 1; }
    echo "$cases cases in $seconds s, seeds $seed to $((next - 1))"
  done
  amount "$cases of $SOAK_CASES cases, seeds $seed to $((next - 1))"
}

server() {
  need python3
  release_build natten-sim
  scripts/soak_server.py build/release/apps/natten-sim/natten-sim --seconds "$SERVER_SECONDS" --seed "$seed" >"$out/server.json"
  cat "$out/server.json"
  amount "$(python3 -c 'import json, sys; found = json.load(sys.stdin); print(found["good"], "good requests,", found["kills"], "workers killed")' <"$out/server.json")"
}

# One folder for the tests and the fuzz targets.
sanitized=build/sanitized-g++
if with_clang; then sanitized=build/sanitized-clang; fi
sanitized_build() {  # target...
  local options=(-DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -g1" -DNATTEN_SIM_HARDENED=OFF) kinds=address,undefined
  if with_clang; then
    kinds+=,implicit-conversion
    options+=(-DCMAKE_CXX_COMPILER=clang++ -DNATTEN_SIM_FUZZER=ON
      "-DCMAKE_CXX_FLAGS=-fsanitize=fuzzer-no-link -fsanitize-ignorelist=$PWD/tests/fuzz/foreign_conversions.txt")
  fi
  targets=("$@")
  build "$sanitized" "${options[@]}" -DNATTEN_SIM_SANITIZE=$kinds
  describe "$sanitized" "sanitizers: ${kinds//,/, }"
}

# One target until it has tried enough; its log ends as the driver's does. Paths are absolute: the target of command
# lines runs them in a folder of its own.
fuzz_one() {  # target
  local corpus=$PWD/tests/fuzz/corpus/$1 found=$PWD/$out/fuzz/$1 log=$PWD/$out/fuzz/$1.log
  local programs=$PWD/$sanitized/tests/fuzz command size=(--seconds "$FUZZ_SECONDS")
  if [[ -f $log ]]; then return; fi
  mkdir -p "$found/corpus"
  if ((FUZZ_RUNS > 0)); then size=(--runs "$FUZZ_RUNS"); fi
  command=("$programs/fuzz_targets" "$1" "${size[@]}" --seed "$seed" "$corpus")
  if with_clang; then
    # What was answered of old is replayed first: an input that once failed is one of those.
    "$programs/fuzz_$1" -timeout=60 "$corpus"/* >"$log.part" 2>&1 ||
      { echo "$programs/fuzz_$1 -timeout=60 $corpus/*" >>"$out/fuzz/failed"; return; }
    size=(-max_total_time="$FUZZ_SECONDS")
    if ((FUZZ_RUNS > 0)); then size=(-runs="$FUZZ_RUNS"); fi
    command=("$programs/fuzz_$1" -seed="$((seed + 1))" "${size[@]}" -timeout=60 -rss_limit_mb=4096 -max_len=16384
      -reload=0 -artifact_prefix="$found/" "$found/corpus" "$corpus")
  fi
  if (cd "$found" && "${command[@]}") >>"$log.part" 2>&1; then
    mv "$log.part" "$log"
  else
    echo "${command[*]}" >>"$out/fuzz/failed"
  fi
}
fuzz() {
  local names
  release_build fuzz_targets  # knows their names; a build for libFuzzer has no such program
  mapfile -t names < <(build/release/tests/fuzz/fuzz_targets --list)
  ((${#names[@]} > 0)) || { echo 'fuzz_targets --list names no target'; return 1; }
  if with_clang; then sanitized_build "${names[@]/#/fuzz_}"; else sanitized_build fuzz_targets; fi
  if [[ $(cat "$out/fuzz/sizes" 2>/dev/null) != "$(sizes_of fuzz)" ]]; then rm -rf "$out/fuzz"; fi
  mkdir -p "$out/fuzz"
  sizes_of fuzz >"$out/fuzz/sizes"
  rm -f "$out"/fuzz/{failed,*.part}
  export -f fuzz_one with_clang
  export sanitized FUZZ_SECONDS FUZZ_RUNS
  printf '%s\n' "${names[@]}" | xargs -P "$jobs" -I NAME bash -c 'fuzz_one NAME'
  tail -v -n 1 "$out"/fuzz/*.log || true
  amount "${#names[@]} targets, $(cat /dev/null "$out"/fuzz/*.log |
    sed -n 's/^Done \([0-9]*\) runs in.*/\1/p; s/.* \([0-9]*\) mutated inputs in .*/\1/p' | sum) inputs"
  if [[ -f $out/fuzz/failed ]]; then
    repeat_by "$(sed ':a; N; $!ba; s/\n/; /g' "$out/fuzz/failed")"
    tail -v -n 40 "$out"/fuzz/*.part
    return 1
  fi
}

sanitizers() {
  sanitized_build all
  # A sanitizer sees a path the first time: the soak draws the many cases.
  export NATTEN_SIM_CASES=$SANITIZED_CASES
  run_ctest "$sanitized" -- -E 'natten_checks|schedules_exact_solver'
}

threads() {
  targets=(natten-sim search_tests study_tests golden_tests)
  build build/tsan -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -g1" -DNATTEN_SIM_HARDENED=OFF \
    -DNATTEN_SIM_SANITIZE=thread
  describe build/tsan "sanitizer: thread"
  # Workers with a limit of memory cannot have the sanitizer's shadow.
  run_ctest build/tsan -- -R '^(search|study|golden)_tests' -E '^golden_tests\.(program|serve|serve_http)_test$'
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
  local name compiler folder options built=()
  targets=(all)
  for name in g++-O0 g++-O3 clang++-O3; do
    compiler=${name%-*} folder=build/$name
    command -v "$compiler" >/dev/null || { echo "$name: no such compiler"; continue; }
    # The first compiles each file alone, tests too: a file in a batch may lean on its neighbours' headers.
    options=(-DNATTEN_SIM_BUILD_TESTS=OFF)
    if [[ $name == g++-O0 ]]; then options=(-DNATTEN_SIM_UNITY=OFF); fi
    # A build type that adds no flags: this level is that of every file.
    build "$folder" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="-${name##*-}" \
      -DNATTEN_SIM_WARNINGS_AS_ERRORS=ON -DNATTEN_SIM_BUILD_BENCH=ON "${options[@]}"
    scenarios "$PWD/$folder/apps/natten-sim/natten-sim" >"$out/scenarios-$name.txt"
    cmp "$out/scenarios-g++-O0.txt" "$out/scenarios-$name.txt"
    echo "$name ($(describe "$folder")): $(wc -c <"$out/scenarios-$name.txt") bytes, the same"
    built+=("$name")
  done
  amount "${built[*]}: $(wc -c <"$out/scenarios-g++-O0.txt") bytes, the same"
}

kernels() {
  local status=0
  need nvcc
  scripts/test.sh --kernels || status=$?
  judge_ctest $status build/kernels
  describe build/kernels
}

coverage() {
  local name
  need gcovr
  targets=(core_tests io_tests models_tests sim_tests search_tests study_tests property_tests)
  build build/coverage -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DNATTEN_SIM_COVERAGE=ON
  find build/coverage -name '*.gcda' -delete
  for name in "${targets[@]}"; do "build/coverage/tests/$name"; done
  : >"$out/coverage.txt"
  for name in core models sim search; do
    # A loop of the tests turns 6e9 times, which gcovr takes for a fault of gcov.
    gcovr --root . --object-directory build/coverage --filter "$name/" --exclude-throw-branches \
      --gcov-ignore-parse-errors \
      --print-summary --fail-under-line 90 >"$out/coverage-$name.txt" || { tail -n 5 "$out/coverage-$name.txt"; return 1; }
    echo "$name: $(grep '^lines' "$out/coverage-$name.txt")" | tee -a "$out/coverage.txt"
  done
  amount "$(sed -n 's/^\(.*\): lines: \([0-9.]*%\).*/\1 \2/p' "$out/coverage.txt" | paste -sd ,)"
}

packages() {
  local folder=$out/packages
  need dpkg-deb
  scripts/build_packages.sh "$folder"
  if command -v emcmake >/dev/null && command -v chromium >/dev/null; then
    python3 tests/web/browser.py build/web-pages --screenshots "$out/screenshots" \
      --program build/package/apps/web/natten_sim_lessons
  fi
  scripts/build_wheels.sh "$out/wheels" python3
  python3 -m venv "$out/site-tools"
  "$out/site-tools/bin/pip" install -q mkdocs-material "$out"/wheels/natten_sim-*.whl
  PYTHON=$out/site-tools/bin/python scripts/build_site.sh "$out/site" | tail -n 1
  scripts/try_containerfile.py "$out/container"
  amount "$(find "$folder" "$out/wheels" -maxdepth 1 -type f | wc -l) files"
}

mutants() {
  python3 -c 'import clang.cindex' 2>/dev/null || skip "libclang for Python is missing"
  need prlimit
  mkdir -p "$out/mutants"
  scripts/mutate.py build/mutants --count "$MUTANTS" --seed "$seed" --jobs "$jobs" --launcher "$(compiler_launcher)" \
    --list "$out/mutants/list.jsonl"
  amount "$(tail -n 1 "$out/$part.log")"
}
