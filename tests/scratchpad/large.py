# SPDX-License-Identifier: MIT
"""Functions that are larger than a partition: large.py PROGRAM ADSMCC SOURCE. adsmcc divides them, and results stay the
same; it says what it cannot divide, with the lines. The account of a local store, with libm. malloc() in a local
store. Variables and tables that code in partitions shares with code in one piece."""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, ADSMCC, SOURCE = sys.argv[1:4]
FULL = "TEST_FULL" in os.environ
# Bytes for code, of which libm needs some. Newer LLVMs make larger code.
SMALL = os.environ.get("TEST_SMALL", "16K")
COMPILE = [ADSMCC, *os.environ["TEST_ADSMCC"].split(), "--scratchpad"]


def compile(folder, *options, source=SOURCE):
    return subprocess.run([*COMPILE, *options, "-o", f"{folder}/large.adsm", source], capture_output=True, text=True,
                          check=False)


def run(folder, *words, **options):
    env = {key: value for key, value in os.environ.items() if not key.startswith("ADSM_")} | options
    done = subprocess.run([PROGRAM, f"{folder}/large.adsm", *words], env=env, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, (options, done)
    return done.stdout.split()


def digests():
    """Of the messages of large_app.c."""
    return [hashlib.sha256(bytes((i * 7 + i // 192) % 256 for i in range(192 * m, 192 * m + 128))).hexdigest()
            for m in range(4)]


def divided(folder):
    for size in ("4096", "4K", "3K") if FULL else ("3K",):
        done = compile(folder, "--partition", f"auto:{size}")
        assert done.returncode == 0, done
        sizes = [int(size) for size in re.findall(r"^partition \d+: (\d+) bytes", done.stdout, re.M)]
        most = int(size.replace("K", "")) * (1024 if "K" in size else 1)
        assert len(sizes) > 2 and max(sizes) <= most, done.stdout
        assert re.search(r"^ +\d+  add_block\.part\d+$", done.stdout, re.M), done.stdout
        want = run(folder, ADSM_BACKEND="cpu")
        assert want[:4] == digests(), want
        # A partition of 4 KiB, its stack and libm take more than 16 KiB.
        for code, buffers in (("18K" if most == 4096 else SMALL, "1"), ("64K", "4")):
            got = run(folder, ADSM_BACKEND="scratchpad", ADSM_SCRATCHPAD_PARTITIONS="always",
                      ADSM_SCRATCHPAD_CODE=code, ADSM_SCRATCHPAD_BUFFERS=buffers)
            assert got == want, (size, code, buffers, got, want)


def refused(folder):
    source = f"{folder}/source.c"
    with open(source, "w", encoding="utf-8") as file:
        # The function is too large to be inlined.
        file.write("#include <adsm_kernel.h>\n\nADSM_FUNCTION int f(int x)\n{\n\tif (x > 2)\n"
                   "\t\t__asm__ volatile(\".skip 5000\");\n" + "\tx = x * 3 + (x >> 2);\n" * 12 +
                   "\treturn x;\n}\n\n"
                   "ADSM_KERNEL(k, ADSM_OUT(int, out))\n{\n\tADSM_THREADS {\n"
                   "\t\tout[ADSM_GLOBAL_X] = f(ADSM_GLOBAL_X) + f(3);\n\t}\n}\n")
    done = compile(folder, "--partition", "auto:4K", source=source)
    assert done.returncode and re.search(
        r"source\.c:3-19: 'f[.\w]*' has 5\d\d\d bytes with its constants and calls, which is more than a partition of "
        "4096 bytes, and adsmcc cannot divide it at the blocks of its code", done.stderr), done
    done = compile(folder, "--partition", "auto:8K", source=source)
    assert done.returncode == 0, done


def account(folder):
    """What is in the local store is counted, and it is not more than the store has."""
    def curves(**options):
        env = {key: value for key, value in os.environ.items() if not key.startswith("ADSM_")} | options
        return subprocess.run([PROGRAM, f"{folder}/large.adsm", "curves"], env=env, capture_output=True, text=True,
                              check=False)

    for how in ((), ("--partition", "auto")):
        assert compile(folder, *how).returncode == 0
        want = curves(ADSM_BACKEND="cpu").stdout
        for when in ("needed", "always"):
            done = curves(ADSM_BACKEND="scratchpad", ADSM_STATS=f"json:{folder}/stats", ADSM_LOG="error",
                          ADSM_SCRATCHPAD_PARTITIONS=when)
            assert done.stdout == want and len(want.split()) == 64, (how, done, want)
            with open(f"{folder}/stats", encoding="utf-8") as file:
                [kernel] = json.load(file)["kernels"]
            store = {key: value for key, value in kernel["counters"].items() if key.startswith("store_")}
            parts = store["store_cache"] + store["store_code"] + store["store_stack"]
            # sinf, powf, erff, tanf.
            assert 8408 < store["store_code"] <= 64 << 10, store
            assert parts <= kernel["counters"]["bytes_peak"] <= 256 << 10, store
            assert store["store_outside"] == 40 << 10 if when == "always" and how else 32 << 10, store
        done = curves(ADSM_BACKEND="scratchpad", ADSM_SCRATCHPAD_CODE="1K")
        assert done.returncode and re.search(
            r"does not fit into a local store of 262144 bytes: code \d+ of 1024 .*, libm 8408 of it; |"
            r"the partition stack \(4096 bytes\)", done.stdout), done


# Variables that the optimiser would make smaller, divide or make constant; and a table in a function.
SHARED = """#include <adsm_kernel.h>

static int mode = 3;
static char next = 9;
static struct { int a, b, c[2]; } sums;
static int factors[4] = { 3, 5, 7, 11 };

ADSM_FUNCTION int factor(const int *from, int i)
{
	return from[i & 3];
}

ADSM_FUNCTION int mix(int i, int x)
{
	ADSM_TABLE(int, steps, 8) = { 1, 2, 3, 5, 8, 13, 21, 34 };

	for (int k = 0; k < 5; k++) {
		x = ((x * 33 + i) ^ (x >> 7)) * factor(factors, k) & 0xffffff;
		x -= x % 13 + (x ^ k * i) % 17;
		x += x >> 2 ^ i * 7;
	}
	return x + steps[i];
}

ADSM_FUNCTION void set(int to, ADSM_SPACE_GLOBAL int *out)
{
	mode = to;
	sums.a += to;
	sums.c[to & 1] += out[0];
	for (int i = 1; i < 4; i++)
		out[i] = out[i - 1] % 1000 * to;
}

__attribute__((noinline)) static int work(int i)
{
	return mode + 100 * next++ + sums.a + sums.b++ + sums.c[0] - sums.c[1] + mix(3, i) + mix(5, i);
}

ADSM_KERNEL_MAX(room, 1, ADSM_OUT(int, out), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int sum = work(n);

		for (int i = 0; i < n; i++) {
			out[0] = sum;
			set(4, out);
			sum = sum % 1000 * 31 + work(i);
			set(3, out);
			sum += work(i) + out[3];
		}
		out[0] = sum;
	}
}
"""


def shared(folder):
    """Code in partitions, and code in one piece, share variables and tables, however each is optimised."""
    source = f"{folder}/shared.c"
    with open(source, "w", encoding="utf-8") as file:
        file.write(SHARED)
    for how in ("auto", "each"):
        done = compile(folder, "-Wno-all", "--partition", how, source=source)
        assert done.returncode == 0 and len(re.findall("^partition ", done.stdout, re.M)) > (how == "each"), done
        want = run(folder, "room", "9", ADSM_BACKEND="cpu")
        for when in ("needed", "always"):
            got = run(folder, "room", "9", ADSM_BACKEND="scratchpad", ADSM_SCRATCHPAD_PARTITIONS=when,
                      ADSM_SCRATCHPAD_BUFFERS="1")
            assert got == want, (how, when, got, want)


ROOM = """#include <adsm_kernel.h>

void *malloc(__SIZE_TYPE__ size);
void free(void *p);

/* Adds 0 + 1 + ... in memory of its own. -1: there is none. */
ADSM_PARTITION(2) ADSM_FUNCTION int inner(int bytes, int keep)
{
	volatile unsigned char *p = bytes ? malloc(bytes) : 0;
	int sum = 0;

	if (bytes && !p)
		return -1;
	for (int i = 0; i < bytes; i++)
		p[i] = i;
	for (int i = 0; i < bytes; i++)
		sum += p[i];
	if (!keep)
		free((void *)p);
	return sum;
}

ADSM_PARTITION(1) ADSM_FUNCTION int outer(int bytes, int keep)
{
	__asm__ volatile(".skip 1000, 0x90");
	return inner(bytes, keep);
}

ADSM_KERNEL_MAX(room, 1, ADSM_OUT(int, out), ADSM_VAL(int, bytes))
{
	ADSM_THREADS {
		int sum = 0;

		for (int i = 0; i < 10; i++)
			sum += outer(bytes < 0 ? -bytes : bytes, bytes < 0 && i == 0);
		out[0] = sum;
	}
}
"""


def victim_room(folder):
    """malloc() of code in partitions takes the room of the victim entry, and free() gives it back."""
    source = f"{folder}/room.c"
    with open(source, "w", encoding="utf-8") as file:
        file.write(ROOM)
    assert compile(folder, "-Wno-all", source=source).returncode == 0

    def room(size, victim="on"):
        env = {key: value for key, value in os.environ.items() if not key.startswith("ADSM_")}
        done = subprocess.run([PROGRAM, f"{folder}/large.adsm", "room", str(size)], env=env | {
            "ADSM_BACKEND": "scratchpad", "ADSM_STATS": f"json:{folder}/stats", "ADSM_LOG": "error",
            "ADSM_SCRATCHPAD_PARTITIONS": "always", "ADSM_SCRATCHPAD_BUFFERS": "1", "ADSM_SCRATCHPAD_VICTIM": victim},
            capture_output=True, text=True, check=False)
        assert done.returncode == 0, done
        with open(f"{folder}/stats", encoding="utf-8") as file:
            [kernel] = json.load(file)["kernels"]
        return done.stdout.split(), kernel["counters"]["code_victims"], kernel["counters"]["code_returns"]

    # Two calls of the kernel with ten calls of inner() each. Each return finds its caller in the entry.
    assert room(0) == (["0", "0"], 20, 0)
    # While there is memory, there is no entry: the returns load their callers.
    assert room(64) == (["20160", "20160"], 0, 20)
    # Memory that is never freed holds the room until the kernel ends: the next call finds it free.
    assert room(-64) == (["20160", "20160"], 0, 20)
    # There is no more than the room of the largest partition.
    assert room(100000)[0] == room(64, victim="off")[0] == ["-10", "-10"]
    # There is no calloc(). The error does not blame the size.
    with open(source, "w", encoding="utf-8") as file:
        file.write(ROOM.replace("malloc(__SIZE_TYPE__ size)", "calloc(__SIZE_TYPE__ n, __SIZE_TYPE__ size)")
                   .replace("malloc(bytes)", "calloc(bytes, 1)"))
    assert compile(folder, "-Wno-all", source=source).returncode == 0
    done = subprocess.run([PROGRAM, f"{folder}/large.adsm", "room", "64"], env=os.environ | {
        "ADSM_BACKEND": "scratchpad", "ADSM_SCRATCHPAD_PARTITIONS": "always"}, capture_output=True, text=True,
        check=False)
    assert "the partitions of kernel 'room': the code uses calloc, which neither" in done.stdout, done


with tempfile.TemporaryDirectory() as work:
    victim_room(work)
    shared(work)
    divided(work)
    account(work)
    refused(work)
