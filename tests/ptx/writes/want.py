# SPDX-License-Identifier: MIT
"""want.py ADSMCC SOURCE... compares the verdicts of adsmcc --explain with those that the sources say: a line "// want:"
before each kernel. What claims more than is true is an error. What claims less is one if it is more than a few."""
import os
import re
import shutil
import subprocess
import sys

MOST_LESS = 8           # other versions of clang write other PTX

adsmcc, *sources = sys.argv[1:]
clang = os.environ.get("CLANG", "clang")
if not shutil.which(clang):
    print(f"no {clang} (Debian: clang)")
    sys.exit(77)


def read_wanted(name):
    """By kernel: what is wanted, and what is true."""
    wanted = {}
    with open(name, encoding="utf-8") as file:
        text = file.read()
    for comment, kernel in re.findall(r"// want: ([^\n]*)\n(?:[^\n]*\n)??KERNEL (\w+)", text):
        want, _, true = comment.partition(" = ")
        want = want.split()
        wanted[kernel] = want, true.split() + want[len(true.split()):] if true else want
    return wanted


def read_verdicts(name):
    verdicts, kernel = {}, None
    done = subprocess.run([adsmcc, "--explain", name], check=True, text=True, stdout=subprocess.PIPE)
    for line in done.stdout.splitlines():
        if not line.startswith("\t"):
            kernel = line
        elif line.startswith("\tverdict"):
            verdicts[kernel] = re.findall(r"parameter \d+ (\w+)", line) + re.findall(r"\w+$", line)
    return verdicts


def is_more(got, true):
    """Does a verdict claim more than is true?"""
    if len(got) != len(true):
        return True
    allowed = {"IN": {"IN", "INOUT"}, "OUT": {"OUT", "INOUT"}, "INOUT": {"INOUT"}, "named": {"named", "unnamed"},
               "unnamed": {"unnamed"}}
    return any(g not in allowed[t] for g, t in zip(got, true))


n_kernels = n_less = n_wrong = 0
for source in sources:
    verdicts = read_verdicts(source)
    for kernel, (want, true) in read_wanted(source).items():
        got = verdicts.get(kernel, [])
        n_kernels += 1
        if is_more(got, true):
            print(f"{kernel}: {' '.join(got)}, but {' '.join(true)} is true")
            n_wrong += 1
        elif got != want:
            print(f"{kernel}: {' '.join(got)}, which is less than {' '.join(want)}")
            n_less += 1
print(f"{n_kernels} kernels, {n_less} verdicts that say less than wanted")
sys.exit(1 if n_wrong or n_less > MOST_LESS or n_kernels < 60 else 0)
