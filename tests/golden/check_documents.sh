#!/usr/bin/env bash
# check_documents.sh ROOT PROGRAM_FOLDER: what README.md and docs/ promise is what the program does.
#   ```console blocks: "$ command" lines followed by their exact stdout
#   (a command whose line ends in \ goes on in the next, here and below)
#   ```sh blocks: every command exits 0; one that draws docs/FILE.svg draws exactly the picture that is there
#   ![text](FILE.svg): some command draws it
#   <!-- path --> before a ```cpp block: the block is that file
#   <!-- begin: command --> .. <!-- end -->: the lines between are the command's stdout
set -euo pipefail
root=$1
export PATH=$2:$PATH
cd -- "$root"
failures=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  printf 'FAILED %s\n' "$1"
  failures=$((failures + 1))
}

check_console() {  # DOCUMENT COMMAND EXPECTED_FILE
  if ! bash -c "$2" >"$scratch/actual" 2>"$scratch/stderr" || ! diff -u "$3" "$scratch/actual"; then
    fail "$1: \$ $2"
    cat "$scratch/stderr"
  fi
}

checked=0
for document in README.md docs/*.md; do
  mode=text command='' source=''
  : >"$scratch/block"
  while IFS= read -r line || [ -n "$line" ]; do
    while [[ ($mode = sh || ($mode = console && $line = '$ '*)) && $line = *\\ ]]; do
      IFS= read -r more
      line=${line%\\}$(sed 's/^ *//' <<<"$more")
    done
    case $mode in
      text)
        case $line in
          '```console') mode=console command='' ;;
          '```sh') mode='sh' ;;
          '```cpp') if [ -n "$source" ]; then mode=cpp; : >"$scratch/block"; else mode=other; fi ;;
          '```'*) mode=other ;;
          '<!-- begin: '*' -->') mode=generated command=${line#<!-- begin: } command=${command% -->}; : >"$scratch/block" ;;
          '<!-- '*' -->') source=${line#<!-- } source=${source% -->} ;;
          '') ;;
          *) source='' ;;
        esac
        ;;
      console)
        case $line in
          '```' | '$ '*)
            if [ -n "$command" ]; then check_console "$document" "$command" "$scratch/block"; checked=$((checked + 1)); fi
            : >"$scratch/block"
            if [ "$line" = '```' ]; then mode=text; else command=${line#\$ }; fi
            ;;
          *) printf '%s\n' "$line" >>"$scratch/block" ;;
        esac
        ;;
      sh)
        if [ "$line" = '```' ]; then mode=text
        elif [ -n "$line" ] && [ "${line#\#}" = "$line" ]; then
          picture=$(printf '%s\n' "$line" | sed -n 's/.* --svg \(docs\/[^ ]*\.svg\).*/\1/p')
          bash -c "${line/--svg docs\//--svg "$scratch"/}" >/dev/null 2>"$scratch/stderr" || { fail "$document: $line"; cat "$scratch/stderr"; }
          if [ -n "$picture" ]; then cmp "$picture" "$scratch/${picture#docs/}" || fail "$document: $picture is not what the command draws"; fi
          checked=$((checked + 1))
        fi
        ;;
      cpp)
        if [ "$line" = '```' ]; then
          diff -u "$source" "$scratch/block" || fail "$document: differs from $source"
          mode=text source='' checked=$((checked + 1))
        else printf '%s\n' "$line" >>"$scratch/block"; fi
        ;;
      generated)
        if [ "$line" = '<!-- end -->' ]; then
          grep -v '^$' "$scratch/block" >"$scratch/expected" || true
          check_console "$document" "$command" "$scratch/expected"
          mode=text checked=$((checked + 1))
        else printf '%s\n' "$line" >>"$scratch/block"; fi
        ;;
      other) if [ "$line" = '```' ]; then mode=text; fi ;;
    esac
  done <"$document"
done
# Every picture of a page is drawn by a command of some page, so that none outlives the program that drew it.
for picture in $(sed -n 's/^!\[.*\](\([^/)]*\.svg\))$/\1/p' docs/*.md | sort -u); do
  grep -q -- "--svg docs/$picture" docs/*.md || fail "docs/$picture is shown, and no command of a page draws it"
  checked=$((checked + 1))
done
printf '%d commands and snippets checked, %d failed\n' "$checked" "$failures"
[ "$checked" -gt 5 ] && [ "$failures" -eq 0 ]
