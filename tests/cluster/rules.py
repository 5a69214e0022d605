# SPDX-License-Identifier: MIT
# rules.py BUILD PROGRAM NODES... - what programs may rely on, for each number of nodes; all of them side by side.
import os
import subprocess
import sys

_, build, program, *nodes = sys.argv
running = []
for n in nodes:
    env = dict(os.environ, ADSM_BACKEND="cluster", ADSM_CLUSTER_NODES=n, ADSM_CLUSTER_THREADS="2",
               ADSM_CLUSTER_TIMEOUT="200", TEST_KERNELS=os.path.join(build, "tests/kernels"))
    running.append(subprocess.Popen([program], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True))
failed = False
for n, process in zip(nodes, running):
    out, _ = process.communicate()
    print(f"{n} nodes: status {process.returncode}\n{out}", end="")
    failed |= process.returncode != 0
sys.exit(failed)
