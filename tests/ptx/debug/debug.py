# SPDX-License-Identifier: MIT
"""Where kernels in CUDA C crash, and where a debugger stops: kernel, block, thread, lines of the source and the PTX.

debug.py ADSMCC CALL DEVICE crashes | cluster | gdb | checks | lockstep"""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

adsmcc, call, device = (os.path.abspath(path) for path in sys.argv[1:4])
here = os.path.dirname(os.path.abspath(__file__))
problems = []
BEHIND = r": a (store|load) 64 bytes behind the end of the 4096 bytes of an object at 0x[0-9a-f]+"


def has_libdw():
    try:
        ctypes.CDLL("libdw.so.1")
        return True
    except OSError:
        return False


def make(source, *options):
    """The module of a source; its lines are known by the name of the file only."""
    module = f"{os.path.splitext(source)[0]}{''.join(options)}.adsm"
    done = subprocess.run([adsmcc, *options, os.path.join(here, source), "-o", module], encoding="utf-8",
                          stderr=subprocess.PIPE, check=False)
    if "which was not found" in done.stderr or "cannot run the clang" in done.stderr:
        print(done.stderr.strip())
        sys.exit(77)
    if done.returncode:
        sys.exit(f"{source}: {done.stderr}")
    return module


def run(module, *arguments, **env):
    done = subprocess.run([call, module, *arguments], encoding="utf-8", stdout=subprocess.PIPE, check=False,
                          stderr=subprocess.DEVNULL, env={**os.environ, "ADSM_BACKEND": "cpu", **env}, timeout=120)
    return done.stdout.strip()


def check(said, *patterns):
    """The sentence consists of these parts, in this order."""
    if not re.search(".*".join(patterns), said):
        problems.append(f"{said}\n\tinstead of\n\t{' ... '.join(patterns)}")


def check_crashes(*options):
    module = make("crashes.cu", *options)
    at = {} if has_libdw() else None

    def line(number, ptx=r"\(lines? [0-9, -]+ of the PTX\)"):
        return rf", at crashes\.cu:{number} {ptx}" if at is not None else r" of its module"

    check(run(module, "stray", "4", "64", "p4096", "i1040"), r"^cpu device 0: kernel 'stray' crashed with SIGSEGV",
          BEHIND + r", in block \([0-3], 0, 0\)" + line(6))
    check(run(module, "far", "4", "64", "p4096", "i1040", "i2"), r"kernel 'far' crashed with SIGSEGV",
          BEHIND + r", in block \(2, 0, 0\)" + line(11))
    check(run(module, "asserts", "1", "64", "i40"), r"^cpu device 0: kernel 'asserts', block \(0, 0, 0\), "
          r"thread \(40, 0, 0\): \S*crashes\.cu:21: .*: assertion '\(int\)threadIdx\.x < n' failed$")
    check(run(module, "traps", "1", "64"), r"^cpu device 0: kernel 'traps', block \(0, 0, 0\), thread \(1, 0, 0\): "
          r"trap at crashes\.cu:27 \(line \d+ of the PTX\)$")
    check(run(module, "stuck", "1", "64", "p4096"), r"^cpu device 0: kernel 'stuck', block \(0, 0, 0\), "
          r"thread \(0, 0, 0\): 32 of 64 threads wait at the barrier at crashes\.cu:33 \(line \d+ of the PTX\); "
          r"thread \(32, 0, 0\) has ended$")
    check(run(module, "add", "1", "64", "p4096", "i7"), r"^ok$")


def check_first():
    """Kernels that are compiled when they are first used."""
    module = make("crashes.cu", "--ptx-only")
    at = r", at crashes\.cu:6 \(line \d+ of the PTX\)$" if has_libdw() else r" of its module$"
    check(run(module, "stray", "1", "64", "p4096", "i1040", ADSM_PTX_CACHE="off"),
          r"^cpu device 0: kernel 'stray' crashed with SIGSEGV", BEHIND + r", in block \(0, 0, 0\)" + at)
    check(run(module, "traps", "1", "64", ADSM_PTX_CACHE="off"), r"thread \(1, 0, 0\): trap at crashes\.cu:27 ")
    module = make("lockstep.cu", "--ptx-only")
    check(run(module, "pass", "1", "32", "p4096", ADSM_PTX_CACHE="off"), r"trap at lockstep\.cu:6 ")
    check(run(module, "pass", "1", "32", "p4096", ADSM_PTX_CACHE="off", ADSM_PTX_LOCKSTEP="1"), "^ok$")


def check_ptx():
    """PTX written by hand has no lines of a source."""
    check(run(make("stray.ptx"), "stray", "1", "1", "p4096"), r"kernel 'stray' crashed with SIGSEGV",
          BEHIND + r", in block \(0, 0, 0\)" + (r", at stray\.ptx:15$" if has_libdw() else " of its module"))


def check_cluster():
    """The second of two nodes runs the last blocks."""
    module = make("crashes.cu")
    cluster = {"ADSM_BACKEND": "cluster", "ADSM_CLUSTER_NODES": "2", "ADSM_CLUSTER_THREADS": "1"}
    at = r", at crashes\.cu:11 \(line \d+ of the PTX\)$" if has_libdw() else r" of its module$"
    for block, node in [(0, 0), (3, 1)]:
        said = run(module, "far", "4", "64", "p4096", "i1040", f"i{block}", **cluster)
        check(said, rf"^cluster: kernel 'far' crashed with SIGSEGV at address 0x[0-9a-f]+ on node {node} \(",
              rf"\), in block \({block}, 0, 0\)" + at)


