# SPDX-License-Identifier: MIT
"""explain.py ADSMCC SOURCE EXPECTED compares what adsmcc --explain says of kernels with a text."""
import os
import re
import shutil
import subprocess
import sys

adsmcc, source, expected = sys.argv[1:]
clang = os.environ.get("CLANG", "clang")
if not shutil.which(clang):
    print(f"no {clang} (Debian: clang)")
    sys.exit(77)
done = subprocess.run([adsmcc, "--explain", source], check=True, text=True, stdout=subprocess.PIPE)
got = done.stdout.replace(source, os.path.basename(source))
# Functions of the headers, whose lines change.
got = re.sub(r"line \d+ of \S*/(\w+\.h)", r"a line of \1", got)
with open(expected, encoding="utf-8") as file:
    want = file.read()
if got != want:
    print(f"adsmcc --explain prints\n{got}\ninstead of\n{want}")
    sys.exit(1)
