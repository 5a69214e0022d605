# SPDX-License-Identifier: MIT
"""What the tests of a cluster's start and end share: applications, their clusters' processes, and what is left."""
import atexit
import fcntl
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT = 120		# seconds for what must happen; a test that waits so long has failed
HERE = os.path.dirname(os.path.abspath(__file__))
_, BUILD = sys.argv[:2]
APP = os.path.join(BUILD, "tests/cluster/app")
PLAIN = os.path.join(BUILD, "tests/cluster/node-plain")
STAND_IN = shlex.quote(os.path.join(HERE, "launch.sh")) + " %n %p"
PATIENCE = 10		# seconds for a cluster whose application was killed to end by itself
count = 0
started = []		# and not finished
others = set()		# the folders of other tests' clusters, as far as they are known
may_be_left = False	# a folder of this test's


def start(*modes, before=(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, **variables):
    """An application with a mark of its own, by which its processes are found, and a folder for temporary files."""
    global count
    if not started and not may_be_left:
        others.update(cluster_folders())
    count += 1
    mark = f"{os.getpid()}-{count}"
    folder = tempfile.mkdtemp(prefix="adsm-test-")
    environment = dict(os.environ, ADSM_BACKEND="cluster", TEST_MARK=mark, TMPDIR=folder,
                       TEST_KERNELS=os.path.join(BUILD, "tests/kernels"))
    environment.update({name: str(value) for name, value in variables.items()})
    process = subprocess.Popen([*before, APP, *modes], env=environment, stdin=stdin,
                               stdout=subprocess.PIPE, stderr=stderr, text=True)
    process.mark, process.folder = mark, folder
    started.append(process)
    return process


def read(pid, name):
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read()


def processes(mark):
    """All that have the mark, but for ended ones: pid, name, variables."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            variables = read(pid, "environ").split(b"\0")
            state = read(pid, "stat").rpartition(b")")[2].split()
            if f"TEST_MARK={mark}".encode() in variables and state[0] != b"Z":
                found.append((int(pid), read(pid, "comm").decode().strip(), variables, int(state[1])))
        except OSError:
            pass
    return found


def names(mark):
    return [(pid, comm) for pid, comm, _, _ in processes(mark)]


def arguments(pid):
    try:
        return read(pid, "cmdline").decode().split("\0")
    except OSError:
        return []


def part(mark, name):
    """The process that is this part of the cluster; None: it is not there."""
    found = processes(mark)
    keepers = {pid: parent for pid, comm, _, parent in found if comm == "adsm-cluster-ke"}
    for pid, comm, variables, parent in found:
        if comm == "adsm-cluster-ke":
            this = "keeper" if parent in keepers else "guard"
        elif comm.startswith(("node-", "adsm-cluster-no")):
            ranks = [v.partition(b"=")[2].decode() for v in variables
                     if v.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=", b"TEST_RANK="))]
            this = f"node {ranks[0]}" if ranks else "?"
        # Open MPI 5 has mpirun become prterun.
        elif comm in ("mpirun", "prterun", "mpiexec.hydra", "launch.sh"):
            this = "?" if "--version" in arguments(pid) else "launcher"
        else:
            this = "application" if comm == "app" else "?"
        if this == name:
            return pid
    return None


def cluster_folders():
    """The folders of all clusters of this machine."""
    return [os.path.join(parent, name) for parent in ("/dev/shm", "/tmp") for name in os.listdir(parent)
            if name.startswith("adsm-cluster-")]


def left_folders():
    """Folders of clusters that are no more, but for those of other tests that were there before."""
    found = []
    for path in set(cluster_folders()) - others:
        try:
            fd = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink:
                found.append(path)
        except OSError:
            pass
        os.close(fd)
    return found


def until(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{what()}, after {LIMIT} seconds")
        time.sleep(0.01)


def await_end(mark, seconds, number=None):
    """Wait until all that have the mark have ended, those that they start, too; they get signal @number before. False:
    they have not."""
    end = time.monotonic() + seconds
    while True:
        fds = []
        for pid, *_ in processes(mark):
            try:
                fds.append(os.pidfd_open(pid))
                if number:
                    signal.pidfd_send_signal(fds[-1], number)
            except ProcessLookupError:
                pass
        polled = [select.poll() for _ in fds]
        left = False
        for poll, fd in zip(polled, fds):
            poll.register(fd, select.POLLIN)
            left |= not poll.poll(max(0, end - time.monotonic()) * 1000)
            os.close(fd)
        if left or not fds:
            return not left


def finish(process, what, folders=True):
    """Wait for the application, and for all that it had: its status, what it printed, and when it had ended. Without
    @folders not for its cluster's folder, which the next cluster removes."""
    global may_be_left
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        sys.exit(f"{what}: still running {LIMIT} seconds later")
    ended = time.monotonic()
    # The parent that a cluster has below a subreaper ends when all below it have: nobody waits until it has run.
    left = [found for found in names(process.mark) if found[1] != "adsm-keeper" or "subreaper" not in process.args]
    # Where its standard error is a terminal, nobody knows whether it was impatient.
    if process.returncode or err is None or "impatient\n" in err:
        left = []
    if left:
        sys.exit(f"{what}: when it had stopped the library there still were {left}")
    if not await_end(process.mark, LIMIT):
        sys.exit(f"{what}: processes remain: {names(process.mark)}, after {LIMIT} seconds")
    until(lambda: not folders or not left_folders(), lambda: f"{what}: folders remain: {left_folders()}")
    may_be_left = not folders
    if os.listdir(process.folder):
        sys.exit(f"{what}: files remain: {os.listdir(process.folder)}")
    os.rmdir(process.folder)
    started.remove(process)
    return process.returncode, out, err, ended


def end_all():
    """What a test that has failed has left."""
    for process in started:
        process.kill()
    for process in started:
        process.wait()
        if not await_end(process.mark, PATIENCE):
            await_end(process.mark, LIMIT, signal.SIGKILL)
        shutil.rmtree(process.folder, ignore_errors=True)


atexit.register(end_all)
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
