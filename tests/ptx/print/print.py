# SPDX-License-Identifier: MIT
"""What kernels in CUDA C print: print.py PROGRAM MODULE BACKEND"""
import os
import subprocess
import sys

PROGRAM, MODULE, BACKEND = sys.argv[1:4]
OPTIONS = {"ADSM_BACKEND": BACKEND, "ADSM_CPU_THREADS": "2", "ADSM_CLUSTER_NODES": "2", "ADSM_CLUSTER_THREADS": "2",
           "ADSM_CLUSTER_TIMEOUT": "200"}


def run(case):
    env = {key: value for key, value in os.environ.items() if not key.startswith("ADSM_")}
    done = subprocess.run([PROGRAM, MODULE, case], env=env | OPTIONS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done


def check_lines(text, n):
    """Each line is there once and whole, those of a thread are in their order, and those of a kernel together."""
    found = text.splitlines()
    assert found.pop() == "end"
    assert sorted(found) == sorted(f"{mark} block {block} thread {thread} line {i} of {n}, which is whole"
                                   for mark in "ab" for block in range(4) for thread in range(64)
                                   for i in range(n))
    assert [line[0] for line in found] == ["a"] * 256 * n + ["b"] * 256 * n
    last = {}
    for line in found:
        mark, _, block, _, thread, _, i = line.split()[:7]
        assert last.get((mark, block, thread), -1) + 1 == int(i), line
        last[mark, block, thread] = int(i)


FORMATS = """no argument, 100%
-1 2 3 abc ABC 10 c
|   42|42   |00042|+42|    42|3.14|
-5 1099511627776 5 4 -7 -8
1.500000 2.500000e+00 1e+100 0x1p+0
string|     right|left      |cu|(null)
0x1234 0xffffffffffffffff
one piece, and another one
"""

assert run("order").stdout == "before\ncalled\nkernel 1\nsynchronized\nkernel 2\nkernel 3\nafter\n"
check_lines(run("few").stdout, 4)
assert run("assert").stdout == "element 7 will fail\nfailed\n"
# The rest is the same on all devices.
if BACKEND == "cpu":
    assert run("formats").stdout == FORMATS
    assert run("touch").stdout == "touched 4\nkernel 4\ncopied 4\n"
    assert run("exit").stdout == "kernel 5\n"
    check_lines(run("many").stdout, 45)
    check_lines(run("locked").stdout, 45)
    assert run("fork").stdout == "kernel 6\n"
