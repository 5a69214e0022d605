# SPDX-License-Identifier: MIT
"""Every function that is wrapped for its small arguments has its row in tests/interpose/args.c; every public function
that can fail ends by ADSM_TOLD, which sees to it that it leaves a sentence of its own."""
import re

import tree

rows = "".join(tree.read(f"interpose/libc/{name}.c") for name in ("args", "args_files", "args_system"))
wrapped = re.findall(r"^(?:ROW|ADSM_REAL)\((\w+)", rows, re.M)
tested = set(re.findall(r'^\t\{ "(\w+)", \.args', tree.read("tests/interpose/args.c"), re.M))
# They cannot fail, or only call one that is here.
FREE = {"adsmVersion", "adsmErrorString", "adsmLastError", "adsmHandleFault", "adsmAlloc", "adsmSafeAlloc",
        "adsmCudaKernel", "adsmOpenCLKernel", "adsmIsShared"}
untold, n_public = [], 0
for path in tree.files(["lib/api"], ".c"):
    for head, body in re.findall(r"^([^\n{}/#*][^{}/#]*?)\n\{\n(.*?)^\}$", tree.read(path), re.M | re.S):
        function = re.search(r"\b(adsm[A-Z]\w+)\(", head)
        if not function or head.startswith("static") or function[1] in FREE:
            continue
        n_public += 1
        if "ADSM_TELLS" not in body or "ADSM_TOLD(" not in body:
            untold.append(f"{path}: {function[1]} does not end by ADSM_TOLD")
missing = [f"{name}: no row in tests/interpose/args.c" for name in wrapped if name not in tested]
tree.finish(missing + untold, len(wrapped) + n_public)
