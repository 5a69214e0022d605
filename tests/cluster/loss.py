# SPDX-License-Identifier: MIT
# loss.py BUILD PROGRAM MPIRUN WHAT - nodes that are lost while others need them: "silent", those that say nothing any
# more, and are told from those that have much to do; "pages", those that a page is to come from, or go to; "crash",
# those whose kernels store where they may not; "unplugged", one whose host cannot be reached any more.
import functools
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import cluster

_, _, program, mpirun, what = sys.argv
FULL = bool(os.environ.get("TEST_FULL"))
NODES = 3
HOST = os.uname().nodename
REPEATS = 3		# of a case in which a living node was taken for silent


def start(*modes, timeout=30, nodes=NODES, before=(), **variables):
    """An application that is ready. Where a machine is so slow that nodes are not there in time, they get more."""
    while True:
        process = cluster.start(*modes, before=before, ADSM_CLUSTER_LAUNCH=mpirun, ADSM_CLUSTER_PROGRAM=program,
                                ADSM_CLUSTER_THREADS=1, ADSM_CLUSTER_NODES=nodes, ADSM_CLUSTER_TIMEOUT=timeout,
                                **variables)
        process.timeout = timeout
        line = process.stdout.readline()
        if line == "ready\n":
            return process
        if line.startswith("hosts.sh: "):
            print(line, end="")
            sys.exit(77)
        if not re.search(" (has|have) not started within ", line):
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


def check_lost(done, case, *wanted):
    """The application was told so, by a sentence that has one of these in it; ADDRESS: the one that it has printed."""
    status, out, err, _ = done
    address = re.search("stores to (.*)", out)
    wanted = [text.replace("ADDRESS", address[1] if address else "?") for text in wanted]
    if status != 4 or "lost: cluster: " not in out or not any(text in out for text in wanted):
        sys.exit(f"{case}: status {status}, not told {wanted}: {out}{err}")
    print(f"{case}: {out.strip()}")


def finish_lost(process, case, *wanted):
    check_lost(cluster.finish(process, case), case, *wanted)


def misjudged(out, stopped=()):
    """Was another node than these taken for silent? It lives, but got no processor for so long."""
    named = re.search(r"(node \d+) \(.*?\) was silent for ", out)
    return named and named[1] not in stopped


def finish_silent(begin, process, case, stopped, host=HOST):
    """The application is told that the first of these parts was silent. If a living node was taken for silent instead,
    begin(timeout) repeats the case with more time."""
    for left in range(REPEATS, -1, -1):
        done = cluster.finish(process, case)
        if not left or not misjudged(done[1], stopped):
            break
        process = begin(2 * process.timeout)
    check_lost(done, case, f"{stopped[0]} ({host}) was silent for {process.timeout} s")


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
            return found or self.process.poll() is not None

        cluster.until(look, lambda: f"there is no {name}: {os.listdir(self.folder.name)}")
        return os.path.basename(found[0]) if found else ""

    def let_go(self, node):
        with open(os.path.join(self.folder.name, f"go-{node}"), "w"):
            pass


def computing():
    """Nodes all of whose threads compute, for longer than any may be silent, are not taken for silent."""
    timeout = 6
    for left in range(REPEATS, -1, -1):
        meeting = Meeting(timeout=timeout)
        timeout = 2 * meeting.process.timeout
        time.sleep(0.75 * timeout)		# the time that is tested, not a wait for anything
        for node in range(NODES):
            meeting.let_go(node)
        status, out, err, _ = cluster.finish(meeting.process, "computing")
        if not left or not misjudged(out):
            break
    if status:
        sys.exit(f"computing: status {status}: {out}{err}")


def silent():
    # Where all are, or the only one, the keeper tells.
    every = [f"node {node}" for node in range(NODES)]
    cases = [("idle", ["node 2"], {}), ("idle", ["node 0"], {}), ("loop", ["node 2"], {}), ("idle", every, {}),
             ("loop", ["node 0"], {"nodes": 1}), ("idle", ["node 0"], {"nodes": 1})]
    if FULL:
        cases += [("loop", every, {})]
        cases += [(mode, [part], {"ADSM_CLUSTER_UPDATE": update, "ADSM_CLUSTER_TRACKER": tracker})
                  for mode in ["idle", "loop"] for part in ["node 0", "node 1"] for update in ["eager", "lazy"]
                  for tracker in ["sigsegv", "uffd"]]

    def begin(mode, parts, options, timeout):
        process = start(mode, timeout=timeout, **options)
        for part in parts:
            stop(process, part)
        return process

    for at in range(0, len(cases), 4):
        begun = [(case, begin(*case, 4)) for case in cases[at:at + 4]]
        if not at:
            computing()
        for (mode, parts, options), process in begun:
            finish_silent(functools.partial(begin, mode, parts, options), process,
                          f"{parts} stopped, {mode} {options}", parts)


def pages():
    """Node 2 waits for a page of node 0, which is stopped: one of the three is killed."""
    for victim in ["node 1", "node 2", "node 0"]:
        meeting = Meeting()
        stop(meeting.process, "node 0")
        meeting.let_go(2)
        thread = meeting.await_file("touches-2-*").split("-")[2]
        waiter = cluster.part(meeting.process.mark, "node 2")
        cluster.until(lambda: state(waiter, thread) == "S", lambda: "node 2 does not wait for its page")
        cluster.kill(cluster.part(meeting.process.mark, victim))
        finish_lost(meeting.process, f"{victim} killed while node 2 waits for a page", "")


def crash():
    """Kernel, node and address are told, whichever node it is."""
    for tracker in ["sigsegv", "uffd"] if FULL else ["auto"]:
        for node in [0, 2]:
            for where in ["kept", "beyond", "outside"]:
                process = start("crash", where, str(node), ADSM_CLUSTER_TRACKER=tracker)
                place = f"at address ADDRESS on node {node} ({HOST})"
                wanted = f"kernel 'store' crashed with SIGSEGV {place}"
                if where == "kept":
                    wanted = f"kernel 'store' wrote to {place[3:]}, in the memory of its parameter 2, which its "
                finish_lost(process, f"{where}, node {node}, {tracker}", wanted)
    for node in [0, 2]:
        process = start("idle")
        cluster.kill(cluster.part(process.mark, f"node {node}"), signal.SIGTERM)
        finish_lost(process, f"node {node} ended",
                    f"node {node} ({HOST}){':' * (node > 0)} was ended by SIGTERM, which process {os.getpid()} (")


def unplugged():
    """Of two hosts the second one's link goes down: whatever the launch command makes of it, that is told."""

    def begin(mode, timeout):
        process = start(mode, timeout=timeout, before=[os.path.join(cluster.HERE, "hosts.sh"), "2", "full"])
        away = str(cluster.part(process.mark, "node 1"))
        if subprocess.run(["nsenter", "--target", away, "--net", "ip", "link", "set", "eth0", "down"]).returncode:
            print("another host's link may not be changed from here")
            sys.exit(77)
        return process

    for mode in ["idle", "loop"]:
        finish_silent(functools.partial(begin, mode), begin(mode, 4), f"unplugged, {mode}", ["node 1"], "host2")


{"silent": silent, "unplugged": unplugged, "pages": pages, "crash": crash}[what]()
