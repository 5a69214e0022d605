# SPDX-License-Identifier: MIT
# nodes.py BUILD PROGRAM NODES... [-- CASE...] - write-once objects on clusters of so many nodes each, side by side.
import os
import subprocess
import sys

_, build, program, *rest = sys.argv
end = rest.index("--") if "--" in rest else len(rest)
cases = rest[end + 1:]
running = []
for n in rest[:end]:
    # More threads than some nodes have blocks; and units of 1 GiB take their time on a machine that has other work.
    env = dict(os.environ, ADSM_BACKEND="cluster", ADSM_CLUSTER_NODES=n, ADSM_CLUSTER_THREADS="3",
               ADSM_CLUSTER_TIMEOUT="200", TEST_KERNELS=os.path.join(build, "tests/kernels"))
    running.append((n, subprocess.Popen([program, *cases], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)))
failed = False
for n, process in running:
    out, _ = process.communicate()
    print(f"{n} nodes: status {process.returncode}\n{out}", end="")
    failed |= process.returncode != 0
sys.exit(failed)
