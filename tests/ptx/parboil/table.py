# SPDX-License-Identifier: MIT
"""table.py ADSMCC PARBOIL DOC SOURCE... compares what adsmcc infers of kernels in CUDA C with what the same kernels in
the dialect declare, and the table of the results with that of a document. With WRITE=1 it writes the table instead.

An inferred IN must be declared IN or constant. OUT is inferred for the calls that write all of the object: it must not
be declared IN. INOUT is always right, and less than OUT."""
import os
import re
import shutil
import subprocess
import sys

adsmcc, parboil, doc, *sources = sys.argv[1:]
START, END = "<!-- accesses -->\n", "<!-- end -->\n"
clang = os.environ.get("CLANG", "clang")
if not shutil.which(clang):
    print(f"no {clang} (Debian: clang)")
    sys.exit(77)


def read_declared(program, source):
    """By kernel: its parameters, each with its name and what is declared. A constant may be a variable in CUDA C."""
    with open(os.path.join(parboil, program, "kernels.c"), encoding="utf-8") as file:
        text = file.read()
    with open(source, encoding="utf-8") as file:
        variables = re.findall(r"^__constant__ \w+ (\w+)\[", file.read(), re.M)
    declared = {}
    for kernel, params in re.findall(r"ADSM_KERNEL(?:_MAX)?\((\w+),((?:[^()]|\([^()]*\))*)\)", text):
        declared[kernel] = [(name, kind) for kind, name in re.findall(r"ADSM_(\w+)\([^(),]*, (\w+)\)", params)
                            if name not in variables]
    return declared


def read_inferred(source):
    inferred, kernel = {}, None
    done = subprocess.run([adsmcc, "--explain", source], check=True, text=True, stdout=subprocess.PIPE)
    for line in done.stdout.splitlines():
        if not line.startswith("\t"):
            kernel = line
        elif line.startswith("\tverdict"):
            inferred[kernel] = {int(i): access for i, access in re.findall(r"parameter (\d+) (\w+)", line)}
    return inferred


def verdict(declared, inferred):
    if inferred == "IN":
        return "right" if declared in ("IN", "CONST") else "WRONG"
    if inferred == "OUT":
        return "right" if declared == "OUT" else "right, at each call" if declared == "INOUT" else "WRONG"
    return "right" if declared == "INOUT" else "conservative"


rows = ["| Program | Kernel | Parameter | Declared | Inferred | |", "|---|---|---|---|---|---|"]
for source in sources:
    folder, name = os.path.split(source)
    program = os.path.basename(folder) if name == "kernels.cu" else name.removesuffix(".cu")
    declared = read_declared(program, source)
    for kernel, params in read_inferred(source).items():
        for i, access in sorted(params.items()):
            name, kind = declared[kernel][i]
            rows.append(f"| {program} | {kernel} | `{name}` | {kind} | {access} | {verdict(kind, access)} |")
table = "\n".join(rows) + "\n"
print(table)
with open(doc, encoding="utf-8") as file:
    head, rest = file.read().split(START)
    old, tail = rest.split(END)
if "WRITE" in os.environ:
    with open(doc, "w", encoding="utf-8") as file:
        file.write(head + START + table + END + tail)
elif old != table:
    # The PTX of another clang may say less.
    less = re.sub(r"OUT \| right(?:, at each call)?", "INOUT | conservative", old)
    same = all(new in (a, b) for new, a, b in zip(table.split("\n"), old.split("\n"), less.split("\n")))
    print(f"{doc} has another table" + (", as another clang has written it" if same else ""))
    sys.exit(0 if same else 1)
sys.exit("WRONG" in table)
