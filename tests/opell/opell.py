# SPDX-License-Identifier: MIT
"""The programs for cores with small local stores: opell.py PROGRAM MODE DOCUMENT. cpu, cuda, opencl: they verify.
pieces: in one piece and in partitions results are the same, and what is loaded is what the document's tables say, and
the rows of evaluation/opell/opell.csv beside it.
gzip: with files of others, and with gzip(1)."""
import csv
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM, MODE, DOCUMENT = sys.argv[1:4]
FULL = "TEST_FULL" in os.environ
# The columns of the document's tables.
COLUMNS = [("1", "lru", "off"), ("1", "lru", "on"), ("2", "modulus", "off"), ("2", "modulus", "on"),
           ("2", "lru", "off"), ("2", "lru", "on"), ("4", "modulus", "off"), ("4", "modulus", "on"),
           ("4", "lru", "off"), ("4", "lru", "on")]
CHOSEN = COLUMNS if FULL else [COLUMNS[i] for i in (0, 2, 4, 5, 9)]


def execute(*words, status=0, **options):
    done = subprocess.run([PROGRAM, *words], env=os.environ | options, capture_output=True, text=True, check=False)
    assert done.returncode == status, (words, options, done)
    return done.stdout if status == 0 else done.stderr + done.stdout


def results(text):
    """Of each program the hash of its results."""
    return dict(re.findall(r"^(\w+) .* results ([0-9a-f]{16})", text, re.M))


def programs():
    return set(re.findall(r"^(\w+) ", execute("--list"), re.M))


def verified(*words, **options):
    out = execute(*words, "all", **options)
    assert len(re.findall(r"  verified ", out)) == len(programs()) == len(results(out)), out
    print(out, end="")
    return results(out)


def counted(*words, **options):
    """What programs say, and what the device has counted, by kernel."""
    with tempfile.TemporaryDirectory() as folder:
        out = execute(*words, "all", ADSM_STATS=f"json:{folder}/stats", ADSM_LOG="error", **options)
        with open(f"{folder}/stats", encoding="utf-8") as file:
            return results(out), {kernel["kernel"]: kernel["counters"] for kernel in json.load(file)["kernels"]}


def loads():
    """Of each kernel of the document's table its calls between partitions, and its loads by column."""
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read().partition("## Programs")[2].partition("### Partitions that adsmcc chooses")[0]
    rows = re.findall(r"^\| [^|]*`(\w+)` \| ([\d, |]+) \|$", text, re.M)
    found = {}
    for kernel, cells in rows:
        calls, *columns = [int(cell.replace(",", "")) for cell in cells.split("|")]
        assert len(columns) == len(COLUMNS), (kernel, cells)
        found[kernel] = calls, dict(zip(COLUMNS, columns))
    return found


# Programs of several kernels.
OF_PROGRAM = {kernel: program for program, kernels in {"dsp": ["mac", "codebook", "jpeg"], "md": ["forces", "move"],
              "mgrid": ["resid", "psinv", "rprj3", "interp", "norm"]}.items() for kernel in kernels}


def committed(kernels, buffers, policy, victim, registers):
    """The counts of ./dev opell in docs are these."""
    with open(os.path.join(os.path.dirname(DOCUMENT), "evaluation/opell/opell.csv"), encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["buffers"], row["policy"], row["victim"]) ==
                (buffers, policy, victim) and row["registers"] == registers]
    sums = {}
    for kernel, counters in kernels.items():
        own = sums.setdefault(OF_PROGRAM.get(kernel, kernel), [0, 0])
        own[0] += counters["calls_across"]
        own[1] += counters["code_loads"]
    assert {row["program"]: [int(row["calls"]), int(row["loads"])] for row in rows} == sums, (rows, sums)


def in_pieces(size, cores, want, table):
    """Each choice of CHOSEN has the results that there are in one piece. With one sub-buffer calls save all
    registers."""
    for buffers, policy, victim in CHOSEN:
        registers = "all" if buffers + victim == "1off" else "needed"
        got, kernels = counted("--size", size, "--no-verify", ADSM_SCRATCHPAD_CORES=cores,
                               ADSM_SCRATCHPAD_PARTITIONS="always", ADSM_SCRATCHPAD_BUFFERS=buffers,
                               ADSM_SCRATCHPAD_POLICY=policy, ADSM_SCRATCHPAD_VICTIM=victim,
                               ADSM_SCRATCHPAD_REGISTERS=registers)
        assert got == want, (size, cores, buffers, policy, victim, got, want)
        for kernel, counters in kernels.items():
            print(f"{size} {cores} {buffers} {policy:7} {victim:3} {kernel:12} {counters['calls_across']:9} calls "
                  f"{counters['code_loads']:9} loads {counters['code_victims']:9} from the victim entry")
        if table:
            committed(kernels, buffers, policy, victim, registers)
        for kernel in kernels if table else ():
            calls, columns = table[kernel]
            assert (kernels[kernel]["calls_across"], kernels[kernel]["code_loads"]) == \
                (calls, columns[buffers, policy, victim]), (kernel, buffers, policy, victim, kernels[kernel])
        assert not table or set(table) == set(kernels), (set(table), set(kernels))


