# SPDX-License-Identifier: MIT
"""A program of CUDA's without the library and with it: preload.py HOW LIBADSM PROGRAM MODE.

HOW: same    without and with it, the same output and nothing on standard error
     shared  with it only: the program ends well, and nothing on standard error
     once    as same; and all that came from the device is what the program's first copy fetched
     twice   as same; and both copies came from the device, unless the protocol is batch, which fetches all once
     kept    as shared; and all that came from the device is one copy
     lean    as same; each says the most memory it had, and they are less than 16 MiB apart
     dies    without it: ends by SIGSEGV
     fails   without and with it, status 1 and the same error of the program's own
     spoken  as same, but it may say something on standard error
     lost    as spoken, and it has said that a kernel has lost the device, for as long as the process lives
     held    as spoken, and it has said that the memory of a context that the program has ended is held
     cluster as same where ADSM_BACKEND asks for a cluster, too, and none is started
     off     as same, with its objects turned off; and the driver is called as often, but for one function
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

ONE_COPY = 1 << 20
ASKED = "cuCtxGetCurrent"       # of the driver, by wrappers that then leave the call alone
COPIES = {"once": 1, "twice": 1 if os.environ.get("ADSM_PROTOCOL") == "batch" else 2}
LEAN = 16 << 20
LOST = re.compile(r"^adsm: error: .* was lost: .*: a kernel accessed memory at an invalid address; only a new process "
                  r"can use the device", re.M)
HELD = re.compile(r"^adsm: warning: the program has ended the context of shared memory at .*: .* is held: call "
                  r"adsmUnhold\(\) first", re.M)
# Whether the library says that moving data took long is a matter of the machine.
TIMES = re.compile(r"adsm: warning: (moving data took|.* was fetched) .*\n")


def fail(what):
    print(what)
    sys.exit(1)


def run(preload, more=None):
    environment = dict(os.environ)
    # The tests' default is the CPU's device; here it is the program's driver that decides.
    environment.pop("ADSM_BACKEND", None)
    if preload:
        environment["LD_PRELOAD"] = preload
    environment.update(more or {})
    return subprocess.run([program, mode], env=environment, capture_output=True, text=True, check=False)


def good(result, what, quiet=True):
    if result.returncode:
        fail(f"{what}: status {result.returncode}\n{result.stdout}{result.stderr}")
    if quiet and TIMES.sub("", result.stderr):
        fail(f"{what}: said\n{result.stderr}")
    if not result.stdout.startswith(mode + ": "):
        fail(f"{what}: printed\n{result.stdout}")


def check_fetched(copies):
    with tempfile.TemporaryDirectory() as folder:
        stats = os.path.join(folder, "stats")
        result = run(library, {"ADSM_STATS": "json:" + stats})
        good(result, "with the library")
        with open(stats, encoding="utf-8") as file:
            fetched = json.load(file)["totals"]["d2h_bytes"]
    if fetched != copies * ONE_COPY:
        fail(f"{fetched} bytes came from the device, should be {copies * ONE_COPY}")
    return result


def peak(result):
    return int(re.search(r"VmHWM:\s*([0-9]+) kB", result.stderr)[1]) << 10


def counts(path):
    """How often each function of the driver was called."""
    with open(path, encoding="utf-8") as file:
        return {name: n for name, n in map(str.split, file) if name != ASKED}


if os.environ.get("TEST_SKIP"):
    print(os.environ["TEST_SKIP"])
    sys.exit(77)
how, library, program, mode = sys.argv[1:]
if how == "dies":
    alone = run(None)
    if alone.returncode != -signal.SIGSEGV:
        fail(f"without the library: status {alone.returncode}, not SIGSEGV\n{alone.stdout}{alone.stderr}")
    sys.exit(0)
if how == "shared":
    good(run(library), "with the library")
    sys.exit(0)
if how == "kept":
    check_fetched(1)
    sys.exit(0)

if how == "cluster":
    with tempfile.TemporaryDirectory() as folder:
        started = os.path.join(folder, "started")
        alone = run(None)
        both = run(library, {"ADSM_BACKEND": "cluster", "ADSM_CLUSTER_LAUNCH": f"sh -c 'touch {started}' %p"})
        good(both, "with the library")
        if both.stdout != alone.stdout or os.path.exists(started):
            fail(f"not the same, or a cluster was started:\n{alone.stdout}{both.stdout}")
    sys.exit(0)

if how == "off":
    with tempfile.TemporaryDirectory() as folder:
        said = []
        for preload in (None, library):
            path = os.path.join(folder, str(len(said)))
            said.append(run(preload, {"TEST_CUDA": "count=" + path, "ADSM_CUDA_OBJECTS": "off"}))
            good(said[-1], f"with preload {preload}")
        if said[0].stdout != said[1].stdout or counts(os.path.join(folder, "0")) != counts(os.path.join(folder, "1")):
            fail(f"not the same:\n{counts(os.path.join(folder, '0'))}\n{counts(os.path.join(folder, '1'))}")
    sys.exit(0)
alone = run(None)
if how == "fails":
    both = run(library)
    if alone.returncode != 1 or both.returncode != 1:
        fail(f"status {alone.returncode} without, {both.returncode} with the library\n{both.stderr}")
    said = alone.stderr.splitlines()[-1]
    if said not in both.stderr.splitlines():
        fail(f"without the library: {said}\nwith it: {both.stderr}")
    sys.exit(0)
loud = how in ("spoken", "lost", "held", "lean")
good(alone, "without the library", not loud)
both = check_fetched(COPIES[how]) if how in COPIES else run(library)
good(both, "with the library", not loud)
if both.stdout != alone.stdout:
    fail(f"not the same:\n{alone.stdout}{both.stdout}")
if how == "lost" and not LOST.search(both.stderr):
    fail(f"it was not said that the device was lost, and why:\n{both.stderr}")
if how == "held" and not HELD.search(both.stderr):
    fail(f"it was not said that the memory is held:\n{both.stderr}")
if how == "lean" and peak(both) - peak(alone) > LEAN:
    fail(f"{peak(alone)} bytes of memory without, {peak(both)} with the library")
