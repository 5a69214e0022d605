# SPDX-License-Identifier: MIT
"""What reports, traces and adsm-info say of a cluster and its calls: costs.py CASE PROGRAM MODULE INFO. The program's
steps (costs.c) are calls with known costs."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../observe/trace"))
from tracefile import Trace  # noqa: E402

CASE, PROGRAM, MODULE, INFO = sys.argv[1:5]


def execute(*words, nodes=3, **options):
    env = {key: value for key, value in os.environ.items() if not key.startswith("ADSM_")}
    env |= {"ADSM_BACKEND": "cluster", "ADSM_CLUSTER_NODES": str(nodes), "ADSM_CLUSTER_THREADS": "1",
            "ADSM_CLUSTER_TIMEOUT": "200", **options}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done


def run(*steps, **options):
    """What the program says on standard error."""
    return execute(PROGRAM, MODULE, *steps, **options).stderr


def warned():
    """Of a kernel that node 0 runs alone, once, whenever its module is loaded; with one node of none."""
    steps = ["own", "counted", "counted", "counted_too", "reload", "counted", "striped"]
    lines = run(*steps).splitlines()
    said = [re.match(r"adsm: warning: kernel '(\w+)' may do atomics on objects, or rely on the order of accesses to "
                     r"them, so node 0 runs it alone while the other nodes \(2\) are idle; ", line) for line in lines]
    assert [found and found[1] for found in said] == ["counted", "counted_too"], lines
    assert run(*steps, ADSM_LOG="error") == "" and run(*steps, nodes=1) == ""


PAGES, PAGE = 8 + 6, 4096


def check_picture(trace):
    """docs/timeline.py draws it, a row for each node."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/timeline.py")
    subprocess.run([sys.executable, script, trace, trace + ".svg"], check=True)
    with open(trace + ".svg", encoding="utf-8") as file:
        drawn = file.read()
    wanted = ["node 0 (", "node 1 (", "node 2 (", "nodes' work", "exchanges"]
    drawn = drawn.replace("&apos;", "'")
    assert all(text in drawn for text in wanted), [text for text in wanted if text not in drawn]


def report(*steps, **options):
    """By kernel what it has cost, of a run that is reported as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        said = run(*steps, ADSM_STATS=f"json:{folder}/stats", ADSM_TRACE=f"{folder}/trace", ADSM_LOG="error", **options)
        assert not said, said
        with open(f"{folder}/stats", encoding="utf-8") as file:
            whole = json.load(file)
        trace = Trace(f"{folder}/trace")
        if shutil.which("gnuplot") and "nodes" not in options:
            check_picture(f"{folder}/trace")
    assert sum(kernel["kernel_ns"] for kernel in whole["kernels"]) == whole["totals"]["kernel_ns"]
    assert all(kernel["advice"] is None and kernel["device"] == 0 for kernel in whole["kernels"])
    return {kernel["kernel"]: kernel for kernel in whole["kernels"]}, trace


def expect(kernel, calls, **wanted):
    got = {name: kernel["counters"][name] for name in wanted}
    assert kernel["calls"] == calls and got == wanted, (kernel, wanted)


def stats():
    """What each kernel's calls cost is counted, all nodes together."""
    for tracker in "sigsegv", "auto":
        kernels, _ = report("own", "own", "striped", "counted", "worked", ADSM_CLUSTER_TRACKER=tracker)
        expect(kernels["own"], 2, pages_global=2 * PAGES, pages_modified=12, pages_single=12, pages_multi=0,
               pages_unwritten=12, pages_pushed=0, write_faults=12, nodes_idle=0, calls_alone=0)
        # Two nodes bring four pages back, twice; and had to fetch them once.
        counters = kernels["own"]["counters"]
        assert counters["pages_fetched"] >= 4 and counters["read_faults"] >= 4, counters
        # What they bring back is inside of other letters, as differences where that is less.
        assert counters["bytes"] > counters["pages_fetched"] * PAGE and counters["messages"] > 4, counters
        expect(kernels["striped"], 1, pages_global=PAGES, pages_modified=8, pages_single=0, pages_multi=8,
               pages_unwritten=0, pages_host=0, write_faults=24, nodes_idle=0, calls_alone=0)
        expect(kernels["counted"], 1, pages_modified=1, pages_single=1, write_faults=1, nodes_idle=2, calls_alone=1)
        expect(kernels["worked"], 1, pages_modified=0, pages_unwritten=8, write_faults=0, messages=0, bytes=0,
               fetch_ns=0, exchange_ns=0)
        assert all(0 < kernels[name]["counters"]["fetch_ns"] <= kernels[name]["counters"]["work_ns"]
                   for name in ["own", "striped"]), kernels
        assert all(kernel["counters"]["work_ns"] for kernel in kernels.values()), kernels
        assert kernels["own"]["counters"]["exchange_ns"] and kernels["striped"]["counters"]["exchange_ns"], kernels
    kernels, _ = report("own", "striped", "reset", "own")
    assert list(kernels) == ["own"], kernels
    expect(kernels["own"], 1, pages_modified=6, pages_host=0)
    # Of the last call nobody has asked how it ended.
    kernels, _ = report("own", "touch", "own", "leave")
    expect(kernels["own"], 2, pages_modified=12, pages_host=6)
    # One node is as a cpu device is.
    kernels, trace = report("own", nodes=1)
    expect(kernels["own"], 1, pages_global=0, write_faults=0, exchange_ns=0)
    assert kernels["own"]["counters"]["work_ns"] == kernels["own"]["kernel_ns"] == trace.of("part")[0]["dur"], kernels


