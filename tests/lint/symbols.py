# SPDX-License-Identifier: MIT
"""The library exports its public names and its wrappers of libc's, without versions, and nothing else:
symbols.py NM LIBRARY."""
import ctypes
import re
import subprocess
import sys

import tree

nm = subprocess.run([sys.argv[1], "-D", "--defined-only", sys.argv[2]], check=True, text=True,
                    stdout=subprocess.PIPE).stdout
exported = {line.split()[-1] for line in nm.splitlines()}
# AddressSanitizer marks exported variables with symbols of its own.
exported = {name for name in exported if not name.startswith("__odr_asan")}
declared = set(re.findall(r"^ADSM_API [^;(]*?\b(adsm\w+)\(",
                          tree.read("include/adsm.h") + tree.read("include/adsm_opencl.h"), re.M))

problems = [f"{name}: declared, but not exported" for name in sorted(declared - exported)]
libc = ctypes.CDLL("libc.so.6")
for name in sorted(exported - declared):
    if "@" in name:
        problems.append(f"{name}: has a version; it would not shadow libc's")
    elif name.startswith("adsm") or not hasattr(libc, name):
        problems.append(f"{name}: exported, but neither declared nor a function of libc's")
tree.finish(problems, len(exported))
