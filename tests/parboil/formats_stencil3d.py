# SPDX-License-Identifier: MIT
"""The output file of stencil3d, every volume that is written: formats_stencil3d.py PROGRAM"""
import array
import os
import tempfile

from program import fails, parboil

N, HALO, N_VOLUMES = 32, 4, 4
ROW = N + 2 * HALO
# Of the last volume: its cell with the source, the third one beside that, sum of squares.
CENTRE, BESIDE, SQUARES = -0.013074403, 0.0148661056, 5.03084462


def check(volume):
    """What is true of every volume: 0 around it, something in it, and the three axes alike."""
    for at, value in enumerate(volume):
        cell = x, y, z = at % ROW, at // ROW % ROW, at // ROW**2
        if not all(HALO <= i < HALO + N for i in cell):
            assert value == 0, (cell, value)
        elif x <= y <= z:
            for other in [(y, x, z), (z, y, x), (y, z, x)]:
                twin = volume[(other[2] * ROW + other[1]) * ROW + other[0]]
                assert abs(value - twin) < 1e-6, (cell, value, other, twin)
    assert max(map(abs, volume)) > 1e-2


with tempfile.TemporaryDirectory() as folder:
    output, contents = os.path.join(folder, "output"), set()
    for args in [("--variant", "explicit"), ("--protocol", "batch"), ("--protocol", "lazy"), ()]:
        done = parboil("run", "stencil3d", "--size", "small", "--output", output, *args)
        assert done.returncode == 0, (args, done.returncode, done.stderr)
        with open(output, "rb") as file:
            contents.add(file.read())
        os.unlink(output)
    assert len(contents) == 1
    values = array.array("f", contents.pop())
    assert len(values) == N_VOLUMES * ROW**3, len(values)
    volumes = [values[i * ROW**3:(i + 1) * ROW**3] for i in range(N_VOLUMES)]
    for volume in volumes:
        check(volume)
    last, source = volumes[-1], (HALO + N // 2) * (ROW**2 + ROW + 1)
    assert abs(last[source] - CENTRE) < 5e-7, last[source]
    assert abs(last[source + 3] - BESIDE) < 5e-7, last[source + 3]
    assert abs(sum(value * value for value in last) - SQUARES) < 1e-4
    fails(1, f"{folder}/none/output: No such file", "run", "stencil3d", "--size", "small", "--output",
          f"{folder}/none/output")
    fails(1, "/dev/full: No space left", "run", "stencil3d", "--size", "small", "--output", "/dev/full")
    fails(2, "stencil3d has no input files", "run", "stencil3d", "--size", "small", "--input", output)
    fails(2, "stencil3d has no input files", "generate", "stencil3d", "--size", "small", "--output", output)
