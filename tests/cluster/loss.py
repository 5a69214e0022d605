# SPDX-License-Identifier: MIT
# loss.py BUILD PROGRAM MPIRUN WHAT - nodes that are lost while others need them: "silent", those that say nothing any
# more, and are told from those that have much to do.
import glob
import os
import signal
import sys
import tempfile
import time

import cluster

_, _, program, mpirun, what = sys.argv
FULL = bool(os.environ.get("TEST_FULL"))
NODES = 3
HOST = os.uname().nodename


def start(*modes, timeout=30, **variables):
    """An application that is ready. Where a machine is so slow that nodes are not there in time, they get more."""
    while True:
        process = cluster.start(*modes, ADSM_CLUSTER_LAUNCH=mpirun, ADSM_CLUSTER_PROGRAM=program,
                                ADSM_CLUSTER_THREADS=1, ADSM_CLUSTER_NODES=NODES, ADSM_CLUSTER_TIMEOUT=timeout,
                                **variables)
        process.timeout = timeout
        line = process.stdout.readline()
        if line == "ready\n":
            return process
        if " are not there " not in line:
            sys.exit(f"{modes}: {line}{process.communicate()}")
        cluster.finish(process, "a slow start")
        timeout *= 2


def state(pid, task=None):
    try:
        return cluster.read(pid, f"task/{task or pid}/stat").rpartition(b")")[2].split()[0].decode()
    except OSError:
        return "gone"


def stop(process, part):
    pid = cluster.part(process.mark, part)
    os.kill(pid, signal.SIGSTOP)
    cluster.until(lambda: state(pid) == "T", lambda: f"{part} does not stop")


def finish_lost(process, case, *wanted):
    """The application is told so, by a sentence that has one of these in it."""
    status, out, err, _ = cluster.finish(process, case)
    if status != 4 or "lost: cluster: " not in out or not any(text in out for text in wanted):
        sys.exit(f"{case}: status {status}, not told {wanted}: {out}{err}")
    print(f"{case}: {out.strip()}")


class Meeting:
    """A call whose blocks, one for each node, each wait until they may go on and touch a page."""

    def __init__(self, **options):
        self.folder = tempfile.TemporaryDirectory()
        self.process = start("meet", TEST_MEET=self.folder.name, **options)
        for node in range(NODES):
            self.await_file(f"there-{node}")

    def await_file(self, name):
        found = []

        def look():
            found[:] = glob.glob(os.path.join(self.folder.name, name))
            return found

        cluster.until(look, lambda: f"there is no {name}: {os.listdir(self.folder.name)}")
        return os.path.basename(found[0])

    def let_go(self, node):
        with open(os.path.join(self.folder.name, f"go-{node}"), "w"):
            pass


def computing():
    """Nodes all of whose threads compute, for longer than any may be silent, are not taken for silent."""
    meeting = Meeting(timeout=6)
    time.sleep(1.5 * meeting.process.timeout)		# the time that is tested, not a wait for anything
    for node in range(NODES):
        meeting.let_go(node)
    status, out, err, _ = cluster.finish(meeting.process, "computing")
    if status:
        sys.exit(f"computing: status {status}: {out}{err}")


def silent():
    cases = [("idle", "node 2", {}), ("idle", "node 0", {}), ("loop", "node 2", {})]
    if FULL:
        cases += [(mode, part, {"ADSM_CLUSTER_UPDATE": update, "ADSM_CLUSTER_TRACKER": tracker})
                  for mode in ["idle", "loop"] for part in ["node 0", "node 1"] for update in ["eager", "lazy"]
                  for tracker in ["sigsegv", "uffd"]]
    for at in range(0, len(cases), 4):
        stopped = []
        for mode, part, options in cases[at:at + 4]:
            process = start(mode, timeout=4, **options)
            stop(process, part)
            stopped.append((process, f"{part} stopped, {mode} {options}", part))
        if not at:
            computing()
        for process, case, part in stopped:
            finish_lost(process, case, f"{part} ({HOST}) has not been heard of for {process.timeout} s",
                        f"nothing was heard of {part} ({HOST})")


{"silent": silent}[what]()
