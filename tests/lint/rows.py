# SPDX-License-Identifier: MIT
"""Every function that is wrapped for its small arguments has a row in tests/interpose/args.c. Every public function
that can fail ends by ADSM_TOLD, which makes sure that it leaves a sentence of its own. Every option has a class."""
import re

import tree

rows = "".join(tree.read(f"interpose/libc/{name}.c") for name in ("args", "args_files", "args_system"))
# A row: the result, the parameters in parentheses, the names.
lists = re.findall(r"^ROW\(\w+, \((?:[^()]|\([^()]*\))*\), ([\w,\s]+)\)$", rows, re.M)
wrapped = re.findall(r"\w+", " ".join(lists)) + re.findall(r"^ADSM_REAL\((\w+)", rows, re.M)
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
        if ("ADSM_TELLS" not in body or "ADSM_TOLD(" not in body) and "return ADSM_AFTER_" not in body:
            untold.append(f"{path}: {function[1]} does not end by ADSM_TOLD")

# The field class of struct adsm_option (lib/base/options.h).
CLASSES = {"general", "cpu", "OpenCL", "CUDA", "cluster", "local store"}
classless, n_options = [], 0
for path in tree.files(["lib", "backends", "protocols"], ".c"):
    for array in re.findall(r"^struct adsm_option \w+\[\] = \{\n(.*?)^\};", tree.read(path), re.M | re.S):
        # A row without a name ends the array.
        for option in re.split(r"^\t\{ ", array, flags=re.M)[1:-1]:
            n_options += 1
            name, classes = option.split(",")[0], re.findall(r'\.class = "([^"]*)"', option)
            if len(classes) != 1 or classes[0] not in CLASSES:
                classless.append(f"{path}: the option {name} has no class, or an unknown one")
if not n_options:
    classless.append("no options were found")
missing = [f"{name}: no row in tests/interpose/args.c" for name in wrapped if name not in tested]
tree.finish(missing + untold + classless, len(wrapped) + n_public + n_options)
