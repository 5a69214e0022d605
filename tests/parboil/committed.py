# SPDX-License-Identifier: MIT
"""The counts in docs/evaluation are those of this library: committed.py PROGRAM FIGURE

The columns that do not depend on the machine are compared with runs: those of counted/blocks.csv, and the bytes of
Figure 8. Without TEST_FULL some rows. After a change of what the library moves by default, make the files again:
parboil figures 8, with ADSM_BACKEND=cpu and opencl."""
import csv
import os
import sys

from program import need_backend, result

FIGURE = sys.argv[2]
FULL = bool(os.environ.get("TEST_FULL"))
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/evaluation")
BYTES = ["h2d_bytes", "d2h_bytes"]


def committed(path):
    with open(os.path.join(DOCS, path), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def compare(what, row, columns, report, counts):
    """Each column of the row is a count of the report."""
    for column, count in zip(columns, counts):
        assert int(row[column]) == report[count], f"{what}: {column} is {report[count]}, not {row[column]}"


def blocks():
    """Sections 5.2 and 5.3 (tests/bench/block_sizes.py)."""
    rows = committed("counted/blocks.csv")
    counts = BYTES + ["write_faults", "read_faults", "evictions"]
    assert len(rows) == 7 * 5 * 4, len(rows)
    for row in rows if FULL else rows[3::19]:
        report = result(row["benchmark"], "--size", "small", "--protocol", "rolling", "--block-size", row["block"],
                        "--rolling-size", row["rolling"], ADSM_PAPER="1")
        compare(f"{row['benchmark']} {row['block']} {row['rolling']}", row, counts, report, counts)


def figure8():
    """The tables of both backends have the same bytes."""
    rows = committed("default/figure8.csv")
    ways = {"explicit": ["--variant", "explicit"], "batch": ["--protocol", "batch"], "lazy": ["--protocol", "lazy"],
            "rolling": ["--protocol", "rolling"]}
    others = committed("opencl/figure8.csv")
    assert [row["benchmark"] for row in rows] == [row["benchmark"] for row in others] and len(rows) == 7
    for row, other in zip(rows, others):
        for way, options in ways.items():
            columns = [f"{way}_to_device_bytes", f"{way}_from_device_bytes"]
            assert all(row[column] == other[column] for column in columns), (row, other)
            if FULL or row["benchmark"] in ("mri-q", "sad"):
                report = result(row["benchmark"], "--size", "medium", *options)
                compare(f"{row['benchmark']} {way}", row, columns, report, BYTES)


need_backend()
{"blocks": blocks, "figure8": figure8}[FIGURE]()
