# SPDX-License-Identifier: MIT
"""adsmcc reads no header of CUDA's toolkit, wherever clang would look for it: toolkit.py ADSMCC

A folder with a cuda_runtime.h is a toolkit. Headers in such a folder are not found, neither by -I nor by the
environment, which stands for clang's own folders."""
import os
import subprocess
import sys
import tempfile

problems = []


def check(text, found, options, environment):
    source = os.path.join(scratch, "source.cu")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text + "__global__ void kernel(int *p) { *p = 1; }\n")
    done = subprocess.run([sys.argv[1], "--emit-ptx", "-Werror", *options, source], encoding="utf-8",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env={**os.environ, **environment})
    if "which was not found" in done.stderr or "cannot run the clang" in done.stderr:
        print(done.stderr.strip())
        sys.exit(77)
    if found != (done.returncode == 0) or (not found and "file not found" not in done.stderr):
        problems.append(f"{text!r} {options} {environment}: {done.returncode} {done.stderr}")


with tempfile.TemporaryDirectory() as scratch:
    toolkit, other = os.path.join(scratch, "toolkit"), os.path.join(scratch, "other")
    for folder, names in (toolkit, ["cuda_runtime.h", "of_toolkit.h"]), (other, ["of_other.h"]):
        os.mkdir(folder)
        for name in names:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write("#error a header of the toolkit\n" if folder == toolkit else "\n")
    for way in ([f"-I{toolkit}", f"-I{other}"], {}), ([f"-I{other}"], {"CPATH": toolkit}), \
               ([f"-I{other}"], {"CPLUS_INCLUDE_PATH": toolkit}):
        check("#include <cuda_runtime.h>\n#include <of_other.h>\n#include <vector>\n", True, *way)
        check("#include <of_toolkit.h>\n", False, *way)
print("\n".join(problems))
sys.exit(1 if problems else 0)
