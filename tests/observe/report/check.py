# SPDX-License-Identifier: MIT
"""The report on a program of known traffic: check.py CASE PROGRAM [PRELOADED]."""
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

BLOCK = 65536
N_BLOCKS = 16
SIZE = BLOCK * N_BLOCKS
NAMED_MAX = 4096
# It is a sanitizer that calls the wrappers, for the program.
INPUT = None if os.environ.get("TEST_SANITIZED") else "input"

if os.environ.get("TEST_SKIP"):
    print(os.environ["TEST_SKIP"])
    sys.exit(77)
case, program = sys.argv[1:3]
preloaded = sys.argv[3:]
folder = tempfile.TemporaryDirectory()
path = os.path.join(folder.name, "report")
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.c")
with open(source, encoding="utf-8") as file:
    marks = {found[1]: number for number, line in enumerate(file, 1)
             if (found := re.search(r"/\* at: (\w+) \*/", line))}


def fail(what):
    print(what)
    sys.exit(1)


def same(got, want, what):
    if got != want:
        fail(f"{what}: {got!r}, should be {want!r}")


def at(mark):
    """The words of a marked line, less the function's name."""
    return f"program.c:{marks[mark]}"


def start(what, more=None):
    environment = dict(os.environ, ADSM_PROTOCOL="rolling", ADSM_BLOCK_SIZE="64K", ADSM_ROLLING_SIZE="4096",
                       ADSM_FAULT_AHEAD="0", DEBUGINFOD_URLS="http://127.0.0.1:9/")
    environment.update(more or {})
    if preloaded:
        environment["LD_PRELOAD"] = preloaded[0]
    return subprocess.Popen([program, what, path], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, errors="replace")


def run(what, more=None, status=0):
    """What it says on standard error."""
    process = start(what, more)
    out, err = process.communicate()
    if process.returncode != status:
        fail(f"{what}: status {process.returncode}\n{out}{err}")
    return err


def quiet(what, more):
    same(run(what, more), "", f"{what} on standard error")


def load(name=None):
    with open(name or path, encoding="utf-8") as opened:
        return json.load(opened)


def need_libdw():
    try:
        ctypes.CDLL("libdw.so.1")
    except OSError:
        print("libdw.so.1 is not here")
        sys.exit(77)


def total(causes, *keys):
    n = 0
    for value in causes:
        for key in keys:
            value = value[key]
        n += value
    return n


def sums(report):
    """What holds of every report."""
    same(report["objects_not_listed"] == 0, len(report["objects"]) < NAMED_MAX, "all objects are listed")
    for one in report["objects"]:
        causes, counters = one["causes"], one["counters"]
        for name, keys in {"h2d_bytes": ("to_device", "bytes"), "h2d_transfers": ("to_device", "transfers"),
                           "d2h_bytes": ("to_host", "bytes"), "d2h_transfers": ("to_host", "transfers"),
                           "read_faults": ("read_faults",), "write_faults": ("write_faults",),
                           "signals": ("faults",)}.items():
            same(total(causes, *keys), counters[name], f"object {one['id']}: sum of {name} over its causes")
    if not report["objects_not_listed"]:
        for name in ["h2d_bytes", "h2d_transfers", "d2h_bytes", "d2h_transfers", "read_faults", "write_faults",
                     "signals", "evictions", "ahead_blocks", "fault_ns", "h2d_ns", "d2h_ns"]:
            same(total(report["objects"], "counters", name), report["totals"][name], f"sum of {name} over objects")
    traffic = [one["counters"]["h2d_bytes"] + one["counters"]["d2h_bytes"] for one in report["objects"]]
    same(traffic, sorted(traffic, reverse=True), "bytes moved, in order")


def named(report, name):
    found = [one for one in report["objects"] if one["name"] == name]
    same(len(found), 1, f"objects named {name}")
    return found[0]


def cause(one, why, mark=None, kernel=None, in_libc=False):
    """The only cause of its kind, taken away."""
    found = [c for c in one["causes"] if c["why"] == why and
             (not mark or (c["where"] or "").startswith(at(mark) + " ("))]
    same(len(found), 1, f"causes '{why}' at {mark} of {one['name'] or one['site']} in {one['causes']}")
    same((found[0]["kernel"], found[0]["in_libc"]), (kernel, in_libc), f"kernel of '{why}', and whether it was in libc")
    one["causes"].remove(found[0])
    return found[0]


