# SPDX-License-Identifier: MIT
"""tpacf's files: malformed input is one clear line, and what it writes is what it counted:
formats_tpacf.py PROGRAM"""
import bisect
import itertools
import math
import os
import random
import tempfile

from program import fails, parboil, result

# Of the points as they are generated, in single precision, which are not quite of length 1.
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


def read_output(path):
    """The columns DD, DR and RR: a number in each line, bin by bin."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    assert len(lines) == 61 and not lines[-1] and all(line == str(int(line)) for line in lines[:-1]), lines
    return [[int(line) for line in lines[i:60:3]] for i in range(3)]


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
        outputs.append(read_output(output))
    assert outputs[0] == outputs[1] == outputs[2], outputs
    for got, golden in zip(outputs[0], [DD, DR, RR]):
        for i in range(20):
            assert abs(got[i] - golden[i]) <= 3, (i, got)
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
            dd, dr, rr = read_output(output)
            # A few pairs face each other so nearly that the last bin ends before them.
            pairs = n_points * (n_points - 1) // 2
            for total, most in [(dd, pairs), (dr, (n_sets - 1) * n_points ** 2), (rr, (n_sets - 1) * pairs)]:
                assert 0.9 * most - 4 <= sum(total) <= most, (n_points, n_sets, total, most)
    # Four points on the equator: three pairs 90 degrees apart, two of 180, one of nothing at all.
    paths = [os.path.join(folder, name) for name in ["cross", "pole"]]
    write(paths[0], ["0 0", "90 0", "180 0", "-90 0"])
    write(paths[1], ["0 90", "17 90", "0 -90", "359 -90"])
    run("--input", *paths, "--output", output)
    bin90, (dd, dr, rr) = 18, read_output(output)
    assert (dd[bin90], dr[bin90], rr[bin90]) == (4, 16, 0), (dd, dr, rr)
    assert (sum(dd), sum(dr), sum(rr)) == (4, 16, 0), (dd, dr, rr)


def count(first, second=None):
    """The pairs of one set, or between two: how many are in each bin for certain, and how many at its ends."""
    limits = [10**(k / 5) * math.pi / 10800 for k in range(21)]
    sure, unsure = [0] * 20, [0] * 20
    for a, b in itertools.combinations(first, 2) if second is None else itertools.product(first, second):
        angle = 2 * math.asin(min(1, math.dist(a, b) / 2))
        # Coordinates are kept to 3e-8 on the device; that is 1e-4 minutes of arc.
        near, far = (bisect.bisect_left(limits, angle + error) - 1 for error in (-1e-7, 1e-7))
        if near == far and 0 <= near < 20:
            sure[near] += 1
        for k in {near, far} if near != far else []:
            if 0 <= k < 20:
                unsure[k] += 1
    return sure, unsure


def vector(ra, dec):
    ra, dec = math.radians(ra), math.radians(dec)
    return math.cos(ra) * math.cos(dec), math.sin(ra) * math.cos(dec), math.sin(dec)


def test_near(folder):
    """Points a few minutes of arc from each other, where dot products in single precision are 1 or nearly so: they are
    counted as in double precision."""
    numbers, output = random.Random(2), os.path.join(folder, "output")
    paths, sets = [os.path.join(folder, f"near{i}") for i in range(2)], []
    for path in paths:
        degrees = [(73 + numbers.uniform(-0.05, 0.05), 31 + numbers.uniform(-0.05, 0.05)) for _ in range(150)]
        write(path, [f"{ra!r} {dec!r}" for ra, dec in degrees])
        sets.append([vector(ra, dec) for ra, dec in degrees])
    for variant in ["adsm", "explicit"]:
        run("--variant", variant, "--input", *paths, "--output", output)
        for got, (sure, unsure) in zip(read_output(output), [count(sets[0]), count(*sets), count(sets[1])]):
            assert sum(got[:3]) > 1000 and max(unsure) < 20, (got, unsure)
            assert all(n <= k <= n + m for k, n, m in zip(got, sure, unsure)), (got, sure, unsure)


def test_points(folder):
    """The first points of files that have more, and not all as many."""
    numbers, output = random.Random(3), os.path.join(folder, "output")
    paths = [os.path.join(folder, f"long{i}") for i in range(4)]
    lines = [[f"{numbers.uniform(0, 360)} {numbers.uniform(-90, 90)}" for _ in range(70)] for _ in range(2)]
    for path, text in zip(paths, [lines[0], lines[1][:65], lines[0][:60], lines[1][:60]]):
        write(path, ["", *text])
    outputs = []
    for args in [["--points", "60", "--input", *paths[:2]], ["--input", *paths[2:]]]:
        run(*args, "--output", output)
        outputs.append(read_output(output))
    assert outputs[0] == outputs[1] and sum(outputs[0][0]) > 1500, outputs
    refused(1, f"{paths[1]}:67: the file ends after 65 points, but {paths[0]} has 66", "--points", "66", "--input",
            *paths[:2])
    refused(1, f"{paths[0]}:72: the file ends after 70 points, but --points asks for 71", "--points", "71", "--input",
            *paths[:2])
    refused(2, "--points takes a number from 1 to 65535", "--points", "65536", "--input", *paths[:2])
    fails(2, "scan has no points: it takes no --points", "run", "scan", "--points", "1")


def test_malformed(folder):
    first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
    good = ["10 20", "30 40.5", "1e1 -5"]

    def malformed(text, lines, other):
        write(first, lines)
        write(second, other)
        refused(1, text, "--input", first, second)

    malformed(f"{first}:1: the file has no points", [], good)
    malformed(f"{first}:3: the file has no points", ["", "  "], good)
    malformed(f'{first}:2: ra is "x", but must be a number', ["10 20", "x 20", "1 2"], good)
    malformed(f'{first}:1: ra is "nan", but must be a number', ["nan 20"], good)
    malformed(f'{first}:3: dec is "2,5", but must be a number', ["10 20", "", "1 2,5"], good)
    malformed(f"{first}:1: this line contains a NUL byte", ["1 2\0", "3 4"], good)
    malformed(f"{second}:2: this line contains a NUL byte", good, ["10 20", "\0x", "1 2"])
    malformed(f"{second}:2: dec is missing", good, ["10 20", "10", "1 2"])
    malformed(f'{second}:3: "4" is unexpected at the end of this line', good, ["10 20", "1 2", "1 2 4"])
    malformed(f"{second}:1: dec is 90.5, but must be from -90 to 90", good, ["10 90.5"])
    malformed(f"{first}:1: dec is -91, but must be from -90 to 90", ["10 -91"], good)
    malformed(f"{second}:1: the file ends after 0 points, but {first} has 3", good, [])
    malformed(f"{second}:3: the file ends after 2 points, but {first} has 3", good, good[:2])
    malformed(f"{second}:4: there are more points than the 3 of {first}", good, good + good)
    malformed(f"{first}:65536: there are more than 65535 points; --points reads the first ones only",
              ["1 2"] * 65536, good)
    write(first, good)
    refused(2, "takes at least 2 input files", "--input", first)
    refused(1, "No such file", "--input", first, os.path.join(folder, "third"))
    refused(1, "/dev/stdin: the length of the file is unknown", "--input", "/dev/stdin", first)
    refused(1, "/dev/full: No space left", "--output", "/dev/full")
    refused(1, "No such file", "--output", "/nonexistent/output")


for test in [test_generated, test_counts, test_near, test_points, test_malformed]:
    with tempfile.TemporaryDirectory() as place:
        test(place)
