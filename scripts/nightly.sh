#!/usr/bin/env bash
# What a commit is tried with beyond scripts/test.sh: every night with new seeds, and in full before a release. What
# each part does is in scripts/nightly_parts.sh.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/nightly.sh [--release] [--seed N] [--fresh] [part]...
       scripts/nightly.sh --list

Without parts all of them, in this order; a part that fails does not keep later ones from running:
  tests       scripts/test.sh with a new seed, from a bare system
  nightly     the tests that are too long for every commit: ctest -C nightly -L nightly; where nvcc is, the
              machine code of all kernels
  soak        random cases of all property tests, round after round with new seeds
  server      four clients ask a server whose workers are killed at random
  fuzz        mutated inputs for every fuzz target, with sanitizers; libFuzzer where clang is
  sanitizers  every test but those of whole installs, with address and undefined-behaviour sanitizers, and with
              those of integer conversions where clang is
  threads     tests that start threads, with the thread sanitizer
  compilers   g++ -O0 (each file alone, tests too), g++ -O3 and clang++ -O3, benchmarks too, warnings are errors:
              the same bytes from all golden scenarios, searches with 1, 2 and 7 threads too
  kernels     everything compiled with CUDA (needs nvcc)
  coverage    lines of core, models, sim and search that unit and property tests run (needs gcovr)
  packages    the .deb, the static program, SBOM, wheel, site and the steps of Containerfile, each built and tried;
              the pages in Chromium, where Emscripten and Chromium are
  mutants     changed operators, constants and bounds, and whether a test notices (needs python3-clang)

A second call with the same commit and sizes goes on where the first one ended, with its seed. Writes the log of
each part and report.md to build/nightly/. Exits with 1 when a part failed.

  --release   full sizes; a part that passes stores its figures in docs/reliability/
  --seed N    this seed (decimal, below 2^32) instead of a new one or that of the run that goes on
  --fresh     begins again: repeats parts that passed, with a new seed
  --list      instead: each test that no commit runs, and the reason

Environment, with the values of a night (about 3 hours on two cores) and of a release (up to a day):
  SOAK_CASES       1000000   10000000   random cases, at least
  SOAK_SECONDS         900          0   ends the soak sooner; 0: no limit
  FUZZ_SECONDS          60              for each target
  FUZZ_RUNS              0    1000000   inputs for each target; if positive, instead of FUZZ_SECONDS
  SERVER_SECONDS       600       3600   of the server's clients
  SANITIZED_CASES      0.3          1   share of the random cases that tests with sanitizers draw
  MUTANTS               50        500   changed places, sampled
USAGE
}

all_parts=(tests nightly soak server fuzz sanitizers threads compilers kernels coverage packages mutants)
stored_parts=(tests nightly soak server fuzz sanitizers threads compilers coverage mutants)  # in docs/reliability/
release=no anew=no given_seed='' parts=()
while (($# > 0)); do
  case $1 in
    --release) release=yes ;;
    --fresh) anew=yes ;;
    --list) exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/list_nightly_tests.py" ;;
    --seed)
      [[ ${2-} =~ ^[0-9]{1,10}$ ]] || { usage >&2; exit 2; }
      given_seed=$((10#$2))
      shift
      ;;
    -h | --help) usage; exit 0 ;;
    *)
      [[ " ${all_parts[*]} " == *" $1 "* ]] || { usage >&2; exit 2; }
      parts+=("$1")
      ;;
  esac
  shift