def counts(got, **wanted):
    """Of a cause: those not given are 0."""
    same({"read": got["read_faults"], "write": got["write_faults"], "faults": got["faults"],
          "sends": got["to_device"]["transfers"], "sent": got["to_device"]["bytes"],
          "fetches": got["to_host"]["transfers"], "fetched": got["to_host"]["bytes"]},
         dict({"read": 0, "write": 0, "faults": 0, "sends": 0, "sent": 0, "fetches": 0, "fetched": 0}, **wanted),
         f"counts of {got['why']} at {got['where']}")


def no_more(one):
    same(one["causes"], [], f"other causes of {one['name'] or one['site']}")


def check_turns(report):
    sums(report)
    same(report["final"], True, "final")
    same(report["protocol"], "rolling", "protocol")
    same(report["block_size"], BLOCK, "block size")
    same(report["totals"]["calls"], 3 + 5 + 3 + 10, "calls")
    if not report["devices"] or not os.path.samefile(report["program"], program):
        fail(f"{report['devices']}, {report['program']}")
    same(len(report["objects"]), 13, "objects")

    matrix = named(report, "matrix")
    for name, value in {"size": SIZE, "protocol": "rolling", "block_size": BLOCK, "n_blocks": N_BLOCKS,
                        "kind": "shared", "site": at("make") + " (make)", "freed_ns": None, "device": 0}.items():
        same(matrix[name], value, f"{name} of the matrix")
    same(matrix["stack"][0], matrix["site"], "inner frame")
    counts(cause(matrix, "write", "fill"), write=3 * N_BLOCKS, faults=3 * N_BLOCKS)
    counts(cause(matrix, "call", "run", "increment"), sends=3, sent=3 * SIZE)
    counts(cause(matrix, "read", "sum"), read=3 * N_BLOCKS, faults=3 * N_BLOCKS, fetches=3 * N_BLOCKS,
           fetched=3 * SIZE)
    no_more(matrix)

    more = [one for one in report["objects"] if (one["site"] or "").startswith(at("more") + " (")]
    same(len(more), 1, "objects made there")
    same((more[0]["name"], more[0]["size"], more[0]["n_blocks"]), (None, 3 * BLOCK + 5, 4), "that object")
    counts(cause(more[0], "write", "word"), write=5, faults=5, fetches=4, fetched=4 * BLOCK)
    counts(cause(more[0], "call", "run", "increment"), sends=5, sent=5 * BLOCK)
    no_more(more[0])

    bulk = named(report, "bulk \"quoted\"\n\\ \ufffd")
    counts(cause(bulk, "copy", "in"), write=N_BLOCKS)
    copied = cause(bulk, "copy", "out")
    same((copied["to_host"]["bytes"], copied["to_device"]["bytes"], copied["faults"]), (SIZE, 0, 0), "copied")
    same(cause(bulk, "io", INPUT)["write_faults"], N_BLOCKS, "blocks that were read into")
    same(cause(bulk, "call", "run", "increment")["to_device"]["bytes"], 2 * SIZE, "bytes sent for its calls")
    no_more(bulk)

    freed = [one for one in report["objects"] if one["freed_ns"] is not None]
    same(len(freed), 10, "freed objects")
    for one in freed:
        if not one["site"].startswith(at("freed") + " (") or not one["made_ns"] < one["freed_ns"]:
            fail(f"{one}")
        counts(cause(one, "write", "byte"), write=1, faults=1)
        counts(cause(one, "call", "run", "increment"), sends=1, sent=BLOCK)
        no_more(one)


def check_text(text, final=True):
    lines = text.splitlines()
    same([line for line in lines if not line.startswith("adsm:")], [], "lines without the prefix")
    same(any(line.startswith("adsm: incomplete: the program had not ended") for line in lines), not final,
         "said to be incomplete")
    return lines


def has(lines, pattern):
    if not any(re.fullmatch("adsm: " + pattern, line) for line in lines):
        fail(f"no line like {pattern} in\n" + "\n".join(lines))


