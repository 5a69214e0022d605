# SPDX-License-Identifier: MIT
"""hosts.py BUILD HOSTS: a benchmark on as many hosts that this machine plays (hosts.sh), a node on each; and nothing is
left of them, however they end."""
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD, HOSTS = sys.argv[1:3]
LIMIT = 120		# seconds for what must happen


def command(*words):
    return [os.path.join(HERE, "hosts.sh"), HOSTS, "1gbit", *words]


def inside(mark):
    """Processes that have the mark."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"TEST_MARK={mark}".encode() in file.read().split(b"\0"):
                    found.append(pid)
        except OSError:
            pass
    return found


def run(mark, *words):
    environment = dict(os.environ, ADSM_BACKEND="cluster", ADSM_CLUSTER_THREADS="1",
                       ADSM_CLUSTER_TIMEOUT="200", TEST_MARK=mark)
    return subprocess.Popen(command(*words), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def finish(what, process):
    out, _ = process.communicate(timeout=LIMIT)
    if process.returncode == 77:
        print(out, end="")
        sys.exit(77)
    if process.returncode:
        sys.exit(f"{what}: status {process.returncode}: {out}")
    return out


def gone(mark, what):
    """What was killed is gone when the kernel has come to it."""
    end = time.monotonic() + LIMIT
    while inside(mark):
        if time.monotonic() > end:
            sys.exit(f"{what}: processes are left: {inside(mark)}")
        time.sleep(0.01)


def benchmark():
    mark = f"hosts-{os.getpid()}"
    out = finish("adsm-info", run(mark, os.path.join(BUILD, "tools/adsm-info")))
    for i in range(1, int(HOSTS) + 1):
        if f"1 on host{i} (" not in out:
            sys.exit(f"no node on host {i}: {out}")
    finish("blackscholes", run(mark, os.path.join(BUILD, "parboil/parboil"), "run", "blackscholes", "--size", "small"))
    gone(mark, "a command that has ended")


def ended(number):
    """The script ends while a command runs: so does all that it began."""
    mark = f"hosts-{os.getpid()}-{number.name}"
    process = run(mark, "sh", "-c", "echo here; sleep 1000 & wait")
    if process.stdout.readline() != "here\n":
        sys.exit(f"{number.name}: the command did not run")
    process.send_signal(number)
    process.wait(timeout=LIMIT)
    gone(mark, number.name)


benchmark()
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
    ended(number)
