# SPDX-License-Identifier: MIT
"""What one write fault calls from file to file of core and run: crossings.py [COMMIT], of the tree as it lies there,
else of a commit; before the files moved into rooms a file counts as of the room into which it went.

The library is built with -O2 -DNDEBUG -finstrument-functions, and each function that is entered while one store of
crossings.c is served is told. Its file is the one into which it was compiled: what is static, or inline in a header, is
its user's own. So the count says how often a reader of the path has to open another file. A call by way of another room
(the operating system, the engine, a protocol, a backend) is no crossing, a call back from there is."""
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lint"))
import lines  # noqa: E402
import tree  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY, DEVICE = "lib/libadsm.so.0.1.0", "backends/cpu/adsm-cpu-device"
FLAGS = "-O2 -g0 -DNDEBUG -finstrument-functions"


def build(source, folder):
    """The library with its map, and the program. The device's process is found beside the library's sources."""
    maps = os.path.join(folder, "maps")
    for path in LIBRARY, DEVICE:
        os.makedirs(os.path.dirname(os.path.join(maps, path)))
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["meson", "setup", "--buildtype=plain", "-Dtests=false", f"-Dc_args={FLAGS}",
                    f"-Dc_link_args=-Wl,-Map={maps}/%.map", folder, source], **quiet)
    subprocess.run(["ninja", "-C", folder, LIBRARY, DEVICE], **quiet)
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-D_GNU_SOURCE", "-rdynamic",
                    "-I" + os.path.join(source, "include"), "-o", os.path.join(folder, "crossings"),
                    os.path.join(HERE, "crossings.c"), os.path.join(folder, LIBRARY),
                    "-Wl,-rpath," + os.path.join(folder, "lib")], check=True)
    return os.path.join(folder, "crossings"), os.path.join(maps, LIBRARY + ".map")


def sections(path):
    """Of a map: the ranges of code, each with its source."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^( \.text\S+)\n +(?=0x)", r"\1 ", file.read(), flags=re.M)
    for start, size, name in re.findall(r"^ \.text\S* +0x([0-9a-f]+) +0x([0-9a-f]+) .*?([^/()\s]+)\.o\)?$", text, re.M):
        yield int(start, 16), int(size, 16), name


def file_of(ranges, address):
    name = next((name for start, size, name in ranges if start <= address < start + size), "")
    # Meson writes run_touch_fault.c for run/touch/fault.c.
    return re.sub("_", "/", name, count=1) if name.startswith(tuple(room + "_" for room in lines.ROOMS)) else name


def room(name):
    return os.path.dirname(name) if "/" in name else os.path.basename(lines.place("lib/" + name))


def names_of(library):
    listed = subprocess.run(["nm", library], check=True, text=True, stdout=subprocess.PIPE).stdout
    return {int(words[0], 16): words[2] for words in map(str.split, listed.splitlines())
            if len(words) == 3 and words[1] in "tT"}


def count(source, folder):
    program, mapped = build(source, folder)
    ranges, names = list(sections(mapped)), names_of(os.path.join(folder, LIBRARY))
    told = subprocess.run([program], check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "ADSM_PROTOCOL": "rolling", "ADSM_BLOCK_SIZE": "4K", "ADSM_BACKEND": "cpu",
                               "ADSM_CPU_DEVICE": os.path.join(folder, DEVICE)}).stdout
    crossings = collections.defaultdict(list)
    for line in told.splitlines():
        what, function, by = line.split()
        to, user = file_of(ranges, int(function, 16)), file_of(ranges, int(by, 16))
        crossings[what] += []
        if to != user and room(to) in ("core", "run"):
            crossings[what].append((user, to, names[int(function, 16)]))
    for what, calls in crossings.items():
        inside = [call for call in calls if room(call[0]) in ("core", "run")]
        print(f"a write of a block that is {what}: {len(inside)} calls between files of core and run")
        for user, to, name in calls:
            elsewhere = "" if (user, to, name) in inside else "   (from elsewhere)"
            print(f"  {user or '-':20} -> {to:20} {name}{elsewhere}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        source = tree.ROOT
        if len(sys.argv) > 1:
            source = os.path.join(folder, "source")
            os.mkdir(source)
            archive = subprocess.run(["git", "-C", tree.ROOT, "archive", sys.argv[1]], check=True,
                                     stdout=subprocess.PIPE).stdout
            subprocess.run(["tar", "x", "-C", source], input=archive, check=True)
        count(source, os.path.join(folder, "build"))


if __name__ == "__main__":
    main()
