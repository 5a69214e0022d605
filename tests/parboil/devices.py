# SPDX-License-Identifier: MIT
"""A benchmark's output is right if its objects are made on several devices, and its calls go where the library chooses:
devices.py PROGRAM BENCH SIZE [VARIANT]"""
import json
import sys

from program import need_backend, parboil

BENCH, SIZE = sys.argv[2:4]
VARIANT = sys.argv[4] if len(sys.argv) > 4 else "adsm"

need_backend()
for protocol in "lazy", "rolling":
    for n in 1, 2, 3:
        done = parboil("run", BENCH, "--size", SIZE, "--variant", VARIANT, "--protocol", protocol, "--devices", str(n),
                       "--json", "-", ADSM_CPU_MEMORY="discrete")
        assert done.returncode == 0, (protocol, n, done)
        report = json.loads(done.stdout)
        print(f"{BENCH} {SIZE}, {protocol}, {n} devices: {report['calls']} calls, {report['h2d_bytes']} bytes sent, "
              f"{report['d2h_bytes']} fetched; {report['moved']} objects moved, {report['moved_bytes']} bytes fetched "
              "for that")
        assert report["verified"], (protocol, n, done)
        # cp has a single object, and each of its calls needs the result of the call before.
        assert (report["moved"] > 0) == (n > 1 and BENCH != "cp"), (protocol, n, done)
