# SPDX-License-Identifier: MIT
"""gdb with adsm-gdb.py: it is loaded with the library, the library's faults pass silently, breakpoints in kernels stop,
crashes stop where they happen, objects and values are shown.

debugger.py MESON BUILD ADSMCC STOPS [BUFFER]"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

meson, build, adsmcc, stops, *buffer = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
problems = []
ALWAYS = f"""
set pagination off
set confirm off
set breakpoint pending on
directory {here}
"""


def script_path():
    """Where the script and the library are installed: gdb finds one by the path of the other."""
    installed = json.loads(subprocess.run([meson, "introspect", "--installed", build], stdout=subprocess.PIPE,
                                          check=True, encoding="utf-8").stdout)
    library = next(path for path in installed.values() if re.search(r"/libadsm\.so\.\d+\.\d+\.\d+$", path))
    source, script = next(item for item in installed.items() if item[1].endswith("-gdb.py"))
    if not script.endswith(f"/share/gdb/auto-load{library}-gdb.py"):
        problems.append(f"gdb does not load {script} for {library}")
    return source


def load_automatically(script):
    """Options of gdb with a folder that has the script as an installation has it, for the library of the build."""
    library = os.path.realpath(f"{build}/lib/libadsm.so.0")
    target = f"{os.getcwd()}/auto-load{library}-gdb.py"
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(script, target)
    folder = f"{os.getcwd()}/auto-load"
    return ["-iex", f"set auto-load safe-path {folder}", "-iex", f"add-auto-load-scripts-directory {folder}"]


def gdb(options, commands, *argv):
    with open("commands", "w", encoding="utf-8") as file:
        file.write(ALWAYS + commands)
    done = subprocess.run(["gdb", "-nx", "-batch", *options, "-x", "commands", "--args", *argv], encoding="utf-8",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          timeout=120, env={**os.environ, "ADSM_BACKEND": "cpu", "DEBUGINFOD_URLS": ""})
    if "ptrace: Operation not permitted" in done.stdout or "Could not trace the inferior" in done.stdout:
        print("gdb may not trace processes here")
        sys.exit(77)
    return done.stdout


# gdb may meet threads that have gone while the process ends.
ENDED = r"exited normally|Couldn't get registers: No such process\.$"


def check(said, *patterns):
    for pattern in patterns:
        if not re.search(pattern, said, re.M):
            problems.append(f"{pattern}\n\tis not in\n{said}")
            return
    error = r"^Python Exception|Error (while|in)(?! .*\n.*: No such process\.$)"
    if "received signal" in said or re.search(error, said, re.M):
        problems.append(f"a signal or an error in\n{said}")


ATTACH = """
tbreak adsmKernelGet
run
adsm devices
adsm attach
"""
STOP = ATTACH + """
break sums.c:11
continue
backtrace 2
adsm object 0
clear sums.c:11
break here
continue
up
adsm objects
adsm object b
adsm object &b[1024]
print event
print grid
print stats
"""


def check_all(options, module):
    # Of two processes that end at the same time, gdb may lose one. So this session ends before the program does.
    check(gdb(options, STOP, stops, module), "^device 0: cpu, .*, 0 calls running$",
          r"^process \d+: adsm-cpu-device$", r"^inferior 2: process \d+, adsm-cpu-device$",
          r'"adsm-cpu-device" hit Breakpoint .*sums\.c:11$', r"b\[i\] \+= a\[i\];", r"^#1 .*adsm_run_add ",
          "^0x0 is in no object$", r"^0x[0-9a-f]+: 16384 bytes, device 0, rolling, blocks: 0 Invalid, "
          r"4 ReadOnly, 0 Dirty$", r'^(0x[0-9a-f]+ "the sums"): 16384 bytes, device 0, rolling, blocks: \d Invalid, '
          r"\d ReadOnly, [1-4] Dirty\n(.*\n)*.* is at byte 0, in block 0, which is ReadOnly$",
          "is at byte 4096, in block 1, which is Dirty$", r"^\$1 = call 1 of device 0$", "^.2 = 64 x 1 x 1$",
          r"^\$3 = adsmStats = \{h2d_bytes = 32768, .*calls = 1,")
    # Deleting breakpoints deletes the catchpoint, too: SIGSEGVs still pass.
    check(gdb(options, "break here\nrun\ndelete breakpoints\ncontinue\n", stops, module), "^8389638$", ENDED)
    check(gdb(options, "run\nprint sum\n", stops, module, "crash"),
          r'^Thread 1 "stops" hit Catchpoint .*SIGSEGV.* main .*stops\.c:\d+$', r"\*\(volatile int \*\)16 = sum;",
          r"^\$1 = 1$")
    check(gdb(options, ATTACH + "continue\nadsm objects\n", stops, module, "stray"),
          r'"adsm-cpu-device" hit Catchpoint .*SIGSEGV.* adsm_body_stray .*sums\.c:1[78]$', '"the sums"')
    for program in buffer:
        check(gdb(options, "break buffer.cpp:11\nrun\nprint values\ncontinue\n", program),
              r"^\$1 = adsm::buffer of 3 at 0x[0-9a-f]+ = \{0, 1.5, 3\}$", ENDED)


if not shutil.which("gdb"):
    print("no gdb (Debian: gdb)")
    sys.exit(77)
adsmcc, stops, build = (os.path.abspath(path) for path in (adsmcc, stops, build))
buffer = [os.path.abspath(path) for path in buffer]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([adsmcc, "-g", "-O1", os.path.join(here, "sums.c")], check=True)
    check_all(load_automatically(script_path()), "sums.adsm")
    os.chdir("/")
print("\n".join(problems))
sys.exit(1 if problems else 0)
