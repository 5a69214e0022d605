# SPDX-License-Identifier: MIT
# strangers.py BUILD PROGRAM MPIRUN [HOSTS] - strangers connect to whatever the processes of a cluster listen on, send
# some bytes and stay: 1,000 connections, and the cluster works. Nodes that are all on this machine listen on nothing,
# and their launch command on the loopback interface alone. HOSTS: so many hosts that this machine plays, each with a
# node.
import os
import shutil
import socket
import subprocess
import sys
import tempfile

import cluster

_, _, program, mpirun, *hosts = sys.argv
CONNECTIONS = 1000
LISTENS = "0A"			# as /proc/net/tcp has it
# Processes of a user who has no other business here: only root can start them.
STRANGER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.getuid() == 0 else []
CONNECT = """
import random, socket, sys
kept = []
made = 0
for i in range(int(sys.argv[1])):
    address, port = sys.argv[3:][i % len(sys.argv[3:])].rsplit(" ", 1)
    kept.append(socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET))
    kept[-1].settimeout(5)
    try:
        kept[-1].connect((address, int(port)))
        kept[-1].sendall(random.Random(int(sys.argv[2]) + i).randbytes((1, 4, 18, 64, 300, 0)[i % 6]))
        made += 1
    except OSError:
        pass
print(made, flush=True)
sys.stdin.read()
"""


def address_of(text):
    """As /proc/net/tcp and tcp6 have it: words of 32 bits, by the machine's order of bytes."""
    raw = b"".join(int(text[i:i + 8], 16).to_bytes(4, sys.byteorder) for i in range(0, len(text), 8))
    return socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)


def listening(pid):
    """Addresses and ports that a process listens on."""
    inodes, found = set(), []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            pass
    for name in ("tcp", "tcp6"):
        for line in cluster.read(pid, f"net/{name}").decode().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENS and f"socket:[{words[9]}]" in inodes:
                address, port = words[1].split(":")
                found.append((address_of(address), int(port, 16)))
    return found


def ports(mark):
    """What the cluster's processes listen on: for each network its processes, each with its addresses and ports."""
    found = {}
    for pid, comm, _, _ in cluster.processes(mark):
        try:
            network = os.readlink(f"/proc/{pid}/ns/net")
            for port in listening(pid) if comm != "app" else []:
                found.setdefault(network, []).append((pid, comm, port))
        except OSError:
            pass
    return found


def is_loopback(address):
    return address.startswith("127.") or address == "::1"


def check_here(mark):
    for pid, comm, (address, port) in sum(ports(mark).values(), []):
        node = any(pid == cluster.part(mark, f"node {i}") for i in range(3))
        if node or not is_loopback(address):
            sys.exit(f"{comm} ({pid}) listens on {address}, port {port}")


def own_address(pid):
    """The one of a host's network; its loopback interface has another."""
    out = subprocess.run(["nsenter", "--target", str(pid), "--net", "ip", "-o", "-4", "address", "show", "dev", "eth0"],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    return out.split()[3].split("/")[0]


def start_strangers(mark, seed):
    """Connections to all ports from the machine itself, and where there are hosts from each to each other's."""
    found, places, started = ports(mark), {}, []
    for network, all_ in found.items():
        places[network] = own_address(all_[0][0]) if hosts else None
    for network, all_ in found.items():
        targets = []
        for other, others in found.items():
            for _, _, (address, port) in others:
                if network == other and is_loopback(address):
                    targets.append(f"{address} {port}")
                elif address in ("0.0.0.0", "::"):
                    targets.append(f"{places[other] or '127.0.0.1'} {port}")
                elif address in places.values():
                    targets.append(f"{address} {port}")
        inside = ["nsenter", "--target", str(all_[0][0]), "--net"] if hosts else []
        if targets:
            started.append(subprocess.Popen([*inside, *STRANGER, sys.executable, "-c", CONNECT,
                                             str(CONNECTIONS // len(found)), str(seed), *sorted(set(targets))],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    return started


def visited(seed, **variables):
    with tempfile.TemporaryDirectory() as folder:
        go = os.path.join(folder, "go")
        before = [os.path.join(cluster.HERE, "hosts.sh"), hosts[0], "full"] if hosts else []
        process = cluster.start("go", before=before, ADSM_CLUSTER_LAUNCH=mpirun, ADSM_CLUSTER_PROGRAM=program,
                                ADSM_CLUSTER_THREADS=1, ADSM_CLUSTER_TIMEOUT=60, TEST_GO=go, **variables)
        line = process.stdout.readline()
        if line.startswith("hosts.sh: "):
            print(line, end="")
            sys.exit(77)
        if line != "ready\n":
            sys.exit(f"it did not start: {line}{process.communicate()}")
        if not hosts:
            check_here(process.mark)
        strangers = start_strangers(process.mark, seed)
        made = [int(stranger.stdout.readline()) for stranger in strangers]
        with open(go, "w", encoding="utf-8"):
            pass
        status, out, err, _ = cluster.finish(process, "strangers")
        for stranger in strangers:
            stranger.communicate()
        if status:
            sys.exit(f"with {made} connections: status {status}: {out}{err[-2000:]}")
        print(f"{sum(made)} connections of strangers made")


if not STRANGER or not shutil.which("setpriv"):
    print("only root can start processes of another user")
    sys.exit(77)
visited(1, **({} if hosts else {"ADSM_CLUSTER_NODES": 3}))
