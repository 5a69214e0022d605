# SPDX-License-Identifier: MIT
"""opell.py BUILD OUT [SIZE]: Figures 8 to 12 of the paper on OPELL, of the programs of adsm-opell on one core, or those
that PROGRAMS names. OUT/opell.csv has what is counted. OUT/opell-ticks.csv has what is measured: the least of REPEAT
runs, in ticks of 79.8 MHz, as in the paper. Both are drawn, OUT/opell-figure8.svg to 12, and tables are printed beside
the paper's numbers."""
import json
import os
import subprocess
import sys
import time

from progress import Progress
from virtual import HERE, write_csv

BUILD, OUT = (os.path.abspath(path) for path in sys.argv[1:3])
SIZE = sys.argv[3] if len(sys.argv) > 3 else "small"
REPEAT = int(os.environ.get("REPEAT", "5"))
TICKS_EACH_NS = 0.0798
# The programs' kernels, in the order of the paper's Table 2.
ALL = {"dsp": ["mac", "codebook", "jpeg"], "compress": ["compress"], "decompress": ["decompress"], "jacobi": ["jacobi"],
       "laplace": ["laplace"], "md": ["forces", "move"], "mgrid": ["resid", "psinv", "rprj3", "interp", "norm"]}
ALL |= {f"mb{k}": [f"mb{k}"] for k in (1, 2, 3, 5, 6, 7, 8)}
NAMES = {"compress": "gzip", "decompress": "gzip"}
CHOSEN = os.environ.get("PROGRAMS", "").split()
PROGRAMS = {name: kernels for name, kernels in ALL.items() if not CHOSEN or NAMES.get(name, name) in CHOSEN}
COUNTS = {"calls": "calls_across", "loads": "code_loads"}
# Of Figures 8 and 9: sub-buffers, and whether all registers are saved. LRU, which the paper does not say.
SETTINGS = [("1", "all"), ("1", "needed"), ("2", "needed"), ("4", "needed")]
PROGRESS = Progress(len(SETTINGS) * REPEAT + 7)


