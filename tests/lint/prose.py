# SPDX-License-Identifier: MIT
"""Every source says its licence and what lives in it; none has notes of unfinished work or very long lines. The library
uses nothing that follows the program's locale."""
import re

import tree

FOLDERS = ["include", "lib", "backends", "protocols", "interpose", "parboil", "tools", "docs", "examples", "tests",
           "bindings"]
LONGEST = 120
IN_PROGRAMS = ("lib/", "backends/", "protocols/", "interpose/")
# Conversions of numbers with a decimal point, and letters, which are others in Turkish.
LOCALE = re.compile(r"(?<!%)%[-+ #0-9.*l]*[aefgAEFG]\b|\b(strto(d|f|ld)|atof|to(upper|lower)|strn?casecmp)\s*\(")

problems = []
n_checked = 0
for path in tree.files(FOLDERS, (".c", ".cpp", ".h", ".hpp", ".S", ".py", ".build")):
    n_checked += 1
    lines = tree.read(path).splitlines()
    if not lines or "SPDX-License-Identifier: MIT" not in lines[0]:
        problems.append(f"{path}:1: does not begin with its licence")
    if path.endswith((".c", ".cpp", ".h", ".hpp", ".S")) and not (len(lines) > 1 and lines[1].startswith("/*")):
        problems.append(f"{path}:2: does not say what lives here")
    for number, line in enumerate(lines, 1):
        # Split, so that this file has none.
        if re.search(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b", line):
            problems.append(f"{path}:{number}: {line.strip()}")
        if not path.endswith(".build") and len(line.expandtabs(8)) > LONGEST:
            problems.append(f"{path}:{number}: longer than {LONGEST} columns")
        if path.startswith(IN_PROGRAMS) and LOCALE.search(re.sub(r"/\*.*?\*/", "", line)):
            problems.append(f"{path}:{number}: follows the program's locale: {line.strip()}")
        if line != line.rstrip():
            problems.append(f"{path}:{number}: white space at the end")
tree.finish(problems, n_checked)
