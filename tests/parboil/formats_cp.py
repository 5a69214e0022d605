# SPDX-License-Identifier: MIT
"""The output file of cp, against values computed here from the definition: formats_cp.py PROGRAM"""
import math
import os
import struct
import tempfile

from program import fails, parboil

N, ATOMS, ROWS = 128, 4000, 17
CHECKSUM = -241577.699


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
    draw, side = uniform(), single(single(0.1) * N)
    return [(single(next(draw) * side), single(next(draw) * side), single(0.25 + next(draw)),
             2 * next(draw) - 1) for _ in range(ATOMS)]


def check(path, atoms):
    """The file at @path has the right form and, in points all over it, the right values. Its text."""
    with open(path, encoding="ascii") as file:
        text = file.read()
    lines = text.split("\n")
    assert len(lines) == 1 + ROWS + 1 and not lines[-1], len(lines)
    assert abs(float(lines[0]) - CHECKSUM) < 0.1, lines[0]
    rows = [line.split(" ") for line in lines[1:-1]]
    assert all(len(row) == N for row in rows), [len(row) for row in rows]
    for row in rows:
        for word in row:
            assert word == f"{float(word):.4g}", word
    for v in [0, N - 1, *range(7, ROWS * N, 97), (ROWS - 1) * N, ROWS * N - 1]:
        j, i = divmod(v, N)
        expected = sum(q / math.sqrt((0.1 * i - x)**2 + (0.1 * j - y)**2 + z * z) for x, y, z, q in atoms)
        # The tolerance of the value, and half a unit of its fourth digit.
        assert abs(float(rows[j][i]) - expected) <= 1e-3 + 6e-4 * abs(expected), (i, j, rows[j][i], expected)
    return text


atoms = make_atoms()
with tempfile.TemporaryDirectory() as folder:
    output, texts = os.path.join(folder, "output"), set()
    for args in [("--variant", "explicit"), ("--protocol", "batch"), ("--protocol", "lazy"), ()]:
        done = parboil("run", "cp", "--size", "small", "--output", output, *args)
        assert done.returncode == 0, (args, done.returncode, done.stderr)
        texts.add(check(output, atoms))
        os.unlink(output)
    assert len(texts) == 1
    fails(1, f"{folder}/none/output: No such file", "run", "cp", "--size", "small", "--output", f"{folder}/none/output")
    fails(1, "/dev/full: No space left", "run", "cp", "--size", "small", "--output", "/dev/full")
    fails(2, "cp has no input files", "run", "cp", "--size", "small", "--input", output)
    fails(2, "cp has no input files", "generate", "cp", "--size", "small", "--output", output)
