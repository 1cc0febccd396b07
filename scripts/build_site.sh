#!/usr/bin/env bash
# The documentation as a site: docs/, README, and the Python API from its docstrings. Links are checked.
set -euo pipefail

if [[ $# -ne 1 || $1 == -h || $1 == --help ]]; then
  cat <<'USAGE'
usage: scripts/build_site.sh OUTPUT_FOLDER [--help]

Needs a Python (PYTHON, else python3) with mkdocs-material and this package: pip install '.[docs]'.
Fails when a link leads nowhere.
USAGE
  [[ $# -eq 1 ]] && exit 0
  exit 2
fi
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
python=${PYTHON:-python3}
mkdir -p "$1"
output=$(cd -P -- "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir "$scratch/docs"
cp -r "$root"/docs/* "$scratch/docs/"
sed -e 's|](docs/|](|g' -e 's|](CONTRIBUTING.md)|](contributing.md)|g' -e 's|](CHANGELOG.md)|](changelog.md)|g' \
  -e 's|](LICENSE)|](license.md)|g' -e 's|](CITATION.cff)|](citation.md)|g' "$root/README.md" >"$scratch/docs/index.md"
sed 's|](docs/|](|g' "$root/CHANGELOG.md" >"$scratch/docs/changelog.md"
sed -e 's|](docs/|](|g' -e 's|](README.md|](index.md|g' "$root/CONTRIBUTING.md" >"$scratch/docs/contributing.md"
{ printf '# Licence\n\n```text\n'; cat "$root/LICENSE"; printf '```\n'; } >"$scratch/docs/license.md"
{ printf '# Citation\n\n```yaml\n'; cat "$root/CITATION.cff"; printf '```\n'; } >"$scratch/docs/citation.md"
# A page for each published figure. Exit code 3 tells that a number is out of tolerance, which its page says.
"$python" -m natten_sim reproduce all --quiet --pages "$scratch/docs/reproduced" || [[ $? -eq 3 ]]
# Links to data/ lead to its files, which are shown as they are.
mkdir -p "$scratch/docs/data/kernel-runs"
cp "$root"/data/*.json "$scratch/docs/data/"
cp "$root"/data/kernel-runs/*.csv "$scratch/docs/data/kernel-runs/"
sed -i 's|](\.\./data/|](data/|g' "$scratch"/docs/*.md
"$python" "$root/python/docs/api_pages.py" "$scratch/docs/api.md"
sed 's|^nav:|docs_dir: docs\nnav:|' "$root/mkdocs.yml" >"$scratch/mkdocs.yml"
NO_MKDOCS_2_WARNING=1 "$python" -m mkdocs build --strict --config-file "$scratch/mkdocs.yml" --site-dir "$output"
printf '%s\n' "$output/index.html"
