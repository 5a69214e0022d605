# SPDX-License-Identifier: MIT
"""What is said unasked: of gross habits a line, of ordinary ones none. Usage: test_warnings.py PROGRAM KERNELS CASE."""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, KERNELS, CASE = sys.argv[1:4]

# Whoever writes a block more closes the oldest one: what is sent early is the same each time.
PAGES = {"ADSM_BLOCK_SIZE": "4K", "ADSM_FAULT_AHEAD": "0", "ADSM_EVICT_BATCH": "1", "ADSM_ROLLING_SIZE": "2"}
# Transfers that take the most of any run's time.
SLOW = {"ADSM_CPU_LINK": "1GB/s,30ms"}
SLOWER = {"ADSM_CPU_LINK": "1GB/s,1000ms"}
AGAIN = (r"object 'grid' \(128\.0 KiB, rolling\): 256 blocks were sent early and written again before a call used "
         r"them: ADSM_ROLLING_SIZE=32 or more \(now 2\) avoids this; `adsmrun --advise` shows how much it saves")
END = r"moving data took (\d+\.\d) of (\d+\.\d) s \((\d+) %\): `adsmrun --advise -- PROGRAM` shows what would help"


def run(name, options):
    """The warnings of a program that must end well."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("ADSM_") or k == "ADSM_BACKEND"}
    done = subprocess.run([PROGRAM, name, KERNELS], env={**env, **options}, stderr=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode == 0, done
    lines = done.stderr.splitlines()
    assert all(line.startswith("adsm: warning: ") for line in lines), lines
    return [line[len("adsm: warning: "):] for line in lines]


def habits(name, options):
    """The same but for what is told at the end: on a busy machine moving data takes long, whatever the program does."""
    return [line for line in run(name, options) if not re.fullmatch(END, line)]


def expect(got, *wanted):
    assert len(got) == len(wanted) and all(map(re.fullmatch, wanted, got)), (got, wanted)


def expect_slow(name, options, *wanted):
    """Told of transfers that take the most of the time. What else takes some on a busy machine is less than on a slower
    link."""
    for latency in 30, 100, 300, 1000:
        got = run(name, {"ADSM_CPU_LINK": f"1GB/s,{latency}ms", **options})
        if len(got) == len(wanted) and all(map(re.fullmatch, wanted, got)):
            return
    expect(got, *wanted)


def again():
    expect(habits("again", PAGES), AGAIN)
    expect(habits("again", {**PAGES, "ADSM_LOG": "error"}))
    # As it says.
    expect(habits("again", {**PAGES, "ADSM_ROLLING_SIZE": "32"}))
    # The paper's exact behaviour is what was asked for.
    expect(habits("again", {"ADSM_PAPER": "1", "ADSM_BLOCK_SIZE": "4K", "ADSM_ROLLING_SIZE": "2"}))


def again_auto():
    got = habits("again", {k: v for k, v in PAGES.items() if k != "ADSM_ROLLING_SIZE"})
    expect(got, AGAIN.replace("now 2", "now auto"))


def again_few():
    expect(habits("again-few", PAGES))


def again_called():
    expect(habits("again-called", PAGES))


def many():
    expect(habits("many", PAGES), *(r"object 'grid%d' .*" % i for i in range(10)), "further warnings are not shown")
    expect(habits("many", {**PAGES, "ADSM_LOG": "error"}))


def fetch():
    lazy = {"ADSM_PROTOCOL": "lazy"}
    text = (r"object 'sum' \(256\.0 KiB, %s\) was fetched %s 64 times \(16\.0 MiB, \d+\.\d s\): if the CPU uses little "
            r"of it, smaller blocks \(%sADSM_BLOCK_SIZE=64K\) move less; `adsmrun --advise` shows what the CPU uses")
    expect_slow("fetch", lazy, text % ("lazy", "whole", "ADSM_PROTOCOL=rolling "), END)
    expect_slow("fetch-on", lazy, text % ("lazy", "whole", "ADSM_PROTOCOL=rolling "), END)
    expect(run("fetch", {**SLOW, **lazy, "ADSM_LOG": "error"}))
    # One block is all of it here, too.
    expect_slow("fetch", {"ADSM_BLOCK_SIZE": "1M"}, text % ("rolling", "whole", ""), END)
    expect_slow("fetch", {"ADSM_BLOCK_SIZE": "64K"}, END)


def fetch_few():
    expect_slow("fetch-few", {"ADSM_PROTOCOL": "lazy"}, END)


def ends():
    got = run("ends", SLOWER)
    expect(got, END)
    part, whole, percent = map(float, re.fullmatch(END, got[0]).groups())
    assert 3 <= part <= whole and abs(percent - 100 * part / whole) < 6, got
    expect(run("shutdown", SLOWER), END)
    expect(run("ends", {**SLOWER, "ADSM_LOG": "error"}))


def ends_reported():
    with tempfile.TemporaryDirectory() as folder:
        expect(run("ends", {**SLOWER, "ADSM_STATS": "json:" + os.path.join(folder, "report")}))
        expect(run("ends", {**SLOWER, "ADSM_ADVISE": "1", "ADSM_STATS": "json:" + os.path.join(folder, "report")}))


def background():
    expect(run("background", {**PAGES, **SLOWER}))
    expect(run("waits", {**PAGES, "ADSM_CPU_LINK": "1GB/s,4000ms"}), END)


globals()[CASE.replace("-", "_")]()
