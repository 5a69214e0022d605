# SPDX-License-Identifier: MIT
"""The tables of COMIC++ that adsm-tasks prints: table.py PROGRAM TABLE. The counts are those of the formulas,
and the paper's own numbers agree with each other."""
import os
import re
import subprocess
import sys

PROGRAM, TABLE = sys.argv[1:]
BARRIERS = {"blackscholes": 1, "ep": 3, "jacobi": 4001, "lu": 754, "md": 21, "raytrace": 2, "water": 21}


def run(*words, env=None):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, env=env)


def number(cell):
    return float(cell.removesuffix(" %").replace(",", ""))


def check_row(name, cells, barriers, locks):
    """Barriers and locks, by formula; what is handled locally is the rest of what is asked for globally."""
    assert all(re.fullmatch(r"-|[\d.,]+( %)?", cell) for cell in cells), (name, cells)
    if TABLE == "5":
        assert (number(cells[5]), number(cells[6])) == (barriers, locks), (name, cells)
        return
    assert (number(cells[8]), number(cells[10])) == (barriers, locks), (name, cells)
    assert number(cells[9]) <= locks, (name, cells)
    if locks:
        assert abs(number(cells[11]) - 100 * (locks - number(cells[9])) / locks) <= 0.05, (name, cells)
    else:
        assert cells[11] == "-", (name, cells)


def main():
    done = run("--workers", "4", "--table", TABLE, "all")
    assert done.returncode == 0 and not done.stderr, done
    assert len(re.findall("  verified ", done.stdout)) == 9, done.stdout
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in done.stdout.splitlines() if line[:1] == "|"]
    assert len({len(row) for row in rows}) == 1 and len(rows) == 2 + 9 + 7, done.stdout
    here = {row[0]: row[1:] for row in rows[2:] if row[0] != "the paper"}
    paper = {before[0]: row[1:] for before, row in zip(rows, rows[1:]) if row[0] == "the paper"}
    assert set(paper) == set(BARRIERS), paper
    for name, barriers in BARRIERS.items():
        check_row(name, paper[name], barriers, number(paper[name][6 if TABLE == "5" else 10]))
    # Of the size small.
    for name, barriers, locks in (("blackscholes", 1, 0), ("ep", 3, 4), ("jacobi", 41, 0), ("lu", 20, 4), ("md", 11, 0),
                                  ("radix", 2, 0), ("raytrace", 2, 8 * 8 + 16)):
        check_row(name, here[name], barriers, locks)
    print(done.stdout)
    # Barriers are counted also if a node has no worker.
    alone = run("--workers", "1", "--table", TABLE, "jacobi").stdout
    check_row("jacobi", re.search(r"^\| jacobi \| (.*) \|$", alone, re.M)[1].split(" | "), 41, 0)
    # Two nodes are also the default. The sums of the prices are what they send.
    without = {name: text for name, text in os.environ.items() if name != "ADSM_CLUSTER_NODES"}
    for env in (without, without | {"ADSM_CLUSTER_NODES": "2"}) if TABLE == "6" else ():
        sent = run("--workers", "2", "--table", "6", "blackscholes", env=env).stdout
        sent = re.search(r"^\| blackscholes \| (.*) \|$", sent, re.M)[1].split(" | ")[7]
        assert sent == "0.5", sent
    for words, text in ((["--table", "4", "ep"], "the tables with counts are 5 and 6"), (["--table"], "--table")):
        done = run(*words)
        assert done.returncode == 1 and text in done.stderr and not done.stdout, done


main()
