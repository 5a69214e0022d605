# SPDX-License-Identifier: MIT
"""A benchmark whose last call is lost says that its result is wrong: lost.py PROGRAM LIBRARY. lost.c is LIBRARY."""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, LIBRARY = sys.argv[1:]
if "TEST_SKIP" in os.environ:
    print(os.environ["TEST_SKIP"])
    sys.exit(77)


def run(bench, size, lost, *words, **options):
    return subprocess.run([PROGRAM, "run", bench, "--size", size, *words], capture_output=True, text=True,
                          env=os.environ | options | {"LD_PRELOAD": LIBRARY, "TEST_LOST": str(lost)})


def check(bench, *words, **options):
    """The last call of the first run, or of the second, which gets the memory of the first. A call in the middle is not
    always missed, because the next one overwrites what it writes."""
    good = run(bench, "small", 0, *words, **options)
    assert good.returncode == 0, (bench, words, good)
    # The last line is the program's. Before it are those of PoCL's linker.
    calls = int(re.findall(r"^(\d+) calls$", good.stderr, re.M)[-1])
    assert calls, (bench, words)
    lost = {calls: "1", 2 * calls: "2"}
    if bench in FIRST_MATTERS:
        lost[calls + 1] = "2"
    for call, repeat in lost.items():
        bad = run(bench, "small", call, "--repeat", repeat, *words, **options)
        print(f"{bench}{' '.join(('',) + words)}: {calls} calls, {repeat} runs, without call {call}: {bad.returncode}")
        assert bad.returncode == 1, (bench, words, call, bad)


BENCHES = ["blackscholes", "cp", "mri-fhd", "mri-q", "pns", "rpes", "sad", "scan", "stencil3d", "tpacf", "vecadd"]
FIRST_MATTERS = ["cp", "mri-fhd", "mri-q", "pns", "rpes", "sad"]
for bench in BENCHES:
    check(bench)
    check(bench, "--variant", "explicit")
with tempfile.TemporaryDirectory() as folder:
    pocl = {"ADSM_OPENCL_DEVICE": "Portable Computing Language:", "POCL_CACHE_DIR": folder}
    # The run before the one that counts is verified, too. There is one where a driver compiles kernels.
    for command, status in (["run"], 0), (["table"], 1):
        done = subprocess.run([PROGRAM, *command, "vecadd", "--size", "small", "--backend", "opencl"],
                              capture_output=True, text=True, env=os.environ | pocl |
                              {"LD_PRELOAD": LIBRARY, "TEST_LOST": str(status)})
        if "no OpenCL" in done.stderr or "no device matches" in done.stderr:
            print("the first run of a table: no PoCL")
            break
        assert done.returncode == status, (command, done)
    for variant in "opencl", "svm":
        if run("vecadd", "small", 0, "--variant", variant, **pocl).returncode:
            print(f"{variant}: no PoCL")
            continue
        for bench in ["mri-q", "stencil3d", "vecadd"]:
            check(bench, "--variant", variant, **pocl)
# Nor is one in the middle lost unseen, where each call overwrites what the one before has written: cfc.py counts calls.
CFC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cfc.py")
done = subprocess.run([sys.executable, CFC, PROGRAM, "scan", "cfc", "50", "25"], capture_output=True, text=True,
                      env=os.environ | {"LD_PRELOAD": LIBRARY, "TEST_LOST": "500"})
assert done.returncode and "AssertionError: {" in done.stderr and "'calls': 999" in done.stderr, done
