#!/usr/bin/env bash
# check_completions.sh PROGRAM [SHELL...]: the completion script of bash completes subcommands, flags and values; those
# of the shells named load in them. 77 where one of these is missing.
set -euo pipefail
program=$1
bash_script=$("$program" completion bash)
complete_words() {  # complete_words WORD...: completions of the last word
  (
    eval "$bash_script"
    COMP_WORDS=(natten-sim "$@")
    COMP_CWORD=$#
    _natten_sim
    printf '%s\n' "${COMPREPLY[@]}"
  )
}
# holds FLAGS PATTERN: standard input has such a line. Reads all of it: grep -q would close the pipe on the writer.
holds() { grep "$@" >/dev/null; }

complete_words se | holds -x search
complete_words count --kv-ti | holds -x -- --kv-tiling
complete_words count --kv-tiling dy | holds -x dynamic
complete_words list p | holds -x presets
complete_words sweep cou | holds -x count
complete_words sweep count --kv-tiling dy | holds -x dynamic
complete_words sweep count --device h2 | holds -x h200
complete_words sweep count --q-t | holds -x -- --q-tile
complete_words sweep count --ov | holds -x -- --over
complete_words schema ser | holds -x serve
complete_words schema re | sort | tr '\n' ' ' | holds -x 'reproduce reuse '
complete_words man com | holds -x completion
complete_words help val | holds -x validate
complete_words search --objective wo | sort | tr '\n' ' ' | holds -x 'work worst '
"$program" completion zsh | holds '^#compdef natten-sim'
"$program" completion fish | holds -e '-l objective'
"$program" completion fish | holds -e 'seen_subcommand_from schema. -a .serve count'
"$program" completion fish | holds -e 'seen_subcommand_from help. -a .count search'
"$program" completion zsh | holds -e 'help) _describe subcommand'
"$program" completion zsh | holds -e 'shift words'
for shell in "${@:2}"; do
  command -v "$shell" >/dev/null || { echo "skipped: no $shell"; exit 77; }
  "$program" completion "$shell" | "$shell" -n
done
echo completions work
