# SPDX-License-Identifier: MIT
"""tpacf's files: malformed input is one clear line, and what it writes is what it counted:
formats_tpacf.py PROGRAM"""
import math
import os
import random
import tempfile

from program import fails, parboil, result

# The near bins leave room for what single precision may misplace; the others are exact but for that.
DD = [1, 4, 7, 23, 63, 143, 319, 524, 589, 119, 42, 74, 358, 1042, 1585, 3714, 9561, 21388, 44067, 45677]
DR = [1, 0, 0, 0, 3, 7, 30, 82, 143, 369, 999, 2101, 5536, 13440, 32996, 82281, 199788, 449453, 868424, 928997]
RR = [0, 0, 0, 2, 2, 3, 21, 16, 73, 168, 416, 1081, 2636, 6507, 16586, 40712, 98786, 224365, 433771, 465312]


def run(*args):
    """A verified run's report."""
    report = result("tpacf", *args)
    assert report["calls"] == 1, report
    return report


def refused(status, text, *args):
    fails(status, text, "run", "tpacf", "--size", "small", *args, stdin="1 2\n")


def read_output(path, n_random):
    """The columns DD, DR and RR; w is checked against them."""
    with open(path, encoding="utf-8") as file:
        rows = [line.split() for line in file]
    assert len(rows) == 20 and all(len(row) == 4 for row in rows), rows
    columns = [[int(row[i]) for row in rows] for i in (1, 2, 3)]
    for row, dd, dr, rr in zip(rows, *columns):
        w = float(row[0])
        assert not math.isfinite(w) if rr == 0 else math.isclose(w, (n_random * dd - dr) / rr + 1, rel_tol=1e-8,
                                                                 abs_tol=1e-8), row
    return columns


def write(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))


def test_generated(folder):
    """The generated files, given back as input: both variants write what is known of them."""
    prefix, outputs = os.path.join(folder, "input"), []
    done = parboil("generate", "tpacf", "--size", "small", "--output", prefix)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 11, done
    inputs = [f"{prefix}.{i}" for i in range(11)]
    for args in [["--variant", "adsm"], ["--variant", "explicit"], ["--protocol", "lazy"]]:
        output = os.path.join(folder, "output")
        run("--size", "small", *args, "--input", *inputs, "--output", output)
        outputs.append(read_output(output, 10))
    assert outputs[0] == outputs[1] == outputs[2], outputs
    for got, golden in zip(outputs[0], [DD, DR, RR]):
        for i in range(20):
            assert abs(got[i] - golden[i]) <= max(8, 0.05 * golden[i] if i < 9 else 0.001 * golden[i]), (i, got)
    # The size does not matter where the files are given.
    report = run("--size", "paper", "--input", *inputs)
    assert (report["h2d_bytes"], report["d2h_bytes"], report["const_bytes"]) == (67584, 3360, 84), report


def test_counts(folder):
    """Numbers of points and of sets that are no multiple of anything; blank lines do not count."""
    numbers = random.Random(1)
    output = os.path.join(folder, "output")
    for n_points, n_sets in [(1, 2), (2, 3), (255, 2), (257, 4), (600, 3)]:
        paths = [os.path.join(folder, f"set{i}") for i in range(n_sets)]
        for path in paths:
            write(path, [f" {numbers.uniform(-180, 360)}\t{numbers.uniform(-90, 90)} \n" for _ in range(n_points)])
        for variant in ["adsm", "explicit"]:
            run("--variant", variant, "--input", *paths, "--output", output)
            dd, dr, rr = read_output(output, n_sets - 1)
            # A few pairs face each other so nearly that the last bin ends before them.
            pairs = n_points * (n_points - 1) // 2
            for total, most in [(dd, pairs), (dr, (n_sets - 1) * n_points ** 2), (rr, (n_sets - 1) * pairs)]:
                assert 0.9 * most - 4 <= sum(total) <= most, (n_points, n_sets, total, most)
    # Four points on the equator: three pairs 90 degrees apart, two of 180, one of nothing at all.
    paths = [os.path.join(folder, name) for name in ["cross", "pole"]]
    write(paths[0], ["0 0", "90 0", "180 0", "-90 0"])
    write(paths[1], ["0 90", "17 90", "0 -90", "359 -90"])
    run("--input", *paths, "--output", output)
    bin90, (dd, dr, rr) = 18, read_output(output, 1)
    assert (dd[bin90], dr[bin90], rr[bin90]) == (4, 16, 0), (dd, dr, rr)
    assert (sum(dd), sum(dr), sum(rr)) == (4, 16, 0), (dd, dr, rr)


def test_malformed(folder):
    first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
    good = ["10 20", "30 40.5", "1e1 -5"]

    def malformed(text, lines, other):
        write(first, lines)
        write(second, other)
        refused(1, text, "--input", first, second)

    malformed(f"{first}:1: there is no point", [], good)
    malformed(f"{first}:3: there is no point", ["", "  "], good)
    malformed(f'{first}:2: ra is "x", and must be a number', ["10 20", "x 20", "1 2"], good)
    malformed(f'{first}:1: ra is "nan", and must be a number', ["nan 20"], good)
    malformed(f'{first}:3: dec is "2,5", and must be a number', ["10 20", "", "1 2,5"], good)
    malformed(f"{first}:1: there is a byte 0 in this line", ["1 2\0", "3 4"], good)
    malformed(f"{second}:2: there is a byte 0 in this line", good, ["10 20", "\0x", "1 2"])
    malformed(f"{second}:2: dec is missing", good, ["10 20", "10", "1 2"])
    malformed(f'{second}:3: "4" is too much in this line', good, ["10 20", "1 2", "1 2 4"])
    malformed(f"{second}:1: dec is 90.5, and must be from -90 to 90", good, ["10 90.5"])
    malformed(f"{first}:1: dec is -91, and must be from -90 to 90", ["10 -91"], good)
    malformed(f"{second}:1: the file ends after 0 points, and {first} has 3", good, [])
    malformed(f"{second}:3: the file ends after 2 points, and {first} has 3", good, good[:2])
    malformed(f"{second}:4: there are more points than the 3 of {first}", good, good + good)
    malformed(f"{first}:65536: there are more than 65535 points", ["1 2"] * 65536, good)
    write(first, good)
    refused(2, "takes at least 2 input files", "--input", first)
    refused(1, "No such file", "--input", first, os.path.join(folder, "third"))
    refused(1, "/dev/stdin: not a file of known length", "--input", "/dev/stdin", first)
    refused(1, "/dev/full: No space left", "--output", "/dev/full")
    refused(1, "No such file", "--output", "/nonexistent/output")


for test in [test_generated, test_counts, test_malformed]:
    with tempfile.TemporaryDirectory() as place:
        test(place)
