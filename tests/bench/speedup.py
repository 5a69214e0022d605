# SPDX-License-Identifier: MIT
"""speedup.py BUILD OUT [SIZE]: the six programs of CUDA-For-Clusters on clusters of 1 to 1024 nodes, in virtual time.
They run once, on a node that records them (cluster_record.c; SIZE is parboil's, cfc-paper where it is not said);
cluster_model.c makes clusters of that: OUT/speedup.csv. OUT/speedup.* is drawn as the paper's Figure 3, OUT/scaling.*
to 1024 nodes, OUT/speedup-cuda-c.* beside the same programs with kernels in CUDA C. Tables are printed, one of them
with the numbers of the paper's text. SIZE "speedup" and "speedup-long" are tests: programs run at cfc, and their counts
are checked."""
import csv
import os
import platform
import subprocess
import sys
import time

from progress import Progress

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD, OUT = (os.path.abspath(path) for path in sys.argv[1:3])
SIZE = sys.argv[3] if len(sys.argv) > 3 else "cfc-paper"
PROGRAMS = ["cp", "mri-fhd", "mri-q", "tpacf", "scan", "blackscholes"]
# Programs that have their kernels in CUDA C, too; so they are called in the records.
CUDA_C = ["cp", "tpacf", "scan", "blackscholes"]
IN_CUDA_C = "-cuda-c"
# What the paper repeats; the benchmark's record has it once.
TIMES = {"cfc-paper": {"mri-fhd": 40, "mri-q": 40}, "cfc": {"mri-fhd": 40, "mri-q": 40, "blackscholes": 10}}
# Pages written by one node and by several, and write faults, by the number of nodes: the prototype's, by the paper.
COUNTS = {
    "tpacf": {2: (7, 1, 9), 4: (5, 3, 11), 8: (1, 7, 15)},
    "mri-q": {2: (508, 0, 508), 4: (504, 4, 512), 8: (496, 12, 520)},
    "mri-fhd": {2: (508, 2, 512), 4: (504, 6, 516), 8: (498, 12, 522)},
    "scan": {2: (24, 1, 26), 4: (23, 2, 27), 8: (21, 4, 29)},
    "blackscholes": {2: (9764, 2, 9768), 4: (9760, 6, 9772), 8: (9752, 14, 9780)},
    "cp": {2: (1024, 0, 1024), 4: (1024, 0, 1024), 8: (1024, 0, 1024)},
}
# Constant memory of CUDA C is an object: each other node fetches these pages once. The dialect's is part of the call.
CONSTANT_PAGES = {"cp-cuda-c": 16}
TESTS = {"speedup": ["tpacf"], "speedup-long": list(COUNTS)}


def brief(program):
    return program.removesuffix(IN_CUDA_C)


