# SPDX-License-Identifier: MIT
"""Recordings and replays: replay.py ADSMRUN ADSM_REPLAY PROGRAM random|files

random: a program that does anything is recorded; replays must count what it really counts with other settings.
files: what recordings and results look like, also if the program is killed, or the file is damaged."""
import csv
import io
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

ADSMRUN, REPLAY, PROGRAM = map(os.path.abspath, sys.argv[1:4])
WHICH = sys.argv[4]
FULL = "TEST_FULL" in os.environ
COUNTERS = ("h2d_bytes", "d2h_bytes", "h2d_transfers", "d2h_transfers", "read_faults", "write_faults", "evictions",
            "signals")
HEADER, EVENT = 4096, 24
ENVIRONMENT = {key: value for key, value in os.environ.items()
               if not key.startswith("ADSM_") or key in ("ADSM_BACKEND", "ADSM_CPU_DEVICE")}
failures = 0


def fail(*what):
    global failures
    failures += 1
    print("FAILED:", *what)


def same(got, want, *what):
    if got != want:
        fail(*what, "got", got, "not", want)


def run(seed, size, settings):
    """The counters of the object of the program."""
    done = subprocess.run([PROGRAM, "anything", seed, size], env={**ENVIRONMENT, **settings}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        sys.exit(f"{seed} {settings}: {done.returncode}\n{done.stdout}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("counted "))
    return {key: int(value) for key, value in (word.split("=") for word in line.split()[1:])}


def replay(*arguments, status=0):
    """Standard output and standard error."""
    done = subprocess.run([REPLAY, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    same(done.returncode, status, arguments, done.stderr)
    return done.stdout, done.stderr


def rows(*arguments):
    return list(csv.DictReader(io.StringIO(replay("--csv", "-", *arguments)[0])))


# ---- random programs

SETTINGS = [("batch", "4K", "auto"), ("lazy", "4K", "auto")]
SETTINGS += [("rolling", size, rolling) for size in ("4K", "64K", "256K") for rolling in ("auto", "3", "100000")]


def as_environment(protocol, block_size, rolling_size):
    return {"ADSM_PROTOCOL": protocol, "ADSM_BLOCK_SIZE": block_size, "ADSM_ROLLING_SIZE": rolling_size}


def check_random(folder, seed, size, recorded, mode):
    """The numbers of exact results, and of others that have early sends and so may be right or not."""
    path = os.path.join(folder, "recording")
    watched = run(seed, size, {**mode, **as_environment(*recorded), "ADSM_RECORD": path})
    same(watched, run(seed, size, {**mode, **as_environment(*recorded)}), "recorded", seed, recorded, mode)
    n_exact = n_about = 0
    for setting in SETTINGS:
        row, = rows("--protocol", setting[0], "--block-size", setting[1], "--rolling-size", setting[2], path)
        what = f"{seed} of {size} bytes, recorded with {recorded} {mode}: {setting}:"
        if setting[0] != "rolling" or setting[2] == "100000" or setting == recorded:
            # The moments of early sends depend on time, unless the writing thread sends.
            if row["exact"] != "1" and (mode or setting != recorded):
                fail(what, row["about"])
        if row["exact"] != "1":
            n_about += 1
            continue
        n_exact += 1
        real = run(seed, size, {**mode, **as_environment(*setting)})
        for key in COUNTERS:
            # A wait and its second try are one signal for a replay.
            if int(row[key]) != real[key] and key != "signals":
                fail(what, key, row[key], "really", real[key])
    os.unlink(path)
    return n_exact, n_about


def random_programs(folder):
    single = {"ADSM_EVICT_BATCH": "1", "ADSM_FAULT_AHEAD": "0"}
    paper = {"ADSM_PAPER": "1"}
    cases = [(("lazy", "4K", "auto"), {}), (("rolling", "4K", "3"), single), (("rolling", "64K", "3"), paper)]
    if FULL:
        cases += [(("rolling", "64K", "auto"), {}), (("rolling", "4K", "1"), paper), (("rolling", "256K", "7"), single)]
    for number, (recorded, mode) in enumerate(cases):
        for seed in range(1, 5 if FULL else 2):
            size = str((1 << 20) + 5001 * (seed + number))
            print(seed, recorded, mode, "exact and about:", check_random(folder, str(seed), size, recorded, mode))


# ---- files

def record(folder, *arguments, program=(PROGRAM, "anything", "3", "300001")):
    path = os.path.join(folder, "r")
    done = subprocess.run([ADSMRUN, "--record", path, *arguments, *program], env=ENVIRONMENT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return path, done


def events(path):
    with open(path, "rb") as file:
        data = file.read()
    return data[:HEADER], [struct.unpack("<BBHIQQ", data[at:at + EVENT]) for at in range(HEADER, len(data), EVENT)]


def check_format(path):
    header, found = events(path)
    same(header[:8], b"ADSMREC\0")
    same(struct.unpack("<8I", header[8:40])[:5], (1, 0x01020304, HEADER, EVENT, 4096), "header")
    same(struct.unpack("<4Q", header[40:72])[:2], (65536, 0), "options")
    same(header[72:88].rstrip(b"\0"), b"rolling")
    same(found[0][0], 1, "the first event makes the object")
    same(found[0][4], 300001, "its size")
    same(found[-1][0], 21, "the last event is the end")
    kinds = {event[0] for event in found}
    for kind in (2, 3, 5, 6, 7, 8, 9, 12, 14, 17, 18):
        if kind not in kinds:
            fail("no event of kind", kind)
    same(b"".join(struct.pack("<QQ", *event[4:]) for event in found if event[0] == 2).rstrip(b"\0"), b"it", "name")


def check_results(folder, path):
    text, errors = replay(path)
    same(errors, "")
    same(len([line for line in text.splitlines() if line.startswith("rolling")]), 1, "one row:", text)
    same("(the recorded run)" in text, True, text)
    swept = rows("--sweep", path)
    same(len(swept), 2 + 9 * 8, "rows of a sweep")
    links = rows("--protocol", "lazy", "--link", "1GB/s,10us", "--link=500MB/s", path)
    same([row["link"] for row in links], ["1GB/s,10us", "500MB/s"])
    moved = int(links[0]["h2d_bytes"]) + int(links[0]["d2h_bytes"])
    n = int(links[0]["h2d_transfers"]) + int(links[0]["d2h_transfers"])
    same([int(row["link_ns"]) for row in links], [moved + 10000 * n, 2 * moved], "link_ns")
    out = os.path.join(folder, "out.csv")
    text, _ = replay("--protocol", "lazy", "--csv", out, path)
    with open(out, encoding="utf-8") as file:
        same(len(file.readlines()), 2)
    same("lazy" in text, True, "the table is printed, too")
    os.unlink(out)
    # One of several writes fails. A sanitizer's own writes are not to this file.
    lost = os.path.join(os.path.realpath(folder), "lost")
    strace = ["strace", "-o", "/dev/null", "-P", lost, "-e", "inject=write:error=ENOSPC:when=1"]
    if not shutil.which("strace") or subprocess.run([*strace, "true"], stderr=subprocess.PIPE, check=False).returncode:
        print("a write that fails is not tested: strace cannot run")
        return
    with open(lost, "w", encoding="utf-8") as file:
        done = subprocess.run([*strace, REPLAY, "--sweep", path], stdout=file, stderr=subprocess.PIPE, text=True,
                              env={**ENVIRONMENT, "ASAN_OPTIONS": "detect_leaks=0"}, check=False)
    os.unlink(lost)
    same((done.returncode, done.stderr), (1, "adsm-replay: cannot write the results\n"), "a part is lost")


def check_plot(folder, path):
    plot = os.path.join(folder, "it's.svg")
    done = subprocess.run([REPLAY, "--sweep", "--plot", plot, path], env={"PATH": folder}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    same(done.returncode, 1, "without gnuplot")
    same("gnuplot is missing" in done.stderr, True, done.stderr)
    if subprocess.run(["sh", "-c", "command -v gnuplot"], stdout=subprocess.DEVNULL, check=False).returncode:
        print("no plot: gnuplot is missing")
        return
    for ending, link in ("svg", ["--link=9GB/s", "--link=8GB/s"]), ("png", ["--link", "3GB/s,10us"]):
        plot = os.path.join(folder, "it's." + ending)
        replay("--sweep", "--plot", plot, *link, path)
        with open(plot, "rb") as file:
            same((b"lazy, 8GB/s" in file.read()) if ending == "svg" else file.read(4) == b"\x89PNG", True, plot)
        os.unlink(plot)


def check_refused(folder, path):
    for arguments, status, text in [
            (["--block-size", "5K", path], 2, " --block-size=5K is not valid; valid: a power"),
            (["--protocol", "lazy,eager", path], 2, " --protocol=eager is not valid"), ([], 2, "missing"),
            (["--link", "fast", path], 2, " --link=fast is not valid"), (["--block-size", "4K,,8K", path], 2, "valid"),
            (["--sweep", path, path], 2, "only one"), (["--wrong", path], 2, "--wrong"), (["--csv"], 2, "value"),
            ([folder + "/none"], 1, "No such file"), (["--csv", folder + "/a/b", path], 1, "cannot write"),
            (["--link", "", path], 2, '--link: ""'), (["--link=9GB/s"] * 17 + [path], 2, "more than 16 options --link"),
            ([REPLAY], 1, "it is not a recording"), (["/dev/null"], 1, "empty"),
            *((["--plot", name, path], 2, "does not end with .svg or .png") for name in ("p.pdf", "svg", "a.svg/p"))]:
        _, errors = replay(*arguments, status=status)
        if not errors.startswith("adsm-replay: ") or text not in errors or len(errors.splitlines()) != 1:
            fail(arguments, errors)
    # The recording is never an output.
    with open(path, "rb") as file:
        data = file.read()
    os.symlink(path, "linked.svg")
    for option, other in ("--csv", path), ("--csv", "./r"), ("--csv", "linked.svg"), ("--plot", "linked.svg"):
        same("is the recording" in replay(option, other, path, status=2)[1], True, option, other)
    # Nor is one file both outputs. The CSV is written before the plot, and stays.
    for csv_name, status in ("new.svg", 2), ("./new.svg", 1), ("./new.svg", 2):
        same("new.svg is the file of --csv" in replay("--csv", csv_name, "--plot", "new.svg", path, status=status)[1],
             True, csv_name)
    with open("new.svg", encoding="utf-8") as file:
        same(file.readline().startswith("protocol,block_size"), True, "the CSV")
    os.unlink("new.svg")
    with open(path, "rb") as file:
        same(file.read() == data, True, "the recording changed")
    os.unlink("linked.svg")
    same("--sweep" in replay("--help")[0], True)
    same(replay("--version")[0].startswith("adsm-replay (libadsm) "), True)


def check_damaged(folder, path):
    """No damage of the file may crash a replay."""
    with open(path, "rb") as file:
        data = file.read()
    damaged = os.path.join(folder, "damaged")
    state = 1
    for i in range(4000 if FULL else 150):
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        at, value = (state >> 33) % (len(data) if i % 4 else HEADER + 4 * EVENT), state >> 25 & 255
        with open(damaged, "wb") as file:
            file.write(data[:at] + bytes([value]) + data[at + 1:(len(data) if i % 8 else at + 2)])
        done = subprocess.run([REPLAY, "--protocol", "batch,lazy,rolling", damaged], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False)
        if done.returncode not in (0, 1, 2):
            fail("byte", at, "is", value, ":", done.returncode, done.stderr)
    os.unlink(damaged)


def made_recording(folder, *found, block_size=65536):
    """A recording of these events, of a program that used rolling."""
    header = b"ADSMREC\0" + struct.pack("<8I", 1, 0x01020304, HEADER, EVENT, 4096, 0, 1, 0)
    header += struct.pack("<4Q", block_size, 0, 0, 1) + b"rolling".ljust(16, b"\0")
    header += b"".join(name.ljust(16, b"\0") for name in (b"batch", b"lazy", b"rolling"))
    path = os.path.join(folder, "made")
    with open(path, "wb") as file:
        file.write(header.ljust(HEADER, b"\0") + b"".join(struct.pack("<BBHIQQ", *event) for event in found))
    return path


END = (21, 0, 0, 0, 0, 0)


def check_large(folder):
    """An object of two million blocks."""
    made, write, call = (1, 0, 0, 1, 8 << 30, 16 | 2 << 16), (3, 1, 0, 1, 0, 0), (12, 5, 0, 1, 0, 1)
    swept = rows("--sweep", "--rolling-size", "auto", made_recording(folder, made, write, call, END))
    same([(row["protocol"], row["block_size"], row["h2d_bytes"]) for row in swept],
         [("batch", "", str(8 << 30)), ("lazy", "", str(8 << 30))] +
         [("rolling", str(4096 << i), str(4096 << i)) for i in range(9)], "a large object")


def check_protocols(folder):
    """A name that no protocol has is damage, and is not printed."""
    for at, event in (72, END), (88 + 2 * 16, (1, 0, 0, 1, 100000, 16 | 2 << 16)):
        path = made_recording(folder, event, END)
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(b"\xff\033[31m\0")
        _, errors = replay(path, status=1)
        same("unknown" in errors and "\033" not in errors, True, errors)
    # The name of the program may be anything. It is printed without what terminals obey.
    path = made_recording(folder, (1, 0, 0, 1, 100000, 16 | 2 << 16), END)
    with open(path, "r+b") as file:
        file.seek(88 + 8 * 16)
        file.write("\033[31mgröße\n\x7f\0".encode())
    same(replay(path)[0].startswith("?[31mgröße??: process "), True, replay(path)[0])


def check_sizes(folder):
    """Sizes of blocks that no library records are damage; a copy without limits is read at once."""
    for block_size, shift in (0, 16), (1, 16), (2048, 16), (65537, 16), (1 << 31, 16), (1 << 63, 16), (65536, 0), \
            (65536, 11), (65536, 49):
        made = (1, 0, 0, 1, 100000, shift | 2 << 16)
        _, errors = replay(made_recording(folder, made, END, block_size=block_size), status=1)
        same("damaged" in errors, True, block_size, shift, errors)
    # An end has no object, whatever it names.
    replay(made_recording(folder, (21, 0, 0, 0xb30000, 0, 0)))
    # Memory of the device has no blocks.
    replay(made_recording(folder, (1, 4, 0, 1, 100000, 2 << 16), END))
    # Without limits.
    made, copy, copied = (1, 0, 0, 1, 8 << 30, 16 | 2 << 16), (8, 4, 0, 1, 7 << 30, 200000), (9, 0, 0, 1, 0, 0)
    row, = rows(made_recording(folder, made, (12, 6, 0, 1, 0, 1), (14, 0, 0, 0, 1, 0), copy, copied, END))
    same((row["d2h_bytes"], row["d2h_transfers"]), (str(4 << 16), "4"), "a copy of 200000 bytes")
    os.unlink(os.path.join(folder, "made"))


def check_killed(folder):
    """A killed program leaves all of its events."""
    path, done = record(folder, program=("sh", "-c", f'{PROGRAM} anything 3 300001; {PROGRAM} anything 4 300001'))
    same(done.returncode, 0, done.stderr)
    same(sorted(os.listdir(folder))[0], "r", "the first process")
    others = [name for name in os.listdir(folder) if name.startswith("r.")]
    same(len(others), 1, "one file for the second process")
    for name in ["r", *others]:
        replay(os.path.join(folder, name))
        os.unlink(os.path.join(folder, name))
    path, done = record(folder, program=("sh", "-c", f'exec {PROGRAM} killed 3 300001'))
    same(done.returncode, -signal.SIGKILL, "killed", done.stderr)
    same("recording has no end" in replay(path)[0], True)
    same(events(path)[1][-1][0], 0, "empty events at the end")
    os.unlink(path)
    # A file that must not grow.
    path, done = record(folder, program=("sh", "-c", f'ulimit -S -f 100; exec {PROGRAM} anything 3 300001'))
    same(done.returncode, 0, done.stderr)
    same("ADSM_RECORD: cannot record more: File too large" in done.stderr, True, done.stderr)
    os.unlink(path)
    same(record(folder, "--trace=r")[1].returncode, 2, "one file for a trace and a recording")
    done = subprocess.run([ADSMRUN, "--record", "/dev/null", "true"], check=False, stderr=subprocess.DEVNULL)
    same(done.returncode, 2, "not a regular file")


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    if WHICH == "random":
        random_programs(scratch)
    else:
        recording, result = record(scratch)
        same((result.returncode, result.stderr), (0, ""), "record")
        check_format(recording)
        check_results(scratch, recording)
        check_plot(scratch, recording)
        check_refused(scratch, recording)
        check_damaged(scratch, recording)
        os.unlink(recording)
        check_large(scratch)
        check_protocols(scratch)
        check_sizes(scratch)
        check_killed(scratch)
sys.exit(failures > 0)
