# SPDX-License-Identifier: MIT
# parboil.py PROGRAM NODES PROTOCOL [SIZE] - every benchmark's output is right on a cluster of so many nodes.
import json
import os
import subprocess
import sys
import time

import memory

program, nodes, protocol, *size = sys.argv[1:]
if size:
    memory.need(4)
env = dict(os.environ, ADSM_BACKEND="cluster", ADSM_CLUSTER_NODES=nodes, ADSM_CLUSTER_TIMEOUT="200")
listed = subprocess.run([program, "list"], env=env, check=True, text=True, stdout=subprocess.PIPE).stdout
benches = [line.split()[0] for line in listed.splitlines()]
assert len(benches) == 11, benches
for bench in benches:
    start = time.monotonic()
    out = subprocess.run([program, "run", bench, "--size", *(size or ["small"]), "--protocol", protocol, "--json", "-"],
                         env=env, check=True, text=True, stdout=subprocess.PIPE).stdout
    report = json.loads(out)
    assert report["bench"] == bench and report["verified"] is True, report
    print(f"{bench}: {time.monotonic() - start:.1f} s", flush=True)