def with_cuda_c(programs):
    """The same, and those of them in CUDA C, if the build found a clang."""
    known = subprocess.run([os.path.join(BUILD, "parboil/parboil"), "list"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout
    if "; also in CUDA C" not in known:
        print("the build found no clang 14 to 19 (Debian package clang), so there are no kernels in CUDA C",
              file=sys.stderr)
        return programs
    return programs + [program + IN_CUDA_C for program in programs if program in CUDA_C]


def numbers(file):
    """All rows of a CSV file, with numbers for what is one."""
    rows = list(csv.DictReader(file))
    for row in rows:
        for key in row:
            if key not in ("program", "network", "update"):
                row[key] = float(row[key])
    return rows


def committed():
    """The rows of the documents, at size cfc: their counts are those of the tests."""
    with open(os.path.join(HERE, "../../docs/evaluation/cluster/speedup-cuda-c.csv"), encoding="utf-8") as file:
        rows = numbers(file)
    if {row["program"] for row in rows} != {name + end for name in CUDA_C for end in ("", IN_CUDA_C)}:
        sys.exit("speedup-cuda-c.csv has other programs")
    return rows


def record(program, size):
    """The file with what its blocks do."""
    path = os.path.join(OUT, program + ".record")
    environment = dict(os.environ, ADSM_BACKEND="cluster", ADSM_CLUSTER_NODES="1", ADSM_CLUSTER_LAUNCH="env %p",
                       ADSM_CLUSTER_PROGRAM=os.path.join(BUILD, "tests/bench/bench-cluster-record"), BENCH_RECORD=path)
    environment.pop("ADSM_CLUSTER_HOSTS", None)
    variant = "cuda-c" if program.endswith(IN_CUDA_C) else "adsm"
    run = subprocess.run([os.path.join(BUILD, "parboil/parboil"), "run", brief(program), "--size", size, "--variant",
                          variant], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         check=False)
    if run.returncode:
        sys.exit(f"{program}: status {run.returncode}: {run.stdout}")
    return path


def model(records):
    path = os.path.join(OUT, "speedup.csv")
    with open(path, "w", encoding="utf-8") as out:
        subprocess.run([os.path.join(BUILD, "tests/bench/bench-cluster-model"), *records], stdout=out, check=True)
    with open(path, encoding="utf-8") as file:
        return numbers(file)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def draw(name):
    """Where there is a gnuplot."""
    caption = (f"{processor()}, one core; parboil's size {SIZE}; {time.strftime('%Y-%m-%d')}\n"
               "A model of time (tests/bench/cluster_model.c), not a measurement")
    for ending in ("svg", "png"):
        try:
            subprocess.run(["gnuplot", "-d", "-c", os.path.join(HERE, name + ".gp"), os.path.join(OUT, "speedup.csv"),
                            os.path.join(OUT, f"{name}.{ending}"), caption], check=True)
        except FileNotFoundError:
            print("there is no gnuplot (Debian package gnuplot-nox), so nothing was drawn", file=sys.stderr)
            return


def print_table(programs, rows):
    """Speed-ups, and how many nodes are best; there, which part of the time is whose."""
    parts = ["compute", "control", "fetch", "plan", "exchange"]
    print("| program | network | exchange | 2 | 4 | 8 | 64 | 1024 | best, at | there: " + ", ".join(parts) + " |")
    print("|" + "---|" * 10)
    for program in programs:
        for network in ("2011", "100Gbit", "1Gbit"):
            for update in ("paper", "paper-lazy", "adaptive"):
                line = {int(row["nodes"]): row for row in rows
                        if (row["program"], row["network"], row["update"]) == (program, network, update)}
                if update == "paper-lazy" and all(line[n]["bytes"] == other["bytes"] for other in rows for n in line
                                                  if (other["program"], other["network"], other["update"],
                                                      other["nodes"]) == (program, network, "paper", n)):
                    continue
                best = max(line.values(), key=lambda row: row["speedup"])
                shares = " / ".join(f"{100 * best[part] / best['total']:.0f}" for part in parts)
                print(f"| {program} | {network} | {update} | " +
                      " | ".join(f"{line[n]['speedup']:.2f}" for n in (2, 4, 8, 64, 1024)) +
                      f" | {best['speedup']:.1f}, {best['nodes']:.0f} | {shares} % |")


def print_paper(programs, rows):
    """The numbers of the paper's text on its Figure 3, beside those of the network that is the paper's. The text has no
    numbers of the bars."""

    def gain(program, update):
        return next((row["speedup"] for row in rows if (row["program"], row["network"], row["update"], row["nodes"]) ==
                     (program, "2011", update, 8)), None)

    def cells(values):
        return " | ".join(f"{value:.2f}" if value else "" for value in values)

    def range_of(names):
        gains = [gain(name, "paper-lazy" if brief(name) == "blackscholes" else "paper") for name in names]
        return f"{min(gains):.2f} to {max(gains):.2f}" if names else ""

    in_cuda_c = [program for program in programs if program.endswith(IN_CUDA_C)]
    both = ["blackscholes"] + [program for program in in_cuda_c if brief(program) == "blackscholes"]
    print("\n| on 8 nodes | the paper's text | the dialect | CUDA C | |\n|---|---|---|---|---|")
    for what, number, update in (("blackscholes", "2.17", "paper"), ("blackscholes, lazy update", "3.7", "paper-lazy")):
        print(f"| {what} | {number} | {cells([gain(name, update) for name in both] + [None] * (2 - len(both)))} | "
              "model; the factor of the cores is fitted to these |")
    print(f"| least and best of the programs | 3.7 to 7.5 | {range_of([p for p in programs if p not in in_cuda_c])} | "
          f"{range_of(in_cuda_c)} | model |")
    print("| the bars of Figure 3 | not printed | speedup.csv | speedup.csv | model |")


def check(rows):
    for row in rows:
        expected = COUNTS[brief(row["program"])].get(row["nodes"])
        counts = tuple(int(row[key]) for key in ("single", "multi", "write_faults"))
        if expected and counts != expected:
            sys.exit(f"{row['program']}, {row['nodes']:.0f} nodes, {row['update']}: {counts}, not {expected}")
        if row["update"] == "eager" and expected:
            # Pages of several come to node 0 whole from each other one that wrote them.
            pages = (row["single"] + row["multi"] + CONSTANT_PAGES.get(row["program"], 0)) * (row["nodes"] - 1)
            if not pages <= row["bytes"] / 4096 <= pages + 2 * row["multi"]:
                sys.exit(f"{row['program']}, {row['nodes']:.0f} nodes: {row['bytes'] / 4096} pages, not {pages}")


def report(programs, rows):
    draw("speedup")
    draw("scaling")
    if any(program.endswith(IN_CUDA_C) for program in programs):
        draw("speedup-cuda-c")
    print_table(programs, rows)
    print_paper(programs, rows)


def main():
    os.makedirs(OUT, exist_ok=True)
    if SIZE in TESTS:
        programs = with_cuda_c(TESTS[SIZE])
        rows = model([f"{program}={record(program, 'cfc')}" for program in programs])
        check(rows)
        check(committed())
        if SIZE == "speedup-long":
            report(programs, rows)
        return
    programs = with_cuda_c(PROGRAMS)
    progress, records = Progress(len(programs) + 1), []
    for program in programs:
        progress.step(f"{program} is recorded")
        records.append(f"{program}={record(program, SIZE)}*{TIMES.get(SIZE, {}).get(brief(program), 1)}")
    progress.step("the model of all clusters")
    rows = model(records)
    progress.end()
    report(programs, rows)


main()
