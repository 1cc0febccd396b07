#!/usr/bin/env python3
"""Writes what natten-sim is made of, as CycloneDX 1.5 JSON.

usage: scripts/sbom.py VERSION [FILE...] > natten-sim.cdx.json

Header-only libraries are compiled into the program: their versions are those of this machine's headers. FILEs are
artefacts, listed with their hashes. Nothing in the output depends on the time.
"""
import hashlib
import json
import os
import re
import sys

INCLUDE = ("/usr/include", "/usr/local/include")
MIT, BOOST, MPL, BSD = "MIT", "BSL-1.0", "MPL-2.0", "BSD-3-Clause"
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


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if len(sys.argv) > 1 else 2
    components, missing = [], []
    for name, licence, headers, patterns in LIBRARIES:
        version = readable(name, version_of(headers, patterns))
        if version is None:
            missing.append(name)
            continue
        components.append({"type": "library", "bom-ref": f"{name}@{version}", "name": name, "version": version,
                           "licenses": [{"license": {"id": licence}}], "scope": "required"})
    if missing:
        print(f"sbom: no headers of {', '.join(missing)} here", file=sys.stderr)
        return 2
    files = []
    for path in sys.argv[2:]:
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        files.append({"type": "file", "bom-ref": os.path.basename(path), "name": os.path.basename(path),
                      "hashes": [{"alg": "SHA-256", "content": digest}]})
    program = f"natten-sim@{sys.argv[1]}"
    json.dump({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": program, "name": "natten-sim", "version": sys.argv[1],
                                   "licenses": [{"license": {"id": MIT}}]}},
        "components": components + files,
        "dependencies": [{"ref": program, "dependsOn": [each["bom-ref"] for each in components]}],
    }, sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
