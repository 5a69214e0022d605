# SPDX-License-Identifier: MIT
"""Kernels with more code than a core is given room for: code.py PROGRAM MODULE TRACES ADSMCC SOURCE INFO
CASE. SOURCE is that of TRACES."""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../observe/trace"))
from tracefile import Trace, expect_moved  # noqa: E402

PROGRAM, MODULE, TRACES, ADSMCC, SOURCE, INFO, CASE = sys.argv[1:8]
# Less than all code of a trace; enough for what stays, four partitions, and a fifth as the victim entry.
SMALL = "50000"
COLUMNS = [(1, "lru", "off"), (1, "lru", "on"), (2, "modulus", "off"), (2, "modulus", "on"), (2, "lru", "off"),
           (2, "lru", "on"), (4, "modulus", "off"), (4, "modulus", "on"), (4, "lru", "off"), (4, "lru", "on")]
# DMA transfers, as in traces.h: a row has the columns above.
LOADS = {
    "mb1": (200, 200, 2, 2, 2, 2, 2, 2, 2, 2), "mb1_3": (300, 300, 300, 300, 300, 300, 3, 3, 3, 3),
    "mb1_5": (500,) * 10, "mb2": (7, 6, 6, 5, 6, 5, 4, 4, 4, 4), "mb3": (21, 11, 2, 2, 2, 2, 2, 2, 2, 2),
    "mb5": (101, 91, 82, 72, 82, 72, 44, 34, 44, 34), "mb6": (541, 331, 342, 142, 332, 142, 124, 99, 124, 104),
    "mb7": (421, 321, 231, 140, 222, 122, 4, 4, 4, 4), "mb8": (359, 182, 184, 8, 183, 8, 4, 4, 4, 4),
    "mb8_350": (1407, 706, 707, 8, 707, 8, 4, 4, 4, 4), "ping": (201, 101, 2, 2, 2, 2, 2, 2, 2, 2),
}
CALLS = {"mb1": 200, "mb1_3": 300, "mb1_5": 500, "mb2": 4, "mb3": 20, "mb5": 60, "mb6": 280, "mb7": 220, "mb8": 180,
         "mb8_350": 704, "ping": 101}


def environment(**options):
    env = {key: value for key, value in os.environ.items() if not key.startswith("ADSM_")}
    return env | {"ADSM_BACKEND": "scratchpad", **options}


def execute(*words, **options):
    return subprocess.run(words, env=environment(**options), capture_output=True, text=True, check=False)


def run(*steps, module=MODULE, **options):
    """What it says on standard output."""
    done = execute(PROGRAM, module, *steps, **options)
    assert done.returncode == 0, done
    return done.stdout


def counters(*steps, **options):
    """What the device has counted, by kernel."""
    with tempfile.TemporaryDirectory() as folder:
        assert run(*steps, ADSM_STATS=f"json:{folder}/stats", ADSM_TRACE=f"{folder}/trace", ADSM_LOG="error",
                   **options) == ""
        with open(f"{folder}/stats", encoding="utf-8") as file:
            kernels = {kernel["kernel"]: kernel["counters"] for kernel in json.load(file)["kernels"]}
        expect_moved(Trace(f"{folder}/trace"), kernels.values())
        return kernels


def says(text, *patterns):
    for pattern in patterns:
        assert re.search(pattern, text), (pattern, text)


def sizes():
    """Bytes of each partition."""
    with tempfile.TemporaryDirectory() as folder:
        done = execute(ADSMCC, *os.environ["TEST_ADSMCC"].split(), "--scratchpad", "--partition", "source", "-o",
                       f"{folder}/module", SOURCE)
        assert done.returncode == 0, done
        return [int(size) for size in re.findall(r"^partition \d+: (\d+) bytes", done.stdout, re.M)]


