# SPDX-License-Identifier: MIT
"""What adsmcc --header writes of modules in the dialect and in CUDA C, and what it refuses: header.py ADSMCC INCLUDE
CXX CLANG|-"""
import os
import subprocess
import sys
import tempfile

adsmcc, include, cxx, clang = sys.argv[1:]
DIALECT = """#include <adsm_kernel.h>
typedef float number;
struct pair { int a, b; };
ADSM_KERNEL_MAX(one, 64, ADSM_IN(number, in), ADSM_ONCE_IN(int, once), ADSM_VAL(unsigned  int, n))
{
}
ADSM_KERNEL(namespace, ADSM_CONST(struct pair, pairs))
{
}
"""
CUDA = """template <class T> __global__ void fill(T *p, T value) { p[threadIdx.x] = value; }
template __global__ void fill<float>(float *, float);
template __global__ void fill<double>(double *, double);
struct pair { int a, b, c; };
__global__ void scale(float *out, const float *in, float factor, int n, unsigned long k, pair x)
{
	extern __shared__ float part[];
	part[threadIdx.x] = in[threadIdx.x] * factor + x.c;
	__syncthreads();
	if (threadIdx.x < n) out[threadIdx.x + k] = part[threadIdx.x];
}
"""
CALLS = """#include "%s"
struct three { int a, b, c; };
void calls(const adsm::kernel<%s::scale> &scale, const adsm::kernel<%s::fill_2> &fill)
{
	adsm::buffer<float> out(8);
	const adsm::buffer<float> in(8);
	scale.each<8>(8, out, in, 2.0f, 8, 0ul, three{}, adsm::local{ 32 });
	fill.each<8>(8, out.data(), 1.0);
	%s
}
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def header(*command):
    done = run(adsmcc, *command)
    assert not done.returncode, done
    with open(command[command.index("--header") + 1], encoding="utf-8") as file:
        return file.read()


def has(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in\n{text}"


def refused(word, *command):
    done = run(adsmcc, *command)
    assert done.returncode == 1 and word in done.stdout, done


def compiles(path, text):
    write(path, text)
    return run(cxx, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{include}", path)


def dialect(folder):
    source, module = f"{folder}/kernels.c", f"{folder}/kernels.adsm"
    write(source, DIALECT)
    text = header("-o", module, "--header", f"{folder}/2-my kernels.hpp", source)
    has(text, "namespace _2_my_kernels {", "struct one {", "max_threads = 64;", "adsm::param::in<adsm::bytes<4>>",
        "adsm::param::once<int, 1>", "adsm::param::value<unsigned>", '"once", "int", 6, 1, 4',
        '"in", "number", 1, 1, 4',
        "struct namespace_ {", 'kernel_name = "namespace";', "adsm::param::constant<adsm::bytes<8>>")
    # The same of the module.
    assert header("--header", f"{folder}/2-my kernels.hpp", "-MF", f"{folder}/rule.d", module) == text
    with open(f"{folder}/rule.d", encoding="utf-8") as file:
        has(file.read(), f"{folder}/2-my\\ kernels.hpp: \\\n {module}\n")
    has(header("--header", f"{folder}/std.hpp", module), "namespace std_ {")
    done = compiles(f"{folder}/use.cpp", '#include "2-my kernels.hpp"\n')
    assert not done.returncode, done.stdout
    refused("only --header takes a module", module)
    refused("cannot be combined", "--header", f"{folder}/x.hpp", "--emit-text", source)
    refused("x.adsm: No such file", "--header", f"{folder}/x.hpp", f"{folder}/x.adsm")
    with open(module, "rb") as file:
        whole = file.read()
    for bad in [b"", b"no module, but as long as a header of an ELF file" * 2, whole[:-1], whole[:1000],
                whole.replace(b"ADSMKRN", b"ADSMKRX")]:
        with open(f"{folder}/bad.adsm", "wb") as file:
            file.write(bad)
        refused("bad.adsm: ", "--header", f"{folder}/bad.hpp", f"{folder}/bad.adsm")
    assert not os.path.exists(f"{folder}/bad.hpp")


def same_files(folder):
    """No output may replace the source, the module, the notes of a run or another output."""
    source, module = f"{folder}/same.c", f"{folder}/same.adsm"
    write(source, DIALECT)
    os.symlink("same.c", f"{folder}/link.c")
    os.link(source, f"{folder}/hard.hpp")
    header("-o", module, "--header", f"{folder}/same.hpp", source)
    write(f"{folder}/notes", "one two 1\n")
    profile = ("--image", "--partition", f"profile:{folder}/notes")
    with open(module, "rb") as file:
        whole = file.read()
    for command in [("-o", source), ("--emit-text", "-o", source), ("-o", module, "--header", source),
                    ("-o", module, "-MF", source), ("-o", f"{folder}/./same.c"), ("-o", f"{folder}/link.c"),
                    ("-o", module, "--header", f"{folder}/hard.hpp"), ("-o", module, "--header", module),
                    ("-o", f"{folder}/new", "--header", f"{folder}/new"), ("-o", module, "-MF", module),
                    ("-o", f"{folder}/new", "--header", f"{folder}/./new"),
                    ("-o", os.path.relpath(f"{folder}/new"), "-MF", f"{folder}/new"),
                    ("-o", f"{folder}/notes", *profile), (*profile, "-o", module, "-MF", f"{folder}/./notes")]:
        refused("are the same file: ", *command, source)
    refused("are the same file: ", "--header", module, module)
    with open(source, encoding="utf-8") as file:
        assert file.read() == DIALECT
    with open(module, "rb") as file:
        assert file.read() == whole
    assert not os.path.exists(f"{folder}/new")
    with open(f"{folder}/notes", encoding="utf-8") as file:
        assert file.read() == "one two 1\n"
    done = run(adsmcc, "-o", "/dev/null", "-MF", "/dev/null", source)
    assert not done.returncode, done


def namespaces(folder, module):
    """Words of C++, names of C's library and of libadsm are names of files, too."""
    names = ["main", "double", "for", "class", "time", "index", "signal", "exp", "exp2", "div", "read", "write", "log",
             "sin", "round", "remove", "select", "stat", "tm", "uint", "unix", "stdout", "errno", "j1",
             "environ", "adsm", "int32_t", "size_t", "FILE", "getenv", "fprintf", "isdigit", "strtod_l",
             "fputs_unlocked", "wchar_t", "random_r", "bsearch", "wmemcpy", "drand48", "sched_param",
             "pthread_create", "strstr", "sinf", "sqrtf", "expl", "powf", "nearbyintl", "adsmCall", "adsmMemset",
             "adsmDim"]
    text = "".join(f"#include <{name}>\n" for name in [
        "cmath", "csignal", "cstdlib", "cstring", "ctime", "sys/mman.h", "sys/socket.h", "sys/stat.h", "sys/wait.h",
        "unistd.h"])
    for name in names:
        has(header("--header", f"{folder}/{name}.hpp", module), f"namespace {name}_ {{")
        text += f'#include "{folder}/{name}.hpp"\n{name}_::one *of_{name};\n'
    for name in "maine", "wcs", "log64", "index_r", "sendl", "adsm_own", "tt":
        has(header("--header", f"{folder}/{name}.hpp", module), f"namespace {name} {{")
    write(f"{folder}/main.cpp", text)
    for standard in "c++17", "gnu++17":
        done = run(cxx, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{include}",
                   f"{folder}/main.cpp")
        assert not done.returncode, done.stdout