def check_turns_text(text):
    lines = check_text(text)
    line = {name: re.escape(at(name)) for name in marks}
    has(lines, rf"report on {re.escape(program)} \(process \d+\), .* [mu]?s, libadsm [\d.]+")
    has(lines, r"device 0: .*")
    has(lines, r"protocol: rolling, in blocks of 64\.0 KiB")
    has(lines, r" +[\d.]+ [mu]?s +[\d.]+%  fetching from devices")
    has(lines, rf' +1\.0 MiB +3\.0 MiB +3 +3\.0 MiB +48 +48 +48 +96 +0 .*s  "matrix" {line["make"]} \(make\)')
    has(lines, rf' +64\.0 KiB +640\.0 KiB +10 +0 B +0 +0 +10 +10 +0 .*s  {line["freed"]} \(\w+\) ×10')
    has(lines, rf'"matrix" {line["make"]} \(make\): 1\.0 MiB, rolling, 16 blocks of 64\.0 KiB, 3 '
        r'kernel calls; sending took .*')
    has(lines, rf"  fetched 48 times, 3\.0 MiB: the CPU read at {line['sum']} \(sum\), 48 faults in 3 calls")
    has(lines, rf"  sent 3 times, 3\.0 MiB: kernel 'increment' called at {line['run']} \(run\)")
    has(lines, rf"  opened 48 blocks to write: the CPU wrote at {line['fill']} \(fill\), 48 faults in 3 calls")
    has(lines, rf"  fetched (once|\d+ times), 1\.0 MiB: a copy \(such as memcpy\(\)\) at {line['out']} \(\w+\)")
    has(lines, rf"  opened 16 blocks to write: input or output at {line[INPUT] if INPUT else '.*'} \(.*\)")
    has(lines, rf"  opened 10 blocks to write: the CPU wrote at {line['byte']} \(\w+\), 10 faults, each at byte 0")
    has(lines, r"signals +111  entries of the fault handler")


def case_json():
    need_libdw()
    quiet("turns", {"ADSM_STATS": "json:" + path})
    check_turns(load())
    quiet("turns", {"ADSM_STATS": "json:" + path})
    check_turns(load())
    same(os.listdir(folder.name), ["report"], "files")


def case_text():
    need_libdw()
    check_turns_text(run("turns", {"ADSM_STATS": "text"}))
    quiet("turns", {"ADSM_STATS": "text:" + path})
    with open(path, encoding="utf-8", errors="replace") as opened:
        check_turns_text(opened.read())


def case_early():
    need_libdw()
    quiet("early", {"ADSM_STATS": "json:" + path, "ADSM_ROLLING_SIZE": "2", "ADSM_EVICT_BATCH": "1"})
    report = load()
    sums(report)
    one = named(report, "early")
    same(one["counters"]["evictions"], N_BLOCKS - 2, "evictions")
    same(cause(one, "evict")["to_device"]["bytes"], SIZE - 2 * BLOCK, "bytes sent early")
    same(cause(one, "call", "run", "increment")["to_device"]["bytes"], 2 * BLOCK, "bytes sent for the call")
    counts(cause(one, "write", "fill"), write=N_BLOCKS, faults=N_BLOCKS)
    no_more(one)


def case_whole():
    need_libdw()
    for protocol in ["batch", "lazy"]:
        quiet("whole", {"ADSM_STATS": "json:" + path, "ADSM_PROTOCOL": protocol})
        report = load()
        sums(report)
        same(report["protocol"], protocol, "protocol")
        one = named(report, "whole")
        same((one["protocol"], one["n_blocks"], one["block_size"]), (protocol, 1, SIZE), "the object")
        counts(cause(one, "call", "run", "increment"), sends=1, sent=SIZE)
        if protocol == "batch":
            counted = cause(one, "sync", "settle")
            same(counted["to_host"], {"transfers": 1, "bytes": SIZE}, "fetched")
        else:
            counts(cause(one, "write", "fill"), write=1, faults=1)
            counts(cause(one, "read", "sum"), read=1, faults=1, fetches=1, fetched=SIZE)
            no_more(one)


