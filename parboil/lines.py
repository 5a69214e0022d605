# SPDX-License-Identifier: MIT
"""Lines of code that each benchmark needs with shared memory and with explicit copies, as rows of a C array:
lines.py ROOT FOLDER..."""
import pathlib
import re
import sys


def lines(path):
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return sum(bool(line.strip()) for line in code.splitlines())


root = pathlib.Path(sys.argv[1])
for folder in map(root.joinpath, sys.argv[2:]):
    print(f'{{ "{folder.name}", {lines(folder / "adsm.c")}, {lines(folder / "explicit.c")} }},')
