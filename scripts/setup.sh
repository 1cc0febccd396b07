#!/usr/bin/env bash
# What demo.sh and test.sh need before they can start: packages, and a configured build folder.
#
# Run it to set a machine up for building (and, with --tests, for the tests); source it for its functions:
#   ensure_packages build|tests install|check   installs, or only looks for, what is missing
#   configure BUILD_DIR [cmake argument...]     configures the `release` preset into BUILD_DIR
#   run COMMAND [argument...]                   echoes a command as a person would type it, then runs it
# Nothing missing: no output. Something missing that it may not or cannot install: exit 2.

setup_usage() {
  cat <<'USAGE'
usage: scripts/setup.sh [--tests] [--no-install] [--help]

Finds what natten-sim needs for building and installs what is missing with apt-get
(Debian 12, Ubuntu 24.04 or later; through sudo when not root). Elsewhere it only checks.

  --tests       also what the tests and benchmarks need
  --no-install  only check; exit 2 and name what is missing
USAGE
}

setup_say() { printf 'setup: %s\n' "$*" >&2; }
setup_fail() {
  setup_say "$@"
  exit 2
}

# package|command or header that a machine without that package may have all the same
setup_requirements() {
  cat <<'TABLE'
g++|command g++
cmake|command cmake
ninja-build|command ninja ninja-build
libcli11-dev|header CLI/CLI.hpp
nlohmann-json3-dev|header nlohmann/json.hpp
libboost-dev|header boost/graph/adjacency_list.hpp
libeigen3-dev|header eigen3/Eigen/QR Eigen/QR
libfmt-dev|header fmt/format.h
libtomlplusplus-dev|header toml++/toml.h
TABLE
  if [[ $1 == tests ]]; then
    cat <<'TABLE'
catch2|header catch2/catch_all.hpp catch2/catch.hpp
librapidcheck-dev|header rapidcheck.h
librsvg2-bin|command rsvg-convert resvg inkscape magick
libbenchmark-dev|header benchmark/benchmark.h
git|command git
python3|command python3
python3-pip|command pip3 pip
TABLE
  fi
}

any_command() {
  local name
  for name in "$@"; do
    if command -v "$name" >/dev/null; then return 0; fi
  done
  return 1
}

any_header() {
  local name
  for name in "$@"; do
    if printf '#include <%s>\n' "$name" | g++ -std=c++20 -M -x c++ - >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

package_installed() {
  local status
  status=$(dpkg-query --show --showformat='${db:Status-Status}\n' "$1" 2>/dev/null) || return 1
  [[ $'\n'$status$'\n' == *$'\ninstalled\n'* ]]
}

# Whether this distribution has every package, recent enough, under the names above.
known_distribution() {
  any_command dpkg-query && any_command apt-get && (
    ID='' VERSION_ID=''
    # shellcheck source=/dev/null
    . /etc/os-release 2>/dev/null || exit 1
    major=${VERSION_ID%%.*}
    case $ID in
      debian) ((${major:-99} >= 12)) || exit 1 ;; # testing and unstable state no version
      ubuntu) ((${major:-0} >= 24)) || exit 1 ;;
      *) exit 1 ;;
    esac
  )
}

