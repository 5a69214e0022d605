# SPDX-License-Identifier: MIT
"""Each function of the C library that takes a pointer is wrapped, or listed in libc.known with the reason why it needs
no wrapper: libc.py CC NM LIBRARY [LIBC HEADERS].

The functions are those that libc exports for programs of today (a default version that is not private). Which of them
take no pointer the headers tell, by the compiler; what no header declares counts as one that does. LIBC and HEADERS: of
another system than this one, say a newer one's, unpacked."""
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tree

FOLDERS = ["", "sys/", "arpa/", "net/", "netinet/", "rpc/", "protocols/", "scsi/"]
# Not for programs, or not for this processor.
NOT_ALONE = {"regexp.h", "sys/elf.h", "sys/vm86.h"}
POINTER = re.compile(r"\*|\[|\.\.\.|jmp_buf|va_list|regex_t")


def output(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def exported(nm, library, versioned):
    """Names of functions. Where versions count: those with a default one that is not libc's own."""
    names = set()
    for line in output(nm, "-D", "--defined-only", "--with-symbol-versions", library).splitlines():
        _, kind, name = line.split()[:3]
        if kind in "TWi" and (not versioned or ("@@" in name and "PRIVATE" not in name)):
            names.add(name.split("@")[0])
    return names


def headers(root):
    """Those of the C library, by the list of the package or, unpacked, all that are there."""
    folders = [os.path.join(root, "usr/include")] + glob.glob(os.path.join(root, "usr/include/*-linux-gnu"))
    found = {(folder, each + os.path.basename(path)) for folder in folders for each in FOLDERS
             for path in glob.glob(os.path.join(folder, each, "*.h"))}
    owned = None
    if root == "/":
        listed = subprocess.run(["sh", "-c", "dpkg -L libc6-dev"], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)
        owned = set(listed.stdout.split()) if not listed.returncode else None
        if owned is None:
            print("skipped: which headers are the C library's only dpkg tells")
            sys.exit(77)
    return sorted({name for folder, name in found if owned is None or os.path.join(folder, name) in owned} - NOT_ALONE)


def declared(compiler, root):
    """Names and parameters, as the compiler has understood them."""
    include = [] if root == "/" else [f"-isystem{path}" for path in
                                      glob.glob(os.path.join(root, "usr/include/*-linux-gnu")) +
                                      [os.path.join(root, "usr/include")]]
    if not shutil.which(compiler[0]):
        print(f"skipped: there is no {compiler[0]}, which lists what headers declare")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        source, info = os.path.join(folder, "all.c"), os.path.join(folder, "info")
        with open(source, "w") as file:
            file.writelines(f"#include <{name}>\n" for name in headers(root))
        done = subprocess.run([*compiler, "-D_GNU_SOURCE", "-D_LARGEFILE64_SOURCE", "-w", "-fsyntax-only", *include,
                               "-aux-info", info, source], text=True, stderr=subprocess.PIPE)
        if done.returncode or not os.path.exists(info):
            print(f"skipped: this compiler does not list what headers declare\n{done.stderr[:500]}")
            sys.exit(77)
        with open(info) as file:
            found = (re.search(r"extern .*?\b(\w+) \((.*)\);", line) for line in file)
            return {match.group(1): match.group(2) for match in found if match}


def main():
    nm, library = sys.argv[1], sys.argv[2]
    libc, root = (sys.argv[3], sys.argv[4]) if sys.argv[3] != "--" else (None, "/")
    compiler = sys.argv[sys.argv.index("--") + 1:]
    if not libc:
        libc = re.search(r"libc\.so\.6 => (\S+)", output("ldd", library)).group(1)
    wrapped = exported(nm, library, False)
    parameters = declared(compiler, root)
    known = [word for line in tree.read("tests/lint/libc.known").splitlines() if line[:1] not in ("#", "=")
             for word in line.split()]
    patterns = [word for word in known if "*" in word]
    names = {name for name in exported(nm, libc, True) - wrapped
             if name not in parameters or POINTER.search(parameters[name])}
    problems = sorted(name for name in names if name not in known and
                      not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns))
    # A wrapper that is listed as one that is not needed.
    contradicts = sorted(wrapped & set(known))
    print(f"{len(names)} functions of {libc} take a pointer and have no wrapper: {len(problems)} unclassified")
    tree.finish([f"{name}: neither wrapped nor in libc.known" for name in problems] +
                [f"{name}: wrapped, and in libc.known" for name in contradicts], len(names))


main()
