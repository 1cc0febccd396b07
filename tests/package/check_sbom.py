#!/usr/bin/env python3
"""scripts/sbom.py lists what the build finds and what the program carries, and says the same twice.

usage: check_sbom.py ROOT
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
# Packages that leave nothing in the program: {name as find_package has it: what it is for}
OUTSIDE = {"CUDAToolkit": "kernels, not in the packages", "Catch2": "tests", "rapidcheck": "tests", "benchmark": "benchmarks",
           "Python": "the module", "Python3": "scripts", "nanobind": "the module", "Git": "the version", "Threads": "the system",
           "natten_sim": "itself"}


def plain(name):
    return re.sub(r"[^a-z0-9+]", "", name.lower()).removesuffix("3")


def found_by_the_build():
    files = [path for pattern in ("CMakeLists.txt", "*/CMakeLists.txt", "*/*/CMakeLists.txt", "cmake/*.cmake", "apps/web/*.cmake")
             for path in ROOT.glob(pattern) if "build" not in path.relative_to(ROOT).parts]
    return {name for path in files for name in re.findall(r"find_package\((\w+)", path.read_text(encoding="utf-8"))}


def main():
    with tempfile.TemporaryDirectory() as folder:
        package = pathlib.Path(folder) / "natten-sim-1.tar.gz"
        package.write_bytes(b"a package")
        command = [sys.executable, str(ROOT / "scripts/sbom.py"), "1.2.3", str(package)]
        said = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert said[0] == said[1], "two runs differ"
    bill = json.loads(said[0])
    assert bill["bomFormat"] == "CycloneDX" and bill["specVersion"] == "1.5"
    listed = {each["name"]: each for each in bill["components"]}
    assert len({each["bom-ref"] for each in bill["components"]}) == len(bill["components"]), "a component is listed twice"
    libraries = found_by_the_build() - set(OUTSIDE)
    missing = libraries - {name for name in libraries if plain(name) in map(plain, listed)}
    assert len(libraries) >= 6 and not missing, f"the build finds {sorted(missing)}, which the list lacks"
    assert listed["natten-sim-1.tar.gz"]["hashes"][0]["content"] == hashlib.sha256(b"a package").hexdigest()
    depends = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert {ref.split("@")[0] for ref in depends["natten-sim-1.tar.gz"]} == {"glibc", "libstdc++"}
    known = {each["bom-ref"] for each in bill["components"]} | {"natten-sim@1.2.3"}
    assert all({ref, *needed} <= known for ref, needed in depends.items()), "a dependency is not listed"
    licences = [each for each in bill["components"] if each["type"] == "library" and not each["licenses"]]
    assert not licences, f"no licence: {licences}"
    print(f"{len(bill['components'])} components; the build's {len(libraries)} libraries are among them")


if __name__ == "__main__":
    main()
