# SPDX-License-Identifier: MIT
"""The figures: every row is there and possible, pictures are pictures, an interrupted measurement keeps and draws what
it has, and one clear line for what goes wrong: figures.py PROGRAM"""
import csv
import math
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

from program import PROGRAM, fails, parboil, start

BENCHES = ["cp", "mri-fhd", "mri-q", "pns", "rpes", "sad", "tpacf"]
BLOCKS = [f"{2**i}K" for i in range(2, 10)] + [f"{2**i}M" for i in range(6)]
# The first column of each figure.
ROWS = {7: BENCHES + ["geometric mean"], 8: BENCHES, 9: ["32", "64"], 10: BENCHES, 11: BLOCKS, 12: BLOCKS[:5]}
ENDS = ["low", "median", "high"]
DRAWS = shutil.which("gnuplot") is not None


def figures(*args, **environment):
    """Its exit status and messages."""
    done = parboil("figures", *args, **environment)
    assert done.stdout == "", done
    return done.returncode, done.stderr


def rows(folder, number):
    """The rows of a figure as dictionaries of numbers, by the first column; its comments."""
    with open(os.path.join(folder, f"figure{number}.csv"), encoding="utf-8", newline="") as file:
        lines = list(file)
    comments = [line for line in lines if line.startswith("#")]
    assert lines and lines[-1].endswith("\n") and lines[0].startswith(f"# Figure {number}: "), lines
    table = {}
    for row in csv.DictReader(line for line in lines if line not in comments):
        name = next(iter(row.values()))
        assert name not in table and None not in row.values() and None not in row, row
        table[name] = {column: float(text) for column, text in list(row.items())[1:] if column != "block"}
        for column, value in table[name].items():
            assert math.isfinite(value) and value >= 0, (number, name, column, value)
            if column.endswith("_median"):
                low, median, high = (table[name][column[:-6] + end] if column[:-6] + end in table[name] else
                                     float(row[column[:-6] + end]) for end in ENDS)
                assert low <= median <= high, (number, name, column, low, median, high)
    return table, comments


