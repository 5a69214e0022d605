# SPDX-License-Identifier: MIT
"""What a program sees of cores with a local store: scratchpad.py PROGRAM MODULE PLAIN ADSMCC INFO CASE. PLAIN is a
module without code for them."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../observe/trace"))
from tracefile import Trace, expect_moved  # noqa: E402

PROGRAM, MODULE, PLAIN, ADSMCC, INFO, CASE = sys.argv[1:7]


def execute(*words, **options):
    env = {key: value for key, value in os.environ.items() if not key.startswith("ADSM_")}
    return subprocess.run(words, env=env | {"ADSM_BACKEND": "scratchpad", **options}, capture_output=True, text=True,
                          check=False)


def run(*steps, module=MODULE, **options):
    """What it says on standard output."""
    done = execute(PROGRAM, module, *steps, **options)
    assert done.returncode == 0, done
    return done.stdout


def says(text, *patterns):
    for pattern in patterns:
        assert re.search(pattern, text), (pattern, text)


def right():
    """Kinds of accesses; neighbouring bytes of two cores; calls with a deep stack."""
    for cores in ["1", "2"]:
        out = run("scale", "kinds", "variables", "near", "shallow", ADSM_SCRATCHPAD_CORES=cores,
                  ADSM_SCRATCHPAD_CACHE="4x2x64")
        assert out == "far: ok\ndeep: ok\n", out
    assert run("every_other", ADSM_SCRATCHPAD_CORES="2") == ""


def refused():
    """What does not fit, with the sizes; and the program goes on."""
    out = run("large", "scale")
    says(out, r"large: -28: scratchpad: kernel 'large' does not fit into a local store of 262144 bytes: code \d+ of ",
         r"; stack with its ADSM_SHARED and ADSM_PRIVATE arrays 2\d{5}, data \d+, stack of the cache 2048, "
         r"of \d+; ",
         "; cache: lines 32768, tags 8192, dirty bits 4096, prefetched lines 512 ",
         "make its arrays smaller, or raise ADSM_SCRATCHPAD_SIZE")
    assert run("large", ADSM_SCRATCHPAD_SIZE="1M") == "large: ok\n"
    says(run("shallow", ADSM_SCRATCHPAD_CODE="64"), r"kernel 'deep' does not fit .*: code \d+ of 64 ",
         "make the code buffer larger")
    says(run(ADSM_SCRATCHPAD_SIZE="32K"), "module: scratchpad: a local store of 32768 bytes is too small for its cache "
         r"\(64 sets x 4 ways x 128 B: 32768 of lines")
    for value in ["64x4", "63x4x128", "64x4x8", "64x4x128x", "x", "64x4x8192", "0x4x128"]:
        says(run(ADSM_SCRATCHPAD_CACHE=value), "module: .*" + re.escape(value) + ".*SETSxWAYSxLINE")
    says(run("near", module=PLAIN), r"it has no code for cores with a local store: compile it with adsmcc --scratchpad")


def lost():
    """What a kernel must not do: a sentence, the device is gone, and the program is not."""
    crashed = r"kernel '%s' crashed with SIGSEGV at address %s"
    raw = (crashed + ": this is an address of device memory, which a plain pointer cannot access: write "
           "ADSM_SPACE_GLOBAL before ")
    says(run("raw", "near"), r"raw: -\d+: .*" + raw % ("raw", "0x[0-9a-f]+"), r"far: -\d+: ")
    says(run("raw_store"), raw % ("raw_store", "0x[0-9a-f]+"))
    says(run("null"), crashed % ("raw", r"0x8, in block \(0, 0, 0\)"))
    nothing = "an access through a pointer to device memory that points to no object: "
    says(run("far"), crashed % ("far", "0x8: " + nothing + "a null pointer, a pointer beyond its "
                                "object, or a pointer that never belonged to an object"))
    says(run("behind"), crashed % ("far", "0x[0-9a-f]+: " + nothing + "64 bytes behind the end of the 4194304 bytes of "
                                   "an object at 0x"))
    says(run("unaligned"), crashed % ("unaligned", "0x[0-9a-f]+: an atomic operation at an address that is not a "
                                      "multiple of its size$"))
    says(run("deep"), crashed % ("deep", r"0x[0-9a-f]+: its stack of \d+ bytes in the local store has overflowed"))


def counted():
    """Misses, transfers and bytes are those that the streams have; one core, so that it has all."""
    n = 1 << 20
    for paper in ["0", "1"]:
        with tempfile.TemporaryDirectory() as folder:
            run("scale", ADSM_SCRATCHPAD_CORES="1", ADSM_STATS=f"json:{folder}/stats", ADSM_TRACE=f"{folder}/trace",
                ADSM_PAPER=paper, ADSM_LOG="error")
            with open(f"{folder}/stats", encoding="utf-8") as file:
                [kernel] = json.load(file)["kernels"]
            trace = Trace(f"{folder}/trace")
        expect_moved(trace, [kernel["counters"]])
        names = {event["args"]["name"] for event in trace.events if event["name"] == "thread_name"}
        assert {"core 0", "core 0: misses"} <= names and "core 0: code" not in names, names
        assert 1 < sum(event.get("cat") == "moved" for event in trace.events) <= 64, trace.events
        counters = kernel["counters"]
        expected = {"hits": 2 * n - n // 16, "misses": n // 16, "direct": 0, "dma_in": n // 16, "dma_out": n // 32,
                    "bytes_in": n * 8, "bytes_out": n * 4, "cores": 1}
        assert {name: counters[name] for name in expected} == expected, counters
        assert (counters["misses_ahead"] == 0) == (paper == "1"), counters
        # Of the stack, 144 KiB, a kernel of one loop uses little.
        assert 110000 < counters["bytes_peak"] < 120 << 10 and counters["work_ns"], counters
    text = execute(PROGRAM, MODULE, "scale", ADSM_STATS="text:/dev/stderr").stderr
    says(text, r"adsm: misses +\d+  accesses to lines that were not in the cache", r"adsm: bytes_out +4.0 MiB  bytes "
         r"written back")
    says(execute(INFO, ADSM_SCRATCHPAD_CORES="6").stdout, "made of +6 cores with a local store of 256 KiB each: ",
         "cache of 64 sets x 4 ways x 128 B, with prefetch; 64 KiB for code, 14[0-9] KiB for stack")


def kernel_of(**options):
    """What the report has of scale, on one core."""
    with tempfile.TemporaryDirectory() as folder:
        run("scale", ADSM_SCRATCHPAD_CORES="1", ADSM_STATS=f"json:{folder}/stats", ADSM_LOG="error", **options)
        with open(f"{folder}/stats", encoding="utf-8") as file:
            [kernel] = json.load(file)["kernels"]
    return kernel, kernel["counters"]["bytes_in"] + kernel["counters"]["bytes_out"]


def advised():
    """Another cache moves less: what is promised is what it moves, to the byte. While advice is sought all is counted
    as without."""
    same = ("hits", "misses", "misses_ahead", "direct", "dma_in", "dma_out", "bytes_in", "bytes_out")
    # Both arrays' lines are of the same sets; and lines that are fetched ahead in vain.
    for own in [{"ADSM_SCRATCHPAD_CACHE": "64x1x128"}, {"ADSM_SCRATCHPAD_CACHE": "1x1x256"}]:
        without, moved = kernel_of(**own)
        seeking, also_moved = kernel_of(ADSM_ADVISE="1", **own)
        assert all(without["counters"][name] == seeking["counters"][name] for name in same), (without, seeking)
        assert moved == also_moved and not without["advice"], (without, seeking)
        found = re.fullmatch(r"cores moved (\d+) bytes through their caches; with (ADSM_.*) they would move exactly "
                             r"(\d+)",
                             seeking["advice"])
        assert found and int(found[1]) == moved, seeking
        other = dict(setting.split("=") for setting in found[2].split(" and "))
        assert kernel_of(**{**own, **other})[1] == int(found[3]) < moved, (found, other)
    # Nothing moves less than each byte once.
    assert not kernel_of(ADSM_ADVISE="1")[0]["advice"]


WRONG = {
    "to_local": ("*a = *(const float *)b;", "a cast between a pointer to device memory and a pointer to the core's "
                 "own memory"),
    "to_global": ("float x[4] = { 1 }; ((volatile ADSM_SPACE_GLOBAL float *)x)[ADSM_BLOCK_X] = *a; *a = x[1];",
                  "a cast between a pointer to device memory"),
    # By its thread: what the optimiser may move out of the loop of threads has that loop's line, since LLVM 17.
    "constant": ("((ADSM_SPACE_CONST float *)c)[ADSM_THREAD_X] = *a;", "a store to a constant"),
    "escapes": ("static int n; int *volatile p = &n; *p = 1; *a = (float)n;", r"the address of 'wrong\.n' is used: .* "
                "declare pointers to it ADSM_SPACE_GLOBAL"),
    "outside": ("*a = other(b);", r"other\(\) is not a function of this module"),
    "variable_size": ("float x[(int)*b]; for (int i = 0; i < (int)*b; i++) x[i] = a[i]; *a = x[(int)b[1]];",
                      "an array of variable size"),
    "volatile_copy": ("struct s { int n[5]; } x = { { (int)*b } }; *(volatile ADSM_SPACE_GLOBAL struct s *)a = x;",
                      "a volatile access to a structure or an array"),
    "assembly": ('__asm__ volatile("" : : "r"(b));', "assembly with a pointer to device memory"),
}


SOURCE = """#include <adsm_kernel.h>
float other(const ADSM_SPACE_GLOBAL float *);
ADSM_KERNEL(wrong, ADSM_INOUT(float, a), ADSM_IN(float, b), ADSM_CONST(float, c))
{
	ADSM_THREADS {
		%s
	}
}
"""


# What later versions of clang make intrinsics of, and earlier ones not.
BUILT_IN = """
#if defined(__has_builtin) && __has_builtin(__builtin_align_down) && __has_builtin(__builtin_memset_inline)
		__builtin_memset_inline(a, 7, 12);
		*a += *__builtin_align_down(b + ADSM_BLOCK_X, 64);