def run(buffers, policy, victim, registers):
    """Of each program what the device has counted."""
    PROGRESS.step(f"{buffers} sub-buffers, {policy}, victim entry {victim}, registers {registers}")
    report = os.path.join(OUT, "opell.json")
    environment = os.environ | {
        "ADSM_BACKEND": "scratchpad", "ADSM_SCRATCHPAD_CORES": "1", "ADSM_SCRATCHPAD_PARTITIONS": "always",
        "ADSM_SCRATCHPAD_BUFFERS": buffers, "ADSM_SCRATCHPAD_POLICY": policy, "ADSM_SCRATCHPAD_VICTIM": victim,
        "ADSM_SCRATCHPAD_REGISTERS": registers, "ADSM_STATS": "json:" + report}
    done = subprocess.run([os.path.join(BUILD, "parboil/opell/adsm-opell"), "--size", SIZE, "--no-verify",
                           *(CHOSEN or ["all"])], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{buffers} {policy} {victim} {registers}: status {done.returncode}: {done.stdout}")
    with open(report, encoding="utf-8") as file:
        kernels = {kernel["kernel"]: kernel["counters"] for kernel in json.load(file)["kernels"]}
    os.unlink(report)
    return {name: {key: sum(kernels[kernel][counter] for kernel in own)
                   for key, counter in (COUNTS | {"work_ns": "work_ns"}).items()} for name, own in PROGRAMS.items()}


def rows_of(counted, buffers, policy, victim, registers):
    setting = {"buffers": buffers, "policy": policy, "victim": victim, "registers": registers}
    return [{"program": name} | setting | {key: counters[key] for key in COUNTS} for name, counters in counted.items()]


def measure():
    """What the settings of Figure 9 took, in turns, so that other load meets them all; and rows of what is counted."""
    least, rows = {}, []
    for i in range(REPEAT):
        for buffers, registers in SETTINGS:
            counted = run(buffers, "lru", "off", registers)
            rows += rows_of(counted, buffers, "lru", "off", registers) if not i else []
            for name, counters in counted.items():
                key = name, buffers, registers
                least[key] = min(least.get(key, counters["work_ns"]), counters["work_ns"])
    return rows, [{"program": name, "buffers": buffers, "registers": registers,
                   "ticks": round(least[name, buffers, registers] * TICKS_EACH_NS, 1)}
                  for name in PROGRAMS for buffers, registers in SETTINGS]


def count():
    """Rows of the other settings. With one sub-buffer both policies do the same."""
    rows = []
    for buffers, policy, victim in (("1", "lru", "on"), ("2", "lru", "on"), ("2", "modulus", "off"),
                                    ("2", "modulus", "on"), ("4", "lru", "on"), ("4", "modulus", "off"),
                                    ("4", "modulus", "on")):
        rows += rows_of(run(buffers, policy, victim, "needed"), buffers, policy, victim, "needed")
    return rows


def draw():
    for number, names in {8: ALL, 9: ALL, 10: ALL, 11: ["compress", "decompress", "mgrid"], 12: ["mb8"]}.items():
        names = [name for name in names if name in PROGRAMS]
        if not names:
            continue
        csv = os.path.join(OUT, "opell-ticks.csv" if number == 9 else "opell.csv")
        how = f"measured: the least of {REPEAT} runs" if number == 9 else "counted"
        try:
            subprocess.run(["gnuplot", "-d", "-c", os.path.join(HERE, "opell.gp"), csv,
                            os.path.join(OUT, f"opell-figure{number}.svg"),
                            f"adsm-opell, size {SIZE}, one core, {how}; {time.strftime('%Y-%m-%d')}", str(number),
                            " ".join(names)], check=True)
        except FileNotFoundError:
            print("there is no gnuplot (Debian package gnuplot-nox), so nothing was drawn", file=sys.stderr)
            return


def loads(rows, name, buffers, policy="lru", victim="off", registers="needed"):
    setting = {"program": name, "buffers": buffers, "policy": policy, "victim": victim, "registers": registers}
    return next(row["loads"] for row in rows if all(row[key] == value for key, value in setting.items()))


def print_tables(rows, ticks):
    took = {(row["program"], row["buffers"], row["registers"]): row["ticks"] for row in ticks}
    print("| program | calls | loads (counted): 1, all registers | 1 | 2 | 4 | ticks (measured): 1, all registers "
          "| 1 | 2 | 4 |\n|" + "---|" * 10)
    for name in PROGRAMS:
        calls = next(row["calls"] for row in rows if row["program"] == name)
        print(f"| {name} | {calls} | " + " | ".join(str(loads(rows, name, buffers, registers=registers))
                                                  for buffers, registers in SETTINGS) + " | " +
              " | ".join(f"{took[name, buffers, registers]:.0f}" for buffers, registers in SETTINGS) + " |")
    print("\n| | the paper's text | here | |\n|---|---|---|---|")
    print("| bars of Figures 8 to 12 | not printed | above, and the CSV files | counted; ticks measured |")
    if "mb8" in PROGRAMS:
        each = (took["mb8", "1", "needed"] - took["mb8", "4", "needed"]) / (loads(rows, "mb8", "1") -
                                                                            loads(rows, "mb8", "4"))
        print(f"| overhead of a call with its transfer, ticks of 79.8 MHz | 160 to 200 | {each:.1f} (mb8) | measured |")
        print("| fewer transfers by the victim entry, case 8 | 88 times | "
              f"{loads(rows, 'mb8', '2') / loads(rows, 'mb8', '2', victim='on'):.1f} times | "
              "counted; the number of rounds is fitted |")
    for name, who in (("compress", "LRU wins"), ("decompress", "modulus wins"), ("mgrid", "the same")):
        if name in PROGRAMS:
            print(f"| {name}: LRU, modulus | {who} | {loads(rows, name, '2')}, {loads(rows, name, '2', 'modulus')} | "
                  "counted, with 2 sub-buffers |")


def main():
    os.makedirs(OUT, exist_ok=True)
    rows, ticks = measure()
    rows += count()
    PROGRESS.end()
    write_csv(os.path.join(OUT, "opell.csv"), rows)
    write_csv(os.path.join(OUT, "opell-ticks.csv"), ticks)
    draw()
    print_tables(rows, ticks)
    if any(row["ticks"] <= 0 for row in ticks):
        sys.exit("a time is none")


main()