version_at_least() { [[ $(printf '%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# What the first compiler, cmake and ninja on PATH are, whoever installed them.
check_tools() {
  local problems=() version
  if [[ -n ${CXX:-} ]]; then
    setup_say "CXX=$CXX is used instead of g++; not checked: whether it knows C++20"
  elif ! any_command g++; then
    problems+=("g++ 12 or later: not found")
  else
    version=$(g++ -dumpfullversion -dumpversion 2>/dev/null || echo 0)
    version_at_least "$version" 12 || problems+=("g++ 12 or later: $(command -v g++) is $version")
  fi
  if ! any_command cmake; then
    problems+=("cmake 3.25 or later: not found")
  else
    version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p')
    version_at_least "${version:-0}" 3.25 || problems+=("cmake 3.25 or later: $(command -v cmake) is ${version:-broken}")
  fi
  any_command ninja ninja-build || problems+=("ninja: not found")
  if ((${#problems[@]} > 0)); then
    for version in "${problems[@]}"; do setup_say "needed: $version"; done
    exit 2
  fi
}

apt_get_install() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3) plan errors
  local by_hand="apt-get update && apt-get install --no-install-recommends $*"
  setup_say "missing: $*"
  if ((EUID != 0)); then
    any_command sudo ||
      setup_fail "installing takes root or sudo, and there is neither; ask an administrator for: $by_hand"
    setup_say "not root, so sudo runs apt-get"
    sudo -n true 2>/dev/null || sudo -v || setup_fail "sudo refused; ask an administrator for: $by_hand"
    apt=(sudo "${apt[@]}")
  fi
  setup_say "refreshing apt's package lists"
  # The packages may come from other sources than the one that failed.
  "${apt[@]}" -o APT::Update::Error-Mode=any update >&2 || setup_say "not every list could be refreshed; trying all the same"
  plan=$(apt-get -qq --simulate install --no-install-recommends "$@" 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p' | sort | xargs) ||
    setup_fail "apt-get knows no way to install them: is there a network, and a complete package source in /etc/apt?"
  setup_say "installing, with what they depend on: $plan"
  {
    errors=$("${apt[@]}" -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install --no-install-recommends "$@" 2>&1 >&3 3>&-)
  } 3>&2 || {
    printf '%s\n' "$errors" | head -n 8 >&2
    setup_fail "apt-get could not install them (its first messages are above): is there a network? By hand: $by_hand"
  }
}

ensure_known_distribution() {
  local set=$1 mode=$2 package how missing=() sudo=''
  while IFS='|' read -r package how; do
    if package_installed "$package"; then continue; fi
    # A tool may come from elsewhere; check_tools judges its version.
    # shellcheck disable=SC2086 # the names are words
    if [[ $how == command* ]] && any_command ${how#command }; then continue; fi
    missing+=("$package")
  done < <(setup_requirements "$set")
  if ((${#missing[@]} > 0)); then
    if [[ $mode == check ]]; then
      if ((EUID != 0)); then sudo='sudo '; fi
      setup_say "missing: ${missing[*]}"
      setup_say "install with: ${sudo}apt-get update && ${sudo}apt-get install --no-install-recommends ${missing[*]}"
      exit 2
    fi
    apt_get_install "${missing[@]}"
  fi
  check_tools
}

ensure_other_distribution() {
  local set=$1 package how missing=() unchecked=()
  setup_say "neither Debian 12 nor Ubuntu 24.04 or later: nothing is installed here, only checked"
  check_tools
  while IFS='|' read -r package how; do
    # shellcheck disable=SC2086 # the names are words
    case $how in
      command*) any_command ${how#command } || missing+=("${how#command }") ;;
      header*)
        if ! any_command g++; then
          unchecked+=("${how#header }")
        elif ! any_header ${how#header }; then
          # cmake may still find it where the compiler alone does not look.
          if [[ -n ${CMAKE_PREFIX_PATH:-} ]]; then unchecked+=("${how#header }"); else missing+=("<${how#header }> (Debian: $package)"); fi
        fi
        ;;
    esac
  done < <(setup_requirements "$set")
  if ((${#unchecked[@]} > 0)); then setup_say "not checked, left to cmake: ${unchecked[*]}"; fi
  setup_say "not checked: the versions of the libraries, and whether cmake finds them"
  if ((${#missing[@]} > 0)); then
    for package in "${missing[@]}"; do setup_say "missing: $package"; done
    exit 2
  fi
}

ensure_packages() {
  if known_distribution; then
    ensure_known_distribution "$1" "$2"
  else
    ensure_other_distribution "$1"
  fi
}

# ccache, unless it is absent or has no folder to write to (a read-only home): then every compilation would fail.
compiler_launcher() {
  local cache
  any_command ccache && cache=$(ccache --get-config cache_dir 2>/dev/null) && [[ -n $cache ]] || return 0
  if mkdir -p -- "$cache" 2>/dev/null && [[ -w $cache ]]; then printf 'ccache\n'; fi
}

configure() {
  local build=$1 fresh=() launcher=() source
  shift
  # A build folder that was copied or moved along with its checkout cannot be reused.
  source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt" 2>/dev/null || true)
  if [[ -n $source && $source != "$PWD" ]]; then fresh=(--fresh); fi
  if [[ -z ${CMAKE_CXX_COMPILER_LAUNCHER:-} ]]; then launcher=("-DCMAKE_CXX_COMPILER_LAUNCHER=$(compiler_launcher)"); fi
  run cmake --preset release -B "$build" -DNATTEN_SIM_UNITY=ON ${fresh[@]+"${fresh[@]}"} ${launcher[@]+"${launcher[@]}"} "$@"
}

run() {
  printf '\n$'
  printf ' %q' "$@"
  printf '\n'
  "$@"
}

setup_main() {
  local set=build mode=install argument
  for argument in "$@"; do
    case $argument in
      --tests) set=tests ;;
      --no-install) mode=check ;;
      -h | --help)
        setup_usage
        return 0
        ;;
      *)
        setup_usage >&2
        setup_fail "unknown argument: $argument"
        ;;
    esac
  done
  ensure_packages "$set" "$mode"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  setup_main "$@"
fi