def case_libdw():
    """Without libdw."""
    modules = re.escape(os.path.basename(program)) + r"\+(0x[0-9a-f]+)( \(.*\))?"
    said = run("turns", {"ADSM_STATS": "json:" + path, "ADSM_LOG": "info"})
    if "libdw1" not in said:
        fail(f"no word of the package:\n{said}")
    report = load()
    sums(report)
    one = named(report, "matrix")
    places = {"make": one["site"], "sum": next(c["where"] for c in one["causes"] if c["why"] == "read"),
              "run": next(c["where"] for c in one["causes"] if c["why"] == "call")}
    for mark, place in places.items():
        found = re.fullmatch(modules, place)
        if not found:
            fail(f"{mark}: {place}")
        if shutil.which("addr2line"):
            line = subprocess.run(["addr2line", "-e", program, found[1]], capture_output=True, text=True, check=True)
            if at(mark) not in line.stdout.split(" ")[0]:
                fail(f"{mark}: {place} is {line.stdout}, not {at(mark)}")
    lines = check_text(run("turns", {"ADSM_STATS": "text"}))
    has(lines, r"the report has no lines of source files: they need libdw\.so\.1 .*")
    has(lines, rf"  fetched 48 times, 3\.0 MiB: the CPU read at {modules}, 48 faults in 3 calls")


def case_wrapped():
    need_libdw()
    quiet("wrapped", {"ADSM_STATS": "json:" + path})
    report = load()
    sums(report)
    one = named(report, "wrapped")
    counts(cause(one, "copy", "copy"), read=1, faults=1, fetches=1, fetched=BLOCK)
    counts(cause(one, "fill", "set"), write=1, faults=1, fetches=1, fetched=BLOCK)
    same(cause(one, "copy", "bulk")["to_host"]["bytes"], SIZE, "bytes fetched to be copied")
    same(cause(one, "io", "argument")["to_host"]["bytes"], BLOCK, "bytes fetched for a path")
    same(cause(one, "io", "output")["to_host"]["bytes"], 2 * BLOCK, "bytes fetched to be written to a file")
    same(cause(one, "hold", "hold")["to_host"]["bytes"], 3 * BLOCK, "bytes fetched to be held")
    n = N_BLOCKS - 3
    counts(cause(one, "read", "sum"), read=n, faults=n, fetches=n, fetched=n * BLOCK)
    same(cause(one, "call", "run", "increment")["to_device"]["transfers"], 1, "transfers for calls")
    no_more(one)


def case_libc():
    need_libdw()
    quiet("libc", {"ADSM_STATS": "json:" + path})
    report = load()
    sums(report)
    one = named(report, "libc")
    counted = cause(one, "read", in_libc=True)
    if counted["where"] is not None and not counted["where"].startswith(at("libc") + " ("):
        fail(f"called at {counted['where']}, not {at('libc')}")
    counts(counted, read=1, faults=1, fetches=1, fetched=BLOCK)
    lines = check_text(run("libc", {"ADSM_STATS": "text"}))
    has(lines, r"  fetched once, 64\.0 KiB: a function of libc read(, called at .*)?, 1 fault in 1 call")


def promised(counters):
    return {name: counters[name] for name in ["h2d_bytes", "h2d_transfers", "d2h_bytes", "d2h_transfers",
                                              "read_faults", "write_faults", "signals", "evictions"]}


def case_advice():
    """A word is read after each call: told by itself, and as advice, which then is followed."""
    need_libdw()
    quiet("a word", {"ADSM_STATS": "json:" + path, "ADSM_ADVISE": "1"})
    one = named(load(), "a word")
    same(one["calls"], 20, "calls")
    read = cause(one, "read", "word_read")
    same(read["offset"], 0, "where it was read")
    counts(read, read=20, faults=20, fetches=20, fetched=20 * BLOCK)
    same(cause(one, "write", "fill")["offset"], None, "where it was written")
    advice = {item["kind"]: item for item in one["advice"]}["blocks"]
    settings = dict(word.split("=") for word in advice["setting"].split(" "))
    same((settings["ADSM_BLOCK_SIZE"], advice["exact"]), ("4K", True), "advice")
    if not advice["text"].startswith("fetched 20 times"):
        fail(advice["text"])
    same(advice["now"], promised(one["counters"]), "counters now")
    same((advice["then"]["d2h_bytes"], advice["then"]["d2h_transfers"]), (20 * 4096, 20), "what is promised")
    lines = check_text(run("a word", {"ADSM_ADVISE": "1"}))
    has(lines, r"advice, the best first")
    has(lines, rf'1\. "a word" {re.escape(at("make"))} \(make\): fetched 20 times, .*')
    has(lines, r"   ADSM_BLOCK_SIZE=4K.*, exactly; sent 1\.0 MiB in 1 transfer, then 64\.0 KiB in 16; "
        r"fetched 1\.3 MiB in 20 transfers, then 80\.0 KiB in 20")
    has(lines, rf"  fetched 20 times, 1\.3 MiB: the CPU read at {re.escape(at('word_read'))} \(\w+\), "
        "20 faults in 20 calls, each at byte 0")
    quiet("a word", {"ADSM_STATS": "json:" + path, **settings})
    same(promised(named(load(), "a word")["counters"]), advice["then"], "counters then")


