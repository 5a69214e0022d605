# SPDX-License-Identifier: MIT
"""adsmcc --scratchpad by other versions of clang and LLVM than it was built with, those that are here: versions.py
FOLDER OWN ADSMCC CC... FOLDER: of the build. OWN: the version it was built with. CC: words of a C compiler.

adsmcc-spaces is compiled for each, the tests' modules and the benchmarks' by its clang, and then what they are tested
with runs on these."""
import os
import shutil
import subprocess
import sys
import tempfile

BUILD, OWN, ADSMCC = sys.argv[1:4]
CC = sys.argv[4:]
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = os.path.join(BUILD, "tests/scratchpad")
INFO = os.path.join(BUILD, "tools/adsm-info")
PASS = ("adsmcc-spaces.c", "spaces_accesses.c", "spaces_divide.c", "spaces_flow.c",
        "spaces_variables.c")


def ask(config, *words):
    return subprocess.run([config, *words], check=True, capture_output=True, text=True).stdout.split()


def find():
    """Pairs of llvm-config and clang, each of another version."""
    found = []
    for version in range(14, 20):
        config = shutil.which(f"llvm-config-{version}")
        folders = ask(config, "--includedir", "--bindir") if config else ["", ""]
        clang = os.path.join(folders[1], "clang")
        if config and str(version) != OWN and os.path.exists(os.path.join(folders[0], "llvm-c/Core.h")) and \
                os.access(clang, os.X_OK):
            found.append((version, config, clang))
    return found


def run(*words, **env):
    subprocess.run(words, env=os.environ | env, check=True)


def build(folder, config, clang):
    """The pass, and the modules by it."""
    spaces = os.path.join(folder, "adsmcc-spaces")
    [include, lib] = ask(config, "--includedir", "--libdir")
    libs = ask(config, "--libs", "core", "bitreader", "bitwriter", "analysis", "target", "passes",
               "support")
    run(*CC, "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Werror", "-I", os.path.join(ROOT, "include"),
        "-isystem", include, "-o", spaces, *[os.path.join(ROOT, "tools", name) for name in PASS], "-L" + lib, *libs)
    os.mkdir(os.path.join(folder, "parboil"))
    sources = {name: os.path.join(HERE, name + ".c") for name in ("kernels", "code_kernels", "trace_kernels")}
    for bench in os.listdir(os.path.join(ROOT, "parboil")):
        source = os.path.join(ROOT, "parboil", bench, "kernels.c")
        if os.path.exists(source):
            sources["parboil/" + bench] = source
    for name, source in sources.items():
        run(ADSMCC, "-Wno-all", "--scratchpad", "--spaces", spaces, "--clang", clang, "-o",
            os.path.join(folder, name + ".adsm"), source)
    return spaces


def check(folder, spaces, clang):
    options = {"TEST_ADSMCC": f"--spaces {spaces} --clang {clang}"}
    for case in ("right", "refused", "lost", "counted", "compiled"):
        run(sys.executable, os.path.join(HERE, "scratchpad.py"), os.path.join(PROGRAMS, "scratchpad-app"),
            os.path.join(folder, "kernels.adsm"), os.path.join(PROGRAMS, "plain.adsm"), ADSMCC, INFO, case, **options)
    for case in ("traces", "mixed", "refused", "lost"):
        run(sys.executable, os.path.join(HERE, "code.py"), os.path.join(PROGRAMS, "code-app"),
            os.path.join(folder, "code_kernels.adsm"), os.path.join(folder, "trace_kernels.adsm"), ADSMCC,
            os.path.join(HERE, "trace_kernels.c"), INFO, case, **options)
    run(sys.executable, os.path.join(HERE, "large.py"), os.path.join(PROGRAMS, "large-app"), ADSMCC,
        os.path.join(HERE, "large_kernels.c"), TEST_SMALL="18K", **options)
    # It looks for its kernels beside itself.
    program = shutil.copy(os.path.join(BUILD, "parboil/parboil"), os.path.join(folder, "parboil"))
    run(sys.executable, os.path.join(HERE, "parboil.py"), program, "small", "2", "16x2x64", "rolling",
        LD_LIBRARY_PATH=os.path.join(BUILD, "lib"))


def main():
    versions = find()
    if not versions:
        print(f"no clang and LLVM but {OWN}, with which all is built: Debian has others, clang-15 and llvm-15-dev, say")
        sys.exit(77)
    for version, config, clang in versions:
        with tempfile.TemporaryDirectory() as folder:
            check(folder, build(folder, config, clang), clang)
        print(f"LLVM {version}: all of it", flush=True)


main()
