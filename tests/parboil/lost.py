# SPDX-License-Identifier: MIT
"""A benchmark whose last call or last fetch is lost says that its result is wrong:
lost.py PROGRAM LIBRARY DRIVER COMPILER. lost.c is LIBRARY, and DRIVER before CUDA's; COMPILER is CUDA's."""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, LIBRARY, DRIVER, COMPILER = sys.argv[1:]
if "TEST_SKIP" in os.environ:
    print(os.environ["TEST_SKIP"])
    sys.exit(77)


def run(bench, size, lost, *words, **options):
    return subprocess.run([PROGRAM, "run", bench, "--size", size, *words], capture_output=True, text=True,
                          env=os.environ | {"LD_PRELOAD": LIBRARY, "TEST_LOST": str(lost)} | options)


def count(done, what):
    """The last line is that of lost.c. Before it are those of PoCL's linker."""
    return int(re.findall(rf"^(\d+) {what}$", done.stderr, re.M)[-1])


def check(bench, *words, calls=True, fetches=False, **options):
    """The last call or fetch of the first run, or of the second, which gets the memory of the first. A call in the
    middle is not always missed, because the next one overwrites what it writes."""
    good = run(bench, "small", 0, *words, **options)
    assert good.returncode == 0, (bench, words, good)
    lost = []
    for what, variable, expected in ("calls", "TEST_LOST", calls), ("fetches", "TEST_LOST_FETCH", fetches):
        n = count(good, what)
        assert bool(n) == expected, (bench, words, what, n)
        if n:
            lost += [(what, variable, n, "1"), (what, variable, 2 * n, "2")]
        if n and what == "calls" and bench in FIRST_MATTERS:
            lost.append((what, variable, n + 1, "2"))
    for what, variable, number, repeat in lost:
        bad = run(bench, "small", 0, "--repeat", repeat, *words, **options, **{variable: str(number)})
        print(f"{bench}{' '.join(('',) + words)}: {repeat} runs, without number {number} of {what}: {bad.returncode}")
        assert bad.returncode == 1, (bench, words, what, number, bad)


BENCHES = ["blackscholes", "cp", "mri-fhd", "mri-q", "pns", "rpes", "sad", "scan", "stencil3d", "tpacf", "vecadd"]
FIRST_MATTERS = ["cp", "mri-fhd", "mri-q", "pns", "rpes", "sad"]
for bench in BENCHES:
    check(bench)
    check(bench, "--variant", "explicit", fetches=True)
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
            check(bench, "--variant", variant, fetches=variant == "opencl", **pocl)
# CUDA's driver is opened by its path.
cuda = {"LD_PRELOAD": "", "ADSM_CUDA_LIBRARY": DRIVER, "ADSM_CUDA_COMPILER": COMPILER}
for variant in "cuda", "cuda-pinned", "cuda-pinned-cold", "cuda-pipeline":
    check("vecadd", "--variant", variant, calls=False, fetches=True, **cuda)
# Nor is one in the middle lost unseen, where each call overwrites what the one before has written: cfc.py counts calls.
CFC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cfc.py")
done = subprocess.run([sys.executable, CFC, PROGRAM, "scan", "cfc", "50", "25"], capture_output=True, text=True,
                      env=os.environ | {"LD_PRELOAD": LIBRARY, "TEST_LOST": "500"})
assert done.returncode and "AssertionError: {" in done.stderr and "'calls': 999" in done.stderr, done