#endif
"""


def compiled():
    """What has no meaning there is refused with its line; and without clang all of it."""
    with tempfile.TemporaryDirectory() as folder:
        source, module = f"{folder}/wrong.c", f"{folder}/wrong.adsm"

        def compile_it(body, *options):
            with open(source, "w", encoding="utf-8") as file:
                file.write(SOURCE % body)
            return execute(ADSMCC, "-Wno-all", "--scratchpad", *options, "-o", module, source)

        for name, (body, sentence) in WRONG.items():
            done = compile_it(body, *os.environ["TEST_ADSMCC"].split())
            assert done.returncode and not os.path.exists(module), (name, done)
            says(done.stderr, rf"wrong\.c:6: error: .*{sentence}")
        done = compile_it("static int n[9]; static int *p = n; *p++ = (int)*a; *a = (float)n[ADSM_BLOCK_X];",
                          *os.environ["TEST_ADSMCC"].split())
        assert done.returncode and not os.path.exists(module), done
        says(done.stderr, r"adsmcc: the address of 'wrong\.n' is in the initial value of 'wrong\.p': .* declare "
             "pointers to it ADSM_SPACE_GLOBAL")
        done = compile_it("static int n; n += (int)*a; *a = (float)n;\n}\n}\nADSM_TASK(t, ADSM_INOUT(int, x)) {\n{\n"
                          "*x = 1;", "--partition", "auto", *os.environ["TEST_ADSMCC"].split())
        assert done.returncode and not os.path.exists(module), done
        says(done.stderr, r"wrong\.c:6: error: 'n' is a static variable: .* in a module with tasks")
        done = compile_it(BUILT_IN, *os.environ["TEST_ADSMCC"].split())
        assert done.returncode == 0 and not done.stderr, done
        done = compile_it("static _Thread_local float own[1000]; own[(int)*b]++; *a = own[(int)b[1]];",
                          *os.environ["TEST_ADSMCC"].split())
        assert done.returncode == 0, done
        says(execute(INFO, module).stdout, r"in a local store: .* 4\d\d\d of data")
        # Functions that are not optimised cannot be inlined.
        done = compile_it("*a = *b;\n}\n}\nADSM_FUNCTION int f(int x) { return x; }\n"
                          "ADSM_KERNEL(k, ADSM_OUT(int, out)) {\nADSM_THREADS {\n*out = f(3);", "-O0", "--partition",
                          "auto:64K", *os.environ["TEST_ADSMCC"].split())
        assert done.returncode == 0, done
        done = compile_it("*a = *b;", "--clang", "no-such-clang")
        assert done.returncode and "cannot run the clang 'no-such-clang'" in done.stderr, done
        done = compile_it("*a = *b;", *os.environ["TEST_ADSMCC"].split())
        assert done.returncode == 0 and not done.stderr, done
        assert sorted(os.listdir(folder)) == ["wrong.adsm", "wrong.c"]
        says(execute(INFO, module).stdout, r"wrong .*\n +in a local store: \d+ bytes of stack, \d+ of code")


{"right": right, "refused": refused, "lost": lost, "counted": counted, "advised": advised, "compiled": compiled}[CASE]()
