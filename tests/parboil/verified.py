# SPDX-License-Identifier: MIT
"""A benchmark's output is right with every protocol and with explicit copies, on a device with a memory of its own and
on one that shares the CPU's: verified.py PROGRAM BENCH SIZE"""
import os
import sys

from program import need_backend, parboil

BENCH, SIZE = sys.argv[2:]
MEMORY = {"cpu": {"ADSM_CPU_MEMORY": ["discrete", "unified"]}, "opencl": {"ADSM_OPENCL_MEMORY": ["buffer", "unified"]},
          "cuda": {"ADSM_CUDA_MEMORY": ["arena", "view", "separate"]}}

need_backend()
[(option, memories)] = MEMORY[os.environ.get("ADSM_BACKEND", "cpu")].items()
# A larger input is for what depends on the size; the way to keep objects does not.
if SIZE in ["medium", "cfc"] and not os.environ.get("TEST_FULL"):
    memories = memories[:1]
for memory in memories:
    done = parboil("table", BENCH, "--size", SIZE, **{option: memory})
    rows = {line.split()[0]: line.split()[-1] for line in done.stdout.splitlines()[2:]}
    assert done.returncode == 0, (memory, done)
    assert rows == {"explicit": "true", "batch": "true", "lazy": "true", "rolling": "true"}, (memory, done)
