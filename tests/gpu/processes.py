# SPDX-License-Identifier: MIT
"""Processes with a limit of time; of what hangs, all that can be seen from outside."""
import collections
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import subprocess
import threading
import time

STACKS = 32             # the signal that stacks.c answers
SLACK = 5               # seconds that a process may take to die, or to tell why it hangs
DEBUGGED = 2            # hangs that a debugger looks into; it takes its time
TEXT = 200_000          # of what a process says, so much is kept

# state: passed, failed, skipped, hung (its own limit was over), late (the step's was: there was no time for it)
Result = collections.namedtuple("Result", "state status seconds text")


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError as error:
        return f"({error.strerror})"


def tail(text, lines=3, width=300):
    return "\n".join(line[:width] for line in text.strip().splitlines()[-lines:])


def members(session):
    """The processes of a session, parents first."""
    for path in sorted(glob.glob("/proc/[0-9]*/stat"), key=lambda path: int(path.split("/")[2])):
        fields = read(path).rpartition(")")[2].split()
        if len(fields) > 3 and fields[3] == str(session) and fields[0] != "Z":
            yield int(path.split("/")[2])


def threads(pid):
    """Where the kernel has each thread."""
    lines = [f"process {pid}: {read(f'/proc/{pid}/cmdline')}".replace("\0", " ")]
    for task in sorted(glob.glob(f"/proc/{pid}/task/[0-9]*")):
        state = re.search(r"^State:\s*(.*)", read(task + "/status"), re.M)
        lines.append(f"thread {os.path.basename(task)} ({read(task + '/comm')}): {state[1] if state else 'gone'}; "
                     f"waits in {read(task + '/wchan')}; system call {read(task + '/syscall')}")
        stack = read(task + "/stack")
        lines += ["  " + line for line in stack.splitlines()[:8] if not stack.startswith("(")]
    return "\n".join(lines) + "\n"


class Processes:
    """Runs commands, none longer than until the deadline, a point of time.monotonic()."""

    def __init__(self, folder, environment, stacks):
        self.folder, self.environment, self.stacks = folder, environment, stacks
        self.deadline = 0
        self.abandoned = []         # not even SIGKILL ends them: the driver holds them
        self.debugger = shutil.which("cuda-gdb") or shutil.which("gdb")
        self.debugged = 0
        self.lock = threading.Lock()
        self.count = 0

    def left(self):
        return self.deadline - time.monotonic()

    def run(self, command, seconds, preload=None, stacks=True, **environment):
        """A command, with more environment; preload: a library, behind the one that tells stacks."""
        room = self.left()
        if room <= 1:
            return Result("late", None, 0, "")
        with self.lock:
            self.count += 1
            output = os.path.join(self.folder, f"output-{self.count}")
        env = {**self.environment, **environment}
        preloads = ([self.stacks] if stacks and self.stacks else []) + ([preload] if preload else [])
        if preloads:
            env["LD_PRELOAD"] = ":".join(preloads)
        begun = time.monotonic()
        with open(output, "w", encoding="utf-8") as file:
            try:
                process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=file,
                                           stderr=subprocess.STDOUT, start_new_session=True)
            except OSError as error:
                return Result("failed", 127, 0, str(error))
        more = ""
        try:
            status = process.wait(min(seconds, room))
        except subprocess.TimeoutExpired:
            status = None
            # What a step's end cuts short need not hang.
            if room >= seconds:
                more = self.describe(process.pid, output)
        self.end(process)
        took = time.monotonic() - begun
        with open(output, encoding="utf-8", errors="replace") as file:
            text = file.read(TEXT) + more
        os.unlink(output)
        if status is None:
            return Result("hung" if room >= seconds else "late", None, took, text + f"stopped after {took:.0f} s\n")
        if status not in (0, 77):
            text += f"exit status {status}\n" if status > 0 else f"signal {-status}\n"
        return Result({0: "passed", 77: "skipped"}.get(status, "failed"), status, took, text)

    def end(self, process):
        """Nothing of its session stays, where the system can do that."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            process.wait(SLACK)
        except subprocess.TimeoutExpired:
            self.abandoned.append(process.pid)

    def describe(self, session, output):
        text = "---- it hangs\n"
        for pid in members(session):
            text += threads(pid)
            # The signal would end one that is not prepared.
            if self.stacks and os.path.basename(self.stacks) in read(f"/proc/{pid}/maps"):
                self.ask(pid, output)
            text += self.debug(pid)
        return text

    @staticmethod
    def ask(pid, output):
        """Its threads write their stacks; until nothing more comes."""
        before = size = os.path.getsize(output)
        try:
            os.kill(pid, STACKS)
        except OSError:
            return
        end = time.monotonic() + SLACK
        while time.monotonic() < end:
            last = size
            time.sleep(1.2)     # a thread has one second
            size = os.path.getsize(output)
            if before < size == last:
                break

    def debug(self, pid):
        with self.lock:
            if not self.debugger or self.debugged >= DEBUGGED:
                return ""
            self.debugged += 1
        try:
            seen = subprocess.run([self.debugger, "-nx", "-batch", "-p", str(pid), "-ex",
                                   "thread apply all backtrace 16"], capture_output=True, text=True, errors="replace",
                                  timeout=min(20, max(self.left(), 3)), check=False).stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{self.debugger}: {error}\n"
        lines = [line for line in seen.splitlines() if line.startswith(("#", "Thread"))]
        return "\n".join([f"---- {self.debugger}"] + lines) + "\n"

    def crowd(self, calls, jobs):
        """Results of functions, so many of them at once, in their order."""
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            return [future.result() for future in [pool.submit(call) for call in calls]]
