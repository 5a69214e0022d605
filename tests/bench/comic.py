# SPDX-License-Identifier: MIT
"""comic.py BUILD OUT WHAT [SIZE [NODES…]]: what the paper on COMIC++ measures, beside the paper's numbers.
- figure10: six workers on one node, by the size of pages; figure11: by the size of pages between nodes. Both in
  virtual time (ADSM_TASK_VIRTUAL=cell): OUT/comic-figure10.csv and .svg, and a table. Speed-ups are over one worker.
- table4: what messages and copies cost on this machine: OUT/comic-table4.csv, and a table.
Figure 12 is workers.py, Tables 5 and 6 are adsm-tasks --table."""
import os
import shutil
import subprocess
import sys
import time

from progress import Progress
from virtual import draw, measure, write_csv

BUILD, OUT = (os.path.abspath(path) for path in sys.argv[1:3])
WHAT = sys.argv[3]
SIZE = sys.argv[4] if len(sys.argv) > 4 else "medium"
NODES = [int(number) for number in sys.argv[5:]] or [8, 16, 32]
EACH = 6
# The page that is best on one processor in the paper's Table 5, in KiB.
PROGRAMS = {"blackscholes": 16, "ep": 16, "jacobi": 16, "lu": 16, "md": 8, "raytrace": 16, "water": 8}
CHOSEN = os.environ.get("PROGRAMS", "").split() or list(PROGRAMS)
# Table 4, in nanoseconds.
PAPER = {("word", 4): 136.2, ("copy", 2048): 171.6, ("copy", 4096): 305.2, ("copy", 8192): 688.6, ("copy", 16384): 1373,
         ("message", 4): 148300, ("message", 2048): 201400, ("message", 4096): 313400, ("message", 8192): 332700,
         ("message", 16384): 432900}
NAMES = {"word": "a word between a core and its node (the paper: mailbox)",
         "copy": "a copy between a core and its node (the paper: DMA)",
         "message": "a message from node to node (the paper: GASNet)"}


# Pages between nodes, in KiB, by the worker's page.
BETWEEN = {page: [size for size in (8, 16, 32) if size >= page] for page in (8, 16)}
PROGRESS = Progress(sum(5 if WHAT == "figure10" else 1 + len(NODES) * len(BETWEEN[PROGRAMS[name]]) for name in CHOSEN))


def run(program, nodes, workers, page, node_page):
    PROGRESS.step(f"{program}, {workers} workers on {nodes} nodes, pages of {page} and {node_page} KiB")
    return measure(BUILD, OUT, ["--size", SIZE, "--workers", str(workers), program], "cell", nodes,
                   ADSM_TASK_PAGE=f"{page}K", ADSM_TASK_NODE_PAGE=f"{node_page}K")


def figure10():
    """Speed-ups of six workers with pages of four sizes."""
    rows = []
    for program in CHOSEN:
        one = run(program, 1, 1, 16, 16)
        for page in (2, 4, 8, 16):
            ms = run(program, 1, EACH, page, page)
            rows.append({"program": program, "nodes": 1, "page": page, "ms": ms, "speedup": one / ms})
    return rows


def figure11():
    """Speed-ups of many workers, by the page between nodes, from the worker's own page to 32 KiB."""
    rows = []
    for program in CHOSEN:
        page = PROGRAMS[program]
        one = run(program, 1, 1, page, page)
        for nodes in NODES:
            for node_page in BETWEEN[page]:
                ms = run(program, nodes, nodes * EACH, page, node_page)
                rows.append({"program": program, "nodes": nodes, "page": node_page, "ms": ms, "speedup": one / ms})
    return rows


def best(rows, program, nodes):
    return max((row for row in rows if (row["program"], row["nodes"]) == (program, nodes)),
               key=lambda row: row["speedup"])["page"]


def print_figure(rows):
    """Derived from processor times. The paper's curves are pictures: its text has only which pages are best."""
    pages = sorted({row["page"] for row in rows})
    print("| program | nodes | " + " | ".join(f"{page} KiB" for page in pages) + " | best here | best in the paper |")
    print("|" + "---|" * (4 + len(pages)))
    for program in CHOSEN:
        for nodes in sorted({row["nodes"] for row in rows}):
            cells = {row["page"]: f"{row['speedup']:.2f}" for row in rows
                     if (row["program"], row["nodes"]) == (program, nodes)}
            print(f"| `{program}` | {nodes} | " + " | ".join(cells.get(page, "") for page in pages) +
                  f" | {best(rows, program, nodes)} KiB | {16 if WHAT == 'figure11' else PROGRAMS[program]} KiB |")
    print("Speed-ups: a model of time with processor times of this machine. The paper's are not printed in its text.")


def figure(rows):
    PROGRESS.end()
    path = os.path.join(OUT, f"comic-{WHAT}.csv")
    write_csv(path, rows)
    draw("comic.gp", path, f"adsm-tasks, size {SIZE}; {time.strftime('%Y-%m-%d')}\n"
         "Processor time measured, all else by a model (docs/tasks-virtual.md)", WHAT, " ".join(CHOSEN))
    print_figure(rows)
    if any(row["ms"] <= 0 for row in rows):
        sys.exit("a time is none")


def table4():
    """Measured, by a job of two nodes; SIZE is the number of rounds."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PMIX_"))}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([shutil.which("mpirun") or "mpirun", "--oversubscribe", "--bind-to", "none", "--mca",
                           "mpi_yield_when_idle", "0", "--mca", "btl_vader_single_copy_mechanism", "none", "-np", "2",
                           os.path.join(BUILD, "tests/bench/bench-primitives"), SIZE if SIZE.isdigit() else "101"],
                          env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench-primitives: status {done.returncode}: {done.stdout}")
    found = {(what, int(size)): float(ns) for what, size, ns in (line.split() for line in done.stdout.splitlines())}
    if set(found) != set(PAPER):
        sys.exit(f"bench-primitives printed {done.stdout}")
    write_csv(os.path.join(OUT, "comic-table4.csv"),
              [{"what": what, "bytes": size, "paper_ns": ns, "here_ns": found[what, size]}
               for (what, size), ns in PAPER.items()])
    print("| | bytes | the paper, µs | measured here, µs |\n|---|---|---|---|")
    for (what, size), ns in PAPER.items():
        print(f"| {NAMES[what]} | {size} | {ns / 1000:.4g} | {found[what, size] / 1000:.3g} |")


def main():
    os.makedirs(OUT, exist_ok=True)
    if WHAT == "table4":
        table4()
    elif WHAT in ("figure10", "figure11"):
        figure({"figure10": figure10, "figure11": figure11}[WHAT]())
    else:
        sys.exit(f"{WHAT} is unknown: valid are table4, figure10 and figure11")


main()
