# SPDX-License-Identifier: MIT
"""The headers of CUDA C compile, and what they call is known: check.py ADSMCC [CLANG]

Each .cu of this folder by clang, for each standard of C++. every.cu has all functions of the headers: macros make them
functions that clang keeps. The functions that the PTX declares and does not define are in known.txt, and no other.
unfused.cu has products and sums that stay apart."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = "static __attribute__((device, used, noinline))"
OPTIONS = {"every.cu": [f"-DADSM_CUDA_DEVICE={KEPT}", f"-DADSM_CUDA_BOTH={KEPT}"]}
STANDARDS = {"every.cu": ["c++17"], "language.cu": ["c++14", "c++17", "gnu++20"]}

adsmcc, *clang = sys.argv[1:]
with open(os.path.join(HERE, "known.txt"), encoding="utf-8") as file:
    known = {line.strip() for line in file if not line.startswith("#")}
problems, found = [], set()


def compile_source(name, standard):
    """The PTX of a source, or None if it is wrong."""
    command = [adsmcc, "--emit-ptx", f"-std={standard}", "-Wall", "-Werror", *OPTIONS.get(name, []),
               *(["--clang", clang[0]] if clang else []), os.path.join(HERE, name)]
    done = subprocess.run(command, encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if "which was not found" in done.stderr or "cannot run the clang" in done.stderr:
        print(done.stderr.strip())
        sys.exit(77)
    if done.returncode or done.stderr:
        problems.append(f"{name}, {standard}: {done.stderr}")
        return None
    return done.stdout


for name in sorted(os.listdir(HERE)):
    if not name.endswith(".cu"):
        continue
    for standard in STANDARDS.get(name, ["c++11", "c++17"]):
        ptx = compile_source(name, standard)
        if ptx is None:
            continue
        lines = ptx.splitlines()
        externs = {line.split()[-1].split("(")[0] for line in lines if line.startswith(".extern .func")}
        n = sum(line.startswith((".func", ".visible .func", ".weak .func")) for line in lines)
        print(f"{name}, {standard}: {len(lines)} lines, {n} functions, {len(externs)} of others")
        problems += [f"{name}: {function} is not in known.txt" for function in sorted(externs - known)]
        found |= externs
        if name == "unfused.cu" and "fma." in ptx:
            problems.append(f"{name}: a product and a sum became one")
        if name == "every.cu" and n < 2000:
            problems.append(f"{name}: only {n} functions")
problems += [f"known.txt: no header calls {function}" for function in sorted(known - found)]
print("\n".join(problems))
sys.exit(1 if problems or not found else 0)
