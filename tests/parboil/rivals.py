# SPDX-License-Identifier: MIT
"""The variants without the library: right output, and no more bytes moved than needed: rivals.py PROGRAM BENCH WHICH
WHICH: opencl, on PoCL; cuda, on the driver that ADSM_CUDA_LIBRARY names; figure, the same with all of the paper's"""
import csv
import json
import os
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
# On CUDA the samples of mri-q go at once, and there are more.
CUDA_COUNTS = COUNTS | {
    "mri-q": (9, 61440, 6, 34816, 3),
    "cp": (10, 64000, 10, 65536, 1),
    "mri-fhd": (9, 67584, 8, 36864, 4),
    "pns": (32, 0, 0, 512, 64),
    "rpes": (13, 691464, 4, 42504, 1),
    "sad": (3, 101376, 2, 8897328, 1),
    "tpacf": (1, 67668, 2, 3360, 1),
}
CUDA = ["cuda", "cuda-pinned", "cuda-pinned-cold", "cuda-pipeline", "managed", "managed-prefetch", "zerocopy"]
NASTY = "late,order,poison,strict"      # words for the driver's double: it does late, and in another order, what it may


def counts(which, all_counts):
    """What a report of a variant that copies has to say."""
    names = ["calls", "h2d_bytes", "h2d_transfers", "d2h_bytes", "d2h_transfers"]
    return dict(zip(names, all_counts[BENCH], strict=True)) | {"variant": which}


def times(rows, variants):
    """The last rows of "compare"."""
    names = [BENCH] + ["  to " + variant for variant in variants]
    for row, name in zip(rows[-len(names):], names, strict=True):
        assert re.match(name + r" +[0-9.]+( +[0-9.]+ \([0-9.]+-[0-9.]+\)){3}", row), (name, row)


def pocl(*args, cache, **options):
    """The program on PoCL; ends the test as skipped where there is none."""
    done = parboil(*args, ADSM_OPENCL_DEVICE="Portable Computing Language:", POCL_CACHE_DIR=cache, **options)
    for reason in ["was not built", "no OpenCL platform", "no OpenCL device", "no device matches"]:
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


def opencl():
    with tempfile.TemporaryDirectory() as folder:
        expect(run("opencl", folder), **counts("opencl", COUNTS))
        expect(run("svm", folder), calls=COUNTS[BENCH][0], h2d_bytes=0, d2h_bytes=0)
        rows = pocl("compare", BENCH, "--size", "small", "--pairs", "1", "--backend", "cpu", "--rivals", "svm,opencl",
                    cache=folder).splitlines()
        table = pocl("table", BENCH, "--size", "small", "--backend", "cpu", "--rivals", "opencl",
                     cache=folder).splitlines()
        # The last one has run twice: the first time the driver compiles.
        pocl("table", BENCH, "--size", "small", "--backend", "opencl", cache=folder, ADSM_TRACE=f"{folder}/trace")
        with open(f"{folder}/trace", encoding="utf-8") as file:
            runs = file.read().count("counters begin anew")
        # And a figure's, whose CSV has only the runs that count.
        if BENCH == "stencil3d":
            parboil("figures", "9", "--size", "small", "--pairs", "1", "--backend", "opencl", "--out", folder,
                    ADSM_OPENCL_DEVICE="Portable Computing Language:", POCL_CACHE_DIR=folder,
                    ADSM_TRACE=f"{folder}/trace")
            assert os.path.exists(f"{folder}/figure9.csv")
            with open(f"{folder}/trace", encoding="utf-8") as file:
                assert file.read().count("counters begin anew") == 2
    assert runs == 2, runs
    assert rows[1].startswith("opencl in plain OpenCL on ") and rows[2].startswith("svm in plain OpenCL on "), rows
    times(rows, ["opencl", "svm"])
    assert table[-1].split()[0] == "opencl" and table[-1].split()[-1] == "true", table
    assert parboil("list").stdout.count("; rivals: opencl svm " + " ".join(CUDA)) == 3
    assert parboil("list").stdout.count("; rivals: " + " ".join(CUDA)) == 6
    fails(2, "cp has no variant svm", "run", "cp", "--variant", "svm")
    fails(2, "scan has no variant opencl", "compare", "--size", "small", "scan", "--rivals", "opencl")
    fails(2, "does not use the library", "run", BENCH, "--variant", "opencl", "--link", "1GB/s")
    fails(1, "ADSM_OPENCL_DEVICE=none such: no device matches; the devices are ", "run", BENCH, "--variant", "opencl",
          ADSM_OPENCL_DEVICE="none such")


