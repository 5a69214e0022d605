# SPDX-License-Identifier: MIT
"""What kernels ask of a program while they run: services.py PROGRAM MODULE PARTS BACKEND CASE. PARTS has a kernel in
partitions."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid

PROGRAM, MODULE, PARTS, BACKEND, CASE = sys.argv[1:6]
SIZES = {"ADSM_CPU_THREADS": "6", "ADSM_SCRATCHPAD_CORES": "6", "ADSM_CPU_MEMORY_SIZE": "64M",
         "ADSM_SCRATCHPAD_MEMORY_SIZE": "64M", "ADSM_CLUSTER_THREADS": "6", "ADSM_CLUSTER_NODES": "2",
         "ADSM_CLUSTER_MEMORY_SIZE": "64M", "ADSM_CLUSTER_TIMEOUT": "200"}
if BACKEND == "cluster":
    # No warning that node 0 runs these kernels alone.
    SIZES["ADSM_LOG"] = "error"


def run(case, module=MODULE, status=0, **options):
    env = {key: value for key, value in os.environ.items() if not key.startswith("ADSM_")}
    done = subprocess.run([PROGRAM, module, case], env=env | SIZES | {"ADSM_BACKEND": BACKEND, **options},
                          capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print(done.stdout)
        sys.exit(77)
    assert done.returncode == status, done
    return done


def counters(case, **options):
    """What the device has counted, and what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(case, ADSM_STATS=f"json:{folder}/stats", ADSM_LOG="error", **options)
        with open(f"{folder}/stats", encoding="utf-8") as file:
            [kernel] = json.load(file)["kernels"]
    return kernel["counters"], done.stderr


def asked():
    """Functions of the program, by 6 cores at once; names and sizes, right and wrong."""
    run("squares")
    run("squares", ADSM_CPU_THREADS="1", ADSM_SCRATCHPAD_CORES="1", ADSM_CLUSTER_NODES="1", ADSM_PAPER="1")
    done = run("sizes")
    assert len(re.findall(r"^adsm: error: service '(lies|wild)' has returned -?\d+: it must return the number of "
                          r"bytes that it wrote, at most \d+, or a negative errno$", done.stderr, re.M)) == 3, done
    run("rules")
    run("unregistered")
    if BACKEND != "cluster":
        run("tasks")
    if BACKEND == "scratchpad":
        found, _ = counters("squares")
        assert found["commands"] == 48 * 50 + 1, found
        found, text = counters("parts", module=PARTS, ADSM_SCRATCHPAD_CODE="14K")
        assert sorted(text.splitlines()) == sorted(f"partition 2 says {i}" for i in range(30)), text
        # Each block asks once in vain.
        assert found["commands"] == 4 * 30 + 30 + 6 and found["calls_across"] == 3 * 30, found


TEXT = """plain 100%
1 -1 4000000000    42|42   |00042|+42| 42
ff FF 0xff 10 010 ffffffff
1234567890123 18446744073709551615 11f71fb04cb 8 1234567890123 1234567890123 44 4464 65535
3.250000 3.25  3.250e+00|3.25 1E+100 0x1p+0
word wo   word|ab    |xy (null)
0x1234 0xffffffffffffffff 200 -2 200
    42|42    |2.2|left\x20\x20
two
lines
extra
"""


def printed():
    """Whole lines, whoever else prints; all of C99's conversions, and what is none."""
    done = run("formats")
    assert done.stderr == TEXT, done
    lengths = [len(line) + 1 for line in TEXT.splitlines()]
    lengths[8:10] = [lengths[8] + lengths[9]]
    expected = lengths[:9] + [0] + [-22] * 13 + [-7] + lengths[9:]
    assert [int(word) for word in done.stdout.split()] == expected, (done.stdout, expected)
    done = run("lines")
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567"
    assert sorted(done.stderr.splitlines()) == sorted(f"block {block} line {i}: {letters[:i * 7 % 60]}|"
                                                      for block in range(24) for i in range(100))
    # Each block's are in their order.
    for block in range(24):
        numbers = re.findall(rf"^block {block} line (\d+)", done.stderr, re.M)
        assert numbers == [str(i) for i in range(100)], numbers
    run("long")


def own():
    """Loops and memory, which the device has itself."""
    run("loops")
    run("counters")
    run("memory")
    if BACKEND == "scratchpad":
        run("memory", ADSM_SCRATCHPAD_CACHE="4x1x64")


def processes(mark):
    """Those that have this in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark in file.read():
                    found.append(pid)
        except OSError:
            pass
    return found


def ends():
    """The program ends, or the device, while a kernel waits for an answer: nothing is left."""
    run("thread-ended")
    run("lost")
    run("exit-inside")
    for how, status in [("exit", 0), ("_exit", 0), ("kill", -9), ("exit-in-service", 0), ("kill-in-service", -9)]:
        mark = uuid.uuid4().hex
        done = run("leave-" + how, status=status, TEST_MARK=mark)
        assert not re.sub(r"^this line is whole, number \d+ of block \d\n", "", done.stderr, flags=re.M), done
        assert "number 10 of block" in done.stderr, done
        while processes(mark.encode()):
            time.sleep(0.01)


{"asked": asked, "printed": printed, "own": own, "ends": ends}[CASE]()
