# SPDX-License-Identifier: MIT
"""A node is killed while its worker has a lock that others, on both nodes, want, or while those of another one do: the
application is told, and nothing is left: killed.py BUILD PROGRAM MODULE"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cluster"))
import cluster

cluster.APP, MODULE = sys.argv[2:]
HOLDER = "node 1"


def cpu_time(pid):
    """In ticks; it is the only thing that a worker which computes shows."""
    return sum(int(word) for word in cluster.read(pid, "stat").rpartition(b")")[2].split()[11:13])


for victim in ("node 1", "node 0"):
    process = cluster.start(MODULE, "stuck", "nodes", ADSM_CLUSTER_NODES=2, ADSM_CLUSTER_NODE="scratchpad",
                            ADSM_CLUSTER_TIMEOUT=200)
    if process.stdout.readline() != "ready\n":
        sys.exit(f"undisturbed: {process.communicate()}")
    holder = cluster.part(process.mark, HOLDER)
    before = cpu_time(holder)
    cluster.until(lambda: cpu_time(holder) > before + 20, lambda: "the worker does not compute")
    cluster.kill(cluster.part(process.mark, victim))
    status, out, err, _ = cluster.finish(process, victim)
    if status or "adsm: error: cluster: " not in err:
        sys.exit(f"{victim} killed: status {status}\n{out}{err}")
