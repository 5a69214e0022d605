# SPDX-License-Identifier: MIT
"""adsmcc with CUDA C and PTX: what it refuses and how it says so, and that no file of CUDA's toolkit is opened.

adsmcc.py ADSMCC ADSM-INFO"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

adsmcc, adsm_info = (os.path.abspath(path) for path in sys.argv[1:])
problems = []
KERNEL = '#include "part.h"\n__global__ void scale(float *p, float f) { p[threadIdx.x] *= PART(f); }\n'


def run(*arguments, env=None):
    return subprocess.run([adsmcc, *arguments], encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, **(env or {})}, check=False)


def write(path, text):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def check(what, done, status, *words):
    """The command ended with this status, and said the words."""
    said = done.stdout + done.stderr
    if (done.returncode != 0) != (status != 0) or any(word not in said for word in words):
        problems.append(f"{what}: status {done.returncode}, {said.strip()[:600]}")


def make_toolkit():
    """A toolkit in all places where a compiler may look for it: its headers do not compile."""
    for name in ["cuda_runtime.h", "cuda_fp16.h", "vector_types.h"]:
        write(f"toolkit/include/{name}", "#error a header of the toolkit\n")
    write("toolkit/version.json", "{}")
    write("toolkit/nvvm/libdevice/libdevice.10.bc", "")
    write("toolkit/bin/nvcc", "#!/bin/sh\nexit 1\n")
    os.chmod("toolkit/bin/nvcc", 0o755)
    return os.path.abspath("toolkit")


def check_toolkit(here):
    env = {"PATH": f"{here}/bin:{os.environ['PATH']}", "CUDA_PATH": here, "CUDA_HOME": here}
    command = ["--emit-ptx", f"-I{here}/include", "half.cu", "-o", "half.ptx"]
    write("half.cu", "#include <cuda_fp16.h>\n__global__ void half_(half *p) { p[0] = p[1] * p[2]; }\n")
    check("with a toolkit", run(*command, env=env), 0)
    if not shutil.which("strace"):
        print("no strace here: which files are opened is not checked")
        return
    subprocess.run(["strace", "-f", "-e", "trace=open,openat,execve", "-o", "trace", adsmcc, *command],
                   env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    with open("trace", encoding="utf-8", errors="replace") as file:
        succeeded = [line for line in file if " = -1 " not in line]
    if not any("cuda_fp16.h" in line for line in succeeded):
        problems.append("the trace has no header")
    opened = [line for line in succeeded if here in line and "execve(" not in line]
    problems.extend(f"opened: {line.strip()}" for line in opened)


def check_surfaces():
    """The mode of a surface's access is a part of the instruction."""
    write("surface.cu", "#include <cuda_runtime.h>\n__global__ void move(cudaSurfaceObject_t s, int *p) {\n"
          "surf2Dwrite(*p, s, 0, 0, cudaBoundaryModeZero); surf1Dread(p, s, 0, cudaBoundaryModeClamp);\n"
          "*p += surf3Dread<int>(s, 0, 0, 0); }\n")
    check("surfaces", run("--emit-ptx", "surface.cu"), 0, "sust.b.2d.b32.zero", "suld.b.1d.b32.clamp",
          "suld.b.3d.b32.trap")


def check_grid_sync():
    """Calls with grid.sync() name its two variables, so that they do not run at the same time."""
    write("grid.cu", "#include <cooperative_groups.h>\n"
          "__global__ void meet(int *p) { *p = 1; cooperative_groups::this_grid().sync(); }\n")
    check("grid.sync()", run("grid.cu", "-o", "grid.adsm"), 0)
    done = subprocess.run([adsm_info, "grid.adsm"], encoding="utf-8", stdout=subprocess.PIPE, check=False)
    if not re.search(r"variables it uses +2\n", done.stdout):
        problems.append(f"grid.sync(): {done.stdout}")


def main():
    write("part.h", "#define PART(x) ((x) + ADDED)\n")
    write("scale.cu", KERNEL)
    done = run("--emit-ptx", "-D", "ADDED=3", "-MF", "scale.d", "scale.cu", "-o", "scale.ptx")
    if "which was not found" in done.stderr or "cannot run the clang" in done.stderr:
        print(done.stderr.strip())
        sys.exit(77)
    check("a kernel", done, 0)
    with open("scale.d", encoding="utf-8") as file:
        rule = file.read()
    if not rule.startswith("scale.ptx:") or "part.h" not in rule or "cuda_runtime.h" not in rule:
        problems.append(f"-MF: {rule}")
    check("a module of PTX", run("-MF", "ptx.d", "scale.ptx", "-o", "part.adsm"), 0)
    with open("ptx.d", encoding="utf-8") as file:
        rule = file.read()
    if rule != "part.adsm: \\\n scale.ptx\n":
        problems.append(f"-MF of PTX: {rule}")
    done = run("--emit-ptx", "-DADDED=3", "-std=c++11", "-O1", "scale.cu")
    check("PTX on standard output", done, 0, ".entry", "sm_80")
    check("an error in the source", run("scale.cu", "-o", "scale.adsm"), 1, "scale.cu:2:", "ADDED")
    if os.path.exists("scale.adsm"):
        problems.append("an error in the source: there is a module")
    write("empty.cu", "int x;\n")
    check("no kernel", run("empty.cu"), 1, "empty.cu: no kernel in this file (__global__)")
    check("no file", run("none.cu"), 1, "none.cu: No such file")
    check("no clang", run("--clang", "/none/clang", "scale.cu"), 1, "/none/clang", "--clang or CLANG")
    write("other.ptx", "//\n// Generated by NVIDIA NVVM Compiler\n//\n.version 7.5\n.target sm_80\n")
    check("PTX of NVIDIA's", run("other.ptx"), 1, "NVIDIA", "licence")
    check("--scratchpad", run("--scratchpad", "scale.cu"), 1, "not for CUDA C")
    write("dialect.c", '#include "adsm_kernel.h"\n')
    check("-std of the dialect", run("-std=c++17", "dialect.c"), 1, "CUDA C")
    check_surfaces()
    check_grid_sync()
    check_toolkit(make_toolkit())
    # The one that is installed, if there is one.
    if os.path.exists("/usr/local/cuda/include/cuda_runtime.h"):
        check_toolkit("/usr/local/cuda")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
print("\n".join(problems))
sys.exit(1 if problems else 0)
