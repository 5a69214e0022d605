# SPDX-License-Identifier: MIT
"""Many tasks on two nodes: no task leaves memory behind in a node: many.py BUILD PROGRAM MODULE"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cluster"))
import cluster

cluster.APP, MODULE = sys.argv[2:]
NODES = "node 0", "node 1"
FIRST, MORE = 50, 600
LIMIT = 16 << 10        # KiB: the stacks of two threads that are ending


def run(process, n):
    process.stdin.write(f"{n}\n")
    process.stdin.flush()
    if process.stdout.readline() != "ready\n":
        sys.exit(f"{n} tasks: {process.communicate()}")


def data(process, node):
    """KiB of a node's private memory."""
    status = dict(line.split(":", 1) for line in cluster.read(cluster.part(process.mark, node), "status").decode()
                  .splitlines())
    return int(status["VmData"].split()[0])


process = cluster.start(MODULE, "many", "nodes", stdin=subprocess.PIPE, ADSM_CLUSTER_NODES=2,
                        ADSM_CLUSTER_NODE="scratchpad", ADSM_CLUSTER_TIMEOUT=200)
run(process, FIRST)
before = {node: data(process, node) for node in NODES}
run(process, MORE)
more = {node: data(process, node) - before[node] for node in NODES}
print(f"KiB more after {MORE} tasks: {more}")
status, out, err, _ = cluster.finish(process, "many tasks")
if status or max(more.values()) > LIMIT:
    sys.exit(f"status {status}: {more} KiB more after {MORE} tasks\n{out}{err}")
