# SPDX-License-Identifier: MIT
"""Replays of one recorded run count what real runs count: benchmarks.py PARBOIL ADSM_REPLAY BENCH...

Each benchmark is recorded once, and then run with each protocol and three block sizes. Only with TEST_FULL=1 are there
three with batch and lazy, whose block is the object. With batch and lazy the replay must be exact. With rolling it must
be right where it says that it is exact; otherwise the difference is printed."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

PARBOIL, REPLAY, *BENCHES = sys.argv[1:]
SIZES = ("4K", "64K", "1M")
WHOLE_SIZES = SIZES if "TEST_FULL" in os.environ else ("64K",)
COUNTERS = ("h2d_bytes", "d2h_bytes", "h2d_transfers", "d2h_transfers", "read_faults", "write_faults", "evictions")
failures = 0


def fail(what):
    global failures
    failures += 1
    print("FAILED:", what)


def run(bench, folder, *arguments, **settings):
    """The counters of a run to the end of the program, which also reads what it verifies."""
    report = os.path.join(folder, "report")
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("ADSM_") or key in ("ADSM_BACKEND", "ADSM_CPU_DEVICE")}
    done = subprocess.run([PARBOIL, "run", bench, "--size", "small", *arguments], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False,
                          env={**environment, **settings, "ADSM_STATS": "json:" + report})
    if done.returncode:
        sys.exit(f"{bench} {arguments} {settings}: {done.returncode}\n{done.stdout}{done.stderr}")
    with open(report, encoding="utf-8") as file:
        return json.load(file)["totals"]


def replay(recording, *arguments):
    """The rows, by protocol and block size."""
    done = subprocess.run([REPLAY, "--csv", "-", *arguments, recording], text=True, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{REPLAY} {arguments}: {done.returncode}")
    return list(csv.DictReader(io.StringIO(done.stdout)))


def compare(what, row, real, must):
    """@must: the replay must say that it is exact."""
    different = [f"{key} {row[key]}, really {real[key]}" for key in COUNTERS if int(row[key]) != real[key]]
    exact = row["exact"] == "1"
    if must and not exact:
        fail(f"{what}: only about: {row['about']}")
    elif exact and different:
        fail(f"{what}: {'; '.join(different)}")
    elif not exact:
        print(f"{what}: about: {'; '.join(different) or 'no difference'}")
    return exact


def check(bench, folder, paper):
    settings = {"ADSM_PAPER": "1"} if paper else {}
    # In the papers' mode the blocks that are sent early are known, if each page is seen that is written again.
    recorded = ("rolling", "--block-size", "4K", "--rolling-size", "8") if paper else ("lazy",)
    path = os.path.join(folder, bench)
    run(bench, folder, "--protocol", *recorded, ADSM_RECORD=path, **settings)
    rows = replay(path, "--protocol", "batch,lazy,rolling", "--block-size", "4K,64K,1M", "--rolling-size", "auto")
    os.unlink(path)
    n_exact = 0
    for protocol in ("batch", "lazy"):
        row = next(row for row in rows if row["protocol"] == protocol)
        for size in WHOLE_SIZES:
            real = run(bench, folder, "--protocol", protocol, "--block-size", size, **settings)
            compare(f"{bench} {protocol} {size} {settings}", row, real, True)
    for row in rows[2:]:
        real = run(bench, folder, "--protocol", "rolling", "--block-size", row["block_size"], **settings)
        n_exact += compare(f"{bench} rolling {row['block_size']} {settings}", row, real, False)
    print(f"{bench} {settings}: batch and lazy are exact; rolling: {n_exact} of {len(SIZES)}")


with tempfile.TemporaryDirectory() as scratch:
    for name in BENCHES:
        for paper in False, True:
            check(name, scratch, paper)
sys.exit(failures > 0)
