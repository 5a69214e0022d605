# SPDX-License-Identifier: MIT
"""The timeline of real programs: test_trace.py TRACED PARBOIL CASE"""
import collections
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

from tracefile import Trace, counters, expect_equal

TRACED, PARBOIL, CASE = sys.argv[1:]
# Each page is a block, opened by itself.
SMALL = {"ADSM_PROTOCOL": "rolling", "ADSM_BLOCK_SIZE": "4K", "ADSM_FAULT_AHEAD": "0"}


def command(folder, *args, **environment):
    return dict(args=args, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=dict(os.environ, ADSM_TRACE=folder + "/trace", ADSM_STATS="json:" + folder + "/stats",
                         # Children of forks would look for leaks, too, and talk about it.
                         ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0", **environment))


def run(folder, *args, status=0, says=(), limit=None, **environment):
    """Run a program to its @status; on standard error it says a line with each of @says, no more."""
    done = subprocess.run(**command(folder, *args, **environment), check=False, preexec_fn=limit)
    lines = done.stderr.splitlines()
    assert done.returncode == status and len(lines) == len(says), done
    assert all(text in line for text, line in zip(says, lines)), done
    return done


def whole(folder, *args, **environment):
    """Nothing is dropped, and every counter is the sum of its events."""
    run(folder, *args, **environment)
    trace = Trace(folder + "/trace")
    assert trace.dropped == 0 and trace.end["args"]["complete"], trace.end
    expect_equal(trace, folder + "/stats")
    return trace


def loaded(folder, *args, **environment):
    """The same where more comes than a busy machine can write."""
    done = subprocess.run(**command(folder, *args, **environment), check=False)
    trace = Trace(folder + "/trace")
    assert done.returncode == 0 and ("events were dropped" in done.stderr) == (trace.dropped > 0), done
    assert len(done.stderr.splitlines()) == (trace.dropped > 0), done
    if not trace.dropped:
        expect_equal(trace, folder + "/stats")
    return trace


def read_report(folder):
    with open(folder + "/stats", encoding="utf-8") as file:
        return json.load(file)


def in_trace(trace, *names):
    """What the program did, by counter, is there at all."""
    sums = trace.sums()
    assert all(sums[name] for name in names), sums


def parboil(folder):
    for protocol in ["batch", "lazy", "rolling"]:
        # So small a rolling size may evict, so small blocks have neighbours to open.
        trace = whole(folder, PARBOIL, "run", "stencil3d", "--size", "small", "--protocol", protocol,
                      # That may be warned of.
                      ADSM_BLOCK_SIZE="4K", ADSM_ROLLING_SIZE="8", ADSM_EVICT_BATCH="8K", ADSM_LOG="error")
        in_trace(trace, "calls", "kernel_ns", "h2d_bytes", "d2h_bytes", "io_ns", "wait_ns")
        if protocol != "batch":
            in_trace(trace, "read_faults", "write_faults", "signals", "fault_ns")
        if protocol == "rolling":
            in_trace(trace, "ahead_blocks")
        assert len(trace.of("kernel")) == len(trace.of("call")) == counters(folder + "/stats")["calls"]


def labels(trace):
    """What objects are called; that they were made may be written before they have a name."""
    return {event["args"]["label"] for event in trace.events
            if "label" in event["args"] and not event["name"].startswith("made, ")}


def everything(folder):
    trace = whole(folder, TRACED, "all", **SMALL)
    assert labels(trace) == {'a "name"\\\t\x7f\u00e9\ufffd', "other"}, labels(trace)
    # The main thread's track has the program's name.
    assert trace.threads()[trace.of("call")[0]["tid"]] == "traced", trace.threads()
    devices = {event["args"]["name"] for event in trace.events if event["name"] == "process_name"}
    assert devices == {"program traced", "device 0: cpu cpu 0"}, devices
    assert trace.events[0]["args"]["pid"] == read_report(folder)["pid"], trace.events[0]
    # Each call and its kernel have the same number.
    calls = {event["args"]["seq"]: event for event in trace.of("call")}
    for kernel in trace.of("kernel"):
        assert kernel["name"] == "increment" and kernel["ts"] >= calls[kernel["args"]["seq"]]["ts"], kernel
        # One after the other, also those that nobody has waited for one by one.
        assert kernel["tid"] == 0, kernel
    in_trace(whole(folder, TRACED, "evicts", **SMALL, ADSM_ROLLING_SIZE="2", ADSM_EVICT_BATCH="1"), "evictions")
    whole(folder, TRACED, "all", **SMALL, ADSM_CPU_MEMORY="unified")
    whole(folder, TRACED, "all", **SMALL, ADSM_CPU_DEVICES="2")


def lanes(folder):
    trace = whole(folder, TRACED, "lanes", **SMALL)
    runs = collections.Counter(kernel["args"]["lane"] for kernel in trace.of("kernel"))
    assert runs == {0: 4, 1: 5, 2: 6}, runs
    assert all(kernel["tid"] % 10 == 0 and kernel["tid"] // 10 >= kernel["args"]["lane"]
               for kernel in trace.of("kernel")), trace.of("kernel")
    report = read_report(folder)
    assert report["version"] == 2 and trace.events[0]["args"]["version"] == 3, report
    assert {(lane["device"], lane["lane"]): lane["calls"] for lane in report["lanes"]} == {
        (0, 0): 4, (0, 1): 5, (0, 2): 6}, report["lanes"]
    assert sum(lane["kernel_ns"] for lane in report["lanes"]) == report["totals"]["kernel_ns"], report
    # The same as text; a single lane has no lines.
    for case, expected in (("lanes", [(0, 4), (1, 5), (2, 6)]), ("room", [])):
        arguments = command(folder, TRACED, case, **SMALL)
        arguments["env"]["ADSM_STATS"] = f"text:{folder}/text"
        subprocess.run(**arguments, check=True)
        with open(folder + "/text", encoding="utf-8") as file:
            lines = re.findall(r"adsm: device 0, lane (\d+): (\d+) calls, kernels ran for [\d.]+ [mu]?s\n", file.read())
        assert [tuple(map(int, line)) for line in lines] == expected, (case, lines)


def inside(event, bars):
    return any(bar["tid"] == event["tid"] and bar["ts"] <= event["ts"] and
               event["ts"] + event["dur"] <= bar["ts"] + bar["dur"] for bar in bars)


def displaced(folder):
    """Objects that make room for a call, and objects that a call of another device needs, inside of these calls."""
    trace = whole(folder, TRACED, "room", **SMALL, ADSM_CPU_MEMORY="discrete", ADSM_CPU_MEMORY_SIZE="512K")
    events = trace.of("displaced")
    assert [event["args"]["label"] for event in events[:3]] == ["object 0", "object 1", "object 2"], events
    assert all(event["args"]["displaced_bytes"] == 40 * 4096 and inside(event, trace.of("call"))
               for event in events), events
    fetches = [event for event in trace.of("transfer") if event["args"]["why"] == "room"]
    assert sum(event["args"]["d2h_bytes"] for event in fetches) == trace.sums()["displaced_bytes"], fetches
    trace = whole(folder, TRACED, "moves", **SMALL, ADSM_CPU_MEMORY="discrete", ADSM_CPU_DEVICES="2")
    events = trace.of("object_move")
    assert [(event["args"]["label"], event["args"]["device"], event["args"]["to"]) for event in events] == [
        ("counted", 1, 0), ("counted", 0, 1)], events
    # Each before the bar of its call; the first call was on device 1.
    calls = trace.of("call")[1:]
    assert all(event["tid"] == call["tid"] and event["ts"] + event["dur"] <= call["ts"]
               for event, call in zip(events, calls, strict=True)), (events, calls)


def expect_dropped(trace, totals):
    """What was dropped is known exactly, where an event counts one."""
    dropped = collections.Counter(trace.end["args"]["dropped_by"])
    assert len(trace.of("transfer")) + dropped["transfer"] == totals["h2d_transfers"] + totals["d2h_transfers"]
    # A fault that had to wait has two events, of which one counts.
    assert 0 <= totals["signals"] - trace.sums()["signals"] <= dropped["fault"]
    assert totals["write_faults"] > 4 * 256 * 29
    assert len(trace.of("opened")) + dropped["opened"] == totals["read_faults"] + totals["write_faults"]
    assert len(trace.of("call")) + dropped["call"] == len(trace.of("kernel")) + dropped["kernel"] == totals["calls"]


def threads(folder):
    """More events than all rings hold: they are written meanwhile, or known to be dropped."""
    trace = loaded(folder, TRACED, "threads", **SMALL)
    expect_dropped(trace, counters(folder + "/stats"))
    assert {f"worker {i}" for i in range(1, 5)} <= set(trace.threads().values()), trace.threads()


def dropped(folder):
    """Nobody reads what is written: the rings fill, and what is dropped is counted."""
    os.mkfifo(folder + "/trace")
    process = subprocess.Popen(**command(folder, TRACED, "threads", **SMALL))
    with open(folder + "/trace", encoding="utf-8") as pipe, open(folder + "/copy", "w", encoding="utf-8") as copy:
        assert process.stdout.readline() == "ready\n"
        copy.write(pipe.read())
    _, stderr = process.communicate()
    trace = Trace(folder + "/copy")
    assert process.returncode == 0 and trace.dropped > 0, (process.returncode, stderr)
    assert f"ADSM_TRACE: {trace.dropped} events were dropped" in stderr and len(stderr.splitlines()) == 1, stderr
    expect_dropped(trace, counters(folder + "/stats"))


def ended(folder):
    """Threads that end leave their events and their names, and their rings to others."""
    trace = loaded(folder, TRACED, "ended")
    calls = trace.sums()["calls"]
    # Without that 1024 have one.
    assert 1200 < calls <= 1500, calls
    names = [name for name in trace.threads().values() if name.startswith("short ")]
    assert len(names) == len(set(names)) >= calls, (len(names), calls)


def signals(folder):
    """Handlers that fault come in the middle of everything."""
    trace = loaded(folder, TRACED, "signals", **SMALL)
    assert any(event["args"]["label"] == "handlers" for event in trace.of("fault"))


def killed(folder):
    """What a killed program leaves lacks only the end; a kill in the middle of a write can cut the last line."""
    process = subprocess.Popen(**command(folder, TRACED, "killed", **SMALL))
    assert process.stdout.readline() == "ready\n"
    # Until the helper has written something of what came after.
    while os.stat(folder + "/trace").st_size < 1000000:
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    with open(folder + "/trace", "r+b") as file:
        file.truncate(file.read().rindex(b"\n") + 1)
    with open(folder + "/trace", "a", encoding="utf-8") as file:
        file.write('{"ph":"M","pid":1,"tid":0,"name":"trace_end","args":{"dropped":0,"complete":false,"why":"killed",'
                   '"dropped_by":{}}}\n]\n')
    in_trace(Trace(folder + "/trace"), "calls", "kernel_ns", "h2d_bytes", "d2h_bytes", "signals")


def unwritable(folder):
    for path, why in [("/nowhere/trace", "No such file"), (folder, "Is a directory"), ("/dev/full", "No space left")]:
        environment = command(folder, TRACED, "all")
        environment["env"]["ADSM_TRACE"] = path
        done = subprocess.run(**environment, check=False)
        assert done.returncode == 1, done
        assert f"ADSM_TRACE: cannot write to {path}: {why}" in done.stderr, done


def limited(folder):
    """The file may not grow any more: said once, the program goes on, and lines stay whole."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, resource.RLIM_INFINITY))
    run(folder, TRACED, "forks", says=["ADSM_TRACE: cannot write more of the trace: File too large"], limit=limit,
        **SMALL)
    with open(folder + "/trace", encoding="utf-8") as file:
        text = file.read()
    assert text.startswith("[\n{") and text.endswith("},\n") and len(text) <= 100000, text[-100:]


def forks(folder):
    """The child of a fork writes nothing to its parent's file."""
    trace = whole(folder, TRACED, "forks", **SMALL)
    assert trace.sums()["calls"] == 3


def execs(folder):
    """After an exec that fails it goes on; one that does not ends it, and says so."""
    run(folder, TRACED, "execs", **SMALL)
    trace = Trace(folder + "/trace")
    assert trace.end["args"] == {"dropped": 0, "complete": False, "why": "the process became another program",
                                 "dropped_by": {}}, trace.end
    assert trace.sums()["calls"] == 2
    expect_equal(trace, folder + "/stats")


def exec_late(folder):
    """An exec that fails once the files are ended, or while others go on: they are whole, and complete."""
    trace = whole(folder, TRACED, "exec_late", **SMALL)
    assert trace.sums()["calls"] == 1


def exec_handler(folder):
    """An exec by a handler that comes in the middle of whatever the library does, with its locks or without."""
    for _ in range(20):
        run(folder, TRACED, "exec_handler", **SMALL)
        assert not Trace(folder + "/trace").end["args"]["complete"]


def exec_pipe(folder):
    """What has gone through a pipe cannot be taken back: the trace is not ended before an exec that may fail."""
    os.mkfifo(folder + "/trace")
    process = subprocess.Popen(**command(folder, TRACED, "execs", **SMALL))
    with open(folder + "/trace", encoding="utf-8") as pipe:
        text = pipe.read()
    assert process.communicate() == ("", "") and process.returncode == 0, process
    assert text.startswith("[\n{") and text.endswith("},\n") and "]\n" not in text[2:], text[-1000:]
    calls = [event for event in json.loads(text[:-2] + "]") if event.get("cat") == "call"]
    assert len(calls) == 2, calls


def closes(folder):
    """Whoever closes the file and has its number for another finds nothing of ours in that."""
    done = run(folder, TRACED, "closes", says=["ADSM_TRACE: cannot write more of the trace: Bad file"], **SMALL)
    assert done.stdout == "", done


def restart(folder):
    trace = whole(folder, TRACED, "restart", **SMALL)
    objects = [event["name"].split(",")[0] for event in trace.of("object")]
    assert objects == ["made", "freed"], objects
    assert labels(trace) == {"second"}, labels(trace)
    assert trace.sums()["calls"] == 2, trace.sums()


def rings(folder):
    """Whatever comes, bars nest on their tracks, and each event is there once."""
    program = os.path.join(os.path.dirname(TRACED), "rings")
    done = subprocess.run([program, folder + "/trace"], text=True, check=True, stdout=subprocess.PIPE)
    trace = Trace(folder + "/trace")
    assert trace.dropped == 0, trace.end
    for category, n in json.loads(done.stdout).items():
        assert len(trace.of(category)) == n, (category, n)
    # On the first track whatever does not overlap, in the order of the ends; on the one beside it some that do.
    tids = sorted({event["tid"] for event in trace.of("io")})
    first, second = ([(e["ts"], e["dur"]) for e in trace.of("io") if e["tid"] == tid] for tid in (tids[0], tids[2]))
    assert {(10000, 10000), (30000, 10000), (45000, 15000), (70000, 10000)} <= set(first), first
    assert {(25000, 20000), (48000, 22000)} <= set(second), second
    assert {event["tid"] for event in trace.of("kernel")} == set(range(0, 70, 10)), trace.of("kernel")
    assert {"rings: I/O", "rings: I/O (2)"} <= set(trace.threads().values()), trace.threads()
    devices = {event["args"]["name"] for event in trace.events if event["name"] == "process_name"}
    assert devices == {"program rings", "device 1: by hand"}, devices


def picture(folder):
    """docs/timeline.py draws it, and what a killed program left of one."""
    if not shutil.which("gnuplot"):
        print("skipped: no gnuplot")
        sys.exit(77)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/timeline.py")
    loaded(folder, TRACED, "forks", **SMALL)
    with open(folder + "/trace", encoding="utf-8") as file:
        text = file.read()
    with open(folder + "/cut", "w", encoding="utf-8") as file:
        file.write(text[:text.index("},\n", 100000) + 3])
    for trace in ["trace", "cut"]:
        out = folder + "/picture.svg"
        subprocess.run([sys.executable, script, f"{folder}/{trace}", out, "--from", "1"], check=True)
        with open(out, encoding="utf-8") as file:
            drawn = file.read()
        assert all(text in drawn for text in ["kernels", "to the device", "write faults", "</svg>"]), drawn[:1000]


with tempfile.TemporaryDirectory() as directory:
    {"parboil": parboil, "all": everything, "threads": threads, "dropped": dropped, "ended": ended,
     "signals": signals, "killed": killed, "unwritable": unwritable, "limited": limited, "forks": forks,
     "execs": execs, "exec_late": exec_late,
     "exec_handler": exec_handler, "exec_pipe": exec_pipe, "closes": closes, "restart": restart, "rings": rings,
     "lanes": lanes, "displaced": displaced, "picture": picture}[CASE](directory)
