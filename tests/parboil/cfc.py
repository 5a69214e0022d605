# SPDX-License-Identifier: MIT
"""A program of CUDA-For-Clusters has as many pages as its Table 3 says, its kernels write as many of them, and what
they write is right: cfc.py PROGRAM BENCH SIZE PAGES WRITTEN"""
import json
import os
import subprocess
import sys
import tempfile

from program import PROGRAM

BENCH, SIZE = sys.argv[2:4]
PAGE = 4096


def pages(size):
    return -(-size // PAGE)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "stats")
    subprocess.run([PROGRAM, "run", BENCH, "--size", SIZE, "--protocol", "rolling", "--block-size", "4K"], check=True,
                   env=dict(os.environ, ADSM_STATS=f"json:{path}"))
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
assert report["final"] and not report["objects_not_listed"], report
# All but those of one byte that the program learns its settings from. Each lives as long as the kernels do.
objects = [one for one in report["objects"] if one["size"] > 1]
# The CPU reads all that kernels wrote, and nothing else of theirs: what it fetches are the pages written.
found = (sum(pages(one["size"]) for one in objects), sum(pages(one["counters"]["d2h_bytes"]) for one in objects))
assert found == (int(sys.argv[4]), int(sys.argv[5])), (found, objects)
