# SPDX-License-Identifier: MIT
"""Programs written for COMIC++: they run, and what goes wrong is said: comic.py FOLDER"""
import json
import os
import subprocess
import sys
import tempfile

FOLDER = sys.argv[1]


def run(program, *args, ape=None, status=0, words=(), **env):
    env = dict(os.environ, **env)
    if ape:
        env["COMIC_PP_APE"] = os.path.join(FOLDER, ape)
    done = subprocess.run([os.path.join(FOLDER, program), *args], env=env, capture_output=True, text=True)
    missing = [word for word in words if word not in done.stderr]
    if done.returncode != status or missing:
        sys.exit(f"{program}: status {done.returncode}, not {status}; lacks {missing}\n{done.stdout}{done.stderr}")


with tempfile.TemporaryDirectory() as folder:
    report = os.path.join(folder, "report")
    # Its own module is beside it.
    run("figure9", ADSM_STATS="json:" + report)
    with open(report) as file:
        kernel, = json.load(file)["kernels"]
    counters = kernel["counters"]
    if kernel["kernel"] != "comic_pp_ape_main" or counters["workers"] != 6 or counters["barriers"] != 1:
        sys.exit(f"figure9: {kernel}")
run("checked", ape="figure9.adsm")
run("whole", ape="whole.adsm")
run("three", ape="three.adsm")
run("whole", "9", ape="whole.adsm", status=1, words=["COMIC_PP_manager_run", "lock 77", "no worker holds"])
run("whole", ape="nothing.adsm", status=1, words=["COMIC++", "nothing.adsm"])
# Parts that do not belong together.
run("whole", ape="figure9.adsm", status=1, words=["COMIC_PP_manager_run", "comic_pp_check"])
run("whole", ape="three.adsm", status=1, words=["COMIC_PP_manager_run", "comic_pp_check"])