def cuda():
    """Memory of a kind that the driver's double lacks is left out."""
    had = []
    for variant in CUDA:
        done = parboil("run", BENCH, "--size", "small", "--variant", variant, "--repeat", "2", "--json", "-")
        if "cuda" not in variant and "the driver has no cuMem" in done.stderr:
            continue
        assert (done.returncode, done.stderr) == (0, ""), done
        report = json.loads(done.stdout)
        expect(report, verified=True, variant=variant, backend="cuda", protocol="none")
        if "cuda" in variant:
            expect(report, **counts(variant, CUDA_COUNTS))
        else:
            expect(report, calls=CUDA_COUNTS[BENCH][0], h2d_bytes=0, d2h_bytes=0)
        had.append(variant)
    assert had[:4] == CUDA[:4], had
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "counts")
        done = parboil("run", BENCH, "--size", "small", "--variant", "cuda-pipeline", "--json", "-",
                       TEST_CUDA=NASTY + ",count=" + path)
        assert (done.returncode, done.stderr) == (0, ""), done
        expect(json.loads(done.stdout), verified=True)
        with open(path, encoding="utf-8") as file:
            waits = int(dict(map(str.split, file)).get("cuStreamWaitEvent", 0))
    # Copies for both kernels' first calls, and three fetches for the kernels before them.
    assert BENCH != "mri-q" or waits == 5, waits
    done = parboil("compare", BENCH, "--size", "small", "--pairs", "1", "--backend", "cpu", "--rivals", ",".join(had))
    assert (done.returncode, done.stderr) == (0, ""), done
    rows = done.stdout.splitlines()
    assert any(row.startswith("cuda-pinned on CUDA's driver on ") for row in rows), rows
    times(rows, had)
    fails(2, "scan has no variant managed", "compare", "--size", "small", "scan", "--rivals", "managed")
    fails(2, "does not use the library", "run", BENCH, "--variant", "zerocopy", "--protocol", "lazy")
    fails(1, "ADSM_CUDA_DEVICE=none such: no device matches; there are ", "run", BENCH, "--variant", "cuda",
          ADSM_CUDA_DEVICE="none such")
    fails(1, "no CUDA driver: /none: cannot open", "run", BENCH, "--variant", "cuda", ADSM_CUDA_LIBRARY="/none")


def figure():
    """Figure 7 against one of them."""
    with tempfile.TemporaryDirectory() as folder:
        done = parboil("figures", "7", "--base", "cuda-pinned", "--size", "small", "--pairs", "1", "--out", folder)
        # Without gnuplot it is not drawn.
        assert done.returncode == 0 or "no gnuplot" in done.stderr, done
        with open(os.path.join(folder, "figure7.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert len(rows) == 8 and rows[7]["benchmark"] == "geometric mean", rows
    for row in rows:
        assert float(row["cuda-pinned_seconds_median"]) > 0 and float(row["lazy_ratio_median"]) > 0, row
    fails(2, "--base takes a variant without the library", "figures", "7", "--base", "explicit", "--out", "/tmp")
    fails(2, "cp has no variant svm", "figures", "7", "--base", "svm", "--out", "/tmp")


{"opencl": opencl, "cuda": cuda, "figure": figure}[sys.argv[3]]()
fails(2, "--rivals takes variants that do not use the library", "compare", BENCH, "--rivals", "opencl,explicit")
fails(2, "there is no variant \"openc\"", "compare", BENCH, "--rivals", "openc")
