# SPDX-License-Identifier: MIT
"""The double of the toolkit's compiler does what is said of it: test_nvrtc.py LIBRARY ADSMCC KERNELS.c"""
import ctypes
import os
import subprocess
import sys
import tempfile

OUT_OF_MEMORY, INVALID_PROGRAM, INVALID_OPTION, COMPILATION, INTERNAL_ERROR = 1, 4, 5, 6, 11


def check(truth, what):
    if not truth:
        print(what)
        sys.exit(1)


def attempt(text, *options):
    """Status of creating, status of compiling, the log, the object (None: there is none)."""
    program = ctypes.c_void_p()
    status = library.nvrtcCreateProgram(ctypes.byref(program), text, b"text.cu", 0, None, None)
    if status:
        return status, None, "", None
    words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    compiled = library.nvrtcCompileProgram(program, len(options), words)
    size = ctypes.c_size_t()
    check(not library.nvrtcGetProgramLogSize(program, ctypes.byref(size)), "a program has a log")
    log = ctypes.create_string_buffer(size.value)
    check(not library.nvrtcGetProgramLog(program, log), "the log can be had")
    ptx = None
    if library.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0:
        ptx = ctypes.create_string_buffer(size.value)
        check(not library.nvrtcGetPTX(program, ptx), "what there is can be had")
        check(ptx.raw[-1:] == b"\0", "it ends with 0")
    else:
        check(library.nvrtcGetPTX(program, ctypes.create_string_buffer(1)) == INVALID_PROGRAM, "nothing to be had")
    check(library.nvrtcDestroyProgram(ctypes.byref(program)) == 0 and not program.value, "a program goes")
    return status, compiled, log.value.decode(), ptx.raw if ptx else None


library = ctypes.CDLL(sys.argv[1])
library.nvrtcGetErrorString.restype = ctypes.c_char_p
major, minor = ctypes.c_int(), ctypes.c_int()
check(not library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) and major.value == 13, "a version")
check(library.nvrtcGetErrorString(COMPILATION) == b"NVRTC_ERROR_COMPILATION", "names of errors")
check(library.nvrtcDestroyProgram(ctypes.byref(ctypes.c_void_p())) == INVALID_PROGRAM, "no program")
text = subprocess.run([sys.argv[2], "--emit-text", sys.argv[3]], capture_output=True, check=True).stdout

status, compiled, log, ptx = attempt(text, "--gpu-architecture=compute_90", "--fmad=false", "-DA=1", "-D", "B=2")
check(not status and not compiled and ptx, f"the dialect: {status} {compiled}\n{log}")
check(ptx[:4] == b"\x7fELF" and b"adsm_kernels" in ptx and b"adsm_run_vecadd" in ptx, "it is a module")

status, compiled, log, ptx = attempt(b'extern "C" __global__ void f(float *a) { a[threadIdx.x] = 1; }')
check(compiled == COMPILATION and "error" in log and not ptx, f"CUDA that is not the dialect: {compiled}\n{log}")
# What a macro of ours says is what the compiler sees.
status, compiled, log, ptx = attempt(text + b"\n#ifdef BAD\n#error BAD is there\n#endif\n", "-DBAD")
check(compiled == COMPILATION and "BAD is there" in log, f"-D: {compiled}\n{log}")

for option in ["--gpu-architecture=sm_33", "-arch=compute_", "--fmad=maybe", "--nonsense", "nonsense", "-Z",
               "--use_fast_math=1"]:
    status, compiled, log, ptx = attempt(text, option)
    check(compiled == INVALID_OPTION and option in log, f"{option}: {compiled}\n{log}")

os.environ["TEST_NVRTC"] = "fail"
check(attempt(text)[1] == INTERNAL_ERROR, "fail")
os.environ["TEST_NVRTC"] = "nothing,no-memory"
check(attempt(text)[0] == OUT_OF_MEMORY, "no-memory")
os.environ["TEST_NVRTC"] = "no"
check(attempt(text)[1] == 0, "a part of a word")
with tempfile.TemporaryDirectory() as folder:
    os.environ["TEST_NVRTC_CACHE"] = folder
    first = attempt(text)[3]
    check(len(os.listdir(folder)) == 1, "kept")
    usual = os.environ.get("CC")
    os.environ["CC"] = "false"
    check(attempt(text)[1] == COMPILATION, "another compiler is another key")
    os.environ.pop("CC") if usual is None else os.environ.update(CC=usual)
    check(attempt(text)[3] == first and len(os.listdir(folder)) == 1, "found again")
