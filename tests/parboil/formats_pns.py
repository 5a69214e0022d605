# SPDX-License-Identifier: MIT
"""pns has no input, and writes four numbers: formats_pns.py PROGRAM"""
import os
import tempfile

from program import fails, parboil

# Mean and variance of the variance of the marks, and of the largest mark.
GOLDEN = {"small": [0.182575391, 6.78135e-07, 3, 0], "n64": [0.69745636, 4.571950e-05, 4.03125, 0.0302734375]}


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "output")
    for size, golden in GOLDEN.items():
        texts = set()
        for variant in ["adsm", "explicit"]:
            done = parboil("run", "pns", "--size", size, "--output", path, "--variant", variant)
            assert done.returncode == 0, (size, variant, done.returncode, done.stderr)
            with open(path, encoding="ascii") as file:
                texts.add(file.read())
        assert len(texts) == 1, texts
        numbers = [float(line) for line in texts.pop().splitlines()]
        assert len(numbers) == 4, numbers
        for number, right in zip(numbers, golden):
            # The variance of a trajectory is a float.
            assert abs(number - right) <= 1e-7 * right + 1e-11, (size, numbers, golden)
    for text, output in [("No such file", "/nonexistent/output"), ("No space left", "/dev/full")]:
        fails(1, text, "run", "pns", "--size", "n64", "--output", output)
