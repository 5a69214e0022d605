# SPDX-License-Identifier: MIT
"""The house and its rooms: a file names only what lies below its room, files of a folder name each other in no circle,
and a header declares what its own .c defines. Read from the includes and from the symbols of the built objects:

layers.py BUILD          what is neither allowed nor listed in layers.open, and what is listed there and no longer so
layers.py --open BUILD   all that is open, in the form of layers.open

Of symbols only the library's own count, adsm_...: a wrapper that is called read would make a circle of all who read."""
import json
import os
import re
import subprocess
import sys

import tree

# A room, and what its files may name beside their own room and include/. A folder stands for all that lies in it, a
# path without suffix for one file and its header.
BASE = ["lib/base"]
# Of backends and protocols the contract that all of them keep: what one is made of is its own affair.
CORE = BASE + ["lib/engine", "backends/backend", "protocols/protocol", "protocols/list", "protocols/options",
               "lib/core"]
ONCE = CORE + ["lib/once"]
RUN_WAIT = ONCE + ["backends/list", "lib/run/wait"]
RUN_COPY = RUN_WAIT + ["lib/run/copy"]
RUN = ONCE + ["lib/run", "backends/list"]
NODE = BASE + ["backends/backend", "backends/process", "backends/store", "backends/cluster/shared",
               "backends/cluster/join", "backends/cluster/gate", "backends/cluster/ends"]
PTX = BASE + ["lib/ptx/ptx", "lib/ptx/arena", "lib/ptx/functions"]
ROOMS = {
    "include": [],
    "lib/base": [],
    # CUDA kernels as PTX: the parser, the order of execution, what a kernel accesses, its C text, what that calls.
    "lib/ptx/parse": PTX,
    "lib/ptx/control": PTX,
    "lib/ptx/access": PTX + ["lib/ptx/control"],
    "lib/ptx/runtime": [],
    "lib/ptx/code": PTX + ["lib/ptx/control", "lib/ptx/access", "lib/ptx/runtime"],
    "lib/ptx": PTX,
    "lib/engine": BASE,
    # Code of kernels in CUDA C, by the C compiler.
    "backends/translate": BASE + ["lib/ptx", "backends/cache"],
    # What the backends share whose devices are processes of their own.
    "backends/process": BASE + ["backends/backend", "backends/translate"],
    # Cores with a local store, for the backends that have some.
    "backends/store": BASE + ["backends/list"],
    # A node of a cluster: messages; which pages it has; what workers of tasks keep consistent; launches and what they
    # exchange; tasks; and what puts these together.
    "backends/cluster/node/net": NODE,
    "backends/cluster/node/pages": NODE + ["backends/cluster/node/net"],
    "backends/cluster/node/hcrc": NODE + ["backends/cluster/node/net"],
    "backends/cluster/node/exchange": NODE + ["backends/cluster/node/net", "backends/cluster/node/pages"],
    "backends/cluster/node/task": NODE + ["backends/cluster/node/net", "backends/cluster/node/pages",
                                          "backends/cluster/node/hcrc", "backends/cluster/node/exchange",
                                          "backends/cluster/node/options"],
    "backends/cluster/node": NODE + ["backends/cluster/node"],
    "backends": BASE + ["backends/process", "backends/store", "backends/translate"],
    "protocols": BASE,
    "lib/core": CORE,
    "lib/once": ONCE,
    # What the program asks for, and what waits for calls: waits; copies, inputs and prefetches; touches; objects and
    # modules; calls.
    "lib/run/wait": RUN_WAIT,
    "lib/run/copy": RUN_COPY,
    "lib/run/touch": RUN_COPY,
    "lib/run/object": RUN_COPY,
    "lib/run/call": RUN_COPY + ["lib/run/object"],
    "lib/run": RUN,
    # core and run call it through struct adsm_observer: nobody names it but start.
    "lib/observe": ONCE + ["protocols/lazy", "protocols/rolling"],
    # The start chooses among them by the lists of all.
    "lib/start": RUN + ["lib/observe", "protocols", "backends/options", "backends/stubs"],
    "lib/driver": RUN + ["lib/start"],
    "lib/api": RUN + ["lib/start", "lib/driver"],
    # Of the engine what has to do with the program's signals, of the backends CUDA's driver and the options about it.
    "interpose": BASE + ["lib/core", "lib/run", "lib/start", "lib/driver", "lib/engine/mask", "lib/engine/sigsegv",
                         "backends/cuda/cu", "backends/cuda/options"],
    # What is set and shown there is all options. adsmcc makes modules of PTX. adsm-replay simulates objects.
    "tools": BASE + ["lib/ptx", "lib/start/options", "lib/observe/options", "lib/observe/recording", "lib/observe/sim",
                     "protocols", "lib/core/blocks", "backends/cpu/options"],
}
# Users of the library, like any other: how they are made inside is their own affair.
USERS = ["parboil", "examples", "tests/conform", "tests/interpose"]
# These declare what several files define: each side of a port, each engine, protocol and backend, the parts of a room.
CONTRACTS = ["os.h", "engine.h", "protocol.h", "backend.h", "list.h", "tracker.h", "ptx.h", "writer.h", "exchange.h",
             "hcrc.h", "node.h"]
# Where #include "..." is looked for after the file's own folder.
PATHS = [".", "include", "lib", "backends", "protocols", "interpose"]


def within(path, folder):
    """Whether the path is the folder, the file without its suffix, or lies in the folder."""
    return path == folder or path.startswith((folder + "/", folder + "."))


def room(path):
    return next((name for name in [*ROOMS, *USERS] if within(path, name)), None)


def unit(path):
    """A file and its header are one; a contract stands for itself."""
    return path if os.path.basename(path) in CONTRACTS else os.path.splitext(path)[0]