def traces():
    """Each transfer of the table, and no other; the results are those of ordinary calls."""
    walks = sizes()[:8]
    for column, (buffers, policy, victim) in enumerate(COLUMNS):
        kernels = counters("traces", module=TRACES, ADSM_SCRATCHPAD_CORES="1", ADSM_SCRATCHPAD_CODE=SMALL,
                           ADSM_SCRATCHPAD_POLICY=policy, ADSM_SCRATCHPAD_BUFFERS=str(buffers),
                           ADSM_SCRATCHPAD_VICTIM=victim)
        for name, loads in LOADS.items():
            found = kernels[name]
            assert found["code_loads"] == loads[column], (name, column, found)
            assert found["calls_across"] == CALLS[name], (name, column, found)
            # All walks are of the same size.
            assert found["bytes_code"] == loads[column] * walks[0] and len(set(walks)) == 1, (walks, found)
            assert bool(found["code_victims"]) <= (victim == "on"), (name, column, found)
        assert kernels["mb2"]["calls_deep"] == 4 and kernels["mb6"]["calls_deep"] == 9, kernels
        assert kernels["mb5"]["code_returns"] > 0, kernels
        assert kernels["fits"]["calls_across"] == kernels["fits"]["code_loads"] == 0, kernels["fits"]
    # Where all of it fits nothing is loaded, unless it is to be.
    fits = {"module": TRACES, "ADSM_SCRATCHPAD_CODE": "64K", "ADSM_SCRATCHPAD_CORES": "1"}
    kernels = counters("traces", **fits)
    assert not any(kernels[name]["calls_across"] or kernels[name]["code_loads"] for name in LOADS), kernels
    kernels = counters("traces", ADSM_SCRATCHPAD_PARTITIONS="always", ADSM_SCRATCHPAD_BUFFERS="4", **fits)
    assert {name: kernels[name]["calls_across"] for name in LOADS} == CALLS, kernels
    # It, too, is in partitions, of which it calls none: the others stay where they are.
    assert [kernels[name]["code_loads"] for name in ("fits", "mb1", "mb1_3")] == [0, 2, 1], kernels


def mixed():
    """Arguments, structures, recursion, addresses, tables, libm: on some cores at once, and loaded anew."""
    for cores, buffers in (("1", "1"), ("6", "2"), ("3", "auto")):
        options = {"ADSM_SCRATCHPAD_CORES": cores, "ADSM_SCRATCHPAD_BUFFERS": buffers, "ADSM_SCRATCHPAD_CODE": "20K"}
        assert run("mixed", "shallow", "again", "mixed", "again", "mixed", **options) == ""
    # What is loaded stays: the second call has its first partition.
    small = {"ADSM_SCRATCHPAD_CORES": "1", "ADSM_SCRATCHPAD_CODE": "16000"}
    one, two = counters("shallow", **small)["depth"], counters("shallow", "shallow", **small)["depth"]
    assert one["calls_across"] == 203 and one["calls_deep"] == two["calls_deep"] == 201, (one, two)
    assert one["code_loads"] == 403 and one["code_returns"] == 200 and two["code_loads"] == 805, (one, two)


def variables():
    """Of a variable that kernels change there is one, for all partitions, cores and calls; and a new one when the
    module is loaded anew. The two functions of `keep` evict each other."""
    always = {"ADSM_SCRATCHPAD_PARTITIONS": "always", "ADSM_SCRATCHPAD_BUFFERS": "1"}
    for cores in ("1", "5"):
        kernels = counters("variables", "again", "variables", ADSM_SCRATCHPAD_CORES=cores, **always)
        assert kernels["keep"]["code_loads"] >= 2 * 3 * 20, kernels["keep"]
        assert kernels["tally"]["code_loads"] > 0, kernels["tally"]
    # In one piece they are the same.
    kernels = counters("variables", ADSM_SCRATCHPAD_CORES="5", ADSM_SCRATCHPAD_CODE="64K")
    assert not kernels["keep"]["code_loads"], kernels["keep"]


def report(*steps, **options):
    """All that it says, by kernel."""
    with tempfile.TemporaryDirectory() as folder:
        assert run(*steps, ADSM_STATS=f"json:{folder}/stats", ADSM_LOG="error", **options) == ""
        with open(f"{folder}/stats", encoding="utf-8") as file:
            return {kernel["kernel"]: kernel for kernel in json.load(file)["kernels"]}


def moved(kernel):
    return kernel["counters"]["code_loads"], kernel["counters"]["bytes_code"]


def settings(advice, now, word):
    """What advice says of code: the options, as they are given to run(), and loads and bytes with them."""
    found = re.search(r"cores loaded (\d+) partitions of code, (\d+) bytes; with (ADSM_\S+(?: and ADSM_\S+)*) "
                      rf"they would load {word} (\d+), (\d+) bytes", advice)
    assert found and (int(found[1]), int(found[2])) == now, (advice, now)
    return dict(setting.split("=") for setting in found[3].split(" and ")), (int(found[4]), int(found[5]))


def promised(*steps, **own):
    """With each setting that some kernel is advised to there are just the loads and bytes that it was promised, and
    results are as ever. While advice is sought all is loaded as without. Of each kernel what is loaded now, and
    then."""
    without, seeking = report(*steps, **own), report(*steps, ADSM_ADVISE="1", **own)
    assert {name: moved(kernel) for name, kernel in without.items()} == \
        {name: moved(kernel) for name, kernel in seeking.items()}, (own, without, seeking)
    advice = {name: settings(kernel["advice"], moved(kernel), "exactly")
              for name, kernel in seeking.items() if "partitions of code" in (kernel["advice"] or "")}
    for options in {tuple(options.items()) for options, _ in advice.values()}:
        assert all(own.get(name) != value for name, value in options), (own, options)
        kernels = report(*steps, **own | dict(options))
        for name, (its, promise) in advice.items():
            assert tuple(its.items()) != options or moved(kernels[name]) == promise, \
                (own, options, name, promise, kernels[name])
    return {name: (moved(kernel), advice.get(name, (None, None))[1]) for name, kernel in seeking.items()}