def drawn(folder, number):
    path = os.path.join(folder, f"figure{number}")
    if not DRAWS:
        assert not os.path.exists(path + ".svg") and not os.path.exists(path + ".png")
        return
    root = xml.etree.ElementTree.parse(path + ".svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
    words = " ".join(root.itertext())
    assert f"Figure {number}: " in words and "processor" in words, words
    with open(path + ".png", "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"


def all_figures(folder):
    # What gnuplot could take for its own is only a name.
    out = os.path.join(folder, "it's a `folder`_{}")
    status, stderr = figures("--size", "small", "--pairs", "1", "--out", out)
    if DRAWS:
        assert status == 0 and stderr == "", (status, stderr)
    else:
        assert status == 1 and "gnuplot-nox" in stderr, (status, stderr)
    tables = {}
    for number, names in ROWS.items():
        tables[number], comments = rows(out, number)
        assert list(tables[number]) == names, (number, tables[number])
        assert len(comments) == 1 and "backend " in comments[0] and "incomplete" not in comments[0], comments
        drawn(out, number)
    for name, row in tables[7].items():
        assert all(value > 0 for value in row.values()), (name, row)
    medians = [tables[7][name]["batch_ratio_median"] for name in BENCHES]
    mean = math.exp(sum(map(math.log, medians)) / len(medians))
    assert math.isclose(tables[7]["geometric mean"]["batch_ratio_median"], mean, rel_tol=1e-6), (medians, tables[7])
    for name, row in tables[8].items():
        for way in ["lazy", "rolling"]:
            for direction in ["to_device", "from_device"]:
                share = row[f"{way}_{direction}_share_median"]
                assert share <= 1, (name, way, direction, row)
                of_batch = row[f"{way}_{direction}_bytes"] / row[f"batch_{direction}_bytes"]
                assert math.isclose(share, of_batch, rel_tol=1e-6), (name, way, direction, row)
    for name, row in tables[10].items():
        parts = [value for column, value in row.items() if column.endswith("_percent_median")]
        assert len(parts) == 6 and math.isclose(sum(parts), 100, rel_tol=1e-6), (name, row)
    for name, row in tables[12].items():
        # Three streams into fewer dirty blocks: a block is sent at each store.
        assert row["rolling_1_to_device_bytes"] >= row["rolling_4_to_device_bytes"] > 0, (name, row)
    most = max(row["rolling_1_to_device_bytes"] for row in tables[12].values())
    assert most > 100 * tables[12]["4K"]["rolling_4_to_device_bytes"], tables[12]
    print("all figures")


def interrupt(folder, number, pairs):
    """A signal in the third benchmark. The folder of the tables; None: all was measured before it came."""
    out, temporary = (os.path.join(folder, f"{name}{number}-{pairs}") for name in ["out", "tmp"])
    os.mkdir(temporary)
    process = start(temporary, "figures", "7", "8", "--size", "small", "--pairs", str(pairs), "--out", out)
    path = os.path.join(out, "figure7.csv")
    before = ""
    while before.count("\n") < 4 and process.poll() is None:
        time.sleep(0.01)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                before = file.read()
    process.send_signal(number)
    _, stderr = process.communicate()
    assert process.returncode in (0, 1, 128 + number), (process.returncode, stderr)
    if any(set(rows(out, figure)[0]) >= set(BENCHES) for figure in [7, 8]):
        return None
    assert process.returncode == 128 + number, (process.returncode, stderr)
    assert not os.listdir(temporary), os.listdir(temporary)
    with open(path, encoding="utf-8") as file:
        assert file.read().startswith(before), before
    return out


def interrupted(folder):
    """SIGINT in the third benchmark: what was measured stays, is drawn, and is said to be incomplete."""
    for number in [signal.SIGINT, signal.SIGTERM]:
        # If this process had no processor until all was measured, again with more to measure.
        out = next(filter(None, (interrupt(folder, number, pairs) for pairs in [4, 16, 64])), None)
        assert out, "all was measured before the signal came"
        for figure in [7, 8]:
            table, comments = rows(out, figure)
            assert list(table)[:2] == BENCHES[:2] and not set(table) >= set(BENCHES), table
            assert "incomplete" in comments[-1], comments
            drawn(out, figure)
        assert sorted(name for name in os.listdir(out) if name.endswith(".csv")) == ["figure7.csv", "figure8.csv"]
    print("interrupted")


def without_gnuplot(folder):
    out = os.path.join(folder, "undrawn")
    fails(1, "gnuplot-nox", "figures", "12", "--size", "small", "--pairs", "1", "--out", out, PATH=folder)
    assert os.listdir(out) == ["figure12.csv"], os.listdir(out)
    assert list(rows(out, 12)[0]) == ROWS[12]
    # One that fails.
    broken = os.path.join(folder, "broken")
    os.mkdir(broken)
    with open(os.path.join(broken, "gnuplot"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho half > \"$5\"\nexit 3\n")
    os.chmod(file.name, 0o755)
    # Neither half a picture is left nor that of another measurement.
    with open(os.path.join(out, "figure12.png"), "w", encoding="utf-8"):
        pass
    status, stderr = figures("12", "--size", "small", "--pairs", "1", "--out", out, PATH=broken + ":" + os.defpath)
    lines = stderr.splitlines()
    assert status == 1 and len(lines) == 2 and all("gnuplot did not draw" in line for line in lines), (status, stderr)
    assert os.listdir(out) == ["figure12.csv"], os.listdir(out)
    print("without gnuplot")


def progress(folder):
    """A terminal shows which part of the work runs."""
    master, slave = pty.openpty()
    with subprocess.Popen([PROGRAM, "figures", "9", "--size", "small", "--pairs", "1", "--out",
                           os.path.join(folder, "terminal")], stdout=subprocess.DEVNULL, stderr=slave) as process:
        os.close(slave)
        shown = b""
        try:
            while data := os.read(master, 4096):
                shown += data
        except OSError:
            pass  # the other side is closed
    os.close(master)
    parts = re.findall(rb"\r\033\[K(part \d of \d), \d+:\d\d: stencil3d \w+: turn 1 of 1, ", shown)
    assert process.returncode in (0, 1) and sorted(set(parts)) == [b"part 1 of 2", b"part 2 of 2"], shown
    print("progress")


def arguments(folder):
    out = os.path.join(folder, "unmade")
    for number in ["6", "13", "7x", "seven", "", " 7", "+7", "99999999999999999999"]:
        fails(2, "the figures are 7 to 12", "figures", number, "--out", out)
    fails(2, "there is no figure \"13\"", "figures", "7", "13", "--out", out)
    fails(2, "--out DIR", "figures", "7")
    fails(2, "--out DIR", "figures", "7", "--out", "")
    fails(2, "their sizes are small medium paper", "figures", "7", "--size", "huge", "--out", out)
    fails(2, "from 1 to 1000", "figures", "7", "--pairs", "0", "--out", out)
    fails(2, "cpu", "figures", "7", "--backend", "abacus", "--out", out)
    fails(2, "fast", "figures", "7", "--link", "fast", "--out", out)
    fails(2, "takes no option", "figures", "7", "--json", "-", "--out", out)
    assert not os.path.exists(out)
    fails(2, "No such file", "figures", "7", "--out", os.path.join(out, "below"))
    with open(out, "w", encoding="utf-8"):
        fails(2, "Not a directory", "figures", "7", "--out", out)
    os.unlink(out)
    os.makedirs(os.path.join(out, "figure8.csv"))
    fails(2, "figure8.csv: Is a directory", "figures", "7", "8", "--size", "small", "--out", out)
    assert os.listdir(out) == ["figure8.csv"], os.listdir(out)
    print("arguments")


with tempfile.TemporaryDirectory() as scratch:
    arguments(scratch)
    progress(scratch)
    without_gnuplot(scratch)
    interrupted(scratch)
    all_figures(scratch)
if not DRAWS:
    print("gnuplot is not installed: nothing could be drawn")
    sys.exit(77)
