# SPDX-License-Identifier: MIT
# kill.py BUILD LAUNCHER PROGRAM ROUNDS [WRAP...] - each part of a cluster is killed at any moment, from the start on:
# the application is told in a sentence, and nothing is left. WRAP: how the application is run, "subreaper" or a
# command.
import os
import random
import subprocess
import sys
import tempfile
import time

import cluster

_, _, launch, program, rounds, *wrap = sys.argv
NODES = 3
PARTS = ["guard", "keeper", "launcher", "node 0", "node 2", "application"]
# An end that only ADSM_CLUSTER_TIMEOUT brings comes too late for finish().
variables = {"ADSM_CLUSTER_LAUNCH": cluster.STAND_IN if launch == "stand-in" else launch,
             "ADSM_CLUSTER_PROGRAM": program, "ADSM_CLUSTER_NODES": NODES, "ADSM_CLUSTER_TIMEOUT": 3600}
modes = ("loop", "subreaper") if wrap == ["subreaper"] else ("loop",)
before = [] if wrap == ["subreaper"] else wrap


if before and subprocess.run(["sh", "-c", '"$@" true', "sh", *before]).returncode:
    print(f"'{' '.join(before)}' is not allowed here")
    sys.exit(77)


def start():
    return cluster.start(*modes, before=before, **variables)


def check_files(process):
    """All that the nodes have mapped of temporary files lies in the cluster's folder."""
    for pid, comm, _, _ in cluster.processes(process.mark):
        for line in cluster.read(pid, "maps").decode().splitlines():
            path = line.split(None, 5)[5:]
            if path and path[0].startswith(("/dev/shm/", "/tmp/")) and "/adsm-cluster-" not in path[0] and \
                    not path[0].startswith(cluster.BUILD) and "/tsan.rodata." not in path[0]:
                sys.exit(f"{comm} has {path[0]}")


def check_end(part, what, status, out, err):
    if part == "application":
        return status in (-9, 137) or (before and status == 1)
    # Killed before it was there, or while it was.
    if status == 3:
        return out.startswith("refused: cluster: ") and out.count("\n") == 1
    return status == 4 and "\nlost: cluster: " in "\n" + out and "adsm: error: cluster: " in err


def orderly(nodes):
    """The launch command does not take the cluster's end for a failure of its nodes, which it would wait for, and
    clean up. It is not told to end here, which the keeper may do first."""
    with tempfile.TemporaryDirectory() as folder:
        said = os.path.join(folder, "said")
        words = (f"sh -c 'trap : TERM; \"$@\" 2>{said} & wait; wait' sh {launch} --allow-run-as-root --oversubscribe "
                 "--bind-to none -n %n %p")
        done = cluster.finish(cluster.start("once", **dict(variables, ADSM_CLUSTER_NODES=nodes,
                                                           ADSM_CLUSTER_LAUNCH=words)), "undisturbed")
        with open(said, encoding="utf-8") as file:
            # Open MPI 5 says this at the start, where a machine's only network is the loopback.
            text = "".join(line for line in file if line.strip() and "Unable to find reachable pairing" not in line)
        if done[0] or text:
            sys.exit(f"the end of {nodes} nodes: status {done[0]}: {done[1:3]}; {launch}: {text}")


first = start()
if first.stdout.readline() != "ready\n":
    sys.exit(f"undisturbed: {first.communicate()}")
check_files(first)
begin = time.monotonic()
for part in PARTS:
    if not cluster.part(first.mark, part):
        sys.exit(f"there is no {part}: {cluster.names(first.mark)}")
cluster.kill(cluster.part(first.mark, "application"))
cluster.finish(first, "undisturbed", not before)
start_time = 0.6
longest = 0
said = set()
for seed in range(int(rounds) * len(PARTS)):
    part = PARTS[seed % len(PARTS)]
    delay = random.Random(seed).uniform(0, 2 * start_time) if seed >= len(PARTS) else None
    what = f"{part} killed after {delay} s" if delay is not None else f"{part} killed when all is ready"
    process = start()
    if delay is None:
        process.stdout.readline()
    else:
        time.sleep(delay)		# the moment that is tested, not a wait for anything
    cluster.until(lambda: process.poll() is not None or cluster.part(process.mark, part),
                  lambda: f"{what}: it is not there")
    victim = cluster.part(process.mark, part)
    killed = time.monotonic()
    if victim:
        cluster.kill(victim)
    # With the first process of a namespace all others are killed at once.
    status, out, err, ended = cluster.finish(process, what, not before or part != "application")
    if delay is None:
        out = "ready\n" + out
    if not check_end(part, what, status, out, err):
        sys.exit(f"{what}: status {status}\n{out}{err}")
    longest = max(longest, ended - killed)
    said.add(out.splitlines()[-1] if status in (3, 4) else "")
cluster.finish(cluster.start("once", **variables), "the last")
if launch != "stand-in" and not before:
    orderly(1)
    orderly(NODES)
print(f"{launch}: at most {longest:.2f} seconds from the kill to the program's end")
print("\n".join(sorted(said)))
