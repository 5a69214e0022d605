# SPDX-License-Identifier: MIT
"""Memory of two nodes: no task leaves any behind, and at the end of a task a node needs little more than the pages that
its workers wrote. Nodes that lack memory or threads: many.py BUILD PROGRAM MODULE"""
import errno
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cluster"))
import cluster

cluster.APP, MODULE = sys.argv[2:]
NODES = "node 0", "node 1"
FIRST, MORE = 50, 600
NOBODY = 65534
ENDING = 16 << 10       # KiB: the stacks of two threads that are ending
BYTES = 32 << 20        # of an object: the workers of each node write to a half


def run(process, n, *others):
    process.stdin.write(f"{n}\n")
    process.stdin.flush()
    answer = process.stdout.readline().strip()
    if answer not in ("ready", *others):
        sys.exit(f"{n}: {answer} {process.communicate()}")
    return answer


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


def lack(process, node, limit, size, tasks):
    """A node lacks something for the workers of a task: the task fails, and the device runs the next ones."""
    pid = cluster.part(process.mark, node)
    limits = resource.prlimit(pid, limit)
    resource.prlimit(pid, limit, (size, limits[1]))
    for task in tasks:
        run(process, task)
    resource.prlimit(pid, limit, limits)
    run(process, "128 0")
    status, out, err, _ = cluster.finish(process, "room")
    if status:
        sys.exit(f"{tasks} on {node}: status {status}\n{out}{err}")


def room(node):
    process = start("room")
    run(process, "2 0")
    # What a task of few workers needs, and a part of what the stores of many need.
    most = (memory(process, node, "VmPeak") << 10) + (64 << 20)
    lack(process, node, resource.RLIMIT_AS, most, [f"128 {errno.ENOMEM}", "2 0"])


def threads(node):
    process = start("room")
    run(process, "2 0")
    lack(process, node, resource.RLIMIT_NPROC, 1, [f"2 {errno.EAGAIN}"] * 2)


def modules(node):
    """A node lacks memory for a part of a module: the call fails, and later the module is loaded as a whole."""
    process = start("modules")
    run(process, "")
    run(process, "")
    pid = cluster.part(process.mark, node)
    answers = []
    for more in [8 << 20, *range(1 << 20, 0, -32 << 10)]:
        limits = resource.prlimit(pid, resource.RLIMIT_AS)
        resource.prlimit(pid, resource.RLIMIT_AS, ((memory(process, node, "VmSize") << 10) + more, limits[1]))
        answers.append(run(process, "", "failed"))
        resource.prlimit(pid, resource.RLIMIT_AS, limits)
        run(process, "")
    status, out, err, _ = cluster.finish(process, "modules")
    if status or answers[0] != "ready" or "failed" not in answers:
        sys.exit(f"modules on {node}: status {status}, {answers}\n{out}{err}")


def leave_root():
    """The system does not limit the threads of root."""
    try:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
    except OSError:
        return False
    return True


many()
spread()
for part in NODES:
    room(part)
    modules(part)
if leave_root() and os.access(cluster.APP, os.X_OK):
    for part in NODES:
        threads(part)
else:
    print(f"without threads: skipped, user {NOBODY} cannot run {cluster.APP}")
