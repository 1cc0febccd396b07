#!/usr/bin/env bash
# A two-page paper in LaTeX whose tables, figures and references the program writes.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/build_paper.sh [--inputs] PROGRAM FOLDER

Runs the commands that stand in \made{...} of docs/paper/predictions.tex with PROGRAM, a built natten-sim, in FOLDER,
and makes FOLDER/predictions.pdf of what they write. Exits 77 where there is no pdflatex (Debian: texlive-latex-recommended)
or no rsvg-convert (librsvg2-bin).

  --inputs  only the tables, the figures and the references
USAGE
}

inputs=no
if [[ ${1-} == --inputs ]]; then
  inputs=yes
  shift
fi
[[ $# -eq 2 && $1 != -* ]] || { usage >&2; exit 2; }
program=$(readlink -f -- "$1")
paper=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")/docs/paper/predictions.tex
mkdir -p "$2"
cd -P -- "$2"
cp "$paper" .

command -v rsvg-convert >/dev/null || { echo 'skipped: no rsvg-convert, which makes PDF figures'; exit 77; }
sed -n 's/^\\made{natten-sim \(.*\)}$/\1/p' predictions.tex | sed 's/\\_/_/g' | while read -r -a words; do
  "$program" "${words[@]}" --quiet >/dev/null
done
"$program" cite >references.bib
[[ $inputs == no ]] || exit 0

command -v pdflatex bibtex >/dev/null || { echo 'skipped: no pdflatex'; exit 77; }
compile() { pdflatex -interaction=nonstopmode -halt-on-error predictions >predictions.out 2>&1 || { tail -n 30 predictions.out; exit 1; }; }
compile
bibtex -terse predictions
compile
compile
if grep -E 'undefined|Overfull .hbox \([0-9]{2,}' predictions.log; then exit 1; fi
pages=$(sed -n 's/^Output written on predictions.pdf (\([0-9]*\) pages.*/\1/p' predictions.log)
[[ $pages == 2 ]] || { echo "predictions.pdf has $pages pages instead of 2"; exit 1; }
