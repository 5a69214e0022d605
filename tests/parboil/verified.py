# SPDX-License-Identifier: MIT
"""A benchmark's output is right with every protocol and with explicit copies, on a device with a memory of its own and
on one that shares the CPU's: verified.py PROGRAM BENCH SIZE"""
import sys

from program import parboil

BENCH, SIZE = sys.argv[2:]

for memory in ["discrete", "unified"]:
    done = parboil("table", BENCH, "--size", SIZE, ADSM_CPU_MEMORY=memory)
    rows = {line.split()[0]: line.split()[-1] for line in done.stdout.splitlines()[2:]}
    assert done.returncode == 0, (memory, done)
    assert rows == {"explicit": "true", "batch": "true", "lazy": "true", "rolling": "true"}, (memory, done)
