# SPDX-License-Identifier: MIT
"""Sections 5.2 and 5.3 of the ADSM paper, as counts: which of the seven benchmarks depends on the size of a block, and
on how many blocks may be Dirty. block_sizes.py PARBOIL OUT: OUT.csv, of each benchmark, block size and rolling size
the bytes moved and the faults, by the paper's protocol (ADSM_PAPER=1), each run's result being right."""
import csv
import json
import os
import subprocess
import sys

PARBOIL, OUT = sys.argv[1:3]
BENCHES = ["cp", "mri-fhd", "mri-q", "pns", "rpes", "sad", "tpacf"]
BLOCKS = ["4K", "16K", "64K", "256K", "1M"]
ROLLING = [1, 2, 4, 1024]
COUNTS = ["h2d_bytes", "d2h_bytes", "write_faults", "read_faults", "evictions"]


def run(bench, block, rolling):
    out = subprocess.run([PARBOIL, "run", bench, "--size", "small", "--protocol", "rolling", "--block-size", block,
                          "--rolling-size", str(rolling), "--json", "-"], check=True, capture_output=True, text=True,
                         env=dict(os.environ, ADSM_BACKEND="cpu", ADSM_PAPER="1")).stdout
    return json.loads(out)


def main():
    with open(OUT + ".csv", "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["benchmark", "block", "rolling"] + COUNTS)
        for bench in BENCHES:
            moved = {}
            for block in BLOCKS:
                for rolling in ROLLING:
                    result = run(bench, block, rolling)
                    rows.writerow([bench, block, rolling] + [result[count] for count in COUNTS])
                    moved[block, rolling] = result["h2d_bytes"] + result["d2h_bytes"]
            # The most to the least: by the block where all may be Dirty, and by how many may at 64K.
            blocks = [moved[block, ROLLING[-1]] for block in BLOCKS]
            dirty = [moved["64K", rolling] for rolling in ROLLING]
            print(f"{bench}: bytes by block size {max(blocks) / min(blocks):.3f}, by rolling size "
                  f"{max(dirty) / min(dirty):.3f}", flush=True)


main()