done
((${#parts[@]} > 0)) || parts=("${all_parts[@]}")

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
cd -P -- "$root"
# shellcheck source-path=SCRIPTDIR source=setup.sh
. scripts/setup.sh
# shellcheck source-path=SCRIPTDIR source=nightly_parts.sh
. scripts/nightly_parts.sh
out=build/nightly
mkdir -p "$out"
exec 9>"$out/lock"
flock -n 9 || { echo 'nightly: another run is under way in build/nightly' >&2; exit 2; }
jobs=$(nproc)
patience=7200  # seconds of a sanitized test: the machine may be busy

SOAK_CASES=${SOAK_CASES-$([[ $release == yes ]] && echo 10000000 || echo 1000000)}
SOAK_SECONDS=${SOAK_SECONDS-$([[ $release == yes ]] && echo 0 || echo 900)}
FUZZ_SECONDS=${FUZZ_SECONDS-60}
FUZZ_RUNS=${FUZZ_RUNS-$([[ $release == yes ]] && echo 1000000 || echo 0)}
SERVER_SECONDS=${SERVER_SECONDS-$([[ $release == yes ]] && echo 3600 || echo 600)}
SANITIZED_CASES=${SANITIZED_CASES-$([[ $release == yes ]] && echo 1 || echo 0.3)}
MUTANTS=${MUTANTS-$([[ $release == yes ]] && echo 500 || echo 50)}

# The commit, and what stands in the clone besides. Figures of a run change nothing that it tries.
state_of_clone() {
  local paths=(. ':!docs/reliability' ':!docs/reliability-runs.md') changes
  changes=$(git diff HEAD -- "${paths[@]}" && git ls-files -o --exclude-standard -z -- "${paths[@]}" | xargs -0r sha1sum)
  if [[ -n $changes ]]; then changes=+$(sha1sum <<<"$changes" | cut -c 1-12); fi
  printf '%s%s\n' "$(git rev-parse HEAD)" "$changes"
}
state=$(state_of_clone)
stored_state='' seed=''
if [[ -f $out/run ]]; then read -r stored_state seed <"$out/run"; fi
if [[ $anew == yes || $stored_state != "$state" || (-n $given_seed && $given_seed != "$seed") ]]; then
  rm -rf "$out"/*.result "$out"/{soak,fuzz,mutants}
  seed=${given_seed:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
  printf '%s %s\n' "$state" "$seed" >"$out/run"
fi
export NATTEN_SIM_SEED=$seed
unset NATTEN_SIM_CASES

sizes_of() {  # part
  case $1 in
    soak) echo "$SOAK_CASES cases, $SOAK_SECONDS s" ;;
    fuzz) if ((FUZZ_RUNS > 0)); then echo "$FUZZ_RUNS inputs"; else echo "$FUZZ_SECONDS s"; fi ;;
    server) echo "$SERVER_SECONDS s" ;;
    sanitizers) echo "$SANITIZED_CASES of the cases" ;;
    mutants) echo "$MUTANTS mutants" ;;
    *) echo '' ;;
  esac
}
key_of() { printf '%s %s %s\n' "$state" "$seed" "$(sizes_of "$1")"; }  # part

# What became of a part: key, fate, seconds, amount, and the reason of a skip or the command that repeats a failure, a
# line each. False when nothing is stored for this commit, seed and sizes.
load_result() {  # part
  local lines
  [[ -f $out/$1.result ]] || return 1
  mapfile -t lines <"$out/$1.result"
  [[ ${lines[0]} == "$(key_of "$1")" ]] || return 1
  fate=${lines[1]} seconds=${lines[2]} amount=${lines[3]} note=${lines[4]}
}

report() {
  local part fate seconds amount note
  {
    printf '# Tests of %s\n\n' "${state/+/, changed: }"
    printf '%s, seed %s, %s, %s cores.\n\n' "$([[ $release == yes ]] && echo Release || echo Nightly)" "$seed" \
      "$(date -u '+%Y-%m-%d %H:%M UTC')" "$jobs"
    printf '| part | result | s | sizes | what was run |\n|---|---|---:|---|---|\n'
    for part in "${all_parts[@]}"; do
      load_result "$part" || fate='not run' seconds='' amount='' note=''
      if [[ $fate == skipped ]]; then fate+=": $note"; fi
      printf '| %s | %s | %s | %s | %s |\n' "$part" "$fate" "$seconds" "$(sizes_of "$part")" "$amount"
    done
    for part in "${all_parts[@]}"; do
      if ! load_result "$part" || [[ $fate != failed ]]; then continue; fi
      # shellcheck disable=SC2016 # the backticks are Markdown's
      printf '\n## %s failed\n\nRepeat it:\n\n```sh\n%s\n```\n\nThe end of `%s`:\n\n```\n%s\n```\n' \
        "$part" "$note" "$out/$part.log" "$(tail -n 20 "$out/$part.log")"
    done
  } >"$out/report.md.part"
  mv "$out/report.md.part" "$out/report.md"
}

store_figures() {  # part
  if [[ $release == yes && " ${stored_parts[*]} " == *" $1 "* ]]; then scripts/reliability_report.py --store "$1" "$out"; fi
}

# Runs a part and stores what became of it.
run_part() {  # part
  local part=$1 begin=$SECONDS status fate=failed
  rm -f "$out/$part".{result,amount,note}
  set +e  # else the commands of the part could fail without ending it
  (
    set -e
    "$part"
    store_figures "$part"
  ) >"$out/$part.log" 2>&1 9>&-
  status=$?
  set -e
  if ((status == 0)); then fate=passed; elif ((status == 77)) && [[ -f $out/$part.note ]]; then fate=skipped; fi
  if [[ $fate == failed && ! -f $out/$part.note ]]; then
    echo "scripts/nightly.sh$([[ $release == no ]] || echo ' --release') --seed $seed $part" >"$out/$part.note"
  fi
  printf '%s\n' "$(key_of "$part")" $fate $((SECONDS - begin)) "$(cat "$out/$part.amount" 2>/dev/null || true)" \
    "$(cat "$out/$part.note" 2>/dev/null || true)" >"$out/$part.result.part"
  mv "$out/$part.result.part" "$out/$part.result"
}

echo "seed $seed, commit $state"
export out seed
failed=no
for part in "${parts[@]}"; do
  if load_result "$part" && [[ $fate == passed ]]; then
    echo "== $part passed before, in $seconds s; --fresh repeats it"
    store_figures "$part"
    continue
  fi
  echo "== $part, log: $out/$part.log"
  run_part "$part"
  load_result "$part"
  echo "   $fate after $seconds s${amount:+: $amount}${note:+; $note}"
  if [[ $fate == failed ]]; then
    failed=yes
    tail -n 40 "$out/$part.log"
  fi
  report
done
report
if [[ $release == yes && -x build/release/apps/natten-sim/natten-sim ]]; then
  scripts/update_documents.py build/release/apps/natten-sim docs/reliability-runs.md
fi
echo "report: $out/report.md"
[[ $failed == no ]]
