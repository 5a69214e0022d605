# SPDX-License-Identifier: MIT
"""A file includes only what lies below it: folders and files are layers, and calls go one way."""
import os
import re

import tree

# From the lowest layer up; a folder stands for the files in it. One layer's files may include each other.
LAYERS = [
    ["include"],
    ["lib/base", "lib/engine", "lib/core/index", "lib/core/arena", "lib/run/inside"],
    ["backends", "protocols"],
    ["lib/core", "lib/observe"],
    ["lib/run"],
    ["lib/start"],
    ["lib/driver/foreign"],
    ["lib/api", "lib/driver/native", "interpose"],
]
# The same height, and yet strangers: a backend knows no blocks, a protocol no device.
STRANGERS = {("backends", "protocols"), ("protocols", "backends")}
# Users of the library, like any other: these headers and their own.
USERS = ["parboil", "tests/conform", "tests/interpose"]
PUBLIC = ["adsm.h", "adsm_kernel.h", "adsm_opencl.h", "adsm_cuda.h"]


def top(path):
    return path.split("/")[0]


def layer(path):
    """Of the file, else of the nearest folder that has one."""
    unit = os.path.splitext(path)[0]
    while unit:
        for height, members in enumerate(LAYERS):
            if unit in members:
                return height
        unit = os.path.dirname(unit)
    return None


def included(text):
    """But OpenCL's own, whatever a backend's headers are called."""
    names = re.findall(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', text, re.M)
    return [name for name in names if not name.startswith("CL/")]


problems = []
n_checked = 0
headers = {}
for path in tree.files(["include", "lib", "backends", "protocols", "interpose"], (".h",)):
    headers["/".join(path.split("/")[-2:])] = headers[os.path.basename(path)] = path

for path in tree.files(["include", "lib", "backends", "protocols", "interpose"], (".c", ".h")):
    if layer(path) is None:
        problems.append(f"{path}: has no layer; give it one in tests/lint/includes.py")
        continue
    for name in included(tree.read(path)):
        own = os.path.join(os.path.dirname(path), name)
        target = own if os.path.exists(os.path.join(tree.ROOT, own)) else headers.get(name)
        if not target:
            continue
        n_checked += 1
        if layer(target) is not None and layer(target) > layer(path):
            problems.append(f"{path}: includes {name}, which lies above it")
        if (top(path), top(target)) in STRANGERS:
            problems.append(f"{path}: includes {name}, which it may not know")

for path in tree.files(USERS, (".c", ".h")):
    for name in included(tree.read(path)):
        target = headers.get(name)
        own = any(os.path.exists(os.path.join(tree.ROOT, folder, name))
                  for folder in [os.path.dirname(path), top(path), top(path) + "/common"])
        n_checked += 1
        if target and not own and name not in PUBLIC:
            problems.append(f"{path}: includes {name}; a user has {' and '.join(PUBLIC)} only")

tree.finish(problems, n_checked)
