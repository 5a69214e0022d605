# SPDX-License-Identifier: MIT
"""Debian's packages agree with the tree: packages.py VERSION

The version is the same everywhere; the symbols file has each public function and no wrapper; each package says what is
installed in it, nothing is in two packages, and adsm-device depends on no other package of ours.
"""
import fnmatch
import os
import re
import sys

import tree

version, = sys.argv[1:]
problems = []


def check(what, found, right):
    if found != right:
        problems.append(f"{what}: {found}, not {right}")


check("debian/changelog", re.match(r"libadsm \(([^)]+)\)", tree.read("debian/changelog")).group(1), version)
check("include/adsm.h", ".".join(re.findall(r"#define ADSM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                                            tree.read("include/adsm.h"))), version)
for path, pattern in (("bindings/python/pyproject.toml", r'^version = "(.*)"$'),
                      ("bindings/python/adsm/__init__.py", r'^__version__ = "(.*)"$')):
    check(path, re.search(pattern, tree.read(path), re.M).group(1), version)
check("CHANGELOG.md", re.search(r"^## ([\d.]+)", tree.read("CHANGELOG.md"), re.M).group(1), version)

symbols = set(re.findall(r"^ (\w+)@Base [\d.]+$", tree.read("debian/libadsm0.symbols"), re.M))
declared = set(re.findall(r"^ADSM_API [^;(]*?\b(adsm\w+)\(",
                          "".join(map(tree.read, tree.files(["include"], (".h",)))), re.M))
problems += [f"debian/libadsm0.symbols: there is no line ' {name}@Base {version}'"
             for name in sorted(declared - symbols)]
problems += [f"debian/libadsm0.symbols: {name}: no public function" for name in sorted(symbols - declared)]

stanzas = re.split(r"\n\n+", tree.read("debian/control").strip())[1:]
packages = {re.match(r"Package: (\S+)", stanza).group(1): stanza for stanza in stanzas}
where = {}
for name, stanza in packages.items():
    path = f"debian/{name}.install"
    if not os.path.exists(os.path.join(tree.ROOT, path)):
        problems.append(f"{path} does not exist")
        continue
    for pattern in tree.read(path).split():
        others = [other for other in where if fnmatch.fnmatch(other, pattern) or fnmatch.fnmatch(pattern, other)]
        problems += [f"{path}: {pattern} is also in {where[other]}" for other in others]
        where[pattern] = path
    if name != "adsm-device":
        continue
    depends = re.search(r"^Depends:\n((?: .*\n)*)", stanza, re.M).group(1)
    problems += [f"debian/control: adsm-device depends on {other}" for other in packages if f" {other} " in depends]
tree.finish(problems, len(symbols) and len(packages))
