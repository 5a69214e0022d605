# SPDX-License-Identifier: MIT
"""Every benchmark's output is right on cores with a local store: parboil.py PROGRAM SIZE CORES CACHE PROTOCOL."""
import json
import os
import subprocess
import sys
import time

_, program, size, cores, cache, protocol = sys.argv
env = dict(os.environ, ADSM_BACKEND="scratchpad", ADSM_SCRATCHPAD_CORES=cores, ADSM_SCRATCHPAD_CACHE=cache)
listed = subprocess.run([program, "list"], env=env, check=True, text=True, stdout=subprocess.PIPE).stdout
benches = [line.split()[0] for line in listed.splitlines()]
assert len(benches) == 11, benches
for bench in benches:
    start = time.monotonic()
    out = subprocess.run([program, "run", bench, "--size", size, "--protocol", protocol, "--json", "-"], env=env,
                         check=True, text=True, stdout=subprocess.PIPE).stdout
    report = json.loads(out)
    assert report["bench"] == bench and report["verified"] is True, report
    print(f"{bench}: {time.monotonic() - start:.1f} s", flush=True)