def pieces():
    os.environ["ADSM_BACKEND"] = "scratchpad"
    small = verified()
    in_pieces("small", "1", small, loads())
    if FULL:
        in_pieces("small", "6", small, None)
        in_pieces("medium", "6", verified("--size", "medium", ADSM_SCRATCHPAD_CORES="6"), None)


def round_trip(path, folder, backend):
    """gzip(1) decompresses what the program has made, and the program what gzip has made."""
    with open(path, "rb") as file:
        data = file.read()
    ours, back, theirs = f"{folder}/ours.gz", f"{folder}/back", f"{folder}/theirs.gz"
    print(path, execute("--input", path, "--output", ours, "gzip", ADSM_BACKEND=backend), end="")
    assert subprocess.run(["gzip", "-dc", ours], capture_output=True, check=True).stdout == data, path
    for level in ("-1", "-6", "-9"):
        with open(theirs, "wb") as file:
            subprocess.run(["gzip", level, "-c", path], stdout=file, check=True)
        execute("--decompress", "--input", theirs, "--output", back, "gzip", ADSM_BACKEND=backend)
        with open(back, "rb") as file:
            assert file.read() == data, (path, level)
    execute("--decompress", "--input", ours, "--output", back, "gzip", ADSM_BACKEND=backend)
    with open(back, "rb") as file:
        assert file.read() == data, path


def damaged(folder):
    """A file of gzip with one byte changed, or cut off, is found out: with its checksum at the latest."""
    path, name = f"{folder}/damaged.gz", f"{folder}/text"
    with open(name, "wb") as file:
        file.write(b"".join(b"%d bottles of beer on the wall, " % i for i in range(600)))
    execute("--input", name, "--output", path, "gzip")
    with open(path, "rb") as file:
        data = file.read()
    for at in range(0, len(data), 1 + len(data) // (200 if FULL else 20)):
        for wrong in (data[:at], data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1:]):
            with open(path, "wb") as file:
                file.write(wrong)
            done = subprocess.run([PROGRAM, "--decompress", "--input", path, "gzip"], capture_output=True, text=True,
                                  check=False)
            # Of the header the program does not look at the time and at where it was made.
            fine = at in range(4, 10) and len(wrong) == len(data)
            assert done.returncode == (0 if fine else 1), (at, len(wrong), done)
            assert fine or re.search("adsm-opell: |WRONG: ", done.stderr + done.stdout), done


def two_members(folder):
    """Members that do not say how large they are: all but the first would be lost. The program says so."""
    path = f"{folder}/two.gz"
    first = gzip.compress(b"first " * 1000)
    for second in (first, gzip.compress(b"second, which is larger " * 1000), gzip.compress(b"small"), bytes(8)):
        with open(path, "wb") as file:
            file.write(first + second)
        for words in ([], ["--no-verify"]):
            assert "WRONG: " in execute(*words, "--decompress", "--input", path, "gzip", status=1), (second, words)


def files():
    """What nobody here has written; the kinds of blocks that there are."""
    if not shutil.which("gzip"):
        print("there is no gzip")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        paths = [PROGRAM, sys.executable, __file__, DOCUMENT, "/usr/share/common-licenses/GPL-3"]
        for i, data in enumerate((b"", b"a", b"ab" * 20000, bytes(100000), os.urandom(40000))):
            paths.append(f"{folder}/{i}")
            with open(paths[-1], "wb") as file:
                file.write(data)
        for path in paths:
            if os.path.exists(path) and (FULL or os.path.getsize(path) < 1 << 20):
                round_trip(path, folder, "cpu")
        # With a name and a remark in its header, as Python makes it.
        with gzip.GzipFile("named.txt", "wb", fileobj=open(f"{folder}/n.gz", "wb")) as file:
            file.write(b"named " * 1000)
        execute("--decompress", "--input", f"{folder}/n.gz", "--output", f"{folder}/n", "gzip")
        with open(f"{folder}/n", "rb") as file:
            assert file.read() == b"named " * 1000
        damaged(folder)
        two_members(folder)
        assert "the input is not a file of gzip" in execute("--decompress", "--input", __file__, "gzip", status=1)
        for name in programs() - {"gzip"}:
            assert f"{name} does not use files" in execute("--input", __file__, name, status=1)


if "TEST_SKIP" in os.environ:
    print(os.environ["TEST_SKIP"])
    sys.exit(77)
{"pieces": pieces, "gzip": files}.get(MODE, verified)()
