# SPDX-License-Identifier: MIT
"""A program of adsm-tasks in virtual time (ADSM_TASK_VIRTUAL), for workers.py and comic.py."""
import csv
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def measure(build, out, words, costs, nodes, **options):
    """Milliseconds of one run of adsm-tasks with these words, on a cluster of nodes with local stores."""
    report = os.path.join(out, "workers.json")
    environment = os.environ | {"ADSM_BACKEND": "cluster", "ADSM_CLUSTER_NODE": "scratchpad",
                                "ADSM_TASK_VIRTUAL": costs, "ADSM_CLUSTER_NODES": str(nodes),
                                "ADSM_STATS": "json:" + report} | options
    run = subprocess.run([os.path.join(build, "parboil/tasks/adsm-tasks"), *words], env=environment,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode:
        sys.exit(f"{words}, {nodes} nodes, {options}: status {run.returncode}: {run.stdout}")
    with open(report, encoding="utf-8") as file:
        kernels = json.load(file)["kernels"]
    os.unlink(report)
    return sum(kernel["counters"]["virtual_ns"] for kernel in kernels) / 1e6


def write_csv(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
                         for row in rows)


def draw(script, csv_path, caption, *words):
    """In a picture beside the numbers, if there is a gnuplot."""
    try:
        subprocess.run(["gnuplot", "-d", "-c", os.path.join(HERE, script), csv_path,
                        csv_path.removesuffix(".csv") + ".svg", caption, *words], check=True)
    except FileNotFoundError:
        print("there is no gnuplot (Debian package gnuplot-nox), so nothing was drawn", file=sys.stderr)
