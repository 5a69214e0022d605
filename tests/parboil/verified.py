# SPDX-License-Identifier: MIT
"""A benchmark's output is right with every protocol and with explicit copies, on a device with a memory of its own and
on one that shares the CPU's: verified.py PROGRAM BENCH SIZE"""
import os
import subprocess
import sys

PROGRAM, BENCH, SIZE = sys.argv[1:]

for memory in ["discrete", "unified"]:
    done = subprocess.run([PROGRAM, "table", BENCH, "--size", SIZE], text=True, stdout=subprocess.PIPE,
                          env=dict(os.environ, ADSM_CPU_MEMORY=memory))
    rows = {line.split()[0]: line.split()[-1] for line in done.stdout.splitlines()[2:]}
    assert done.returncode == 0, (memory, done.stdout)
    assert rows == {"explicit": "true", "batch": "true", "lazy": "true", "rolling": "true"}, (memory, done.stdout)
