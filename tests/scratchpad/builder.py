# SPDX-License-Identifier: MIT
"""adsmcc --image: what it refuses, each with one sentence that names it; what it makes by itself, run; other
compilers."""
import os
import shutil
import subprocess
import sys
import tempfile

ADSMCC, OVERLAY, SOURCES, CC = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
EXPORT = '__attribute__((visibility("default"))) '
HEAD = "#include <adsm_kernel.h>\n"


def adsmcc(folder, text, *options, cc=None):
    source, image = os.path.join(folder, "source.c"), os.path.join(folder, "source.image")
    with open(source, "w", encoding="utf-8") as file:
        file.write(HEAD + text)
    if os.path.exists(image):
        os.unlink(image)
    done = subprocess.run([ADSMCC, "--cc", cc or " ".join(CC), *options, "-I", SOURCES, "-o", image, source],
                          check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (done.returncode == 0) == os.path.exists(image), (done, os.listdir(folder))
    assert not [name for name in os.listdir(folder) if name not in ("source.c", "source.image")], os.listdir(folder)
    return done


def refused(folder, text, *parts, options=("--image",)):
    done = adsmcc(folder, text, *options)
    assert done.returncode, f"this was compiled: {text}"
    for part in parts:
        assert part in done.stderr, f"'{part}' is not in '{done.stderr}'"


def refusals(folder):
    function = EXPORT + "int f(int a) { return a; }\n"
    refused(folder, "int f(int a) { return a; }\n", "no function can be called from outside")
    refused(folder, "static int n; " + EXPORT + "int f(void) { return ++n; }\n", "source.c:2: error: 'n' is a static "
            "variable: loaded code can only have constants")
    refused(folder, EXPORT + "int f(void)\n{\n\tstatic int last;\n\n\treturn ++last;\n}\n",
            "source.c:4: error: 'last' is a static variable")
    refused(folder, "int n = 3; " + EXPORT + "int f(void) { return ++n; }\n", "'n' is a static variable")
    refused(folder, "int f(void); int g(void);\ntypedef int fn(void);\nstatic fn *const table[2] = { f, g };\n" +
            EXPORT +
            "int call(int i) { return table[i](); }\n", "the constant 'table' contains the address of")
    refused(folder, "static __thread int n; " + EXPORT + "int f(int a) { return n += a; }\n",
            "in f(): 'n' is used in a way",
            "no thread-local variables")
    refused(folder, EXPORT + "ADSM_PARTITION(0) int f(void) { return 1; }\n", "ADSM_PARTITION(0)", "from 1 to 16383")
    refused(folder, EXPORT + "ADSM_PARTITION(16384) int f(void) { return 1; }\n", "ADSM_PARTITION(16384)")
    refused(folder, EXPORT + "ADSM_PARTITION(one) int f(void) { return 1; }\n", "ADSM_PARTITION(one)")
    refused(folder, EXPORT + "ADSM_PARTITION(16383) int f(void) { return 1; }\n" +
            EXPORT + "int g(void) { return 2; }\n", "there are more than 16383 partitions",
            options=("--image", "--partition", "each"))
    refused(folder, EXPORT + "ADSM_PARTITION(2) int f(void) { __asm__ volatile(\".skip 262144\"); return 1; }\n",
            "partition 2 has 2621", "at most 262144")
    refused(folder, EXPORT + "int f(void) { __asm__ volatile(\".skip 5000\"); return 1; }\n",
            "'f' has 50", "a partition of 4096", options=("--image", "--partition", "auto"))
    refused(folder, function, "--partition needs --image", options=("--partition", "auto"))
    refused(folder, function, "--partition some: valid are 'auto', 'auto:SIZE', 'each'",
            options=("--image", "--partition", "some"))
    for size in ("63", "", "K", "1M", "257K", "1Kx"):
        refused(folder, function, "from 64 bytes to 256K", options=("--image", "--partition", f"auto:{size}"))
    assert not adsmcc(folder, function, "--image", "--partition", "auto:8K").returncode
    refused(folder, function, "cannot be combined with --ptx or --emit-text", options=("--image", "--emit-text"))
    refused(folder, function + "int g(", "error")


def neighbours(folder):
    """Files beside the image do not change, and the image has the permissions of other outputs."""
    source, neighbour = os.path.join(folder, "own.c"), os.path.join(folder, "own.image.new")
    for path, text in (source, HEAD + EXPORT + "int f(int a) { return a; }\n"), (neighbour, "a neighbour"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    image = os.path.join(folder, "own.image")
    subprocess.run([ADSMCC, "--cc", " ".join(CC), "--image", "-o", image, source], check=True)
    with open(neighbour, encoding="utf-8") as file:
        assert file.read() == "a neighbour"
    assert os.stat(image).st_mode == os.stat(source).st_mode
    assert sorted(os.listdir(folder)) == ["own.c", "own.image", "own.image.new"], os.listdir(folder)
    for path in source, neighbour, image:
        os.unlink(path)


def map_of(out):
    """Of a printed map: sizes and functions of each partition."""
    partitions = {}
    for line in out.splitlines():
        words = line.split()
        if words[0] in ("partition", "resident:"):
            name = words[1].rstrip(":") if words[0] == "partition" else "0"
            size = int(words[2] if words[0] == "partition" else words[1])
            partitions[name] = (size, current := [])
        else:
            current.append(words[1])
    return partitions


def automatic(folder):
    """Functions that say nothing get partitions by what they call; the same program runs with each."""
    text = '#undef ADSM_PARTITION\n#define ADSM_PARTITION(n) __attribute__((noinline))\n#include "overlays.c"\n'
    counts = []
    for limit in (2048, 6144, 65536):
        done = adsmcc(folder, text, "--image", "--partition", f"auto:{limit}")
        assert not done.returncode, done.stderr
        partitions = map_of(done.stdout)
        assert all(size <= limit for name, (size, _) in partitions.items() if name != "0"), partitions
        functions = [name for _, names in partitions.values() for name in names]
        assert {"walk_0", "even", "outside", "twice"} <= set(functions), functions
        counts.append(len(partitions))
        subprocess.run([OVERLAY, "calls", os.path.join(folder, "source.image")], check=True)
    assert counts == sorted(counts, reverse=True) and counts[0] > 4 and counts[-1] == 2, counts
    # Those that call each other most are together.
    done = adsmcc(folder, "int g(int); int h(int); int i(int);\n" + "".join(
        f"{EXPORT} __attribute__((noinline)) int {name}(int a) "
        f"{{ __asm__ volatile(\".skip 300\"); return a > 9 ? a : {body}; }}\n" for name, body in
        (("f", "g(a) + h(a) + h(a + 1)"), ("g", "i(a) + i(a + 1)"), ("h", "a + 1"), ("i", "a + 2"))), "--image",
        "--partition", "auto:900")
    together = sorted(sorted(names) for name, (_, names) in map_of(done.stdout).items() if name != "0")
    assert together == [["f", "h"], ["g", "i"]], done.stdout + done.stderr


def variants(folder):
    """Other levels of optimisation, and other compilers: the same calls, the same loads."""
    compilers = [" ".join(CC)] + [name for name in ("gcc", "clang") if shutil.which(name)]
    for cc in compilers:
        for level in ("-O0", "-Os", "-O3"):
            done = adsmcc(folder, '#include "overlays.c"\n', "--image", level, cc=cc)
            assert not done.returncode, done.stderr
            subprocess.run([OVERLAY, os.path.join(folder, "source.image")], check=True)


with tempfile.TemporaryDirectory() as work:
    neighbours(work)
    refusals(work)
    automatic(work)
    variants(work)
