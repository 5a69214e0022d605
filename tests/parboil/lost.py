# SPDX-License-Identifier: MIT
"""A benchmark whose last call is lost says that its result is wrong: lost.py PROGRAM LIBRARY. lost.c is LIBRARY."""
import os
import re
import subprocess
import sys

PROGRAM, LIBRARY = sys.argv[1:]
if "TEST_SKIP" in os.environ:
    print(os.environ["TEST_SKIP"])
    sys.exit(77)


def run(bench, size, lost):
    return subprocess.run([PROGRAM, "run", bench, "--size", size], capture_output=True, text=True,
                          env=os.environ | {"LD_PRELOAD": LIBRARY, "TEST_LOST": str(lost)})


for bench in ["blackscholes", "cp", "mri-fhd", "mri-q", "pns", "rpes", "sad", "scan", "stencil3d", "tpacf", "vecadd"]:
    good = run(bench, "small", 0)
    assert good.returncode == 0, (bench, good)
    calls = int(re.search(r"^(\d+) calls$", good.stderr, re.M)[1])
    assert calls, bench
    bad = run(bench, "small", calls)
    print(f"{bench}: {calls} calls, without the last one: {bad.returncode}")
    assert bad.returncode == 1, (bench, calls, bad)
# Nor is one in the middle lost unseen, where each call overwrites what the one before has written: cfc.py counts calls.
CFC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cfc.py")
done = subprocess.run([sys.executable, CFC, PROGRAM, "scan", "cfc", "50", "25"], capture_output=True, text=True,
                      env=os.environ | {"LD_PRELOAD": LIBRARY, "TEST_LOST": "500"})
assert done.returncode and "AssertionError: {" in done.stderr and "'calls': 999" in done.stderr, done
