# SPDX-License-Identifier: MIT
"""The pages of CUDA-For-Clusters' programs with ADSM_PAPER=1 and nothing else, as --stats has them, the results being
right: paper.py PARBOIL; with TEST_FULL of all programs and numbers of nodes. paper.py PARBOIL large: of BlackScholes
with as many options as in the paper. paper.py PARBOIL cuda-c: of the programs whose kernels are in CUDA C, too."""
import json
import os
import subprocess
import sys
import tempfile

import memory

PARBOIL = sys.argv[1]
LARGE = "large" in sys.argv[2:]
CUDA_C = "cuda-c" in sys.argv[2:]
FULL = LARGE or bool(os.environ.get("TEST_FULL"))
NEEDED = 10		# GiB: four nodes with 1 GB of objects each, the program's, twins, and what it compares

# By program: pages of all objects, of those that are written; by nodes: of one writer, of several, write faults.
GOLD = {
    "cp": (1024, 1024, {1: (1024, 0, 1024), 2: (1024, 0, 1024), 4: (1024, 0, 1024), 8: (1024, 0, 1024)}),
    "mri-q": (1286, 508, {1: (508, 0, 508), 2: (508, 0, 508), 4: (504, 4, 512), 8: (496, 12, 520)}),
    "mri-fhd": (1298, 510, {1: (510, 0, 510), 2: (508, 2, 512), 4: (504, 6, 516), 8: (498, 12, 522)}),
    "tpacf": (1220, 8, {1: (8, 0, 8), 2: (7, 1, 9), 4: (5, 3, 11), 8: (1, 7, 15)}),
    "scan": (50, 25, {1: (25, 0, 25), 2: (24, 1, 26), 4: (23, 2, 27), 8: (21, 4, 29)}),
    "blackscholes": (24415, 9766, {1: (9766, 0, 9766), 2: (9764, 2, 9768), 4: (9760, 6, 9772), 8: (9752, 14, 9780)}),
}
SHORT = [("mri-fhd", 2), ("tpacf", 1)]
# In none of these does a node read what another one wrote in a call before. Here it does, at the borders of its part.
NEIGHBOURS = ("stencil3d", "small", 2)
# Constant memory is an object in CUDA C, of as many pages. No kernel writes it.
CONSTANT = {"cp": 16, "tpacf": 1, "scan": 0, "blackscholes": 0}
if CUDA_C:
    GOLD = {name: (pages + CONSTANT[name], modified, nodes) for name, (pages, modified, nodes) in GOLD.items()
            if name in CONSTANT}
    SHORT = [("tpacf", 1), ("tpacf", 2)]
if LARGE:
    GOLD = {"blackscholes": (244145, 97658, {1: (97658, 0, 97658), 2: (97656, 2, 97660), 4: (97652, 6, 97664)})}


def kernel_of(program, size, nodes, **options):
    """What its kernel has cost, on so many nodes; its result is right."""
    with tempfile.TemporaryDirectory() as folder:
        env = {key: value for key, value in os.environ.items() if not key.startswith("ADSM_")}
        env |= {"ADSM_BACKEND": "cluster", "ADSM_CLUSTER_NODES": str(nodes), "ADSM_CLUSTER_THREADS": "1",
                "ADSM_CLUSTER_TIMEOUT": "200", "ADSM_PAPER": "1", **options,
                "ADSM_STATS": f"json:{folder}/stats"}
        done = subprocess.run([PARBOIL, "run", program, "--size", size, "--variant", "cuda-c" if CUDA_C else "adsm"],
                              env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done
        with open(f"{folder}/stats", encoding="utf-8") as file:
            kernels = json.load(file)["kernels"]
    assert len(kernels) == 1 and kernels[0]["calls"], kernels
    return kernels[0]


if LARGE:
    memory.need(NEEDED)
elif not CUDA_C:
    assert kernel_of(*NEIGHBOURS)["calls"] > 1
for name, (pages, modified, by_nodes) in GOLD.items():
    for n, (single, multi, faults) in by_nodes.items():
        if not FULL and (name, n) not in SHORT:
            continue
        # What the paper has may be said, too.
        said = {"ADSM_CLUSTER_UPDATE": "threshold"} if name == "tpacf" else {}
        kernel = kernel_of(name, "cfc-paper" if LARGE else "cfc", n, **said)
        wanted = {"pages_global": pages, "pages_modified": modified, "pages_single": single, "pages_multi": multi,
                  "write_faults": faults}
        got = {counter: kernel["counters"][counter] / kernel["calls"] for counter in wanted}
        print(name, n, kernel["calls"], got, flush=True)
        assert got == wanted, (name, n, kernel, wanted)