def case_different():
    """A report on many objects is not too long."""
    lines = check_text(run("different", {"ADSM_STATS": "text"}))
    if len(lines) > 120:
        fail(f"{len(lines)} lines on 40 objects")
    has(lines, r" +1\.3 MiB +1\.3 MiB +20 +0 B .* and 20 more objects")
    has(lines, r"the causes for other objects are in JSON .*")


def case_many():
    n = 5000
    quiet("many", {"ADSM_STATS": "json:" + path})
    report = load()
    sums(report)
    same(len(report["objects"]), NAMED_MAX, "objects listed")
    same(report["objects_not_listed"], n - NAMED_MAX, "objects not listed")
    same(report["totals"]["write_faults"], n, "write faults")
    lines = check_text(run("many", {"ADSM_STATS": "text"}))
    has(lines, f"{n - NAMED_MAX} objects are not listed, because there were too many")
    has(lines, f".* ×{NAMED_MAX}")


def case_reset():
    need_libdw()
    quiet("reset", {"ADSM_STATS": "json:" + path})
    report = load()
    sums(report)
    one = named(report, "reset")
    counts(cause(one, "read", "sum"), read=N_BLOCKS, faults=N_BLOCKS, fetches=N_BLOCKS, fetched=SIZE)
    no_more(one)
    same(report["totals"]["calls"], 0, "calls since the reset")
    same(report["totals"]["kernel_ns"], 0, "time in kernels that had ended before the reset")
    if not report["time"]["counted_ns"] < report["wall_ns"]:
        fail(f"counted for {report['time']['counted_ns']} of {report['wall_ns']} ns")


def case_killed():
    run("killed", {"ADSM_STATS": "json:" + path}, -signal.SIGKILL)
    report = load()
    sums(report)
    same(report["final"], False, "final")
    same(named(report, "before")["counters"]["h2d_bytes"], SIZE, "bytes sent")
    os.unlink(path)
    run("killed", {"ADSM_STATS": "text:" + path}, -signal.SIGKILL)
    with open(path, encoding="utf-8") as opened:
        has(check_text(opened.read(), False), r"\"before\" .*")


def case_files():
    nowhere = os.path.join(folder.name, "nowhere", "report")
    for bad in ["json:" + nowhere, "text:" + nowhere, "json:" + folder.name]:
        said = run("whole", {"ADSM_STATS": bad}, 1)
        if not re.search("ADSM_STATS: cannot write to .*: (No such file|Is a directory)", said):
            fail(f"{bad}: {said}")
    nothing = {"ADSM_BACKEND": "cuda", "ADSM_CUDA_LIBRARY": nowhere}
    run("whole", {"ADSM_STATS": "json:" + path, **nothing}, 1)
    report = load()
    sums(report)
    same((report["devices"], report["objects"]), ([], []), "where the library does not start")
    os.unlink(path)
    lines = check_text(run("whole", {"ADSM_STATS": "text", **nothing}, 1).split("\n", 1)[0])
    has(lines, r"no report on .*: the library has no devices")
    said = run("whole", {"ADSM_STATS": "json:/dev/full"})
    if "ADSM_STATS: cannot write to /dev/full: No space left on device" not in said:
        fail(f"/dev/full: {said}")
    os.mkfifo(path)
    process = start("whole", {"ADSM_STATS": "json:" + path})
    sums(load())
    same(process.communicate()[1], "", "standard error")
    same(process.returncode, 0, "status")
    os.unlink(path)
    with open(path, "w", encoding="utf-8") as opened:
        opened.write("mine")
    process = start("whole", {"ADSM_STATS": "json:" + path, "ADSM_FILES": "new"})
    same(process.communicate()[1], "", "standard error")
    same(process.returncode, 0, "status")
    with open(path, encoding="utf-8") as opened:
        same(opened.read(), "mine", "the file that was there")
    same(load(f"{path}.{process.pid}")["pid"], process.pid, "the process")
    same(sorted(os.listdir(folder.name)), ["report", f"report.{process.pid}"], "files")


globals()["case_" + case]()
