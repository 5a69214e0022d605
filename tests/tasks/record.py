# SPDX-License-Identifier: MIT
"""What traces and reports say of tasks: workers, and what they waited for, as bars that add up to the report's
counters: record.py TASKS MODULE"""
import collections
import json
import os
import subprocess
import sys
import tempfile

TASKS, MODULE = sys.argv[1:]
TOLD = 1024                            # waits of a call, that are bars
TRIES = 50                             # until one has happened that chance may leave out
NODES = int(os.environ.get("ADSM_CLUSTER_NODES", "0"))  # which are parts, too, before the workers
HOLDS = "holds_on" if NODES else "holds"


def expect(what, holds):
    if not holds:
        sys.exit(f"{what}: no")


def run(folder):
    """The events, and of each task its counters and the advice."""
    trace, report = os.path.join(folder, "trace"), os.path.join(folder, "report")
    env = dict(os.environ, ADSM_TRACE=trace, ADSM_STATS="json:" + report, ADSM_ADVISE="1")
    command = [TASKS, MODULE, "waits"] + (["nodes"] if NODES else [])
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit(f"status {done.returncode}\n{done.stdout}{done.stderr}")
    with open(trace) as file:
        events = json.load(file)
    with open(report) as file:
        kernels = {kernel["kernel"]: kernel for kernel in json.load(file)["kernels"]}
    counters = {name: kernel["counters"] for name, kernel in kernels.items()}
    return events, counters, {name: kernel["advice"] for name, kernel in kernels.items()}


def ns(event):
    """When it began and when it ended."""
    start = round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def check_bars(events, counters):
    """Each worker of a call has a bar, and its waits lie within."""
    kernels = {event["args"]["seq"]: event["name"] for event in events if event.get("cat") == "kernel"}
    work = {(event["args"]["seq"], event["args"]["part"]): event for event in events
            if event.get("cat") == "part" and "work_ns" in event["args"] and event["args"]["part"] >= NODES}
    waits = [event for event in events if event.get("cat") == "part_wait"]
    by_kernel = collections.defaultdict(list)
    n_of_call = collections.Counter(event["args"]["seq"] for event in waits)

    for wait in waits:
        of = work[wait["args"]["seq"], wait["args"]["part"]]
        expect(f"{wait} is on the track of {of}", (wait["pid"], wait["tid"]) == (of["pid"], of["tid"]))
        expect(f"{wait} is within {of}", ns(of)[0] <= ns(wait)[0] <= ns(wait)[1] <= ns(of)[1])
        expect(f"{wait} is of a worker", wait["args"]["part"] >= NODES)
        expect(f"{wait} is as long as it says", ns(wait)[1] - ns(wait)[0] == wait["args"]["part_wait_ns"])
        by_kernel[kernels[wait["args"]["seq"]]].append(wait)
    for name, counted in counters.items():
        bars = [event for (seq, _), event in work.items() if kernels[seq] == name]
        expect(f"workers of {name}", len(bars) == counted["workers"])
        expect(f"work of {name}", sum(event["args"]["work_ns"] for event in bars) == counted["work_ns"])
    expect("no call has more", max(n_of_call.values()) == TOLD)
    # Two calls of 64 workers, each of which waits at barriers more often.
    calls = [seq for seq, name in kernels.items() if name == "rounds"]
    if NODES:
        nodes = collections.Counter((wait["args"]["part"] - NODES) // 32 for wait in by_kernel["rounds"])
        expect("the same room for each node", set(nodes.values()) == {2 * TOLD // NODES} and len(nodes) == NODES)
    expect("calls", len(calls) == 2 and all(n_of_call[seq] == TOLD for seq in calls))
    expect("only barriers", {wait["name"] for wait in by_kernel["rounds"]} == {"barrier"})
    expect("their time", sum(wait["args"]["part_wait_ns"] for wait in by_kernel["rounds"]) <=
           counters["rounds"]["barrier_wait_ns"] <= counters["rounds"]["work_ns"])
    return by_kernel[HOLDS]


def check_locks(waits, counted):
    """Where all waits of a call are told they are what has been counted."""
    def of(*names):
        found = [wait for wait in waits if wait["name"] in names]
        return len(found), sum(wait["args"]["part_wait_ns"] for wait in found)

    expect("locks", of("lock 21", "handed lock 21") == (counted["lock_waits"], counted["lock_wait_ns"]))
    # The worker that comes to the barrier last waits for nobody, but on nodes for the manager's word.
    n, time = of("barrier")
    if NODES:
        expect("handed on", of("handed lock 21")[0] <= counted["locks"] - counted["locks_global"])
    else:
        expect("handed over", of("handed lock 21")[0] == counted["handovers"])
    expect("barriers", n == (4 if NODES else 3) and time == counted["barrier_wait_ns"])
    expect("nothing else", len(waits) == n + counted["lock_waits"])
    return of("handed lock 21")[0]


def check_tracks(events):
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events
             if event["ph"] == "M" and event["name"] == "thread_name"}
    for event in events:
        if event.get("cat") in ("part", "part_wait"):
            kind, part = names[event["pid"], event["tid"]].split()[:2]
            expect(f"the track of {event}", kind in ("worker", "core", "node") and
                   int(part) == event["args"]["part"] - (NODES if kind == "worker" else 0))


def check_advice(advice, counted):
    """Who waits for a tenth of the time is told so, and for which lock. Of pages there may be other advice."""
    for text in advice.values():
        expect(f"'{text}' is whole", not text or not text.endswith("; ") and "; ;" not in text)
    expect(f"no advice on barriers in '{advice['rounds']}'", " locks" not in (advice["rounds"] or ""))
    if counted["lock_wait_ns"] < max(10000000, counted["work_ns"] / 10):
        return
    words = (f"its workers waited for {counted['lock_waits']} of the {counted['locks']} locks",
             f"{counted['lock_wait_ns'] * 100 // counted['work_ns']} % of their time",
             f": lock 21 {counted['lock_waits']} times; ",
             f"nodes requested a lock {counted['locks_global']} times, " if NODES else "")
    for word in words:
        expect(f"'{word}' in '{advice[HOLDS]}'", advice[HOLDS] and word in advice[HOLDS])


with tempfile.TemporaryDirectory() as folder:
    for attempt in range(TRIES):
        events, counters, advice = run(folder)
        expect("the trace is whole", events[-1]["args"]["complete"])
        handed = check_locks(check_bars(events, counters), counters[HOLDS])
        check_tracks(events)
        check_advice(advice, counters[HOLDS])
        # Who is to be handed a lock may come by itself before, and who is to wait for one may be late.
        if 0 < handed < counters[HOLDS]["lock_waits"]:
            break
    else:
        sys.exit(f"in {TRIES} runs no worker waited for a lock that it got by itself, or was handed one")
