"""`python -m natten_sim count -i 64 64 -w 8 8`: the program that comes with the package."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
import sysconfig


def program() -> str | None:
    """Where pip put the program; else the one that $NATTEN_SIM_PROGRAM or $PATH has."""
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    installed = [str(path) for folder in folders if (path := pathlib.Path(folder) / "natten-sim").exists()]
    return os.environ.get("NATTEN_SIM_PROGRAM") or next(iter(installed), None) or shutil.which("natten-sim")


def main() -> None:
    """Becomes the program, with its exit code."""
    found = program()
    if found is None:
        print("natten-sim: error: the program is not installed with this package", file=sys.stderr)
        sys.exit(1)
    os.execv(found, ["natten-sim", *sys.argv[1:]])


if __name__ == "__main__":
    main()
