# SPDX-License-Identifier: MIT
"""The library exports its public names and its wrappers, of libc's functions and of CUDA's driver's, without versions,
and nothing else: symbols.py NM LIBRARY."""
import ctypes
import re
import subprocess
import sys

import tree


def listed(*options):
    return subprocess.run([sys.argv[1], *options, sys.argv[2]], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.splitlines()


def symbols(*options):
    """Names and addresses that nm prints; static variables of several files may have one name."""
    return [(line.split()[-1], int(line.split()[0], 16)) for line in listed(*options, "--defined-only")]


exported = set(dict(symbols("-D")))
# AddressSanitizer marks exported variables with symbols of its own.
exported = {name for name in exported if not name.startswith("__odr_asan")}
declared = set(re.findall(r"^ADSM_API [^;(]*?\b(adsm\w+)\(",
                          "".join(map(tree.read, tree.files(["include"], (".h",)))), re.M))
# What is exported and not in the table of wrappers would never be handed out; what is in it and not exported, never
# be linked with.
inside = symbols()
table = range(dict(inside)["__start_adsm_cu"], dict(inside)["__stop_adsm_cu"])
declared |= {name[3:] for name, address in inside if name.startswith("cu_") and address in table}

problems = [f"{name}: declared, but not exported" for name in sorted(declared - exported)]
libc = ctypes.CDLL("libc.so.6")
for name in sorted(exported - declared):
    if "@" in name:
        problems.append(f"{name}: has a version; it would not shadow libc's")
    elif name.startswith("adsm") or not (name == "dlsym" or hasattr(libc, name)):
        problems.append(f"{name}: exported, but neither declared nor a function of libc's")
# Each start of a program would load libgcc_s for them: interpose/unwind.c.
problems += [f"{line.split()[-1]}: not the library's own" for line in listed("-D", "--undefined-only")
             if line.split()[-1].split("@")[0] in ("_Unwind_Resume", "__gcc_personality_v0")]
tree.finish(problems, len(exported))
