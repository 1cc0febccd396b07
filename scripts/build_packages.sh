#!/usr/bin/env bash
# What a release offers besides wheels: a Debian package, a static program, and what they are made of.
set -euo pipefail

if [[ $# -lt 1 || $1 == -h || $1 == --help ]]; then
  cat <<'USAGE'
usage: scripts/build_packages.sh OUTPUT_FOLDER [CMAKE_ARGUMENT...] [--help]

Builds natten-sim_VERSION_ARCH.deb, natten-sim-VERSION-SYSTEM.tar.gz (static) and natten-sim.cdx.json into
OUTPUT_FOLDER, and tries each: the .deb with lintian where it is installed, and installed by dpkg into a
folder of its own, then removed; the static program in a folder that holds nothing else. Both need root;
others see the .deb unpacked, and the static program's list of libraries, which is empty. With Emscripten
the packages hold the classroom.
Environment: BUILD, the build folder (build/package); CLASSROOM, a folder that scripts/build_web.sh has
written; DEBFULLNAME and DEBEMAIL, the maintainer of the package.
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
fail() { printf 'scripts/build_packages.sh: %s\n' "$1" >&2; exit 1; }
try() {  # FOLDER of the package's usr/
  "$1/bin/natten-sim" count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4 --csv >"$scratch/answer"
  grep -q . "$scratch/answer"
  if [[ -n $pages ]]; then
    "$1/bin/natten-sim" classroom --out "$scratch/classroom" >/dev/null
    diff -r "$pages" "$scratch/classroom"
  fi
}

# What a user finds after `apt-get install`: the manual, page by page as the program writes it, and completions.
try_documents() {  # FOLDER of the package's usr/
  local page
  mkdir -p "$scratch/manual"
  "$1/bin/natten-sim" man --folder "$scratch/manual"
  diff <(cd "$scratch/manual" && ls) <(cd "$1/share/man/man1" && ls | sed 's/\.gz$//')
  for page in "$scratch"/manual/*; do
    gzip -dc "$1/share/man/man1/$(basename "$page").gz" | cmp - "$page"
    if command -v man >/dev/null; then
      MANROFFOPT='' MANWIDTH=80 man --warnings --encoding=UTF-8 --local-file "$page" >"$scratch/page" 2>"$scratch/warnings"
      grep -q EXAMPLES "$scratch/page" && [[ ! -s $scratch/warnings ]] || fail "$page: $(cat "$scratch/warnings")"
    fi
  done
  # shellcheck source=/dev/null
  (PATH=$1/bin:$PATH && . "$1/share/bash-completion/completions/natten-sim" && complete -p natten-sim >/dev/null)
  grep -q '^#compdef natten-sim' "$1/share/zsh/site-functions/_natten-sim" || fail 'no completion for zsh'
  grep -q 'complete -c natten-sim' "$1/share/fish/vendor_completions.d/natten-sim.fish" || fail 'no completion for fish'
}
try_debian() {  # the package FILE
  local place=$scratch/debian
  if [[ $(id -u) -ne 0 ]]; then
    dpkg-deb -x "$1" "$place"
    try "$place/usr"
    try_documents "$place/usr"
    echo 'the .deb was unpacked, not installed: only root may'
    return
  fi
  mkdir -p "$place"/var/lib/dpkg/{info,updates,triggers}
  touch "$place"/var/lib/dpkg/{status,available}
  # Its libraries are those of this system, which the folder's list does not know.
  local dpkg=(dpkg --root="$place" --log=/dev/null)
  "${dpkg[@]}" --force-depends --install "$1" 2>"$scratch/dpkg" >&2 || fail "dpkg: $(cat "$scratch/dpkg")"
  "${dpkg[@]}" --verify natten-sim
  try "$place/usr"
  try_documents "$place/usr"
  "${dpkg[@]}" --purge natten-sim 2>"$scratch/dpkg" >&2 || fail "dpkg: $(cat "$scratch/dpkg")"
  [[ -z $(find "$place" -path "$place/var" -prune -o -type f -print) ]] || fail 'files stay behind when the .deb is removed'
  # What it depends on can be had from this system's archive.
  if command -v apt-get >/dev/null; then apt-get install --simulate "$1" >"$scratch/apt" || fail "apt-get: $(cat "$scratch/apt")"; fi
}
# The static program alone in a folder: no C library, no locale, no /proc.
try_bare() {  # the PROGRAM
  mkdir -p "$scratch/bare/bin"
  cp "$1" "$scratch/bare/bin/natten-sim"
  local bare=(chroot "$scratch/bare" /bin/natten-sim)
  if [[ $(id -u) -ne 0 ]]; then bare=(unshare --map-root-user "${bare[@]}"); fi
  if ! "${bare[@]}" --version >"$scratch/version" 2>"$scratch/chroot"; then
    [[ $(id -u) -ne 0 ]] || fail "on a bare root: $(cat "$scratch/chroot")"
    echo 'the static program was not tried on a bare root: only root may'
    return
  fi
  "${bare[@]}" count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4 --csv | cmp - "$scratch/answer"
  "${bare[@]}" search --preset hunyuan-video -w 18 24 24 --device h200 --top 1 --csv >"$scratch/search"
  "$1" search --preset hunyuan-video -w 18 24 24 --device h200 --top 1 --csv | cmp - "$scratch/search"
}

configure "$@" -DCMAKE_EXE_LINKER_FLAGS=
(cd "$build" && cpack -G DEB -B "$scratch/deb" >/dev/null)
cp "$scratch"/deb/*.deb "$output"
deb=$(ls "$output"/natten-sim_*.deb)
try_debian "$deb"
if command -v lintian >/dev/null; then lintian --fail-on warning "$output"/natten-sim_*.deb; else echo 'lintian is missing: not run'; fi

configure "$@" -DCMAKE_EXE_LINKER_FLAGS=-static
(cd "$build" && cpack -G TGZ -B "$scratch/tgz" >/dev/null)
cp "$scratch"/tgz/*.tar.gz "$output"
mkdir "$scratch/static"
tar -xzf "$output"/natten-sim-*.tar.gz -C "$scratch/static"
program=$(find "$scratch/static" -path '*/bin/natten-sim')
if ldd "$program" >"$scratch/libraries" 2>&1; then cat "$scratch/libraries"; echo 'the static program has libraries'; exit 1; fi
try "$(dirname -- "$(dirname -- "$program")")"
try_bare "$program"
[[ -s ${program%/bin/*}/share/man/man1/natten-sim.1 ]] || fail 'the archive has no manual'

version=$("$program" --version | sed -n 's/^natten-sim //p')
"$root/scripts/sbom.py" "$version" "$output"/natten-sim_*.deb "$output"/natten-sim-*.tar.gz >"$output/natten-sim.cdx.json"
ls -l "$output"
