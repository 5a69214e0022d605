# SPDX-License-Identifier: MIT
"""Memory of two nodes: no task leaves any behind, and at the end of a task a node needs little more than the pages that
its workers wrote: many.py BUILD PROGRAM MODULE"""
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cluster"))
import cluster

cluster.APP, MODULE = sys.argv[2:]
NODES = "node 0", "node 1"
FIRST, MORE = 50, 600
ENDING = 16 << 10       # KiB: the stacks of two threads that are ending
BYTES = 32 << 20        # of an object: the workers of each node write to a half


def run(process, n):
    process.stdin.write(f"{n}\n")
    process.stdin.flush()
    if process.stdout.readline() != "ready\n":
        sys.exit(f"{n}: {process.communicate()}")


def memory(process, node, what):
    """KiB of a node."""
    status = dict(line.split(":", 1) for line in cluster.read(cluster.part(process.mark, node), "status").decode()
                  .splitlines())
    return int(status[what].split()[0])


def start(what):
    return cluster.start(MODULE, what, "nodes", stdin=subprocess.PIPE, ADSM_CLUSTER_NODES=2,
                         ADSM_CLUSTER_NODE="scratchpad", ADSM_CLUSTER_TIMEOUT=200)


def end(process, what, more, limit):
    print(f"{what}: {more} KiB more, at most {limit}")
    status, out, err, _ = cluster.finish(process, what)
    if status or max(more.values()) > limit:
        sys.exit(f"{what}: status {status}, {more} KiB more, at most {limit}\n{out}{err}")


def many():
    process = start("many")
    run(process, FIRST)
    before = {node: memory(process, node, "VmData") for node in NODES}
    run(process, MORE)
    end(process, f"{MORE} tasks", {node: memory(process, node, "VmData") - before[node] for node in NODES}, ENDING)


def spread():
    process = start("spread")
    run(process, 4096)
    before = memory(process, "node 1", "VmHWM")
    run(process, BYTES)
    end(process, "many pages", {"node 1": memory(process, "node 1", "VmHWM") - before}, BYTES / 2 * 1.5 / 1024)


def room(node):
    """A node lacks room for the stores of its workers: the task fails, and the device runs the next ones."""
    process = start("room")
    run(process, "2 1")
    pid = cluster.part(process.mark, node)
    limits = resource.prlimit(pid, resource.RLIMIT_AS)
    # What a task of few workers needs, and a part of what the stores of many need.
    most = (memory(process, node, "VmPeak") << 10) + (64 << 20)
    resource.prlimit(pid, resource.RLIMIT_AS, (most, limits[1]))
    run(process, "128 0")
    run(process, "2 1")
    resource.prlimit(pid, resource.RLIMIT_AS, limits)
    run(process, "128 1")
    status, out, err, _ = cluster.finish(process, "room")
    if status:
        sys.exit(f"room on {node}: status {status}\n{out}{err}")


many()
spread()
for part in NODES:
    room(part)