def check_checks():
    """adsmcc --check: what is wrong is found, in which thread; what is right is not reported."""
    module = make("checks.cu", "--check")

    def found(arguments, thread, *patterns):
        check(run(module, *arguments.split()), rf"^cpu device 0: kernel '{arguments.split()[0]}', block \(0, 0, 0\), "
              rf"thread \({thread}, 0, 0\): ", *patterns, r"\(line \d+ of the PTX\)")

    of_object = "the 4096 bytes of an object at 0x[0-9a-f]+, at "
    unwritten = "shared memory that no thread of the block has written, byte"
    # The object behind the first one is the second one: the check knows which one the address is made of.
    found("outside 1 64 p4096 p4096 i1030", 5, f"a store 24 bytes behind the end of {of_object}", r"checks\.cu:7 ")
    found("outside 1 64 p4096 p4096 i-3", 5, f"a store 12 bytes before {of_object}", r"checks\.cu:7 ")
    found("called 1 64 p4096 i1030", 7, f"a load 24 bytes behind the end of {of_object}", r"checks\.cu:12 ")
    found("unwritten 1 64 p4096", 54, f"a load of {unwritten} 36 of 256, at ", r"checks\.cu:27 ")
    found("counts 1 64 p4096", 0, f"an atomic operation on {unwritten} 0 of 4, at ", r"checks\.cu:34 ")
    found("beyond 1 64 p4096 s256", 63, "a load 0 bytes behind the end of the 256 bytes of the block's shared memory, "
          "at ", r"checks\.cu:45 ")
    found("beyond 1 63 p4096 s256", 62, f"a load of {unwritten} 252 of 256, at ", r"checks\.cu:45 ")
    found("split 1 64 p4096", 0, r"20 of 64 threads wait at the barrier at checks\.cu:51 \(line \d+ of the PTX\); "
          r"thread \(20, 0, 0\) waits at checks\.cu:53 ")
    for arguments in ["copies 1 64 p4096", "adds 2 64 p4096 i9", "outside 2 64 p4096 p4096 i9",
                      "leaves 1 64 p4096 i64"]:
        check(run(module, *arguments.split()), "^ok$")
    # A thread that has ended is no error.
    done = subprocess.run([call, module, "leaves", "1", "64", "p4096", "i40"], encoding="utf-8", stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**os.environ, "ADSM_BACKEND": "cpu"}, check=False, timeout=120)
    check(done.stdout.strip(), "^ok$")
    check(done.stderr, r"adsm: kernel \w*leaves\w*: 40 of 64 threads wait at the barrier at checks\.cu:61 "
          r"\(line \d+ of the PTX\); thread \(40, 0, 0\) has ended\n")
    module = make("checks.cu")
    check(run(module, "outside", "1", "64", "p4096", "p4096", "i1030"), "^ok$")


def check_lockstep():
    """Warps in lockstep: always at volatile accesses to shared memory, with --lockstep at all accesses."""
    trap = r"trap at lockstep\.cu:6 "
    for module in [make("lockstep.cu"), make("lockstep.cu", "--lockstep"), make("lockstep.cu", "--lockstep", "-O1")]:
        needs = "--lockstep" in module
        check(run(module, "reduce", "3", "64"), "^ok$")
        check(run(module, "scan", "3", "32"), "^ok$")
        check(run(module, "pass", "1", "32", "p4096"), "^ok$" if needs else trap)
        check(run(module, "meet", "1", "32", "p4096"), "^ok$" if needs else trap)
    os.environ["ADSM_PTX_LOCKSTEP"] = "1"
    check(run(make("lockstep.cu"), "pass", "1", "32", "p4096"), "^ok$")


COMMANDS = """
set startup-with-shell off
set confirm off
set breakpoint pending on
set pagination off
handle SIGSEGV nostop noprint pass
break crashes.cu:43
run
backtrace
delete
continue
"""


def check_gdb():
    if not shutil.which("gdb"):
        print("no gdb (Debian: gdb)")
        sys.exit(77)
    module = make("crashes.cu", "-g")
    with open("commands", "w", encoding="utf-8") as file:
        file.write(COMMANDS)
    with open("device", "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nexec gdb -nx -batch -x {os.path.abspath('commands')} {device} </dev/null "
                   f">{os.path.abspath('said')} 2>&1\n")
    os.chmod("device", 0o755)
    answer = run(module, "add", "1", "64", "p4096", "i7", ADSM_CPU_DEVICE=os.path.abspath("device"),
                 DEBUGINFOD_URLS="")
    with open("said", encoding="utf-8", errors="replace") as file:
        said = file.read()
    if "ptrace: Operation not permitted" in said:
        print("gdb may not trace processes here")
        sys.exit(77)
    if answer != "ok":
        problems.append(f"under gdb: {answer}")
    if not re.search(r"hit Breakpoint .*crashes\.cu:43\n", said) or "all[63 - threadIdx.x] + n;" not in said or \
            not re.search(r"#\d+ .*adsm_run_\w*add\w* ", said):
        problems.append(f"gdb says\n{said}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    if sys.argv[4] == "gdb":
        check_gdb()
    elif sys.argv[4] == "cluster":
        check_cluster()
    elif sys.argv[4] == "checks":
        check_checks()
    elif sys.argv[4] == "lockstep":
        check_lockstep()
    else:
        check_crashes()
        check_crashes("-g")
        check_ptx()
        check_first()
    os.chdir("/")
print("\n".join(problems))
sys.exit(1 if problems else 0)
