# SPDX-License-Identifier: MIT
"""The library exports its public names and nothing else: symbols.py NM LIBRARY."""
import re
import subprocess
import sys

import tree

nm = subprocess.run([sys.argv[1], "-D", "--defined-only", sys.argv[2]], check=True, text=True,
                    stdout=subprocess.PIPE).stdout
exported = {line.split()[-1] for line in nm.splitlines()}
# AddressSanitizer marks exported variables with symbols of its own.
exported = {name for name in exported if not name.startswith("__odr_asan")}
declared = set(re.findall(r"^ADSM_API [^;(]*?\b(adsm\w+)\(", tree.read("include/adsm.h"), re.M))

problems = [f"{name}: exported, but adsm.h does not declare it" for name in sorted(exported - declared)]
problems += [f"{name}: declared in adsm.h, but not exported" for name in sorted(declared - exported)]
tree.finish(problems, len(exported))
