# SPDX-License-Identifier: MIT
"""Variables of modules that kernels may change, of which each node of a cluster would have its own:
variables.py BUILD ADSMCC SEEN COMPILERS... adsmcc warns of each, with its line; a cluster of several nodes refuses the
module, for tasks and on nodes with local stores, too. What nothing changes is no such variable, at any level of
optimisation, nor what ADSM_PER_NODE says each node may have for itself."""
import os
import subprocess
import sys
import tempfile

BUILD, ADSMCC, SEEN, *COMPILERS = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "../../include")
SECTION = b"\0adsm_variables\0"

# A line in which a variable is has its name behind it.
CHANGED = """#include <adsm_kernel.h>
static int seen;				/* seen */
int global = 3;					/* global */
static _Thread_local int own;			/* own */
static int numbers[64];				/* numbers */
static struct { int a, b; } pair = { 1, 2 };	/* pair */
static const char *name = "a";			/* name */
static const int table[] = { 1, 2, 3, 4 };
static const char *const names[] = { "a", "b" };
static int never[] = { 4, 5 };
static int through[] = { 1, 2 };
static int lent[] = { 1, 2 };			/* lent */
static int cast[] = { 1, 2 };			/* cast */
static int filled[4];				/* filled */
static struct { int a; } member[2];		/* member */
static union { int table; } other;		/* other */
static int aliased[2];				/* aliased */
static int *alias = aliased;			/* alias */
ADSM_PER_NODE static int cache[4];
ADSM_PER_NODE static _Thread_local int cached;
ADSM_TABLE(int, constant, 2) = { 1, 2 };
static __attribute__((noinline)) int look(const int *p, int i)
{
	return p[i & 1];
}
static __attribute__((noinline)) int change(int *p, int i)
{
	return p[i & 1] = i;
}
ADSM_FUNCTION int next(void)
{
	static int count;			/* count */

	return ++count;
}
%s(%s, ADSM_INOUT(int, a))
{
	static int inner[4];			/* inner */
	ADSM_PER_NODE static int memo = 1;
	static const int small[] = { 5, 6 };

	%s {
		int i = %s;

		seen += i, own += seen, numbers[i & 63] += own, pair.a += numbers[seen & 63], inner[i & 3]++;
		if (a[i] == 7)
			name = "b", alias = a;
		__builtin_memset(filled, i, sizeof(filled));
		member[i & 1].a += i, other.table ^= i, *alias += i, cache[i & 3] += cached++ + memo++;
		a[i] += look(through, i) + change(lent, i) + lent[0] + *(int *)&cast[i & 1] + filled[i & 3];
		a[i] += member[0].a + other.table + aliased[i & 1];
		*(int *)(cast + (i & 1)) = i;
		a[i] = table[i & 3] + names[i & 1][0] + never[i & 1] + constant[i & 1] + next() + global++ + pair.a +
			inner[seen & 3] + small[i & 1] + name[0];
	}
}
"""
KERNEL = CHANGED % ("ADSM_KERNEL", "changes", "ADSM_THREADS", "ADSM_GLOBAL_X")
TASK = CHANGED % ("ADSM_TASK", "changes", "", "ADSM_WORKER")
KEPT = """#include <adsm_kernel.h>
static const int table[] = { 1, 2, 3, 4 };
static int never[] = { 4, 5 };
int shown[] = { 4, 5 };
static const int *const list[] = { table, never };
static int (*choose)(const int *p);
static char *names[] = { "a", "b" };
static struct { int a, b; } pair = { 1, 2 };
static __attribute__((noinline)) int sum(const int *p)
{
	return p[0] + p[1] + (choose ? 1 : 0);
}
ADSM_TASK(works, ADSM_INOUT(int, a))
{
	ADSM_LOCK(0);
	ADSM_WRITE(&a[0], ADSM_READ(&a[0]) + table[a[1] & 3] + never[a[1] & 1]);
	ADSM_UNLOCK(0);
}
ADSM_KERNEL(keeps, ADSM_INOUT(int, a), ADSM_VAL(int, n))
{
	static const float half = .5f;
	static int inner[2] = { 6, 7 };
	ADSM_SHARED(int, sums, 64);
	ADSM_PRIVATE(int, mine);

	ADSM_THREADS { ADSM_MY(mine) = a[ADSM_GLOBAL_X]; sums[ADSM_THREAD & 63] = n; }
	ADSM_BARRIER;
	ADSM_THREADS { a[ADSM_GLOBAL_X] = sums[0] + ADSM_MY(mine) + (int)(half * table[n & 3]) + sum(never) +
		       sum(shown) + sum(inner) + list[n & 1][0] + names[n & 1][0] + sum(&pair.a); }
}
"""


def compile_(folder, name, source, *words):
    """The module, and what adsmcc said."""
    path = os.path.join(folder, name)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(source)
    done = subprocess.run([ADSMCC, *words, "-o", path + ".adsm", path + ".c"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done
    return path + ".adsm", done.stderr


def check_warned(source, said):
    wanted = sorted(f"{i}: warning: kernels may change the variable '{line.split('/* ')[1][:-3]}'"
                    for i, line in enumerate(source.splitlines(), 1) if line.endswith(" */"))
    got = sorted(line.split(".c:", 1)[1].split("; each node of a cluster has its own copy: ")[0]
                 for line in said.splitlines())
    assert got == wanted, (got, wanted)


def load(module, nodes, **options):
    env = {key: value for key, value in os.environ.items() if not key.startswith("ADSM_")}
    env |= {"ADSM_BACKEND": "cluster", "ADSM_CLUSTER_NODES": str(nodes), "ADSM_CLUSTER_THREADS": "1",
            "ADSM_CLUSTER_TIMEOUT": "200", **options}
    return subprocess.run([SEEN, module, "changes", "leave"], env=env, capture_output=True, text=True, check=False)


def check_refused(module, **options):
    done = load(module, 2, **options)
    names = [line.split("/* ")[1][:-3] for line in KERNEL.splitlines() if line.endswith(" */")]
    assert done.returncode and "returned -95 (" in done.stderr, done
    said = done.stderr.split("kernels of the module may change its variables (")[1]
    assert sorted(said.split(")")[0].split(", ")) == sorted(names), done
    assert "), and each of the 2 nodes would have its own" in said, done


with tempfile.TemporaryDirectory() as folder:
    for i, compiler in enumerate(COMPILERS):
        for name, source in ("kernel", KERNEL), ("task", TASK):
            for level in ("-O0", "-O1", "-O2", "-O3") if name == "kernel" else ("-O3",):
                module, said = compile_(folder, f"{name}{i}", source, "--cc", compiler, level)
                check_warned(source, said)
            if i == 0:
                check_refused(module, **({"ADSM_CLUSTER_NODE": "scratchpad"} if name == "task" else {}))
            if (i, name) == (0, "kernel"):
                done = load(module, 1)
                assert done.returncode == 0, done
        for words in (), ("-O0", "-g"), ("-O1",):
            assert compile_(folder, f"kept{i}", KEPT, "--cc", compiler, *words)[1] == "", words
# Of all modules that were built one has a variable, and exports it.
for place, _, files in os.walk(BUILD):
    for name in files:
        if name.endswith(".adsm") and name != "globals.adsm":
            with open(os.path.join(place, name), "rb") as file:
                assert SECTION not in file.read(), name
