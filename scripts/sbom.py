#!/usr/bin/env python3
"""Writes what natten-sim is made of, as CycloneDX 1.5 JSON.

usage: scripts/sbom.py VERSION [FILE...] > natten-sim.cdx.json

Header-only libraries are compiled into the program: their versions are those of this machine's headers. FILEs are
artefacts, listed with their hashes; one that ends in .tar.gz holds the static program, and with it this machine's C and
C++ libraries. Nothing in the output depends on the time.
"""
import hashlib
import json
import os
import re
import subprocess
import sys

INCLUDE = ("/usr/include", "/usr/local/include")
MIT, BOOST, MPL, BSD = "MIT", "BSL-1.0", "MPL-2.0", "BSD-3-Clause"
LGPL, GPL = "LGPL-2.1-or-later", "GPL-3.0-or-later WITH GCC-exception-3.1"
# name, licence, header, pattern(s) of its version
LIBRARIES = [
    ("CLI11", BSD, "CLI/Version.hpp", [r'CLI11_VERSION "([\d.]+)"']),
    ("nlohmann-json", MIT, ("nlohmann/detail/abi_macros.hpp", "nlohmann/detail/macro_scope.hpp"),
     [r"NLOHMANN_JSON_VERSION_MAJOR (\d+)", r"NLOHMANN_JSON_VERSION_MINOR (\d+)", r"NLOHMANN_JSON_VERSION_PATCH (\d+)"]),
    ("fmt", MIT, ("fmt/base.h", "fmt/core.h"), [r"FMT_VERSION (\d+)"]),
    ("boost", BOOST, "boost/version.hpp", [r'BOOST_LIB_VERSION "([\d_]+)"']),
    ("eigen", MPL, ("eigen3/Eigen/src/Core/util/Macros.h", "Eigen/src/Core/util/Macros.h"),
     [r"EIGEN_WORLD_VERSION (\d+)", r"EIGEN_MAJOR_VERSION (\d+)", r"EIGEN_MINOR_VERSION (\d+)"]),
    ("tomlplusplus", MIT, ("toml++/impl/version.hpp", "toml++/impl/version.h"),
     [r"TOML_LIB_MAJOR\s+(\d+)", r"TOML_LIB_MINOR\s+(\d+)", r"TOML_LIB_PATCH\s+(\d+)"]),
]


def version_of(headers, patterns):
    for folder in INCLUDE:
        for header in (headers,) if isinstance(headers, str) else headers:
            path = os.path.join(folder, header)
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            found = [re.search(pattern, text) for pattern in patterns]
            if all(found):
                return ".".join(match[1] for match in found).replace("_", ".")
    return None


def readable(name, version):
    if name == "fmt" and version and version.isdigit():  # 90100 is 9.1.0
        return f"{int(version) // 10000}.{int(version) // 100 % 100}.{int(version) % 100}"
    return version


def component(name, version, licence):
    kind = {"expression": licence} if " " in licence else {"license": {"id": licence}}
    made = {"type": "library", "bom-ref": f"{name}@{version}" if version else name, "name": name, "licenses": [kind], "scope": "required"}
    return {**made, "version": version} if version else made


def headers():
    """Header-only libraries, and those of them that are missing here."""
    found = [(name, readable(name, version_of(paths, patterns)), licence) for name, licence, paths, patterns in LIBRARIES]
    return [component(*each) for each in found if each[1]], [each[0] for each in found if not each[1]]


def linked_statically():
    said = lambda *words: subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[-1]
    return [component("glibc", said("getconf", "GNU_LIBC_VERSION"), LGPL), component("libstdc++", said("g++", "-dumpfullversion"), GPL)]


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if len(sys.argv) > 1 else 2
    components, missing = headers()
    if missing:
        print(f"sbom: no headers of {', '.join(missing)} here", file=sys.stderr)
        return 2
    files, inside = [], {}
    for path in sys.argv[2:]:
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        files.append({"type": "file", "bom-ref": os.path.basename(path), "name": os.path.basename(path),
                      "hashes": [{"alg": "SHA-256", "content": digest}]})
        if path.endswith(".tar.gz"):
            inside[os.path.basename(path)] = linked_statically()
    program = f"natten-sim@{sys.argv[1]}"
    json.dump({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": program, "name": "natten-sim", "version": sys.argv[1],
                                   "licenses": [{"license": {"id": MIT}}]}},
        "components": components + [each for libraries in list(inside.values())[:1] for each in libraries] + files,
        "dependencies": [{"ref": ref, "dependsOn": [each["bom-ref"] for each in needed]}
                         for ref, needed in [(program, components), *inside.items()]],
    }, sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
