# SPDX-License-Identifier: MIT
"""The exchange of a cluster's nodes: exchange.py MPIRUN PROGRAM WHAT TRACKER [NODES...]. Where no numbers of nodes are
given, all are tried with TEST_FULL, else a few. The program's cases check themselves; what must not depend on the
number of nodes or on the kind of update is compared here, and so are the counts that CUDA-For-Clusters had with the
same layouts."""
import collections
import os
import signal
import subprocess
import sys

LIMIT = 600		# seconds for all cases of a job
FULL = bool(os.environ.get("TEST_FULL"))
NODES = [int(n) for n in sys.argv[5:]] or ([1, 2, 3, 4, 8] if FULL else [1, 2, 3])
MODES = ["adaptive", "eager", "lazy", "paper"]
FLAGS = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "0", "--mca", "opal_signal", "6,7,8",
         "--mca", "btl_vader_single_copy_mechanism", "none", "--mca", "btl_vader_eager_limit", "73728"]

# Pages: global, modified; (single, multi) and write faults, by the number of nodes.
GOLD = {
    "cp": (1024, {1: (1024, 0, 1024), 2: (1024, 0, 1024), 4: (1024, 0, 1024), 8: (1024, 0, 1024)}),
    "mri-q": (1286, {1: (508, 0, 508), 2: (508, 0, 508), 4: (504, 4, 512), 8: (496, 12, 520)}),
    "mri-fhd": (1298, {1: (510, 0, 510), 2: (508, 2, 512), 4: (504, 6, 516), 8: (498, 12, 522)}),
    "tpacf": (1220, {1: (8, 0, 8), 2: (7, 1, 9), 4: (5, 3, 11), 8: (1, 7, 15)}),
    "scan": (50, {1: (25, 0, 25), 2: (24, 1, 26), 4: (23, 2, 27), 8: (21, 4, 29)}),
    "options": (24415, {1: (9766, 0, 9766), 2: (9764, 2, 9768), 4: (9760, 6, 9772), 8: (9752, 14, 9780)}),
    "options-stride": (24415, {1: (9766, 0, 9766), 2: (9766, 0, 9766), 4: (9766, 0, 9766), 8: (9114, 652, 10418)}),
}


class Runs:
    def __init__(self, mpirun, program, tracker):
        self.mpirun, self.program, self.tracker = mpirun, program, tracker

    def start(self, nodes, cases):
        """One job of several cases: its command, how it ended, what it printed."""
        words = []
        for case, options in cases:
            words += ["--"] if words else []
            words += [case, f"track={self.tracker}", *(f"{key}={value}" for key, value in options.items())]
        command = [self.mpirun, *FLAGS, "-np", str(nodes), self.program, *words]
        env = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PMIX_", "ADSM_"))}
        env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, start_new_session=True) as job:
            try:
                output = job.communicate(timeout=LIMIT)[0]
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
                sys.exit(f"{' '.join(command)}: not done after {LIMIT} s")
        if "skip: " in output:
            print(output[output.index("skip: "):].splitlines()[0])
            sys.exit(77)
        return " ".join(command), job.returncode, output

    def fails(self, nodes, why, case, **options):
        command, status, output = self.start(nodes, [(case, options)])
        assert status and why in output, f"{command}: not '{why}', but: {output}"

    def __call__(self, nodes, cases):
        """What each case printed: its counts line by line, and its hash."""
        command, status, output = self.start(nodes, cases)
        if status:
            sys.exit(f"{command}: {status}\n{output}")
        said = output.split("--\n")
        assert len(said) == len(cases), f"{command}: {output}"
        return [[{key: int(value, 16 if key == "hash" else 10) for key, value in
                  (word.split("=") for word in line.split())}
                 for line in text.splitlines() if "=" in line] for text in said]


def program_options(name):
    return {"n": 5000000 if FULL or not name.startswith("options") else 500000}


def gold(run):
    """The paper's counts, and one memory for any number of nodes and any kind of update."""
    hashes = collections.defaultdict(set)
    for nodes in NODES:
        cases = [("program", {"program": name, "mode": mode, "launches": 2, **program_options(name)})
                 for name in GOLD for mode in (MODES if nodes > 1 else ["paper"])
                 if FULL or (name not in ["mri-q", "options-stride"] and (mode == "paper") == (nodes < 3))]
        for (_, options), (first, second, end) in zip(cases, run(nodes, cases)):
            name = options["program"]
            pages, by_nodes = GOLD[name]
            hashes[name].add(end["hash"])
            for counts in [first, second] if options["n"] == 5000000 and nodes in by_nodes else []:
                got = (counts["single"], counts["multi"], counts["write_faults"])
                assert (counts["global"], got) == (pages, by_nodes[nodes]), f"{nodes} nodes, {options}: {counts}"
    assert all(len(found) == 1 for found in hashes.values()), f"memory differs by nodes or kind of update: {hashes}"


def sharing(run):
    """Bytes, words and pages of several nodes side by side; of pages more than a process may have mappings."""
    for nodes in NODES:
        cases = []
        for mode in ["adaptive", "lazy", "eager"] if FULL else ["adaptive"]:
            rounds = 1000 if nodes == 2 else 100
            cases.append(("sharing", {"mode": mode, "rounds": rounds, "size": 1, "stride": 1, "n": 10000}))
            cases.append(("sharing", {"mode": mode, "rounds": rounds, "size": 4, "stride": 4, "n": 4000}))
            if FULL:
                cases.append(("sharing", {"mode": mode, "rounds": rounds, "size": 4, "stride": 4096, "n": 1000}))
            if FULL or nodes == 2:
                cases.append(("sharing", {"mode": mode, "rounds": 10 if FULL else 2, "size": 4, "stride": 4096,
                                          "n": 40000}))
        run(nodes, cases)


def traffic(run):
    """What goes over the network, and when nothing does."""
    for nodes in NODES if FULL or len(sys.argv) > 5 else [3]:
        cases = [("threshold", {"mode": "threshold"}), ("read-only", {}), ("probed", {})]
        cases += [("blocks", {"mode": mode}) for mode in MODES]
        cases += [("bytes", {"mode": mode}) for mode in (MODES[:3] if 840 % nodes == 0 else [])]
        run(nodes, cases)
        run.fails(nodes, "a store to what is only read", "read-only", store=1)
        ends = run(nodes, [("messages", {"mode": mode}) for mode in MODES])
        assert len({end["hash"] for end, in ends}) == 1, ends
        if nodes == 1:
            continue
        names = [*MODES[:3], "bcast"]
        costs = run(nodes, [("readers", {"mode": mode}) for mode in MODES[:3]] +
                    [("readers", {"mode": "eager", "collective": "bcast"})])
        assert len({end["hash"] for _, end in costs}) == 1, costs
        size = {name: counts["bytes"] for name, (counts, _) in zip(names, costs)}
        assert size["adaptive"] < size["lazy"] and size["adaptive"] < size["eager"], size
        print(f"{nodes} nodes, each reading 4 of its neighbour's 64 pages, bytes in 36 launches: {size}")


def main():
    mpirun, program, what, tracker = sys.argv[1:5]
    run = Runs(mpirun, program, tracker)
    {"gold": gold, "sharing": sharing, "traffic": traffic}[what](run)


main()