def may(user, used):
    """Whether the one file may name the other."""
    here, there = room(user), room(used)
    if here != there:
        return there in (None, "include") or any(within(used, allowed) for allowed in ROOMS.get(here, ()))
    # Two folders of a room, as those of two backends, know what lies in the room itself, or above, not each other.
    folders = os.path.dirname(user), os.path.dirname(used)
    return here in USERS or here in folders or within(folders[0], folders[1])


def target(path, name):
    """The file of the tree that is included, or None."""
    for folder in [os.path.dirname(path)] + PATHS:
        found = os.path.normpath(os.path.join(folder, name))
        if os.path.exists(os.path.join(tree.ROOT, found)):
            return found
    return None


def includes(path):
    names = re.findall(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', tree.read(path), re.M)
    return [found for found in (target(path, name) for name in names) if found]


def outer(text):
    """What stands outside of braces, without comments and the preprocessor's lines."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.M)
    depth, kept = 0, []
    for part in re.split(r"([{}])", text):
        depth += (part == "{") - (part == "}")
        # The end of a function's body ends it as a semicolon would.
        kept.append(part if not depth and part not in "{}" else ";" if part == "}" and not depth else "")
    return "".join(kept)


def declared(path):
    """The library's own functions and variables that the header declares and does not define inline."""
    for statement in outer(tree.read(path)).split(";"):
        if re.match(r"\s*(?:static|typedef)\b", statement):
            continue
        function = re.search(r"\b(adsm_\w+)\s*\(", statement)
        variable = re.match(r"\s*extern\b.*?\b(adsm_\w+)(?:\[\w*\])?\s*$", statement, re.S)
        if function or variable:
            yield (function or variable).group(1)


def objects(build):
    """The objects of the library and its tools: pairs of the source and the object's path."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            source = os.path.relpath(os.path.join(entry["directory"], entry["file"]), tree.ROOT)
            # Tests compile some sources once more, against doubles.
            if room(source) in ROOMS and not entry["output"].startswith("tests/"):
                yield source, os.path.join(entry["directory"], entry["output"])


def symbols(build):
    """By source: the symbols that it defines, and those that it names and does not define."""
    sources = {path: source for source, path in objects(build)}
    lines = subprocess.run([os.environ.get("NM", "nm"), "-g", "-A", *sources], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines() if sources else []
    defines, names = {}, {}
    for line in lines:
        path, _, rest = line.partition(":")
        kind, name = rest.split()[-2:]
        table = names if kind in "Uw" else defines
        if name.startswith("adsm_"):
            table.setdefault(sources[path], set()).add(name)
    return defines, names


def circles(edges):
    """The files that reach themselves, each with the others of its circle."""
    reach = {}
    for start in edges:
        seen, todo = set(), [start]
        while todo:
            steps = edges.get(todo.pop(), {}).keys() - seen
            seen |= steps
            todo += steps
        reach[start] = seen
    return {start: {other for other in seen if start in reach.get(other, ())}
            for start, seen in reach.items() if start in seen}


def check(build):
    """All that is open, each with where and why, how many names were looked at, and the folders that were built."""
    found, edges, n_checked = {}, {}, 0
    built = {os.path.dirname(source) for source, _ in objects(build)}

    def names(user, used, what):
        nonlocal n_checked
        n_checked += 1
        if not may(user, used):
            found.setdefault(f"{room(user)} names {what} of {room(used)}", set()).add(user)
        if room(user) in ROOMS and unit(user) != unit(used) and os.path.dirname(user) == os.path.dirname(used):
            edges.setdefault(unit(user), {}).setdefault(unit(used), set()).add(what)

    for path in tree.files([*ROOMS, *USERS], (".c", ".h", ".S")):
        for used in includes(path):
            names(path, used, used)
    defines, undefined = symbols(build)
    owner = {name: source for source, own in defines.items() for name in own}
    promised = dict(owner)
    for path in tree.files([name for name in ROOMS if name != "include"], (".h",)):
        if os.path.basename(path) in CONTRACTS:
            promised.update((name, path) for name in re.findall(r"\badsm_\w+", outer(tree.read(path))) if name in owner)
    for source, foreign in undefined.items():
        for name in foreign & owner.keys():
            # What a contract declares may be named by all who may name the contract.
            names(source, promised[name] if may(source, promised[name]) else owner[name], name)

    for path, others in circles(edges).items():
        found[f"{path} is in a circle"] = {f"it names {', '.join(sorted(edges[path][other]))}"
                                           for other in edges[path].keys() & others}
    for path in tree.files([name for name in ROOMS if name != "include"], (".h",)):
        # A backend is not built where its driver's headers are not.
        if os.path.basename(path) in CONTRACTS or os.path.dirname(path) not in built:
            continue
        own = {name for source in defines if unit(source) == unit(path) for name in defines[source]}
        for name in declared(path):
            n_checked += 1
            if name not in own:
                found[f"{path} declares {name}"] = {f"{owner.get(name, 'nobody')} defines it"}
    return found, n_checked, built


def compare(found, listed, built):
    """What is wrong: the list of what is open only shrinks. Of what was not built nothing is known."""
    listed = {entry for entry in listed if " names " in entry or os.path.dirname(entry.split()[0]) in built}
    return [f"{entry}: {'; '.join(sorted(found[entry]))}" for entry in sorted(found.keys() - listed)] + \
        [f"{entry}: no longer so; take it off tests/lint/layers.open" for entry in sorted(listed - found.keys())]


def main():
    found, n_checked, built = check(sys.argv[-1])
    if sys.argv[1] == "--open":
        print("\n".join(sorted(found)))
    else:
        tree.finish(compare(found, set(tree.read("tests/lint/layers.open").splitlines()), built), n_checked)


if __name__ == "__main__":
    main()
