# SPDX-License-Identifier: MIT
"""mri-q in C++ writes the same bytes as mri-q in C, which parboil verifies: mri.py PARBOIL PROGRAM MODULE"""
import os
import subprocess
import sys
import tempfile

parboil, program, module = sys.argv[1:]
TILE = "64"  # of the size small

with tempfile.TemporaryDirectory() as folder:
    data, in_c, in_cpp = (os.path.join(folder, name) for name in ["input", "c", "cpp"])
    subprocess.run([parboil, "generate", "mri-q", "--size", "small", "--output", data], check=True)
    subprocess.run([parboil, "run", "mri-q", "--size", "small", "--input", data, "--output", in_c], check=True)
    subprocess.run([program, module, data, in_cpp, TILE], check=True)
    with open(in_c, "rb") as one, open(in_cpp, "rb") as other:
        bytes_of_c, bytes_of_cpp = one.read(), other.read()
    if len(bytes_of_c) < 1000 or bytes_of_c != bytes_of_cpp:
        sys.exit(f"{len(bytes_of_c)} bytes in C, {len(bytes_of_cpp)} in C++, and they differ")
    # A file that is too short, and a module that is missing: one line, and no crash.
    with open(data, "r+b") as file:
        file.truncate(100)
    for arguments, word in [[(module, data), ""], [("missing.adsm", data), "missing.adsm"]]:
        done = subprocess.run([program, *arguments, in_cpp, TILE], stderr=subprocess.PIPE, text=True, check=False)
        lines = [line for line in done.stderr.splitlines() if line.startswith("mri-q-cpp: ")]
        if done.returncode != 1 or len(lines) != 1 or word not in lines[0]:
            sys.exit(f"{arguments}: {done}")
