# SPDX-License-Identifier: MIT
# run.py RANKS MPIRUN [adsmrun] PROGRAM - a program in that number of ranks, in a folder of its own. It must end
# well, and one line is all that is printed: MPI itself prints nothing.
import os
import subprocess
import sys
import tempfile

ranks, mpirun, *programs = *sys.argv[1:3], *map(os.path.abspath, sys.argv[3:])
environment = dict(os.environ, ADSM_LOG="error", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
                   # More ranks than processors: a rank that waits lets others run.
                   OMPI_MCA_mpi_yield_when_idle="1",
                   # All ranks are on this machine; Open MPI 5 complains where its interfaces cannot reach each other.
                   # The others are those that Debian excludes: with ofi Open MPI 4.1.4 loses bytes of windows.
                   OMPI_MCA_btl="^tcp,uct,openib,ofi")
with tempfile.TemporaryDirectory(prefix="adsm-test-") as folder:
    done = subprocess.run([mpirun, "-n", ranks, *programs], env=environment, cwd=folder,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")
lines = done.stdout.splitlines()
print(done.stdout[:10000], end="")
if done.returncode or len(lines) != 1 or not lines[0].endswith("every byte is right"):
    sys.exit(f"{mpirun}: status {done.returncode}, {len(lines)} lines")
