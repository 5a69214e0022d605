# SPDX-License-Identifier: MIT
"""versions.py ADSM_INFO PROGRAM... - a device program of another version than the library's: the library refuses it,
and its sentence names both versions. Here such a program is the real one, whose text for the version is changed. The
first program is that of cpu, the next that of scratchpad, then a cluster's keeper and, if there is one, its node."""
import os
import re
import subprocess
import sys
import tempfile

info, programs = sys.argv[1], sys.argv[2:]
OTHER = "9.9.9"
OPTIONS = (("cpu", "ADSM_CPU_DEVICE"), ("scratchpad", "ADSM_SCRATCHPAD_DEVICE"), ("cluster", "ADSM_CLUSTER_KEEPER"),
           ("cluster", "ADSM_CLUSTER_PROGRAM"))


def changed(program, folder):
    """Write a copy of another version. Return its path and the text of the library's version."""
    with open(program, "rb") as file:
        data = file.read()
    versions = set(re.findall(rb"\d\.\d\.\d \([0-9a-f]{8}\)", data))
    if len(versions) != 1:
        sys.exit(f"{program} has {len(versions)} texts like a version: {versions}")
    version = versions.pop()
    path = os.path.join(folder, os.path.basename(program))
    with open(path, "wb") as file:
        file.write(data.replace(version, OTHER.encode() + version[5:]))
    os.chmod(path, 0o755)
    return path, version.decode()


for (backend, option), program in zip(OPTIONS, programs):
    with tempfile.TemporaryDirectory() as folder:
        path, version = changed(program, folder)
        environment = dict(os.environ, ADSM_BACKEND=backend, ADSM_CLUSTER_NODES="1", **{option: path})
        out = subprocess.run([info], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             check=False)
    said = out.stdout + out.stderr
    other = OTHER + version[5:]
    words = [f"{path} has version {other}, but the library has version {version}"]
    if option == "ADSM_CLUSTER_PROGRAM":
        words = ["has another version of the library", f": {other}, not {version}"]
    if not all(part in said for part in words):
        sys.exit(f"{option}: not {words}, but:\n{said[:2000]}")
    print(f"{option}: refused")