def rules(folder, *command):
    """Targets in rules for make are escaped as sources are."""
    output = f"{folder}/a b#c$d.adsm"
    done = run(adsmcc, "-o", output, "-MF", f"{folder}/rule.d", *command)
    assert not done.returncode, done
    with open(f"{folder}/rule.d", encoding="utf-8") as file:
        has(file.read(), f"{folder}/a\\ b\\#c$$d.adsm:")


def cuda(folder):
    source, name = f"{folder}/gpu.cu", f"{folder}/gpu.hpp"
    write(source, CUDA)
    text = header("--clang", clang, "-o", f"{folder}/gpu.adsm", "--header", name, source)
    has(text, "namespace gpu {", "struct scale {", "struct fill_1 {", "struct fill_2 {", "adsm::param::inout<void>",
        "adsm::param::in<void>", "adsm::param::value<float>", "adsm::param::value<double>", "adsm::param::integer<4>",
        "adsm::param::integer<8>", "adsm::param::value<adsm::bytes<12>>", "adsm::param::shared")
    done = compiles(f"{folder}/use.cpp", CALLS % ("gpu.hpp", "gpu", "gpu", ""))
    assert not done.returncode, done.stdout
    done = compiles(f"{folder}/use.cpp", CALLS % ("gpu.hpp", "gpu", "gpu", "fill.each<8>(8, in, 1.0);"))
    assert done.returncode and "which is const" in done.stdout, done.stdout


with tempfile.TemporaryDirectory() as own:
    dialect(own)
    namespaces(own, f"{own}/kernels.adsm")
    same_files(own)
    rules(own, f"{own}/kernels.c")
    if clang != "-":
        cuda(own)
        rules(own, "--clang", clang, f"{own}/gpu.cu")
