# SPDX-License-Identifier: MIT
"""Workers on several nodes, over MPI: hcrc.py MPIRUN PROGRAM WHAT: "work", on few and many nodes, with small caches and
small frames; "errors", which end on all nodes; "killed", a node that is while its worker has a lock that all want: the
job ends; "misses", what one takes against its messages alone (printed)."""
import os
import signal
import subprocess
import sys

LIMIT = 600
FULL = bool(os.environ.get("TEST_FULL"))
FLAGS = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "0", "--mca", "opal_signal", "6,7,8",
         "--mca", "btl_vader_single_copy_mechanism", "none"]
_, mpirun, program, what = sys.argv


def run(nodes, *cases):
    """A job of these cases: how it ended, what it said."""
    words = []
    for case in cases:
        words += ["--"] * bool(words) + case.split()
    command = [mpirun, *FLAGS, "-np", str(nodes), program, *words]
    env = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PMIX_", "ADSM_"))}
    env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, start_new_session=True) as job:
        try:
            output = job.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            sys.exit(f"{' '.join(command)}: not done after {LIMIT} s")
    return job.returncode, output


def works(nodes, *cases):
    status, output = run(nodes, *cases)
    if status:
        sys.exit(f"{nodes} nodes, {cases}: {status}\n{output}")
    print(f"{nodes} nodes: {len(cases)} cases\n{output}", end="")


rounds = 2000 if FULL else 200
if what == "work":
    for nodes in [1, 2, 3, 4, 8] if FULL else [1, 3]:
        works(nodes, *(f"{case} workers={workers} {options}" for workers in ([1, 2, 6] if FULL else [2])
                       for options in ("", "locality=0", "apart=1 lines=3 frames=6 locality=1", "stay=0 frames=6") if
                       nodes > 1 or not options.startswith("apart")
                       for case in (f"count rounds={rounds}", f"phases rounds={rounds // 10}")))
elif what == "errors":
    works(3, "circle", "phases", "ended", "count rounds=20", "not-mine apart=1", "barrier", "phases apart=1",
          "circle apart=1 locality=0", "ended stay=0", "circle stay=0", "count")
elif what == "killed":
    for nodes in [2, 3]:
        status, output = run(nodes, "count", "killed")
        assert status and "signal 9" in output, f"{status}: {output}"
        print(f"{nodes} nodes: {output}")
else:
    works(3, *(f"misses apart=1 workers=1 page={page} rounds={rounds // 20}" for page in [4096, 16384]))
