# SPDX-License-Identifier: MIT
"""Counts the lines of the library's and its tools' sources by folder, and the sums by which the library's size is
judged: all, those that are not empty, and those without comments. lines.py [COMMIT]: of the tree as it lies there, else
of a commit."""
import os
import re
import subprocess
import sys

import tree

FOLDERS = ["include", "lib", "protocols", "backends", "interpose", "tools"]
# Before the files moved into rooms they lay in lib/ and interpose/ themselves. Here is where they went.
ROOMS = {
    "base": "descriptors log module options os os_linux os_path output stats",
    "engine": "engine engine_sigsegv",
    "core": "arena block index kept object transfer",
    "run": "call caller copy gather inside io kernel manager views",
    "observe": "advise cause observe report site trace warnings",
    "start": "at_exit",
    "driver": "api_native foreign",
    "api": "api api_cuda api_opencl",
}
SUMS = {
    "base + engine + core + run + start + protocols + backends/cpu, process":
        ["lib/base", "lib/engine", "lib/core", "lib/run", "lib/start", "protocols", "backends/cpu",
         "backends/process"],
    "lib + protocols + backends + interpose": ["lib", "protocols", "backends", "interpose"],
}


def place(path):
    """The folder of a file, or the one into which it went."""
    folder, name = os.path.dirname(path), os.path.basename(path).split(".")[0]
    if folder == "lib":
        return "lib/" + next((room for room, names in ROOMS.items() if name in names.split()), "")
    if folder == "interpose" and re.match("libc_|cuda", name):
        return "interpose/" + name[:4]
    return folder


def sources(commit):
    """Pairs of path and text."""
    if not commit:
        yield from ((path, tree.read(path)) for path in tree.files(FOLDERS, (".c", ".h", ".hpp", ".S")))
        return
    git = ["git", "-C", tree.ROOT]
    listed = subprocess.run(git + ["ls-tree", "-r", "--name-only", commit, *FOLDERS], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.split()
    for path in (path for path in listed if path.endswith((".c", ".h", ".hpp", ".S"))):
        yield path, subprocess.run(git + ["show", f"{commit}:{path}"], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout


def filled(text):
    return sum(1 for line in text.splitlines() if line.strip())


def without_comments(text):
    """What looks like a comment in a string stays."""
    return re.sub(r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|/\*.*?\*/|//[^\n]*',
                  lambda found: found.group(1) or "", text, flags=re.S)


def main():
    counts = {}
    for path, text in sources(sys.argv[1] if len(sys.argv) > 1 else None):
        count = 1, len(text.splitlines()), filled(text), filled(without_comments(text))
        counts[place(path)] = tuple(map(sum, zip(counts.get(place(path), (0, 0, 0, 0)), count)))
    for name, folders in SUMS.items():
        chosen = [counts[path] for path in counts if any((path + "/").startswith(folder + "/") for folder in folders)]
        counts["~ " + name] = tuple(map(sum, zip(*chosen)))
    print(f"{'files':>5} {'lines':>7} {'filled':>7} {'code':>7}")
    for name in sorted(counts):
        print("{:5} {:7,} {:7,} {:7,}  {}".format(*counts[name], name.removeprefix("~ ")))


if __name__ == "__main__":
    main()
