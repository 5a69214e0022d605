# SPDX-License-Identifier: MIT
# mpi.py BUILD PROGRAM [MPIRUN...] - clusters that a real mpirun starts: several at once, of an application that is part
# of an MPI job itself, on hosts that are not there, and of another MPI.
import os
import sys
import tempfile

import cluster

_, _, program, *mpiruns = sys.argv
program = os.path.abspath(program)
mpirun = mpiruns[0]


def start(*modes, before=(), **variables):
    return cluster.start(*modes, before=before, **{"ADSM_CLUSTER_PROGRAM": program, "ADSM_CLUSTER_LAUNCH": mpirun,
                                                   "ADSM_CLUSTER_TIMEOUT": 200,
                                                   **variables})


def finish(process, what, status, *wanted):
    got, out, err, _ = cluster.finish(process, what)
    for text in wanted:
        if text not in out:
            sys.exit(f"{what}: '{text}' is not said: {out}{err}")
    if got != status:
        sys.exit(f"{what}: status {got}, not {status}: {out}{err}")


finish(start("once"), "two nodes", 0, "ready")
finish(start("once", ADSM_CLUSTER_NODES=1), "one node", 0, "ready")
# A launch command does not start in a folder that is no more.
finish(start("once", before=["sh", "-c", 'cd "$(mktemp -d)"; rmdir "$PWD"; exec "$@"', "sh"]), "in a deleted folder", 0,
       "ready")
several = [start("once", ADSM_CLUSTER_NODES=n) for n in (2, 5)]
for process in several:
    finish(process, "side by side", 0, "ready")
finish(start("once", ADSM_CLUSTER_HOSTS=f"{os.uname().nodename}:3", ADSM_CLUSTER_NODES=3), "by this host's name", 0,
       "ready")
for job in mpiruns:
    root = ["--allow-run-as-root", "--oversubscribe"] if job == mpirun else []
    finish(start("once", before=[job, *root, "-n", "2"]), f"in a job of {job}", 0, "ready\nready")
finish(start("once", ADSM_CLUSTER_LAUNCH=f"{mpirun} --mca plm_rsh_agent {cluster.HERE}/agent.sh",
             ADSM_CLUSTER_HOSTS="localhost,nowhere"),
       # Open MPI may say something itself in between.
       "a host that cannot be reached", 3, "before its nodes had started: ", "agent: cannot reach nowhere")
finish(start("once", OMPI_MCA_btl="absent"), "a transport that is not there", 3,
       "before its nodes had started, with OMPI_MCA_btl=absent in the environment: ")
# The hosts of Open MPI's own settings.
with tempfile.TemporaryDirectory() as home:
    hosts = os.path.join(home, "hosts")
    for folder, name in ((".openmpi", "orte"), (".prte", "prte")):
        os.mkdir(os.path.join(home, folder))
        with open(os.path.join(home, folder, "mca-params.conf"), "w", encoding="utf-8") as file:
            file.write(f"{name}_default_hostfile = {hosts}\n")
    for text, status, said in (("localhost slots=2", 0, "ready"),
                               ("localhost\nnowhere", 3, "agent: cannot reach nowhere")):
        with open(hosts, "w", encoding="utf-8") as file:
            file.write(f"# hosts\n{text}\n")
        finish(start("once", HOME=home, ADSM_CLUSTER_LAUNCH=f"{mpirun} --mca plm_rsh_agent {cluster.HERE}/agent.sh"),
               f"a default hostfile: {text}", status, said)
for other in mpiruns[1:]:
    finish(start("once", ADSM_CLUSTER_LAUNCH=other), "another MPI", 3,
           f"'{other}' started 2 separate jobs of one node, not a job of 2 nodes")
finish(start("once", ADSM_CLUSTER_PROGRAM="/bin/false"), "a program that ends", 3, "before its nodes had started")
