# SPDX-License-Identifier: MIT
# gate.py GATE WAITER | MPIEXEC - what adsm-cluster-gate.so does for a launch command that waits by poll() or select()
# and then calls accept() on a socket that blocks: connections of another user's processes do not stop it. WAITER is a
# program that does so (waiter.c); MPIEXEC is MPICH's command.
import atexit
import os
import shutil
import signal
import socket
import subprocess
import sys

LIMIT = 60		# seconds for what must happen at once; a test that waits so long has failed
STRANGER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", sys.executable, "-c"]
# It connects and sends; then it ends at once, or waits until its connection is closed.
CONNECT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as sock:
    sock.sendall(b"stranger")
    try:
        while sys.argv[2] == "stay" and sock.recv(64):
            pass
    except ConnectionError:
        pass
"""
_, gate, program = sys.argv


def stranger(port, how):
    try:
        subprocess.run([*STRANGER, CONNECT, str(port), how], check=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        sys.exit("a stranger's connection is not closed")


def start(*command):
    process = subprocess.Popen(command, env=dict(os.environ, LD_PRELOAD=gate, ADSM_CLUSTER_GATE="here"),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(lambda: process.returncode is None and process.kill())
    return process


def check_line(process, sent, want, when):
    """A line goes to the program, and this one comes back: it is not asleep in accept()."""
    signal.alarm(LIMIT)
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"{program} sleeps: it prints nothing {when}"))
    if sent:
        process.stdin.write(sent)
        process.stdin.flush()
    line = process.stdout.readline()
    signal.alarm(0)
    if line != want:
        sys.exit(f"{program} prints {line!r} {when}, not {want!r}")


def check_end(process):
    try:
        process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        sys.exit(f"{program} does not end")
    if process.returncode:
        sys.exit(f"{program} ends with {process.returncode}")


def check_waiter(function):
    process = start(program, function)
    port = int(process.stdout.readline())
    for i in range(3):
        stranger(port, "stay")
        check_line(process, "\n", "line\n", f"after a stranger's connection ({function})")
    # A process that has ended owns nothing: its connection is nobody's.
    process.send_signal(signal.SIGSTOP)
    for i in range(3):
        stranger(port, "end")
    with socket.create_connection(("127.0.0.1", port)) as own:
        own.sendall(b"own")
        process.send_signal(signal.SIGCONT)
        check_line(process, None, "connection: own\n", f"behind strangers' connections ({function})")
    check_line(process, "\n", "line\n", f"after connections of both ({function})")
    check_end(process)


def listening(pid):
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            pass
    with open("/proc/net/tcp", encoding="utf-8") as file:
        lines = [line.split() for line in file.readlines()[1:]]
    return [int(words[1].split(":")[1], 16) for words in lines if words[3] == "0A" and f"socket:[{words[9]}]" in inodes]


def check_mpiexec():
    process = start(program, "-iface", "lo", "-n", "1", "cat")
    check_line(process, "first\n", "first\n", "before any stranger has connected")
    ports = listening(process.pid)
    if not ports:
        sys.exit(f"{program} listens on no port")
    for port in ports:
        for how in ("stay", "end", "stay"):
            stranger(port, how)
            check_line(process, "word\n", "word\n", "after a stranger's connection")
    check_end(process)


if os.getuid() or not shutil.which("setpriv"):
    print("only root can start processes of another user")
    sys.exit(77)
if os.path.basename(program) == "waiter":
    for name in ("poll", "__poll_chk", "select"):
        check_waiter(name)
else:
    check_mpiexec()