def text():
    """For people: a column for each kernel."""
    said = run("own", "own", "striped", ADSM_STATS="text").replace("adsm: ", "")
    columns = dict(re.findall(r"^([AB]): '(\w+)', \d calls?, \d+\.\d .?s$", said, re.M))
    assert sorted(columns.values()) == ["own", "striped"], said
    for name, values in {"pages_modified": {"own": "12", "striped": "8"}, "pages_multi": {"own": "0", "striped": "8"},
                         "bytes": {"own": r"\d+\.\d KiB", "striped": r"\d+\.\d KiB"},
                         "work_ns": {"own": r"\d+\.\d .?s", "striped": r"\d+\.\d .?s"}}.items():
        line = rf"^{name} +{values[columns['A']]} +{values[columns['B']]}  \w+"
        assert re.search(line, said, re.M), (line, said)


def traced():
    """A track for each node: what it did in each call; and sums are those of the report."""
    kernels, trace = report("own", "striped", "own", "worked", "counted")
    host = os.uname().nodename
    tracks = {event["tid"] - 1000: event["args"]["name"] for event in trace.events
              if event["name"] == "thread_name" and event["tid"] >= 1000 and event["pid"] == 2}
    assert tracks == {i: f"node {i} ({host})" for i in range(3)}, tracks
    sums, works = collections.Counter(), collections.Counter()
    calls = {event["args"]["seq"]: event for event in trace.of("kernel")}
    for event in trace.of("part"):
        name = event["name"].removeprefix("exchange, ")
        what = "work_ns" if name == event["name"] else "exchange_ns"
        sums[name, what] += event["args"][what]
        works.update([(name, event["args"]["part"])] if what == "work_ns" else [])
        whole = calls[event["args"]["seq"]]
        assert whole["name"] == name, (event, whole)
        assert event["args"]["part"] or (whole["ts"] <= event["ts"] and
                                         event["ts"] + event["dur"] <= whole["ts"] + whole["dur"]), (event, whole)
    assert works == {("own", 0): 2, ("own", 1): 2, ("own", 2): 2, ("striped", 0): 1, ("striped", 1): 1,
                     ("striped", 2): 1, ("worked", 0): 1, ("worked", 1): 1, ("worked", 2): 1, ("counted", 0): 1}, works
    for name, kernel in kernels.items():
        for what in "work_ns", "exchange_ns":
            assert sums[name, what] == kernel["counters"][what], (name, what, sums, kernel)


def advised():
    """A kernel is named where its exchanges took longer than its work, with both figures."""
    with tempfile.TemporaryDirectory() as folder:
        steps = ["own", "counted", "striped", "worked"] * 4
        run(*steps, ADSM_ADVISE="1", ADSM_STATS=f"json:{folder}/stats")
        with open(f"{folder}/stats", encoding="utf-8") as file:
            kernels = json.load(file)["kernels"]
    said = run(*steps, ADSM_ADVISE="1")
    assert {kernel["kernel"] for kernel in kernels} == set(steps), kernels
    for kernel in kernels:
        exchange, work, fetch = (kernel["counters"][name] for name in ["exchange_ns", "work_ns", "fetch_ns"])
        wanted = exchange + fetch > work - fetch and exchange + fetch >= 1000000
        assert bool(kernel["advice"]) == wanted, kernel
        assert not wanted or kernel["advice"].startswith("its exchange took "), kernel
        print(kernel["kernel"], kernel["advice"])
    names = re.findall(r"^adsm: \d+\. '(\w+)' on device 0, \d calls: its exchange took [\d.]+ .?s, ", said, re.M)
    assert ("advice on kernels" in said) == bool(names) and set(names) <= set(steps), said


def info():
    """What a cluster is made of."""
    here = rf"on {re.escape(os.uname().nodename)} \(\d+ cores?\)"
    # Open MPI 5 takes no loopback for a network, and names no way.
    v4 = re.search(r"Open MPI\) 4\.", subprocess.run(["mpirun", "--version"], capture_output=True, text=True,
                                                     check=False).stdout)
    ways = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"} if v4 else {}
    for tracker, nodes, made_of in [
            ("sigsegv", 3, rf"3 nodes: 3 {here}; ([^;]+); tracker sigsegv"),
            ("auto", 2, rf"2 nodes: 2 {here}; ([^;]+); tracker (?:sigsegv|uffd)"),
            ("off", 1, rf"1 node: 1 {here}; ([^;]+); tracker off")]:
        out = execute(INFO, nodes=nodes, ADSM_CLUSTER_TRACKER=tracker, **ways).stdout
        found = re.search(rf"^  made of +{made_of}$", out, re.M)
        assert found and re.search(rf"^  compute units +{nodes}$", out, re.M), out
        assert not v4 or found[1].endswith(" (ob1: tcp)"), out


globals()[CASE]()
