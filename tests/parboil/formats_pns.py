# SPDX-License-Identifier: MIT
"""pns has no input, and writes four numbers in one line, as the original: formats_pns.py PROGRAM"""
import os
import tempfile

from program import fails, parboil

# Mean and variance of the variance of the marks, and of the largest mark.
GOLDEN = {"small": "0.182575 0.000001 3.000000 0.000000\n", "n64": "0.697456 0.000046 4.031250 0.030273\n"}


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "output")
    for size, golden in GOLDEN.items():
        for variant in ["adsm", "explicit"]:
            done = parboil("run", "pns", "--size", size, "--output", path, "--variant", variant)
            assert done.returncode == 0, (size, variant, done.returncode, done.stderr)
            with open(path, encoding="ascii") as file:
                text = file.read()
            assert text == golden, (size, variant, text)
    for text, output in [("No such file", "/nonexistent/output"), ("No space left", "/dev/full")]:
        fails(1, text, "run", "pns", "--size", "n64", "--output", output)
