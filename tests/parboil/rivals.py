# SPDX-License-Identifier: MIT
"""The variants in plain OpenCL, on PoCL: right output, and no more bytes moved than needed: rivals.py PROGRAM BENCH"""
import json
import re
import sys
import tempfile

from program import expect, fails, parboil

BENCH = sys.argv[2]
# Calls; bytes to the device and times, to the host and times; of buffers.
COUNTS = {
    "vecadd": (1, 2097152, 2, 1048576, 1),
    "mri-q": (9, 61440, 13, 34816, 3),
    "stencil3d": (64, 131328, 65, 1024256, 68),
}


def pocl(*args, cache):
    """The program on PoCL; ends the test as skipped where there is none."""
    done = parboil(*args, ADSM_OPENCL_DEVICE="Portable Computing Language:", POCL_CACHE_DIR=cache)
    for reason in ["was not built", "no OpenCL platform", "no OpenCL device", "no such device"]:
        if reason in done.stderr:
            print("no PoCL to run plain OpenCL on:", done.stderr.strip())
            sys.exit(77)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def run(variant, cache):
    report = json.loads(pocl("run", BENCH, "--size", "small", "--variant", variant, "--repeat", "2", "--json", "-",
                             cache=cache))
    expect(report, verified=True, variant=variant, backend="opencl", protocol="none")
    return report


calls, sent, sent_times, fetched, fetched_times = COUNTS[BENCH]
with tempfile.TemporaryDirectory() as folder:
    expect(run("opencl", folder), calls=calls, h2d_bytes=sent, h2d_transfers=sent_times, d2h_bytes=fetched,
           d2h_transfers=fetched_times)
    expect(run("svm", folder), calls=calls, h2d_bytes=0, d2h_bytes=0)
    rows = pocl("compare", BENCH, "--size", "small", "--pairs", "1", "--backend", "cpu", "--rivals", "svm,opencl",
                cache=folder).splitlines()
    table = pocl("table", BENCH, "--size", "small", "--backend", "cpu", "--rivals", "opencl", cache=folder).splitlines()
assert rows[1].startswith("opencl in plain OpenCL on ") and rows[2].startswith("svm in plain OpenCL on "), rows
for row, name in zip(rows[-3:], [BENCH, "  to opencl", "  to svm"], strict=True):
    assert re.match(name + r" +[0-9.]+( +[0-9.]+ \([0-9.]+-[0-9.]+\)){3}", row), (name, row)
assert table[-1].split()[0] == "opencl" and table[-1].split()[-1] == "true", table
assert f"{BENCH} " in parboil("list").stdout and parboil("list").stdout.count("; rivals: opencl svm") == 3

fails(2, "cp has no variant svm", "run", "cp", "--variant", "svm")
fails(2, "scan has no variant opencl", "compare", "--size", "small", "scan", "--rivals", "opencl")
fails(2, "--rivals takes opencl, svm or both", "compare", BENCH, "--rivals", "opencl,explicit")
fails(2, "there is no variant \"openc\"", "compare", BENCH, "--rivals", "openc")
fails(2, "does without the library", "run", BENCH, "--variant", "opencl", "--link", "1GB/s")
fails(1, "ADSM_OPENCL_DEVICE=none such: no such device; there are ", "run", BENCH, "--variant", "opencl",
      ADSM_OPENCL_DEVICE="none such")
