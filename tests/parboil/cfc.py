# SPDX-License-Identifier: MIT
"""A program of CUDA-For-Clusters has as many pages as its Table 3 says, its kernels write as many of them, and what
they write is right: cfc.py PROGRAM BENCH SIZE PAGES WRITTEN [cuda-c] [cluster]. cuda-c: its kernels are in CUDA
C."""
import json
import os
import subprocess
import sys
import tempfile

from program import PROGRAM

BENCH, SIZE = sys.argv[2:4]
PAGE = 4096
LONG = ["cp", "blackscholes"]
# Their last call overwrites what those before it have written: the result does not show that one of these is lost.
CALLS = {"scan": 1000, "blackscholes": 2}
# Bytes of constant memory, which is an object in CUDA C. The paper counts no pages of it.
CONSTANT = {"cp": 64000, "tpacf": 84} if "cuda-c" in sys.argv[6:] else {}
VARIANT = ["--variant", "cuda-c"] if "cuda-c" in sys.argv[6:] else []


def pages(size):
    return -(-size // PAGE)


def run(*words, **options):
    """The report of a run whose result is right."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stats")
        subprocess.run([PROGRAM, "run", BENCH, "--size", SIZE, *VARIANT, *words], check=True,
                       env=dict(os.environ, ADSM_STATS=f"json:{path}", **options))
        with open(path, encoding="utf-8") as file:
            return json.load(file)


report = run("--protocol", "rolling", "--block-size", "4K")
assert report["final"] and not report["objects_not_listed"], report
assert report["totals"]["calls"] == CALLS.get(BENCH, report["totals"]["calls"]), report["totals"]
# All but those of one byte that the program learns its settings from. Each lives as long as the kernels do.
objects = [one for one in report["objects"] if one["size"] not in (1, CONSTANT.get(BENCH))]
# The CPU reads all of the objects that kernels write, and nothing else of theirs.
found = (sum(pages(one["size"]) for one in objects), sum(pages(one["counters"]["d2h_bytes"]) for one in objects))
assert found == (int(sys.argv[4]), int(sys.argv[5])), (found, objects)
if "cluster" in sys.argv[6:] and (BENCH not in LONG or os.environ.get("TEST_FULL")):
    kernel, = run(ADSM_BACKEND="cluster", ADSM_CLUSTER_NODES="1", ADSM_CLUSTER_THREADS="1", ADSM_PAPER="1",
                  ADSM_CLUSTER_TIMEOUT="200")["kernels"]
    # A call writes all of them, but at cfc-thin, where it has half a page to write.
    wanted = (1 if SIZE == "cfc-thin" else int(sys.argv[5])) * kernel["calls"]
    assert kernel["counters"]["pages_modified"] == kernel["counters"]["write_faults"] == wanted, (wanted, kernel)
