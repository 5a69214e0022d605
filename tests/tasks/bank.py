# SPDX-License-Identifier: MIT
"""A bank with a lock for each account, on two nodes with two workers each: bank.py PROGRAM MODULE [time].

The messages between nodes, with the paper's rule for locks (ADSM_PAPER=1) and with locks that stay: at most a tenth
where each 50th transfer leaves the worker's own accounts. With TEST_FULL=1 the paper's rule has all transfers, too, and
there is a bank whose transfers all go to any account.
"time" prints how long a lock takes that only one worker uses, at home and by the rule of the paper, against cpu."""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM, MODULE, *WHAT = sys.argv[1:]
CLUSTER = {"ADSM_BACKEND": "cluster", "ADSM_CLUSTER_NODES": "2", "ADSM_CLUSTER_NODE": "scratchpad",
           "ADSM_CLUSTER_TIMEOUT": "200"}
ALL = 100000
WORKERS = 4


def run(*words, **options):
    env = {name: value for name, value in os.environ.items() if not name.startswith("ADSM_")} | options
    done = subprocess.run([PROGRAM, MODULE, *map(str, words)], env=env, capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit(f"{words} {options}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def transfers(n, abroad, **options):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        run("transfers", WORKERS, n, abroad, **CLUSTER, ADSM_STATS="json:" + report, **options)
        with open(report) as file:
            [kernel] = json.load(file)["kernels"]
    counters = kernel["counters"]
    assert counters["locks"] == 2 * n, counters
    print(f"{n} transfers, each {abroad}th to any account{', by the paper' * bool(options)}: "
          f"{counters['locks']} locks, {counters['locks_global']} requests of nodes, "
          f"{counters['node_messages']} messages, "
          f"{counters['work_ns'] // WORKERS // 1000000} ms", flush=True)
    return counters["node_messages"] / n


def home():
    least = {}
    for name, n, options in (("cpu", 2000000, {"ADSM_BACKEND": "cpu"}), ("cluster", 2000000, CLUSTER),
                             ("paper", 20000, CLUSTER | {"ADSM_PAPER": "1"})):
        least[name] = float(run("laps", n, **options))
        print(f"{name}: {least[name]:.1f} ns, {least[name] / least['cpu']:.2f} times as long as cpu", flush=True)


if WHAT == ["time"]:
    home()
    sys.exit()
FULL = bool(os.environ.get("TEST_FULL"))
for abroad in (50, 1) if FULL else (50,):
    paper = transfers(ALL if FULL else 4000, abroad, ADSM_PAPER="1")
    stay = transfers(ALL, abroad)
    print(f"{stay:.3f} messages a transfer, by the paper {paper:.3f}: {stay / paper:.3f}")
    if abroad == 50 and stay > paper / 10:
        sys.exit("more than a tenth")
