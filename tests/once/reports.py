# SPDX-License-Identifier: MIT
"""What reports say of waits for units: counters, the bars of a timeline, and the waiting threads, in a report while the
program runs: reports.py PROGRAM"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time


def run(program, case, folder, report):
    env = dict(os.environ, ADSM_STATS=f"json:{folder}/{report}", ADSM_TRACE=f"{folder}/trace")
    return subprocess.Popen([program, case], env=env, stderr=subprocess.DEVNULL)


def check_sums(program, folder):
    assert run(program, "wakes", folder, "report").wait() == 0
    with open(f"{folder}/report", encoding="utf-8") as file:
        report = json.load(file)
    with open(f"{folder}/trace", encoding="utf-8") as file:
        bars = [event for event in json.load(file) if event.get("cat") == "once"]
    assert report["final"] and report["waiters"] == [], report["waiters"]
    assert report["totals"]["once_waits"] == len(bars) > 0, (report["totals"], len(bars))
    assert report["time"]["once_ns"] == sum(bar["args"]["once_ns"] for bar in bars) > 0
    # Six threads read units 0 to 499 of one object.
    assert {bar["args"]["unit"] for bar in bars} <= set(range(500)), bars
    assert len({bar["args"]["address"] for bar in bars}) == 1 and len({bar["tid"] for bar in bars}) <= 6, bars


def check_waiter(program, folder):
    """It stays so until it is ended: the report is written anew each second."""
    stuck = run(program, "stuck", folder, "stuck")
    waiters = []
    while not waiters and stuck.poll() is None:
        time.sleep(0.1)
        if os.path.exists(f"{folder}/stuck"):
            with open(f"{folder}/stuck", encoding="utf-8") as file:
                text = file.read()  # nothing, at first
            waiters = json.loads(text)["waiters"] if text else []
    stuck.send_signal(signal.SIGKILL)
    stuck.wait()
    assert len(waiters) == 1 and waiters[0]["unit"] == 17 and waiters[0]["device"] == -1, waiters
    assert waiters[0]["where"] and waiters[0]["waited_ns"] > 0 and waiters[0]["thread"] > 0, waiters


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_sums(sys.argv[1], folder)
        check_waiter(sys.argv[1], folder)


if __name__ == "__main__":
    main()
