# SPDX-License-Identifier: MIT
"""Files and functions are short enough to be read at once, and what the library has for each thread is little and in
one place of a file. sizes.py LIBRARY says what is not and has no reason in sizes.open; sizes.py --all LIBRARY says
all."""
import re
import struct
import sys

import tree

FOLDERS = ["include", "lib", "protocols", "backends", "interpose", "tools", "bindings"]
LONGEST_FILE, LONGEST_TEST, LONGEST_FUNCTION = 600, 1000, 60
# A public header is mostly its reference.
LONGEST_PUBLIC = 800
# A library that is loaded late gets its thread-local memory from a small reserve of the loader's. clang and gcc 14 need
# more of it than gcc 12: they align the parts differently.
MOST_THREAD_LOCAL = 784
PT_TLS = 7


def functions(text):
    """Pairs of a function's name and the number of its lines, from the first of its head to its last brace."""
    lines = text.splitlines()
    for first, line in enumerate(lines):
        if line != "{":
            continue
        head = first
        while head > 0 and lines[head - 1] and not lines[head - 1].endswith((";", "}", "*/", "{")) and \
                not lines[head - 1].startswith("#"):
            head -= 1
        last = lines.index("}", first)
        name = re.search(r"(?!__attribute__)\b(\w+)\s*\(", " ".join(lines[head:first]))
        yield name.group(1) if name else f"line {first + 1}", last - head + 1


def thread_local(library):
    """Bytes that a 64-bit ELF file wants for each thread."""
    with open(library, "rb") as file:
        data = file.read()
    headers, = struct.unpack_from("<Q", data, 32)
    size, n = struct.unpack_from("<HH", data, 54)
    return sum(struct.unpack_from("<Q", data, headers + i * size + 40)[0] for i in range(n)
               if struct.unpack_from("<I", data, headers + i * size)[0] == PT_TLS)


def measure(library):
    """What is longer than it may be, and its length; and how many were measured."""
    long, n_checked = {}, 1
    if thread_local(library) > MOST_THREAD_LOCAL:
        long["thread-local"] = thread_local(library)
    for path in tree.files(FOLDERS + ["tests"], (".c", ".cpp", ".h", ".hpp", ".S", ".py")):
        text = tree.read(path)
        n_checked += 1
        if len(text.splitlines()) > (LONGEST_TEST if path.startswith("tests/") else
                                     LONGEST_PUBLIC if path.startswith("include/") else LONGEST_FILE):
            long[path] = len(text.splitlines())
        n_variables = len(re.findall(r"^(?:static )?_Thread_local ", text, re.M))
        if n_variables > 1 and path.startswith("lib/"):
            long[path + ":thread-local"] = n_variables
        for name, length in functions(text) if path.endswith((".c", ".h")) and not path.startswith("tests/") else ():
            n_checked += 1
            if length > LONGEST_FUNCTION:
                long[name + "()"] = length
    return long, n_checked


def compare(long, listed):
    """What is wrong: the list only shrinks, and nothing on it grows."""
    problems = []
    for name, length in sorted(long.items()):
        if length > listed.get(name, 0):
            problems.append(f"{name}: {length}" + (f", {listed[name]} at most" if name in listed else ""))
    return problems + [f"{name}: no longer so; take it off tests/lint/sizes.open"
                       for name in sorted(listed.keys() - long.keys())]


def main():
    long, n_checked = measure(sys.argv[-1])
    if "--all" in sys.argv:
        print("\n".join(f"{length:5} {name}" for name, length in sorted(long.items())))
        return
    # The name, how long it may be, and why.
    rows = [line.split(None, 2) for line in tree.read("tests/lint/sizes.open").splitlines()]
    problems = [f"{row[0]}: listed without a reason" for row in rows if len(row) < 3]
    tree.finish(problems + compare(long, {row[0]: int(row[1]) for row in rows if len(row) > 1}), n_checked)


if __name__ == "__main__":
    main()
