# SPDX-License-Identifier: MIT
# errors.py BUILD - what may go wrong at the start of a cluster: one sentence that says what, and nothing left. The
# nodes are stand-ins, which no MPI starts.
import glob
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import cluster
from cluster import HERE, PLAIN, STAND_IN


def run(what, status, *wanted, modes=("once",), before=(), **variables):
    variables = {"ADSM_CLUSTER_PROGRAM": PLAIN, "ADSM_CLUSTER_LAUNCH": STAND_IN, **variables}
    got, out, err, _ = cluster.finish(cluster.start(*modes, before=before, **variables), what)
    for text in wanted:
        if text not in out:
            sys.exit(f"{what}: '{text}' is not said: {out}{err}")
    if got != status:
        sys.exit(f"{what}: status {got}, not {status}: {out}{err}")
    return out


def refused(what, *wanted, **variables):
    out = run(what, 3, "refused: cluster: ", *wanted, **variables)
    if out.count("\n") != 1:
        sys.exit(f"{what}: more than one sentence: {out}")


def ended(part):
    """Somebody ends a keeper: it says who."""
    process = cluster.start("loop", ADSM_CLUSTER_PROGRAM=PLAIN, ADSM_CLUSTER_LAUNCH=STAND_IN)
    process.stdout.readline()
    cluster.kill(cluster.part(process.mark, part), signal.SIGTERM)
    status, out, err, _ = cluster.finish(process, f"{part} ended")
    if status != 4 or f"was ended by SIGTERM, which process {os.getpid()} (" not in out:
        sys.exit(f"{part} ended: status {status}: {out}{err}")


def killed():
    """Somebody kills both keepers before any node is there."""
    process = cluster.start("once", ADSM_CLUSTER_PROGRAM=PLAIN, ADSM_CLUSTER_LAUNCH="sh -c 'exec sleep 100' sh %p")
    found = []

    def both():
        found[:] = [pid for pid in (cluster.part(process.mark, part) for part in ("guard", "keeper")) if pid]
        return len(found) == 2

    cluster.until(both, lambda: "there are no keepers")
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in found:
            cluster.kill(pid, number)
    status, out, err, _ = cluster.finish(process, "killed keepers", False)
    if status != 3 or f"(pid {found[0]}) was killed by signal 9 (Killed) before it answered" not in out:
        sys.exit(f"killed keepers: status {status}: {out}{err}")


def unbuilt():
    """A library that was built without its programs, as ./dev demo does it."""
    library = next(path for path in glob.glob(os.path.join(cluster.BUILD, "lib/libadsm.so.*")) if os.path.isfile(path))
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "lib"))
        shutil.copy(library, os.path.join(folder, "lib/libadsm.so.0"))
        run("a part of the library", 3, "refused: the backend 'cluster' has no node program, because ",
            "only a part of the library was built: build all of it" if shutil.which("mpicc") else "install an MPI",
            ADSM_CLUSTER_PROGRAM="", LD_LIBRARY_PATH=os.path.join(folder, "lib"))


def info():
    """adsm-info shows what a cluster is made of."""
    variables = {"ADSM_BACKEND": "cluster", "ADSM_CLUSTER_PROGRAM": PLAIN, "ADSM_CLUSTER_LAUNCH": STAND_IN,
                 "ADSM_CLUSTER_NODES": "3"}
    out = subprocess.run([os.path.join(cluster.BUILD, "tools/adsm-info")], env=dict(os.environ, **variables),
                         check=True, text=True, stdout=subprocess.PIPE).stdout
    if f"made of              3 nodes: 3 on {here} (" not in out:
        sys.exit(f"adsm-info: {out}")


def shown():
    """On a terminal a long start is seen. The nodes come when it has been."""
    ours, theirs = pty.openpty()
    with tempfile.TemporaryDirectory() as folder:
        gate = os.path.join(folder, "gate")
        os.mkfifo(gate)
        process = cluster.start("once", ADSM_CLUSTER_PROGRAM=PLAIN, ADSM_CLUSTER_LAUNCH=STAND_IN, TEST_NODE="waits",
                                TEST_NODE_FILE=gate, ADSM_CLUSTER_TIMEOUT=cluster.LIMIT, stderr=theirs)
        os.close(theirs)
        text = b""
        # Which seconds it is awake to show depends on the machine.
        while not re.search(rb"waiting for 2 nodes to start, \d+ s", text):
            text += os.read(ours, 1000)
        # For reading too, so that this waits for no node.
        opened = os.open(gate, os.O_RDWR)
        status, out, _, _ = cluster.finish(process, "a start that is seen")
        os.close(opened)
    if status or "ready" not in out:
        sys.exit(f"a start that is seen: status {status}: {out}")
    # The line is gone when the nodes are there.
    os.set_blocking(ours, False)
    try:
        while more := os.read(ours, 1000):
            text += more
    except OSError:		# of a terminal whose other side is closed
        pass
    os.close(ours)
    if not re.search(rb"waiting for 2 nodes to start, \d+ s\r\x1b\[K", text):
        sys.exit(f"a start that is seen: {text}")


