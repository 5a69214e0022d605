# SPDX-License-Identifier: MIT
"""What users are told of a cluster's calls: seen.py CASE PROGRAM MODULE. The program's steps are calls (seen.c), whose
costs are known."""
import os
import re
import subprocess
import sys

CASE, PROGRAM, MODULE = sys.argv[1:4]


def run(*steps, nodes=3, **options):
    """What it says on standard error."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("ADSM_")}
    env |= {"ADSM_BACKEND": "cluster", "ADSM_CLUSTER_NODES": str(nodes), "ADSM_CLUSTER_THREADS": "1", **options}
    done = subprocess.run([PROGRAM, MODULE, *steps], env=env, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done
    return done.stderr


def warned():
    """Of a kernel that node 0 runs alone, once, whenever its module is loaded; with one node of none."""
    steps = ["own", "counted", "counted", "counted_too", "reload", "counted", "striped"]
    lines = run(*steps).splitlines()
    said = [re.match(r"adsm: warning: kernel '(\w+)' may do atomics on objects, so node 0 runs it alone, and the other "
                     r"nodes of the cluster, 2, do nothing: ", line) for line in lines]
    assert [found and found[1] for found in said] == ["counted", "counted_too"], lines
    assert run(*steps, ADSM_LOG="error") == "" and run(*steps, nodes=1) == ""


globals()[CASE]()