def advised():
    """Advice on other ways to load code."""
    one = {"ADSM_SCRATCHPAD_CORES": "1"}
    for column in (0, 3, 5):
        buffers, policy, victim = COLUMNS[column]
        kernels = promised("traces", module=TRACES, ADSM_SCRATCHPAD_CODE=SMALL, ADSM_SCRATCHPAD_POLICY=policy,
                           ADSM_SCRATCHPAD_BUFFERS=str(buffers), ADSM_SCRATCHPAD_VICTIM=victim, **one)
        # The best of the table, where it matters: there is no room for more than four.
        for name, loads in LOADS.items():
            now, then = kernels[name]
            size, less = now[1] // now[0], now[0] - min(loads)
            matters = less * size >= 64 << 10 and less * 10 >= now[0]
            assert now[0] == loads[column], (column, name, now)
            assert then == ((min(loads), min(loads) * size) if matters else None), (column, name, now, then)
    # What is loaded stays, from one kernel to the next and from one call to the next.
    kernels = promised("traces", "traces", module=TRACES, ADSM_SCRATCHPAD_PARTITIONS="always",
                       ADSM_SCRATCHPAD_BUFFERS="1", ADSM_SCRATCHPAD_CODE="64K", **one)
    assert sum(then is not None for _, then in kernels.values()) > 5, kernels
    for code in ("16000", "20K", "64K"):
        promised("shallow", "mixed", "shallow", ADSM_SCRATCHPAD_PARTITIONS="always", ADSM_SCRATCHPAD_CODE=code,
                 ADSM_SCRATCHPAD_POLICY="modulus", **one)
    # Of several cores the sum.
    kernel = report("mixed", ADSM_SCRATCHPAD_CORES="3", ADSM_SCRATCHPAD_BUFFERS="1", ADSM_SCRATCHPAD_CODE="20K",
                    ADSM_ADVISE="1")["mixed"]
    _, (loads, size) = settings(kernel["advice"], moved(kernel), "about")
    assert 0 < loads < moved(kernel)[0] and 0 < size < moved(kernel)[1], kernel


def large(folder):
    """A module with many partitions, whose kernel gives what that of "shallow" does."""
    source, module = f"{folder}/large.c", f"{folder}/large"
    with open(source, "w", encoding="utf-8") as file:
        print("#include <adsm_kernel.h>", *(
            f"ADSM_PARTITION({i}) ADSM_FUNCTION long f{i}(long a) {{ return a + {i}; }}" for i in range(1, 500)),
            "ADSM_KERNEL(depth, ADSM_INOUT(long, value)) { ADSM_THREADS { long n = *value, sum = 0;",
            "for (long i = 0; i <= n; i++) sum += ((n - i) % 2 ? 5 : 7) * i;",
            *(f"sum = f{i}(sum) - {i};" for i in range(1, 500)), "*value = sum; } }", sep="\n", file=file)
    done = execute(ADSMCC, *os.environ["TEST_ADSMCC"].split(), "--scratchpad", "--partition", "source", "-o", module,
                   source)
    assert done.returncode == 0, done
    return module


def device_of(pid):
    """The library has a pidfd of the device's process."""
    infos = ""
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8") as file:
            infos += file.read()
    return int(re.search(r"^Pid:\s*(\d+)", infos, re.M)[1])


