# SPDX-License-Identifier: MIT
# kill.py - the device process dies at any moment: the program says what was lost, ends with status 1, and
# leaves nothing behind. Usage: kill.py PARBOIL-PROGRAM PROTOCOL SEEDS
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

program, protocol, seeds = sys.argv[1], sys.argv[2], int(sys.argv[3])
LIMIT = 100		# seconds from the kill to the end of the program: one that hangs is named


def processes(mark):
    """The device processes of the program that was started with this mark."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as file:
                if not file.read().startswith("adsm-cpu-device"[:15]):
                    continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"KILL_TEST={mark}".encode() in file.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def start(mark, folder):
    environment = dict(os.environ, KILL_TEST=mark, TMPDIR=folder)
    command = [program, "run", "mri-q", "--size", "medium", "--protocol", protocol, "--json", "-"]
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def gone(mark):
    """A killed process is looked for until the kernel has ended it."""
    until = time.monotonic() + LIMIT
    while processes(mark):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def finish(process, mark, folder, what):
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"{what}: still running {LIMIT} seconds after the kill")
    if not gone(mark):
        sys.exit(f"{what}: its device process remains")
    if os.listdir(folder):
        sys.exit(f"{what}: files remain: {os.listdir(folder)}")
    return process.returncode, out, err


with tempfile.TemporaryDirectory() as folder:
    begin = time.monotonic()
    status, out, err = finish(start(f"{os.getpid()}-0", folder), f"{os.getpid()}-0", folder, "undisturbed")
    run_time = time.monotonic() - begin
    if status or '"verified": true' not in out:
        sys.exit(f"undisturbed: status {status}\n{out}{err}")
    ends = {0: 0, 1: 0}
    for seed in range(1, seeds + 1):
        mark, delay = f"{os.getpid()}-{seed}", random.Random(seed).uniform(0, run_time)
        what = f"{protocol}, seed {seed}, killed after {delay:.3f} of {run_time:.3f} seconds"
        process = start(mark, folder)
        begin = time.monotonic()
        time.sleep(delay)		# the moment that is tested, not a wait for anything
        while process.poll() is None and not (victims := processes(mark)):
            pass
        for victim in victims if process.returncode is None else []:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
        status, out, err = finish(process, mark, folder, what)
        if status not in ends:
            sys.exit(f"{what}: status {status}\n{out}{err}")
        if status == 0 and '"verified": true' not in out:
            sys.exit(f"{what}: status 0 without a result\n{out}")
        if status == 1 and not any(word in err for word in ("adsm", "device", "lost")):
            sys.exit(f"{what}: status 1 without a reason\n{out}{err}")
        ends[status] += 1
    print(f"{protocol}: {ends[1]} ended with status 1, {ends[0]} had finished")
    if not ends[1]:
        sys.exit("no kill came in time")
