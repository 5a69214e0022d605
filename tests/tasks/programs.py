# SPDX-License-Identifier: MIT
"""The programs of tasks: each verifies, with few workers and with many, and takes as many locks and passes as many
barriers as is said of it: programs.py BUILD [SIZE [PAGE [NODES WORKERS]]]. With a page's size on cores with a local
store, where what moves is counted, too; and with nodes on a cluster of them, with so many workers each."""
import json
import os
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]
SIZE = sys.argv[2] if len(sys.argv) > 2 else "small"
PAGE = int(sys.argv[3]) if len(sys.argv) > 3 else 0
NODES, EACH = (int(number) for number in sys.argv[4:6]) if len(sys.argv) > 4 else (0, 0)
WORKERS = [NODES * EACH] if NODES else [1, 2, 6, 9, 40] if SIZE == "small" and not PAGE else [6]
# The formulas, in the numbers that --list has of a size, and workers. None: depends on what they meet.
BARRIERS = {
    "blackscholes": lambda options, iterations: 1,
    "ep": lambda pairs: 3,
    "jacobi": lambda points, iterations: 2 * iterations + 1,
    "lu": lambda rows: 2 * rows // 16 + 4,
    "md": lambda particles, steps: 2 * steps + 1,
    "pipeline": lambda blocks: 0,
    "radix": lambda numbers: 2,
    "raytrace": lambda depth, points, samples: 2,
    "water": lambda molecules, steps: 21,
}
LOCKS = {
    "blackscholes": lambda workers, *size: 0,
    "ep": lambda workers, *size: workers,
    "jacobi": lambda workers, *size: 0,
    "lu": lambda workers, *size: workers,
    "md": lambda workers, *size: 0,
    "pipeline": lambda workers, *size: 0,
    "radix": lambda workers, *size: 0,
    "raytrace": lambda workers, depth, points, samples: (points // 8) ** 2 + workers ** 2,
    "water": None,
}


# Waits for flags. A block waits until it is there and, but for the first two of each worker, until its place is free. A
# digit's places go up and down the tree of workers.
FLAGS = {
    "pipeline": lambda workers, blocks: (workers - 1) * (2 * blocks - 2),
    "radix": lambda workers, numbers: 2 * 2 * (workers - 1),
}


def sizes(program):
    """Of each size of a program its numbers."""
    lines = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    for name, rest in zip(lines[::2], lines[1::2]):
        for size in rest.rsplit("(", 1)[0].split(","):
            word, *numbers = size.replace("×", " ").split()
            found[name.split()[0], word] = [int(number) for number in numbers]
    return found


def run(program, workers, folder):
    """One report of all programs, and what they said themselves."""
    report = os.path.join(folder, f"{workers}.json")
    env = dict(os.environ, ADSM_STATS="json:" + report)
    if NODES:
        env |= {"ADSM_BACKEND": "cluster", "ADSM_CLUSTER_NODE": "scratchpad", "ADSM_CLUSTER_NODES": str(NODES),
                "ADSM_CLUSTER_TIMEOUT": "200", "ADSM_TASK_PAGE": str(PAGE)}
    elif PAGE:
        env |= {"ADSM_BACKEND": "scratchpad", "ADSM_SCRATCHPAD_CORES": str(workers), "ADSM_TASK_PAGE": str(PAGE)}
    done = subprocess.run([program, "--counts", "--size", SIZE, "--workers", str(workers), "all"], env=env,
                          capture_output=True, text=True)
    said = {line.split()[0]: line for line in done.stdout.splitlines()}
    if done.returncode or done.stderr:
        sys.exit(f"{workers} workers: status {done.returncode}\n{done.stdout}{done.stderr}")
    with open(report) as file:
        return said, {kernel["kernel"]: kernel for kernel in json.load(file)["kernels"]}


def expect(what, got, want):
    if got != want:
        sys.exit(f"{what} is {got}, not {want}")


def moved(name, counters, workers, size):
    """What the columns of COMIC++'s Table 5 say, as far as it follows from the program."""
    what = f"{name} with pages of {PAGE}: "
    misses = counters["read_misses"] + counters["write_misses"]
    sent = counters["sent_on_miss"] + counters["sent_on_sync"]
    expect(what + "pages that came", counters["bytes_in"], misses * PAGE)
    expect(what + "pages that went", counters["bytes_out"], sent * PAGE)
    expect(what + "accesses", counters["hits"] + counters["misses"], counters["reads"] + counters["writes"])
    # A page that is sent was written, and one that is given up had come.
    expect(what + "more sent than is possible", sent > counters["writes"], False)
    expect(what + "more given up than had come", counters["given_up"] > misses, False)
    expect(what + "more shared falsely than given up", counters["shared_falsely"] > counters["given_up"], False)
    if name == "blackscholes":
        options, iterations = size
        expect(what + "reads", counters["reads"], 4 * options * iterations)
        # Its inputs are nobody's; each writes one number.
        expect(what + "writes", counters["writes"], workers)
        expect(what + "sent", (counters["sent_on_miss"], counters["sent_on_sync"]), (0, workers))
    if name == "ep":
        expect(what + "reads", counters["reads"], 12 * workers)
    if name == "jacobi":
        n, iterations = size
        expect(what + "reads", counters["reads"], iterations * (n * n + 6 * (n - 2) ** 2))
        expect(what + "writes", counters["writes"], iterations * (n * n + (n - 2) ** 2) + workers)
    if name == "jacobi" and 8 * n % PAGE == 0 and 3 * 8 * n * n > workers * (1 << 18):
        # Bands of rows, of whole pages each, three times as large as a worker's cache: nothing is there when it is
        # used again. u, old and the rows of its neighbours, f; what is written is old, then u without its border.
        row = 8 * n // PAGE
        expect(what + "read misses", counters["read_misses"],
               iterations * row * (n + n + 2 * (workers - 1) + n - 2))
        expect(what + "write misses", counters["write_misses"], iterations * row * (n + n - 2) + workers)
        expect(what + "sent", sent, iterations * row * (n + n - 2) + workers)


def over_nodes(what, counters):
    """What the columns of COMIC++'s Table 6 say, as far as one follows from others."""
    asked = counters["node_read_misses"] + counters["node_write_misses"] + counters["node_upgrades"]
    wanted = counters["read_misses"] + counters["write_misses"] + counters["upgrades"]
    expect(what + "nodes ask for more than their workers do", asked > wanted, False)
    expect(what + "more locks asked for than taken", counters["locks_global"] > counters["locks"], False)
    expect(what + "more given up than had come", counters["given_up"] > wanted, False)
    if NODES == 1:
        expect(what + "sent to other nodes", counters["node_diffs"] + counters["node_early_diffs"], 0)


def refused(program):
    """Numbers that are none, or too large."""
    for words in (["--table", "5x"], ["--table", ""], ["--workers", "0"], ["--workers", "-1"], ["--workers", "+2"],
                  ["--workers", "2x"], ["--workers", " 2"], ["--workers", ""], ["--workers", "4294967297"]):
        done = subprocess.run([program, *words, "ep"], capture_output=True, text=True)
        expect(f"the status of {words}", (done.returncode, done.stdout), (1, ""))
        expect(f"the message of {words}", f"adsm-tasks: {words[0]} " in done.stderr, True)


def main():
    program = os.path.join(BUILD, "parboil/tasks/adsm-tasks")
    refused(program)
    known = sizes(program)
    expect("the list of programs", {name for name, _ in known}, set(BARRIERS))
    with tempfile.TemporaryDirectory() as folder:
        for workers in WORKERS:
            said, kernels = run(program, workers, folder)
            for name, barriers in BARRIERS.items():
                what = f"{name} with {workers} workers: "
                counters = kernels[name]["counters"]
                words = said[name].split()
                expect(what + "verified", "verified" in words and "not" not in words, True)
                if name == "blackscholes":
                    expect(what + "its sequential time is extrapolated",
                           f", {known[name, SIZE][1]} times one iteration)" in said[name], True)
                expect(what + "workers", counters["workers"], workers)
                expect(what + "barriers", counters["barriers"], barriers(*known[name, SIZE]))
                expect(what + "its own formula", int(words[words.index("barriers") + 1]), counters["barriers"])
                least, most = (int(word) for word in words[words.index("locks") + 1:][:2])
                expect(what + f"locks {counters['locks']}, from {least} to {most}",
                       least <= counters["locks"] <= most, True)
                expect(what + "flags", counters["flags"],
                       FLAGS[name](workers, *known[name, SIZE]) if name in FLAGS else 0)
                if LOCKS[name]:
                    expect(what + "locks", counters["locks"], LOCKS[name](workers, *known[name, SIZE]))
                if NODES:
                    over_nodes(what, counters)
                elif PAGE:
                    moved(name, counters, workers, known[name, SIZE])


main()
