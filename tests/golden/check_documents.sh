#!/usr/bin/env bash
# check_documents.sh ROOT PROGRAM_FOLDER [all]: what README.md and docs/ promise is what the program does. Commands that
# hold a line of slow_commands.txt run with `all` alone, which is for nightly.
#   ```console blocks: "$ command" lines followed by their exact stdout
#   (a command whose line ends in \ goes on in the next, here and below)
#   ```sh blocks: every command exits 0; one that draws docs/FILE.svg draws exactly what is there
#   ![text](FILE.svg): some command draws it
#   <!-- path --> before a ```cpp block: the block is that file
#   <!-- begin: command --> .. <!-- end -->: the lines between are the command's stdout, empty lines aside
#   lines indented by four spaces that begin with a command: as ```sh
# Every other block, and indented commands that cannot run here, say in a comment before them what holds them to the
# truth; a block that says nothing fails:
#   <!-- run: command -->: exits 0; THIS in it is a file that holds the block
#   <!-- checked: FILE TEXT -->: by another test, where FILE has the TEXT
#   <!-- measured: where -->: on hardware or with packages that the tests do not have; counted, and named at the end
set -euo pipefail
root=$1 which=${3:-quick}
export PATH=$2:$PATH
failures=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Files that commands write land beside links to those of the project, or in copies, not among them.
mkdir "$scratch/project"
ln -s -- "$root"/* "$scratch/project"
rm "$scratch/project/docs"
cp -r -- "$root/docs" "$scratch/project"
cd -- "$scratch/project"

fail() {
  printf 'FAILED %s\n' "$1"
  failures=$((failures + 1))
}

is_left_out() {  # COMMAND
  [ "$which" != all ] && grep -qF -f "$root/tests/golden/slow_commands.txt" <<<"$1" && left_out=$((left_out + 1))
}

check_command() {  # DOCUMENT LINE: exits 0, and draws what docs/ has
  local picture
  if is_left_out "$2"; then return; fi
  picture=$(printf '%s\n' "$2" | sed -n 's/.* --picture \(docs\/[^ ]*\.svg\).*/\1/p')
  bash -c "${2/--picture docs\//--picture "$scratch"/}" >/dev/null 2>"$scratch/stderr" || { fail "$1: $2"; cat "$scratch/stderr"; }
  if [ -n "$picture" ]; then cmp "$picture" "$scratch/${picture#docs/}" || fail "$1: $picture is not what the command draws"; fi
  checked=$((checked + 1))
}

check_console() {  # DOCUMENT COMMAND EXPECTED_FILE
  if is_left_out "$2"; then return; fi
  if ! bash -c "$2" >"$scratch/actual" 2>"$scratch/stderr" || ! diff -u "$3" "$scratch/actual"; then
    fail "$1: \$ $2"
    cat "$scratch/stderr"
  fi
}

other_block() {  # DOCUMENT KIND: what the comment before it asks for, in $source
  case $source in
    'run: '*)
      local command=${source#run: }
      if is_left_out "$command"; then return; fi
      bash -euo pipefail -c "${command//THIS/$scratch/block}" >"$scratch/actual" 2>"$scratch/stderr" ||
        { fail "$1: a block of $2: $command"; cat "$scratch/block" "$scratch/stderr"; }
      checked=$((checked + 1))
      ;;
    'checked: '*)
      local file text
      read -r _ file text <<<"$source"
      grep -qF -- "$text" "$file" || fail "$1: no '$text' in $file, which checks a block of $2"
      elsewhere=$((elsewhere + 1))
      ;;
    'measured: '*) measured+=("$1: ${source#measured: }") ;;
    *) fail "$1: nothing checks a block of $2: $(head -n 1 "$scratch/block")" ;;
  esac
}

checked=0 left_out=0 elsewhere=0 measured=()
for document in README.md docs/*.md; do
  mode=text command='' source='' before=''
  : >"$scratch/block"
  while IFS= read -r line || [ -n "$line" ]; do
    while [[ ($mode = sh || $mode = indented || ($mode = console && $line = '$ '*)) && $line = *\\ ]]; do
      IFS= read -r more
      line=${line%\\}$(sed 's/^ *//' <<<"$more")
    done
    if [ "$mode" = indented ]; then
      case $line in
        '    '* | '') printf '%s\n' "${line#    }" >>"$scratch/block" ;;
        *)
          if [ -n "$source" ]; then other_block "$document" commands
          else
            cp "$scratch/block" "$scratch/commands"
            while IFS= read -r command <&3; do
              if [ -n "$command" ]; then check_command "$document" "$command"; fi
            done 3<"$scratch/commands"
          fi
          mode=text source=''
          ;;
      esac
    fi
    case $mode in
      text)
        case $line in
          '    natten-sim '* | '    cmake '* | '    scripts/'* | '    '*_bench\ *)
            if [ -z "$before" ]; then mode=indented; printf '%s\n' "${line#    }" >"$scratch/block"; else source=''; fi
            ;;
          '```console') mode=console command='' ;;
          '```sh') mode='sh' ;;
          '```'*)
            mode=other kind=${line#???}
            : >"$scratch/block"
            if [ "$line" = '```cpp' ] && [ -f "$source" ]; then mode=cpp; fi
            ;;
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
          check_command "$document" "$line"
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
          check_console "$document" "set -o pipefail; $command | grep -v '^$'" "$scratch/expected"
          mode=text checked=$((checked + 1))
        else printf '%s\n' "$line" >>"$scratch/block"; fi
        ;;
      indented) ;;
      other)
        if [ "$line" = '```' ]; then
          other_block "$document" "${kind:-text}"
          mode=text source=''
        else printf '%s\n' "$line" >>"$scratch/block"; fi
        ;;
    esac
    before=$line
  done <"$document"
done
# A page has one reader and one question: what needs 250 lines is two pages.
for document in docs/*.md; do
  if [ "$(wc -l <"$document")" -ge 250 ]; then fail "$document has 250 lines or more"; fi
done
# Every picture of a page is drawn by a command of some page, so that none outlives the program that drew it.
for picture in $(sed -n 's/^!\[.*\](\([^/)]*\.svg\))$/\1/p' docs/*.md | sort -u); do
  grep -q -- "--picture docs/$picture" docs/*.md || fail "docs/$picture is shown, and no command of a page draws it"
  checked=$((checked + 1))
done
printf 'not run here: %s\n' "${measured[@]}"
printf '%d commands and snippets checked, %d left to nightly, %d held by other tests, %d measured elsewhere, %d failed\n' \
  "$checked" "$left_out" "$elsewhere" "${#measured[@]}" "$failures"
[ "$checked" -gt 5 ] && [ "$failures" -eq 0 ]
