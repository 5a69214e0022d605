# SPDX-License-Identifier: MIT
"""Every function that is wrapped for its small arguments has its row in tests/interpose/args.c."""
import re

import tree

rows = "".join(tree.read(f"interpose/libc/{name}.c") for name in ("args", "args_files", "args_system"))
wrapped = re.findall(r"^(?:ROW|ADSM_REAL)\((\w+)", rows, re.M)
tested = set(re.findall(r'^\t\{ "(\w+)", \.args', tree.read("tests/interpose/args.c"), re.M))
tree.finish([f"{name}: no row in tests/interpose/args.c" for name in wrapped if name not in tested], len(wrapped))