def notes():
    """Each pair has 8 bytes. A device without memory for them says that the notes are incomplete."""
    with tempfile.TemporaryDirectory() as folder:
        env = environment(ADSM_SCRATCHPAD_CORES="1", ADSM_SCRATCHPAD_SIZE="1M", ADSM_SCRATCHPAD_CODE="256K",
                          ADSM_SCRATCHPAD_PARTITIONS="always", ADSM_SCRATCHPAD_NOTES=f"{folder}/notes",
                          # No memory of earlier allocations is left for the pairs.
                          GLIBC_TUNABLES="glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold=131072")
        program = subprocess.Popen([PROGRAM, large(folder), "shallow", "pause", "again", "shallow"], env=env,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert program.stdout.readline() == "paused\n"
        with open(f"{folder}/notes", encoding="utf-8") as file:
            assert file.read().count("\n") == 499
        device = device_of(program.pid)
        with open(f"/proc/{device}/statm", encoding="utf-8") as file:
            pages = int(file.read().split()[0])
        # The same again, but for a half of the pairs.
        resource.prlimit(device, resource.RLIMIT_AS, (pages * 4096 - 500 * 500 * 4,) * 2)
        out = program.communicate("\n", timeout=100)[0]
        says(out, "^depth: -12: a call on device 0 failed: the notes of calls cannot be written to .*/notes "
             r"\(ADSM_SCRATCHPAD_NOTES\): Cannot allocate memory")
        assert program.returncode == 0, (program.returncode, out)


def lost():
    """What goes wrong in the midst of it: one sentence, the device is gone, and the program is not."""
    says(run("deep", ADSM_SCRATCHPAD_CODE="16000"), "depth: -19: scratchpad: the partition stack is full: 256 calls "
         r"between partitions are open, and the next one is of \w+\(\) in partition \d; .*, while kernel 'depth' ran")


def refused():
    """What does not fit even so, each with its sizes; and the program goes on."""
    even_so = r"depth: -28: scratchpad: kernel 'depth' has \d+ bytes of code, but the code buffer has %s " \
        r"\(ADSM_SCRATCHPAD_CODE\), and the kernel's partitions do not fit either: "
    says(run("shallow", ADSM_SCRATCHPAD_CODE="500"), even_so % 500 + r"the partition stack "
         r"\(4096 bytes\), tables \(\d+\), libm \(\d+\) and the victim entry \(0\) alone need \d+ bytes")
    says(run("shallow", ADSM_SCRATCHPAD_CODE="8000"), even_so % 8000 + r"the code needs \d+ bytes of the code buffer, "
         r"but has \d+: \d+ for resident code, and 1 sub-buffer of \d+ for partition \d, the largest")
    text = run("shallow", ADSM_SCRATCHPAD_CODE="16000", ADSM_SCRATCHPAD_BUFFERS="4")
    says(text, even_so % 16000, "4 sub-buffers of ",
         r"The buffer also has the partition stack \(4096 bytes\), tables \(\d+\), libm \(\d+\) and the victim "
         r"entry \(0\)")
    # The size that it names is the smallest one.
    enough = int(re.search(r"(\d+) bytes would be enough for all", text)[1])
    for code, fits in ((enough, True), (enough - 64, False)):
        text = run("shallow", ADSM_SCRATCHPAD_CODE=str(code), ADSM_SCRATCHPAD_BUFFERS="4",
                   ADSM_SCRATCHPAD_PARTITIONS="always")
        assert ("do not fit" not in text) == fits, (code, text)
    # By itself it has as many as there is room for, to the byte.
    needs, has = re.search(r"the code needs (\d+) bytes of the code buffer, but has (\d+): ", run(
        "shallow", ADSM_SCRATCHPAD_CODE="16000", ADSM_SCRATCHPAD_BUFFERS="2")).groups()
    least, always = 16000 + int(needs) - int(has), {"ADSM_SCRATCHPAD_PARTITIONS": "always"}
    says(run("shallow", ADSM_SCRATCHPAD_CODE=str(least - 1), ADSM_SCRATCHPAD_BUFFERS="2", **always),
         "2 sub-buffers of ")
    loads = [counters("shallow", ADSM_SCRATCHPAD_CORES="1", ADSM_SCRATCHPAD_CODE=str(code), **always,
                      **options)["depth"]["code_loads"]
             for code, options in ((least, {"ADSM_SCRATCHPAD_BUFFERS": "2"}), (least, {}), (least - 1, {}))]
    assert loads[0] == loads[1] < loads[2], (least, loads)
    says(run("shallow", ADSM_SCRATCHPAD_PARTITIONS="always", ADSM_SCRATCHPAD_BUFFERS="64"), "depth: -28: scratchpad: "
         r"the partitions of kernel 'depth' do not fit into the code buffer of 65536 bytes \(ADSM_SCRATCHPAD_CODE, "
         r"ADSM_SCRATCHPAD_PARTITIONS=always\): the code needs \d+ bytes")
    for buffers in ("0", "3", "128", "x"):
        says(run("shallow", ADSM_SCRATCHPAD_BUFFERS=buffers), "module: .*auto, 1, 2, 4, 8, 16, 32 or 64")
    with open(MODULE, "rb") as file:
        image = bytearray(file.read())
    image[image.index(b"ADSMIMG") + 200] ^= 1
    with tempfile.NamedTemporaryFile() as file:
        file.write(image)
        file.flush()
        says(run("shallow", module=file.name), "module: .*the image is damaged: ")
        says(execute(INFO, file.name).stdout, "code in partitions   the image is damaged: ")
    says(execute(INFO, MODULE).stdout, r"code in partitions   5 partitions, the largest has \d+ bytes; \d+ bytes are "
         r"resident")


{"traces": traces, "mixed": mixed, "variables": variables, "advised": advised, "lost": lost,
 "refused": refused, "notes": notes}[CASE]()
