# SPDX-License-Identifier: MIT
"""How run handles what goes wrong on a GPU: check.py CASE STACKS, the library that tells stacks."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
import machine      # noqa: E402
import processes    # noqa: E402

# Two threads that wait for ever; with an argument all signals are blocked, as in the library's own threads.
HANGS = """
import signal, sys, threading
if len(sys.argv) > 1:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
lock = threading.Lock()
lock.acquire()
threading.Thread(target=lock.acquire).start()
print("hanging", flush=True)
lock.acquire()
"""


def check(condition, what):
    if not condition:
        print(what)
        sys.exit(1)


def runner(folder, seconds):
    runs = processes.Processes(folder, dict(os.environ), sys.argv[2])
    runs.deadline = time.monotonic() + seconds
    runs.debugger = None
    return runs


def hangs(folder, *more):
    """It is told where each thread waits, and ended; what comes next runs."""
    runs = runner(folder, 1000)
    result = runs.run([sys.executable, "-c", HANGS, *more], 10)
    check(result.state == "hung", result)
    for part in ("hanging\n", "waits in ", "system call "):
        check(part in result.text, f"no {part!r} in\n{result.text}")
    check(result.text.count("stack of thread ") == 2, result.text)
    # libc's own frames, below the handler's.
    check(result.text.count("libc.so.6") >= 4, result.text)
    check(not runs.abandoned and runs.run(["true"], 10).state == "passed", "the next one did not run")


def blocked(folder):
    """So is what blocks all signals."""
    hangs(folder, "blocked")


def late(folder):
    """What the deadline ends is not called hanging, and nothing begins behind it."""
    runs = runner(folder, 3)
    result = runs.run(["sleep", "1000"], 900)
    check(result.state == "late" and "it hangs" not in result.text, result)
    check(runs.run(["true"], 10).state == "late", "a process was started behind the deadline")


def nvrtc(folder):
    """The compiler of Python's packages is found, the newest of them."""
    packages = os.path.join(folder, "site-packages")
    for version in ("12", "13"):
        where = os.path.join(packages, "nvidia", "cu" + version, "lib")
        os.makedirs(where)
        for name in (f"libnvrtc.so.{version}", f"libnvrtc.alt.so.{version}", f"libnvrtc-builtins.so.{version}"):
            open(os.path.join(where, name), "w", encoding="utf-8").close()
    sys.path.insert(0, packages)
    found = machine.nvrtc([])
    check(found == os.path.join(packages, "nvidia/cu13/lib/libnvrtc.so.13"), found)


def stamp(folder):
    """A folder that was carried here is used where it was made of these sources, and not else."""
    os.chdir(os.path.join(HERE, "../.."))
    build = machine.Build(folder, sys.stdout, True, 0)
    os.makedirs(os.path.join(folder, "tools"))
    with open(os.path.join(folder, "tools/adsm-info"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho usage\n")
    os.chmod(file.name, 0o755)
    check(not build.usable(), "without a stamp")
    with open(os.path.join(folder, "stamp"), "w", encoding="utf-8") as file:
        print(machine.tree(), file=file)
    check(build.usable(), "with one")
    build.make()
    check(build.how == "as it was found" and not build.failed, build.how)
    with open(file.name, "w", encoding="utf-8") as file:
        print("0" * 64, file=file)
    check(not build.usable(), "with that of other sources")


def leftover(folder):
    """Steps that there is no time for are named, and the others have their times in the record."""
    loader = importlib.machinery.SourceFileLoader("run", os.path.join(HERE, "run"))
    run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(run)

    def short(session):
        """A short one."""
        session.record.judge("true", session.run(["true"], 5))

    def fails(session):
        """One that fails."""
        session.record.judge("false", session.run(["false"], 5))

    def long(session):
        """A long one."""
        check(False, "the long one was begun")
    run.STEPS = ((short, 10), (fails, 10), (long, 1000))
    session = run.Session(argparse.Namespace(dry=True, seconds=500), folder)
    session.processes = runner(folder, 500)
    session.record = run.Record(folder, "record")
    with contextlib.redirect_stdout(io.StringIO()):
        left, rows = run.steps(session, ["short", "fails", "long"])
    check(left == ["long"], left)
    check([(name, failed) for name, _, failed in rows] == [("short", 0), ("fails", 1)], rows)
    with open(session.record.path, encoding="utf-8") as file:
        text = file.read()
    check("## short\n" in text and "**false: failed**" in text, text)
    check(os.path.exists(session.record.more), "what failed is in no file")


CASES = {"hangs": hangs, "blocked": blocked, "late": late, "nvrtc": nvrtc, "stamp": stamp, "leftover": leftover}
with tempfile.TemporaryDirectory() as scratch:
    CASES[sys.argv[1]](scratch)
