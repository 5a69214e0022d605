# SPDX-License-Identifier: MIT
"""A test whose device does not start fails. Only a missing driver of OpenCL is a reason to skip.

no_device.py CPU_DEVICE MODULE MODEL TILES TASKS SERVICE_APP PROGRAM..."""
import os
import subprocess
import sys
import tempfile

device, module, model, tiles, tasks, service_app, *programs = sys.argv[1:]
COMMANDS = [[model], [tiles, "stencil"], [tasks, module, "works"], [service_app, module, "asked"],
            *([program] for program in programs)]
problems = []


def check(command, status, said, **options):
    env = {key: value for key, value in os.environ.items() if not key.startswith("ADSM_")}
    done = subprocess.run(command, env=env | options, encoding="utf-8", errors="replace", check=False, timeout=120,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != status or said not in done.stdout:
        problems.append(f"{command}: status {done.returncode}, not {status} with '{said}': {done.stdout}")


for words in COMMANDS:
    for backend in "cpu", "auto":
        check(words, 1, "", ADSM_BACKEND=backend, ADSM_CPU_DEVICE="/bin/false",
              ADSM_OPENCL_LIBRARY="/nowhere", ADSM_CUDA_LIBRARY="/nowhere")
    check(words, 77, "OpenCL", ADSM_BACKEND="opencl", ADSM_OPENCL_LIBRARY="/nowhere")
with tempfile.TemporaryDirectory() as folder:
    # The device starts once. With this seed the model's first round starts it once.
    with open(f"{folder}/device", "w", encoding="utf-8") as file:
        os.chmod(file.name, 0o755)
        file.write(f"#!/bin/sh\nmkdir '{folder}/started' && exec '{device}' \"$@\"\n")
    os.environ["TEST_KERNELS"] = os.path.dirname(module)
    check([model, "--seed", "3", "--ops", "100"], 1, " --round 1 --rounds 1 ", ADSM_BACKEND="cpu", ADSM_CPU_DEVICES="1",
          ADSM_CPU_DEVICE=f"{folder}/device")
if problems:
    sys.exit("\n".join(problems))
