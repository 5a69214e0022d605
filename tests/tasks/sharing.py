# SPDX-License-Identifier: MIT
"""What users are told of pages that workers share: columns, advice that holds, what is refused: sharing.py BUILD
[nodes]"""
import json
import os
import re
import subprocess
import sys
import tempfile

BUILD, *NODES = sys.argv[1:]
REPORT = os.path.join(tempfile.mkdtemp(), "report")
DEVICE = {"ADSM_BACKEND": "scratchpad", "ADSM_SCRATCHPAD_CORES": "6"}
if NODES:
    DEVICE = {"ADSM_BACKEND": "cluster", "ADSM_CLUSTER_NODE": "scratchpad", "ADSM_CLUSTER_NODES": "2",
              "ADSM_CLUSTER_TIMEOUT": "200"}


def run(what, *, program=("parboil/tasks/adsm-tasks",), more=(), status=0, stats="json:" + REPORT, **options):
    env = {name: value for name, value in os.environ.items() if not name.startswith("ADSM_")}
    env |= {**DEVICE, "ADSM_STATS": stats, "ADSM_ADVISE": "1", "ADSM_LOG": "error", **options}
    env = {name: value for name, value in env.items() if value}
    done = subprocess.run([os.path.join(BUILD, program[0]), *program[1:], what, *more], env=env, capture_output=True,
                          text=True)
    assert done.returncode == status, done
    return done.stderr


def kernel(name=None):
    with open(REPORT) as file:
        [found] = [found for found in json.load(file)["kernels"] if name in (None, found["kernel"])]
    return found["advice"], found["counters"]


def columns():
    """Shares of loads and stores, in the report for people."""
    text = run("ep", stats="text")
    found = re.findall(r"adsm: +([0-9.]+) %  of (\w+)\n", text)
    assert [name for _, name in found] == ["reads", "writes", "writes"], text
    value = {line.split()[1]: line.split()[2] for line in text.splitlines() if len(line.split()) > 3}
    for (share, of), part in zip(found, ["read_misses", "write_misses", "upgrades"]):
        assert share == "%.3f" % (100 * int(value[part]) / int(value[of])), (share, part, of, text)


def moved(counters):
    """Bytes, in pages of 16 KiB and 2 KiB."""
    if not NODES:
        return [counters["bytes_in"] + counters["bytes_out"]] * 2
    n = sum(counters[name] for name in ["read_misses", "write_misses", "sent_on_miss", "sent_on_sync"])
    return n * 16384, n * 2048


def matters(counters):
    """Whether pages that six workers gave up in vain are said."""
    return counters["shared_falsely"] >= max(6, counters["given_up"] // 4, 1)


def advice():
    """What smaller pages are said to move is no less than they do; and whose page is given up in vain."""
    run("lu")
    text, counters = kernel()
    who = "workers on node(?: [01]|s 0 and 1)" if NODES else r"worker (?:\d)"
    sharing = re.search(r"(\d+) of (\d+) pages that workers gave up had changed only in parts that they had not "
                        r"accessed: most often, (\d+) times in a call, the page at 0x[0-9a-f]+, byte (\d+) of "
                        r"argument 1, was given up by worker (\d) because of (" + who + "); ", text)
    smaller = re.search(r"moved (\d+) KiB in pages of 16 KiB; with ADSM_TASK_PAGE=2K they would move at most (\d+) "
                        r"KiB$", text)
    # How often workers meet depends on who runs when; scratchpad/test_sharing.c has what is said of given counts.
    assert smaller and bool(sharing) == matters(counters), (text, counters)
    if sharing:
        false, given_up, most, byte, worker = (int(word) for word in sharing.groups()[:5])
        assert false == counters["shared_falsely"] and given_up == counters["given_up"], (text, counters)
        assert 0 < most <= false and byte < 128 * 128 * 8 and worker < 6, text
        assert not sharing[6].endswith(f"worker {worker}"), text
    assert int(smaller[1]) == moved(counters)[0] // 1024, (text, counters)
    run("lu", ADSM_TASK_PAGE="2K")
    text, counters = kernel()
    assert moved(counters)[1] <= (int(smaller[2]) + 1) * 1024, (smaller[0], counters)
    # A block of the matrix is a page: nobody shares one, and none could be smaller.
    # On nodes there may be advice on locks.
    assert not (re.search("gave up|ADSM_TASK_PAGE", text or "") if NODES else text), text
    assert not matters(counters), counters


def used():
    """A sum that all add to is no false sharing: whoever looks again finds something else."""
    run("works", program=["tests/tasks/tasks", os.path.join(BUILD, "tests/kernels/tasks.adsm")], more=NODES,
        ADSM_SCRATCHPAD_CORES="256")
    for name in ["count", "turns"]:
        counters = kernel(name)[1]
        assert not counters["shared_falsely"], (name, counters)
    # How often workers of "count" meet depends on who runs when. In "turns" each of 4 finds the page changed in all
    # its 50 turns but the first.
    assert counters["given_up"] >= 196, counters


def refused():
    for value in ["3K", "1K", "64K", "0"]:
        assert "ADSM_TASK_PAGE" in run("ep", status=1, ADSM_TASK_PAGE=value), value
    for value in ["3", "0", "8192"]:
        assert "ADSM_TASK_PAGES" in run("ep", status=1, ADSM_TASK_PAGES=value), value
    text = run("ep", status=1, ADSM_TASK_PAGES="16")
    assert re.search(r"task 'ep': a local store of 262144 bytes is too small for 16 pages of 16384 bytes", text), text
    text = run("ep", status=1, ADSM_SCRATCHPAD_CODE="64", ADSM_TASK_PAGES="2")
    assert re.search(r"task 'ep' does not fit into a local store: code \d+ of 64 \(ADSM_SCRATCHPAD_CODE; tasks have no "
                     r"partitions\)", text), text
    text = run("ep", status=1, ADSM_SCRATCHPAD_CORES="5")
    assert ("task 'ep' has 6 workers, but device 0 can run at most 5 at the same time "
            "(ADSM_SCRATCHPAD_CORES)") in text, text
    # By itself it asks for a core for each worker.
    run("ep", ADSM_SCRATCHPAD_CORES=None)
    assert kernel("ep")[1]["workers"] == 6
    # One page for all: slow, and right.
    run("ep", ADSM_TASK_PAGES="1")


def no_room():
    """A store as large as its code buffer."""
    text = run("ep", status=1, ADSM_SCRATCHPAD_SIZE="64K")
    assert "cluster: a local store of 65536 bytes is too small for 1 pages of 16384 bytes" in text, text


columns()
advice()
used()
if NODES:
    no_room()
else:
    refused()
