# SPDX-License-Identifier: MIT
"""The programs for cores with small local stores, with partitions that adsmcc chooses: automatic.py PROGRAM ADSMCC
SOURCES. The sources lose their ADSM_PARTITION. The results are right in each code buffer. The loads are at most four
times those with the partitions of the sources, and at most twice with the notes of a run."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM, ADSMCC, SOURCES = sys.argv[1:4]
FULL = "TEST_FULL" in os.environ
NAMES = ("dsp", "gzip", "jacobi", "laplace", "md", "mgrid")
# gzip takes longest to compile.
NOTED = NAMES if FULL else ("md", "mgrid")
# The size of partitions, and code buffers for it. The partition stack and libm leave room for 2K in the smallest one.
SETTINGS = (("2K", ("8K", "16K", "64K")),) + ((("4K", ("12K", "16K", "32K", "64K")),) if FULL else ())
# Programs with larger functions and without libm.
LARGER = {("laplace", "2K"): "3K"}


def execute(program, *names, **options):
    return subprocess.run([program, *names], env=os.environ | {
        "ADSM_BACKEND": "scratchpad", "ADSM_SCRATCHPAD_CORES": "1", "ADSM_SCRATCHPAD_PARTITIONS": "always", **options},
        capture_output=True, text=True, check=False)


def loads(program, name, code, stats):
    """None: its partitions do not fit."""
    done = execute(program, name, ADSM_STATS=f"json:{stats}", ADSM_LOG="error", ADSM_SCRATCHPAD_CODE=code)
    if done.returncode and "do not fit" in done.stderr:
        return None
    assert done.returncode == 0 and "  verified " in done.stdout, (program, name, code, done)
    with open(stats, encoding="utf-8") as file:
        return sum(kernel["counters"]["code_loads"] for kernel in json.load(file)["kernels"])


def compile_module(folder, name, how, out):
    """@name without ADSM_PARTITION, into the folder @out."""
    done = subprocess.run([ADSMCC, *os.environ["TEST_ADSMCC"].split(), "--scratchpad", *how, "-I", folder, "-o",
                           f"{out}/{name}.adsm", f"{folder}/{name}.c"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (name, how, done)
    sizes = [int(size) for size in re.findall(r"^partition \d+: (\d+) bytes", done.stdout, re.M)]
    assert sizes and max(sizes) <= 1024 * int(re.search(r":(\d)K$", how[1])[1]), done.stdout


def prepare(folder):
    for name in NAMES:
        for header in os.listdir(f"{SOURCES}/{name}"):
            if header.endswith(".h"):
                shutil.copy(f"{SOURCES}/{name}/{header}", folder)
        with open(f"{SOURCES}/{name}/kernels.c", encoding="utf-8") as file:
            text, n = re.subn(r"ADSM_PARTITION\(\d+\) ", "", file.read())
        assert n, name
        with open(f"{folder}/{name}.c", "w", encoding="utf-8") as file:
            file.write(text)
    programs = {}
    for kind in ("auto", "each", "noted"):
        os.mkdir(f"{folder}/{kind}")
        # A program looks for its kernels beside itself.
        programs[kind] = shutil.copy(PROGRAM, f"{folder}/{kind}/adsm-opell")
    return programs


def note(folder, programs, name, size):
    """Make the module by the notes of a run whose functions each are a partition."""
    size = LARGER.get((name, size), size)
    notes = f"{folder}/{name}.notes"
    compile_module(folder, name, ("--partition", f"each:{size}"), f"{folder}/each")
    done = execute(programs["each"], name, ADSM_SCRATCHPAD_NOTES=notes, ADSM_SCRATCHPAD_CODE="256K",
                   ADSM_SCRATCHPAD_SIZE="512K")
    assert done.returncode == 0, done
    with open(notes, encoding="utf-8") as file:
        calls = {tuple(line.split()[:2]): int(line.split()[2]) for line in file}
    assert all(("-", f"adsm_run_{kernel}") in calls for kernel in
               {"md": ("forces", "move"), "mgrid": ("resid", "norm")}.get(name, ())), calls
    compile_module(folder, name, ("--partition", f"auto:{size}", "--partition", f"profile:{notes}"), f"{folder}/noted")
    return calls


def compare(folder, programs, size, code_buffers):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: compile_module(folder, name, (
            "--partition", f"auto:{LARGER.get((name, size), size)}"), f"{folder}/auto"), NAMES))
        calls = dict(zip(NOTED, pool.map(lambda name: note(folder, programs, name, size), NOTED)))
    # 96 particles, 5 steps and one before them: pull() is called for each.
    assert calls["md"]["adsm_run_forces", "pull"] == 96 * 6, calls["md"]
    for name in NAMES:
        for code in code_buffers:
            hand = loads(PROGRAM, name, code, f"{folder}/stats")
            auto = loads(programs["auto"], name, code, f"{folder}/stats")
            noted = loads(programs["noted"], name, code, f"{folder}/stats") if name in NOTED else None
            print(f"{size} {name:8} {code:4} by hand {hand}, automatically {auto}, by notes {noted}", flush=True)
            assert auto is not None, (name, code)
            assert hand is None or auto <= 4 * hand, (name, code, hand, auto)
            assert hand is None or noted is None or noted <= 2 * hand, (name, code, hand, noted)


def main(folder):
    programs = prepare(folder)
    for size, code_buffers in SETTINGS:
        compare(folder, programs, size, code_buffers)
    # Notes of partitions with several functions do not say which functions called each other.
    execute(programs["auto"], "md", ADSM_SCRATCHPAD_NOTES=f"{folder}/notes")
    done = subprocess.run([ADSMCC, *os.environ["TEST_ADSMCC"].split(), "--scratchpad", "--partition",
                           f"profile:{folder}/notes", "-o", f"{folder}/x", f"{folder}/md.c"], capture_output=True,
                          text=True, check=False)
    assert done.returncode and "made with --partition each" in done.stderr, done
    done = execute(programs["auto"], "md", ADSM_SCRATCHPAD_NOTES=f"{folder}/none/notes")
    assert done.returncode and "the notes of calls cannot be written to" in done.stderr, done


with tempfile.TemporaryDirectory() as work:
    main(work)
