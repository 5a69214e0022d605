# SPDX-License-Identifier: MIT
"""The output file of cp, against values computed here from the definition: formats_cp.py PROGRAM"""
import itertools
import math
import os
import struct
import tempfile

from program import fails, result

ROWS = 17


def single(value):
    """@value rounded to single precision."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def uniform():
    """The benchmark's random numbers: splitmix64 from 1, 24 bits of each."""
    mask, state = 2**64 - 1, 1
    while True:
        state = state + 0x9e3779b97f4a7c15 & mask
        z = (state ^ state >> 30) * 0xbf58476d1ce4e5b9 & mask
        z = (z ^ z >> 27) * 0x94d049bb133111eb & mask
        yield ((z ^ z >> 31) >> 40) / 2**24


def make_atoms():
    """Those of the size small."""
    draw, side = uniform(), single(single(0.1) * 128)
    return [(single(next(draw) * side), single(next(draw) * side), single(0.25 + next(draw)),
             2 * next(draw) - 1) for _ in range(4000)]


def glibc_rand(seed):
    """What rand() gives after srand(@seed): sums of two earlier numbers, the first ones thrown away."""
    state = [seed]
    for _ in range(30):
        state.append(state[-1] * 16807 % (2**31 - 1))
    state += state[:3]
    for i in itertools.count(34):
        state.append((state[-3] + state[-31]) % 2**32)
        if i >= 344:
            yield state[-1] >> 1


def original_atoms(n, n_atoms):
    """The published atoms, all in the plane: the sides are cut to whole numbers."""
    draw, side = (single(single(number) / 2**31) for number in glibc_rand(54321)), int(0.1 * n)
    return [(single(next(draw) * side), single(next(draw) * side), 0 * next(draw), single(next(draw) * 2 - 1))
            for _ in range(n_atoms)]


def check(path, atoms, n, checksum):
    """The file at @path has the right form and, in points all over it, the right values. Its text."""
    with open(path, encoding="ascii") as file:
        text = file.read()
    lines = text.split("\n")
    assert len(lines) == 2 + ROWS + 1 and not lines[-1], len(lines)
    assert lines[:2] == [f"{n} {n} 1 {len(atoms)}", checksum], lines[:2]
    # Every number is followed by a space.
    rows = [line.split(" ") for line in lines[2:-1]]
    assert all(len(row) == n + 1 and not row[-1] for row in rows), [len(row) for row in rows]
    for row in rows:
        for word in row[:-1]:
            assert word == f"{float(word):.4g}", word
    for v in [0, n - 1, *range(7, ROWS * n, 97), (ROWS - 1) * n, ROWS * n - 1]:
        j, i = divmod(v, n)
        expected = sum(q / math.sqrt((0.1 * i - x)**2 + (0.1 * j - y)**2 + z * z) for x, y, z, q in atoms)
        # The tolerance of the value, and half a unit of its fourth digit.
        assert abs(float(rows[j][i]) - expected) <= 1e-3 + 6e-4 * abs(expected), (i, j, rows[j][i], expected)
    return text


def run(size, output, atoms, n, checksum, *args):
    result("cp", "--size", size, "--output", output, *args)
    text = check(output, atoms, n, checksum)
    os.unlink(output)
    return text


with tempfile.TemporaryDirectory() as folder:
    output, small = os.path.join(folder, "output"), make_atoms()
    texts = {run("small", output, small, 128, "-2.416e+05", *args)
             for args in [("--variant", "explicit"), ("--protocol", "batch"), ("--protocol", "lazy"), ()]}
    assert len(texts) == 1
    # Checksums and first values as they are published.
    for size, n, n_atoms, checksum, first in [("tiny", 128, 100, "1.043e+04", [-1.278, -1.387, -1.5, -1.61, -1.707]),
                                              ("short", 256, 200, "8.029e+04", [-0.09409, -0.1164, -0.1393, -0.1627])]:
        text = run(size, output, original_atoms(n, n_atoms), n, checksum)
        for got, expected in zip(text.split("\n")[2].split(), first):
            # One in the fourth digit is what single precision leaves open.
            assert abs(float(got) - expected) <= 1.1e-3 * abs(expected), (size, got, expected)
    fails(1, f"{folder}/none/output: No such file", "run", "cp", "--size", "small", "--output", f"{folder}/none/output")
    fails(1, "/dev/full: No space left", "run", "cp", "--size", "small", "--output", "/dev/full")
    fails(2, "cp has no input files", "run", "cp", "--size", "small", "--input", output)
    fails(2, "cp has no input files", "generate", "cp", "--size", "small", "--output", output)
