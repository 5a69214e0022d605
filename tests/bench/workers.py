# SPDX-License-Identifier: MIT
"""workers.py BUILD OUT [SIZE [NODES…]]: the programs of adsm-tasks, or those that PROGRAMS names, on clusters of nodes
with six workers each, in virtual time (ADSM_TASK_VIRTUAL): OUT/workers.csv, drawn as the paper's Figure 12 in
OUT/workers.svg, and a table. The speed-up is that over one worker; the ideal one goes on as from one worker to six on
one node."""
import os
import statistics
import sys
import time

from progress import Progress
from virtual import draw, measure, write_csv

BUILD, OUT = (os.path.abspath(path) for path in sys.argv[1:3])
SIZE = sys.argv[3] if len(sys.argv) > 3 else "medium"
NODES = [int(number) for number in sys.argv[4:]] or [2, 4, 8, 16]
EACH = 6
PROGRAMS = os.environ.get("PROGRAMS", "").split() or ["blackscholes", "ep", "jacobi", "lu", "md", "pipeline", "radix",
                                                     "raytrace", "water"]
COSTS = os.environ.get("COSTS", "").split() or ["cell", "modern"]
REPEAT = int(os.environ.get("REPEAT", "3"))
PROGRESS = Progress(len(COSTS) * len(PROGRAMS) * (2 + len(NODES)))


def row(program, costs, nodes, workers, one, six):
    PROGRESS.step(f"{program} with the costs {costs}, {workers} workers on {nodes} nodes")
    ms = statistics.median(measure(BUILD, OUT, ["--size", SIZE, "--workers", str(workers), program], costs, nodes)
                           for _ in range(REPEAT))
    # COMIC++, section 6.4, all of each program being parallel.
    ideal = six / 6 * workers + 1 - six / 6 if six else 1
    return {"program": program, "costs": costs, "nodes": nodes, "workers": workers, "ms": ms,
            "speedup": one / ms if one else 1, "ideal": ideal}


def rows():
    for costs in COSTS:
        for program in PROGRAMS:
            first = row(program, costs, 1, 1, None, None)
            one = first["ms"]
            six = row(program, costs, 1, EACH, one, None)
            six["ideal"] = six["speedup"]
            yield from [first, six]
            for nodes in NODES:
                yield row(program, costs, nodes, nodes * EACH, one, six["speedup"])


def print_table(all_rows):
    for costs in COSTS:
        print(f"\n| {costs} | one worker, ms | 6 | " + " | ".join(f"{n * EACH}" for n in NODES) + " |")
        print("|" + "---|" * (3 + len(NODES)))
        for program in PROGRAMS:
            found = [line for line in all_rows if (line["program"], line["costs"]) == (program, costs)]
            print(f"| `{program}` | {found[0]['ms']:.1f} | {found[1]['speedup']:.2f} | " +
                  " | ".join(f"{line['speedup']:.1f} / {line['ideal']:.1f}" for line in found[2:]) + " |")


def main():
    os.makedirs(OUT, exist_ok=True)
    all_rows = list(rows())
    PROGRESS.end()
    write_csv(os.path.join(OUT, "workers.csv"), all_rows)
    draw("workers.gp", os.path.join(OUT, "workers.csv"),
         f"adsm-tasks, size {SIZE}, pages of 16 KiB, medians of {REPEAT}; {time.strftime('%Y-%m-%d')}\n"
         "Processor time measured, all else by a model (docs/tasks-virtual.md)", " ".join(PROGRAMS))
    print_table(all_rows)
    if any(line["speedup"] <= 0 or line["ms"] <= 0 for line in all_rows):
        sys.exit("a time is none")


main()