here = os.uname().nodename
run("undisturbed", 0, "ready")
run("one node", 0, "ready", ADSM_CLUSTER_NODES=1)
run("as a subreaper", 0, "ready", modes=("once", "subreaper"))
run("by srun", 0, "ready", ADSM_CLUSTER_LAUNCH=f"{HERE}/srun.sh --mpi=none", ADSM_CLUSTER_NODES=3)
run("by srun on hosts", 0, "ready", ADSM_CLUSTER_LAUNCH=f"{HERE}/srun.sh", ADSM_CLUSTER_HOSTS="127.0.0.1,localhost")
adsmrun = os.path.join(cluster.BUILD, "tools/adsmrun")
if not os.environ.get("TEST_NOT_PRELOADED"):
    run("by adsmrun", 0, "ready", before=[adsmrun, "--nodes", "3", "--hosts", "localhost"])
run("five nodes", 0, "ready", ADSM_CLUSTER_NODES=5)

refused("no launch command", "the launch command 'no-such-mpirun' does not exist", ADSM_CLUSTER_LAUNCH="no-such-mpirun")
refused("no launch command in a template", "'no-such-mpirun' cannot be run: No such file",
        ADSM_CLUSTER_LAUNCH="no-such-mpirun %p")
refused("a template that is none", "valid after % are n, h, p and %", ADSM_CLUSTER_LAUNCH="launch %x %p")
refused("a quote without end", "is not a valid launch command", ADSM_CLUSTER_LAUNCH="launch '%p")
refused("the launch command fails", "'false' (pid ", "has exited with status 1 before its nodes had started",
        ADSM_CLUSTER_LAUNCH="false %p")
refused("the launch command says why", "before its nodes had started: ssh: nowhere: no such host",
        ADSM_CLUSTER_LAUNCH="sh -c 'echo ssh: nowhere: no such host >&2; exit 255' %p")
refused("the launch command has no descriptors of others", "before its nodes had started: no more than three",
        ADSM_CLUSTER_LAUNCH="sh -c '[ -e /proc/$$/fd/3 -o -e /proc/$$/fd/4 ] || echo no more than three; exit 1' %p")
refused("a node says why", "before its nodes had started: this is what it says", TEST_NODE="ends")
refused("no file of hosts", "the host file '/no/such/file' (ADSM_CLUSTER_HOSTS) cannot be read",
        ADSM_CLUSTER_HOSTS="/no/such/file")
refused("a host that is none", "'b:x' is not a valid host", ADSM_CLUSTER_HOSTS="a,b:x")
refused("another version", f"node 1 of 2 ({here}) has another version of the library than this machine ({here}): "
        "0.0.9 (1), not ", TEST_NODE="library:1")
refused("another machine", f"node 1 of 2 ({here}) has another type of processor", "m68k, not ", TEST_NODE="machine:1")
refused("other pages", f"node 1 of 2 ({here}) has pages of another size", "65536, not 4096", TEST_NODE="pages:1")
refused("an old C library", f"node 1 of 2 ({here}) has an older C library", "2.1, not ", TEST_NODE="libc:1")
refused("node 0 elsewhere", f"node 0 was started on {here}, but it must run on the application's machine",
        TEST_NODE="boot:0")
refused("nodes that are alone", "started 2 separate jobs of one node, not a job of 2 nodes", TEST_NODE="alone")
refused("an address that is taken", f"node 1 of 2 ({here}): ", "are in use there; set ADSM_ARENA", TEST_NODE="taken:1")
refused("nodes that do not come", "2 nodes have not started within 1 seconds after",
        TEST_NODE="late", ADSM_CLUSTER_TIMEOUT=1)
refused("a token that is another's", "2 nodes have not started within 1 seconds after", TEST_NODE="token",
        ADSM_CLUSTER_TIMEOUT=1, ADSM_CLUSTER_LAUNCH=f"sh -c '{HERE}/launch.sh \"$@\"; sleep 60' sh %n %p")
refused("a node says why when it is asked", ": this is what it says\n", TEST_NODE="asked")
with tempfile.TemporaryDirectory() as folder:
    script = os.path.join(folder, "prints")
    with open(script, "w") as file:
        file.write("#!/bin/sh\nexec yes\n")
    os.chmod(script, 0o700)
    refused("a launch command that only prints", "2 nodes have not started within 1 seconds after",
            ADSM_CLUSTER_LAUNCH=script, ADSM_CLUSTER_TIMEOUT=1)
    run("an address that is taken once", 0, "ready", TEST_NODE="taken-once:1",
        TEST_NODE_FILE=os.path.join(folder, "taken"))
shown()
ended("guard")
ended("keeper")
killed()
info()
unbuilt()
run("no node program", 3, "refused: ADSM_CLUSTER_PROGRAM: '/no/such/file' is not an executable file",
    ADSM_CLUSTER_PROGRAM="/no/such/file")
run("a value that is none", 3, "ADSM_CLUSTER_NODES=0 is not valid", ADSM_CLUSTER_NODES=0)
