# SPDX-License-Identifier: MIT
"""adsmcc --compile-commands: clang's own tools parse kernels by the entries, and find an error at its line.

commands.py ADSMCC"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

adsmcc = os.path.abspath(sys.argv[1])
problems = []

DIALECT = """#include <adsm_kernel.h>
#include "more.h"
ADSM_KERNEL(add, ADSM_IN(float, a), ADSM_INOUT(float, b), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n)
			b[ADSM_GLOBAL_X] += a[ADSM_GLOBAL_X] * SCALE * MORE;
	}
}
"""
CUDA = """#include <math.h>
#include "more.h"
__global__ void add(const float *a, float *b, int n)
{
	__shared__ float all[64];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	all[threadIdx.x] = i < n ? a[i] : 0;
	__syncthreads();
	b[i] += sinf(all[63 - threadIdx.x]) * SCALE * MORE;
}
void call(float *a, float *b) { add<<<1, 64>>>(a, b, 64); }
"""
OPENCL = """#include "more.h"
__kernel void add(__global const float *a, __global float *b, int n)
{
	size_t i = get_global_id(0);
	float4 x = (float4)(1.0f);
	if (i < n)
		b[i] += sin(a[i]) * SCALE * MORE + x.x;
}
"""


def check(what, is_right):
    if not is_right:
        problems.append(what)


def run(*argv, **keywords):
    return subprocess.run([*argv], encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          timeout=120, **keywords)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def entries():
    with open("compile_commands.json", encoding="utf-8") as file:
        return json.load(file)


def write_sources():
    os.makedirs("a \"folder\"/include")
    write("a \"folder\"/include/more.h", "#define MORE 2\n")
    for suffix, text in [(".c", DIALECT), (".cu", CUDA), (".cl", OPENCL)]:
        write("good" + suffix, text)
        write("bad" + suffix, text.replace("SCALE", "nothing"))
    return ["good.c", "good.cl", "bad.c", "bad.cl"] + (["good.cu", "bad.cu"] if shutil.which("clang") else [])


def check_entries(sources):
    """What the file contains: one entry for each source, and those of others."""
    other = {"directory": "/x", "command": "cc \"}]\" y.c", "file": "y.c", "output": {"file": "good.c"}["file"]}
    write("compile_commands.json", json.dumps([other]))
    options = ["-I", "a \"folder\"/include", "-D", "SCALE=3", "-O2", "-g", "-fopenmp"]
    for names in [sources[:1], sources, sources]:
        done = run(adsmcc, "--compile-commands", "compile_commands.json", *options, *names)
        check(done.stdout, not done.returncode and not done.stdout)
    check("the entries of others changed", entries()[0] == other)
    found = [entry["file"] for entry in entries()[1:]]
    check(f"entries for {found}", found == [os.path.realpath(name) for name in sources])
    check("an option for code in an entry", not any(word in entry["arguments"] for entry in entries()[1:]
                                                    for word in ["-O2", "-g", "-fopenmp"]))
    many = [subprocess.Popen([adsmcc, "--compile-commands=compile_commands.json", *options, name])
            for name in sources * 3]
    check("adsmcc failed", not any([process.wait(60) for process in many]))
    check(f"{len(entries())} entries", len(entries()) == len(sources) + 1)
    write("other.json", "{}")
    done = run(adsmcc, "--compile-commands", "other.json", "good.c")
    check(done.stdout, done.returncode == 1 and "other.json: this file exists, and is not a list" in done.stdout)
    with open("other.json", encoding="utf-8") as file:
        check("another file was overwritten", file.read() == "{}")
    check("a missing source", run(adsmcc, "--compile-commands", "new.json", "none.c").returncode == 1)
    check("a file without entries", not os.path.exists("new.json"))
    # Without clang there are no entries for CUDA C.
    done = run(adsmcc, "--compile-commands", "new.json", "good.cu")
    check(done.stdout, (done.returncode == 0) == os.path.exists("new.json"))
    check_limits(sources)
    check("modules were made", not [name for name in os.listdir(".") if name.endswith(".adsm")])


def check_limits(sources):
    """The file stays as it is if it cannot be written."""
    with open("compile_commands.json", "rb") as file:
        before = file.read()
    for limit in 0, 100, len(before) + 10:
        done = run(adsmcc, "--compile-commands", "compile_commands.json", "-D", 1000 * "X", *sources,
                   preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        check(f"a limit of {limit} bytes: {done.returncode} {done.stdout}",
              done.returncode == 1 and "compile_commands.json: File too large" in done.stdout)
        with open("compile_commands.json", "rb") as file:
            check(f"the file changed with a limit of {limit} bytes", file.read() == before)


def check_tools(sources):
    """clang-check reads the same entries as clangd, and takes less time."""
    for name in sources:
        done = run("clang-check", name)
        is_good = name.startswith("good")
        line = [text for text in done.stdout.splitlines() if ": error: " in text]
        number = 9 if name.endswith(".cu") else 7
        check(f"clang-check {name}: {done.stdout}", done.returncode == 0 and not line if is_good else
              len(line) == 1 and f"{name}:{number}:" in line[0] and "undeclared identifier 'nothing'" in line[0])
        if shutil.which("clangd") and (os.environ.get("TEST_FULL") == "1" or name == "bad.cl"):
            done = run("clangd", f"--check={name}")
            check(f"clangd {name}: {done.stdout}", ("checks completed, 0 errors" in done.stdout) == is_good)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    all_sources = write_sources()
    check_entries(all_sources)
    missing = not shutil.which("clang-check")
    if not missing:
        check_tools(all_sources)
    os.chdir("/")
if problems:
    print("\n".join(problems))
    sys.exit(1)
if missing:
    print("no clang-check (Debian: clang-tools)")
    sys.exit(77)
