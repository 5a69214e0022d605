# SPDX-License-Identifier: MIT
"""The model of clusters refuses numbers that are none, and records that lack blocks: model.py PROGRAM"""
import os
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
LAUNCH = "launch kernel 2 0\na 0 4\n" + 2 * "b 1000\nt 0 2\nm 0 1\n"


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True)


def fails(text, *words):
    done = run(*words)
    assert done.returncode == 1 and text in done.stderr, (words, done)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "record")

    def record(text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    record(2 * LAUNCH)
    for words in ([f"p={path}"], ["--cores", "8", f"p={path}*4"], ["--cores", "256", f"p={path}*1"]):
        done = run(*words)
        assert done.returncode == 0 and not done.stderr and done.stdout.startswith("program,"), (words, done)
    for cores in "0", "-1", "8x", "257", "", "4294967297":
        fails("usage: ", "--cores", cores, f"p={path}")
    for times in "0", "-1", "4x", "", "1000001", "4294967297":
        fails("RECORD*TIMES", f"p={path}*{times}")
    fails("RECORD*TIMES", path)
    record(LAUNCH + LAUNCH[:LAUNCH.rindex("b")])
    fails("launch 2 has 1 blocks, not 2", f"p={path}")
    record(LAUNCH.replace("2 0", "3 0", 1) + LAUNCH)
    fails("launch 1 has 2 blocks, not 3", f"p={path}")
    record("launch kernel 0 0\n" + LAUNCH)
    assert run(f"p={path}").returncode == 0
    record("")
    fails("no launch", f"p={path}")
