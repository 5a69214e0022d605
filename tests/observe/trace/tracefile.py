# SPDX-License-Identifier: MIT
"""A trace file: is it what the format's readers expect, and what do its events add up to?"""
import collections
import json

COUNTERS = ["h2d_bytes", "d2h_bytes", "h2d_transfers", "d2h_transfers", "read_faults", "write_faults", "signals",
            "ahead_blocks", "evictions", "calls", "kernel_ns", "h2d_ns", "d2h_ns", "fault_ns", "io_ns", "wait_ns",
            "once_waits", "once_ns", "displaced", "displaced_bytes", "moved", "moved_bytes"]
PROGRAM = 1
IO_TRACK, LAST_TRACK = 10000000, 80000000
PART_TRACK = 1000
# The category says where an event is and what it is; the counter its time adds to.
BARS = {"fault": None, "call": "ns", "wait": "wait_ns", "once": "once_ns", "io": "io_ns", "kernel": "kernel_ns",
        "transfer": None, "part": None, "moved": None, "displaced": None, "object_move": None}
OF_THREADS = ("fault", "call", "wait", "once", "io", "displaced", "object_move")
INSTANTS = ["opened", "evicted", "object", "reset"]


def nanoseconds(number):
    """Microseconds with three decimals, exactly."""
    assert number.count(".") == 1 and len(number.split(".")[1]) == 3, number
    return int(number.replace(".", ""))


def check_lines(text):
    """Each line but the first and the last is an object and a comma; the last before the end has none."""
    lines = text.split("\n")
    assert lines[0] == "[" and lines[-2:] == ["]", ""], (lines[0], lines[-2:])
    assert all(line[:1] == "{" and line[-2:] == "}," for line in lines[1:-3]), "a line is no whole event"
    assert lines[-3][:1] == "{" and lines[-3][-1:] == "}", lines[-3]


def check_bar(event):
    category = event["cat"]
    assert category in BARS, event
    assert (event["pid"] == PROGRAM) == (category in OF_THREADS), event
    exact = BARS[category]
    if category == "transfer":
        exact = "h2d_ns" if "h2d_ns" in event["args"] else "d2h_ns"
        assert event["tid"] % 10 == (1 if exact == "h2d_ns" else 2), event
    if category == "kernel":
        assert event["tid"] % 10 == 0, event
    if category in ("part", "moved"):
        assert event["tid"] == PART_TRACK + event["args"]["part"], event
    if category == "part":
        assert event["dur"] <= event["args"].get("work_ns", 0) + event["args"].get("exchange_ns", 0), event
    # A bar is as long as what it stands for, but on the last track, where it may be cut; a fault's has its transfers.
    cut = event["tid"] // (LAST_TRACK if event["pid"] == PROGRAM else 70) > 0
    assert event["pid"] != PROGRAM or (event["tid"] >= IO_TRACK) == (category == "io"), event
    assert 0 <= event["dur"] and (not exact or cut or event["dur"] == event["args"][exact]), event
    assert category != "fault" or event["dur"] >= event["args"]["fault_ns"], event


def check_event(event):
    fields = {"ph": str, "pid": int, "tid": int, "name": str, "args": dict}
    more = {"X": {"ts": int, "dur": int, "cat": str}, "i": {"ts": int, "s": str, "cat": str}, "M": {}}
    assert event.get("ph") in more, event
    fields.update(more[event["ph"]])
    assert {name: type(value) for name, value in event.items()} == fields, event
    assert event["pid"] >= PROGRAM and event["tid"] >= 0 and event["name"], event
    if event["ph"] == "M":
        is_program = event["name"] == "process_name" and event["pid"] == PROGRAM
        assert event["name"] in ("process_name", "thread_name"), event
        assert list(event["args"]) == (["pid", "version", "name"] if is_program else ["name"]), event
    elif event["ph"] == "i":
        assert event["s"] == "t" and event["cat"] in INSTANTS and event["pid"] == PROGRAM, event
    else:
        check_bar(event)


def check_nesting(events):
    """On one track two bars are apart or one is inside the other; of a device or of I/O they are apart."""
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append((event["ts"], -event["dur"], event))
    for (pid, tid), bars in tracks.items():
        nests = pid == PROGRAM and tid < IO_TRACK
        open_ends = []
        for start, length, event in sorted(bars, key=lambda bar: bar[:2]):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or (nests and start - length <= open_ends[-1]), f"does not nest: {event}"
            open_ends.append(start - length)


def check_names(events):
    """Every track that has something is named."""
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    used = {(event["pid"], event["tid"]) for event in events if event["ph"] in ("X", "i")}
    assert used <= named, used - named
    processes = collections.Counter(event["pid"] for event in events if event["name"] == "process_name")
    assert set(processes.values()) == {1} and {pid for pid, _ in used} | {PROGRAM} == set(processes), processes


class Trace:
    """The events of a checked file; ts and dur in nanoseconds."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        check_lines(text)
        *self.events, self.end = json.loads(text, parse_float=nanoseconds)
        for event in self.events:
            check_event(event)
        check_nesting(self.events)
        check_names(self.events)
        assert (self.end["ph"], self.end["name"]) == ("M", "trace_end"), self.end
        self.dropped = self.end["args"]["dropped"]
        assert self.dropped == sum(self.end["args"]["dropped_by"].values()), self.end
        assert self.end["args"]["complete"] == (not self.end["args"]["why"]), self.end
        assert not self.dropped or not self.end["args"]["complete"], self.end

    def of(self, category):
        return [event for event in self.events if event.get("cat") == category]

    def sums(self):
        """By counter, since they last began anew."""
        resets = [i for i, event in enumerate(self.events) if event.get("cat") == "reset"]
        sums = dict.fromkeys(COUNTERS, 0)
        for event in self.events[resets[-1] if resets else 0:]:
            for name, value in event["args"].items():
                if name in sums:
                    sums[name] += value
        return sums

    def threads(self):
        """Names by track."""
        return {event["tid"]: event["args"]["name"] for event in self.events
                if event["name"] == "thread_name" and event["pid"] == PROGRAM}


def counters(path):
    """The totals of a report."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    return report.get("totals", report)


def expect_equal(trace, report, but=()):
    """Every counter is the sum of its events."""
    sums, totals = trace.sums(), counters(report)
    wrong = {name: (sums[name], totals[name]) for name in COUNTERS if name not in but and sums[name] != totals[name]}
    assert not wrong, f"(trace, report): {wrong}"


def expect_moved(trace, counters):
    """What cores were brought adds up to what they have counted, inside of their work."""
    counters = list(counters)
    names = ("misses", "bytes_in", "code_loads", "bytes_code")
    moved = [event for event in trace.events if event.get("cat") == "moved"]
    sums = {name: sum(event["args"].get(name, 0) for event in moved) for name in names}
    assert sums == {name: sum(kernel[name] for kernel in counters) for name in names}, (sums, counters)
    work = {}
    for event in trace.events:
        if event.get("cat") == "part":
            work.setdefault(event["args"]["seq"], []).append((event["ts"], event["ts"] + event["dur"]))
    for event in moved:
        spans = work[event["args"]["seq"]]
        assert min(spans)[0] <= event["ts"], (event, spans)
        assert event["ts"] + event["dur"] <= max(end for _, end in spans), (event, spans)
