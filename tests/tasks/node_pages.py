# SPDX-License-Identifier: MIT
"""Pages between nodes and what workers copy of them have sizes of their own: node_pages.py BUILD PAGE NODE_PAGE. What
jacobi's workers and nodes ask for follows from its size, where its rows are whole pages of both sizes."""
import json
import os
import subprocess
import sys
import tempfile

BUILD, PAGE, NODE_PAGE = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
N, ITERATIONS, NODES, EACH = 512, 50, 2, 2      # the size medium, and workers of a node


JACOBI = "parboil/tasks/adsm-tasks", "--size", "medium", "--workers", str(NODES * EACH), "jacobi"
APART = "tests/tasks/tasks", os.path.join(BUILD, "tests/kernels/tasks.adsm"), "apart", "nodes"


def run(page, node_page, words=JACOBI):
    """The report of its kernel, or its output if it has failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        env = dict(os.environ, ADSM_BACKEND="cluster", ADSM_CLUSTER_NODE="scratchpad", ADSM_CLUSTER_NODES=str(NODES),
                   ADSM_CLUSTER_TIMEOUT="200", ADSM_TASK_PAGE=str(page), ADSM_TASK_NODE_PAGE=str(node_page),
                   ADSM_STATS="json:" + report, ADSM_ADVISE="1")
        done = subprocess.run([os.path.join(BUILD, words[0]), *words[1:]], env=env, capture_output=True, text=True)
        if done.returncode:
            return done.stdout + done.stderr
        with open(report) as file:
            return json.load(file)["kernels"][0]


def expect(counters, name, want, most=None):
    most = most or want
    if not want <= counters[name] <= most:
        sys.exit(f"pages of {PAGE}, {NODE_PAGE} between nodes: {name} is {counters[name]}, not {want} to {most}")


def apart():
    """A worker on node 1 reads one part of a page, and gives it up because a worker on node 0 writes another part."""
    kernel = run(2048, 16384, APART)
    if isinstance(kernel, str):
        sys.exit(kernel)
    if "was given up by worker 1 because of workers on node 0; " not in (kernel["advice"] or ""):
        sys.exit(f"parts of a page: {kernel['advice']}, {kernel['counters']}")


def main():
    kernel, part, page = run(PAGE, NODE_PAGE), 8 * N // PAGE, 8 * N // NODE_PAGE
    if isinstance(kernel, str):
        sys.exit(kernel)
    counters = kernel["counters"]
    # As on one machine (programs.py): nothing is in the cache when it is used again.
    expect(counters, "read_misses", ITERATIONS * part * (3 * N - 2 + 2 * (NODES * EACH - 1)))
    expect(counters, "write_misses", ITERATIONS * part * (2 * N - 2) + NODES * EACH)
    # Each node reads its rows of f and u first, and then in each iteration the row of old beside its own. It writes
    # its rows of old and, at the end, of the sums; its rows of u have come to be read. The sums of all workers are in
    # one page, which may come back to a node for its second worker.
    expect(counters, "node_read_misses", page * (2 * N + 2 * (NODES - 1) * (ITERATIONS - 1)))
    expect(counters, "node_write_misses", page * N + NODES, page * N + NODES * EACH)
    expect(counters, "node_upgrades", page * (N - 2))
    told = run(4096, 2048)
    if "ADSM_TASK_NODE_PAGE (2048 bytes) is smaller than ADSM_TASK_PAGE (4096 bytes)" not in told:
        sys.exit(f"a page between nodes that is too small: {told}")

    apart()


main()
