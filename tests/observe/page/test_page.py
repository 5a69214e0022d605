# SPDX-License-Identifier: MIT
"""The page of adsmrun --html: test_page.py PAGE CASE. PAGE is page.c. The browser's case needs Chromium."""
import html.parser
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

PAGE, CASE = os.path.abspath(sys.argv[1]), sys.argv[2]
FULL = "TEST_FULL" in os.environ
COUNTERS = ["h2d_bytes", "d2h_bytes", "h2d_transfers", "d2h_transfers", "const_bytes", "read_faults", "write_faults",
            "signals", "ahead_blocks", "evictions", "calls", "kernel_ns", "h2d_ns", "d2h_ns", "fault_ns", "io_ns",
            "wait_ns"]
SIZE = 64 * 4096
LARGEST, SLOWEST = 20e6, 3              # bytes of a page, seconds
HEAD = """[
{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"pid":7,"name":"program p"}},
{"ph":"M","pid":1,"tid":70,"name":"thread_name","args":{"name":"main"}},
{"ph":"M","pid":2,"tid":0,"name":"process_name","args":{"name":"device 0: cpu"}},
{"ph":"M","pid":2,"tid":1,"name":"thread_name","args":{"name":"to device"}},
{"ph":"M","pid":2,"tid":2,"name":"thread_name","args":{"name":"to host"}},
"""
TAIL = """{"ph":"M","pid":1,"tid":0,"name":"trace_end","args":{"dropped":0,"complete":true,"why":"","dropped_by":{}}}
]
"""


def line(phase, track, start, category, name, arguments):
    """A line of a trace, with the keys in the library's order."""
    event = {"ph": phase, **track, "ts": round(start, 3), "cat": category, "name": name, "args": arguments}
    return json.dumps(event, separators=(",", ":")) + ",\n"


def make_trace(n_objects, n_events):
    """Returns what the transfers add up to, by object."""
    rng = random.Random(n_events)
    sums = {}
    with open("trace", "w", encoding="utf-8") as out:
        out.write(HEAD)
        for i in range(n_events):
            number, block, start = rng.randrange(n_objects) + 1, rng.randrange(60), 10 * i + rng.random() * 5
            arguments = {"object": number, "label": f"object {number}", "why": "read"}
            if i % 3 == 2:
                arguments.update(device=0, first_block=block, read_faults=1)
                out.write(line("i", {"pid": 1, "tid": 70, "s": "t"}, start, "opened", "opened to read", arguments))
                continue
            what = "h2d" if i % 3 else "d2h"
            arguments.update({"thread": 70, "offset": block * 4096, f"{what}_bytes": 8192, f"{what}_transfers": 1})
            track = {"pid": 2, "tid": 1 if i % 3 else 2, "dur": round(rng.random() * 4, 3)}
            out.write(line("X", track, start, "transfer", f"object {number}", arguments))
            sums.setdefault(number, {"h2d": 0, "d2h": 0})[what] += 8192
        out.write(TAIL)
    return sums


def object_of(number, counters):
    """An object of a report. Names are not to become elements of the page."""
    cause = {"why": "read", "where": f"a<b>.c:{number}", "in_libc": False, "kernel": None, "read_faults": 1,
             "write_faults": 0, "faults": 1, "offset": 0, "to_device": {"transfers": 1, "bytes": number},
             "to_host": {"transfers": 2, "bytes": 4096}}
    advice = {"kind": "x", "text": "Use \"lazy\" & more.", "setting": "ADSM_PROTOCOL=lazy", "exact": True,
              "now": {"h2d_bytes": 100, "signals": 5}, "then": {"h2d_bytes": 10, "signals": 5}}
    return {"id": number, "name": "</script><b>" if number == 3 else None, "size": SIZE, "protocol": "rolling",
            "block_size": 4096, "n_blocks": SIZE // 4096, "device": 0, "kind": "shared", "site": f"main.c:{number}",
            "stack": ["main.c:1", "start"], "made_ns": 1000, "freed_ns": None, "calls": 2, "counters": counters,
            "causes": [cause], "advice": [advice] if number == 2 else []}


def make(n_objects, n_events):
    """A report and a trace as the library writes them."""
    sums = make_trace(n_objects, n_events)
    counters = {name: 0 for name in COUNTERS}
    totals = dict(counters, h2d_bytes=sum(s["h2d"] for s in sums.values()),
                  d2h_bytes=sum(s["d2h"] for s in sums.values()), kernel_ns=123456789)
    times = {"counted_ns": 10 ** 9, "wait_ns": 5, "once_ns": 0, "to_device_ns": 7 * 10 ** 6, "to_host_ns": 11,
             "fault_ns": 13, "io_ns": 17, "cpu_ns": 19, "kernel_ns": 23}
    kernel = {"device": 0, "kernel": "k<1>", "calls": 4, "kernel_ns": 99, "counters": {"misses": 5, "flush_ns": 7},
              "advice": None}
    head = {"adsm": "0.1.0", "final": True, "program": "./p", "pid": 7, "wall_ns": 10 ** 9, "protocol": "rolling",
            "block_size": 4096, "devices": [{"index": 0, "name": "cpu 0", "backend": "cpu"}], "totals": totals,
            "time": times, "waiters": [], "kernels": [kernel],
            "version": 2, "lanes": [{"device": 0, "lane": n, "calls": 3 + n, "kernel_ns": 40 + n} for n in range(2)]}
    order = sorted(range(1, n_objects + 1), key=lambda n: -sum(sums.get(n, {"none": 0}).values()))
    with open("report", "w", encoding="utf-8") as out:
        text = ",\n".join(f"\t{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items())
        lines = ",\n".join("\t\t" + json.dumps(object_of(n, dict(counters, h2d_bytes=sums.get(n, {"h2d": 0})["h2d"])))
                           for n in order)
        out.write(f'{{\n{text},\n\t"objects": [\n{lines}],\n\t"objects_not_listed": 0\n}}\n')
    return sums


def page():
    done = subprocess.run([PAGE, "report", "trace", "page.html"], check=False)
    assert done.returncode == 0
    with open("page.html", encoding="utf-8") as file:
        text = file.read()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
    assert data[-1] is None and len(data) == 2
    with open("report", encoding="utf-8") as file:
        assert data[0]["report"] == json.load(file)
    return data[0]["trace"], len(text)


def check_sums(trace, sums, n_events):
    events = trace["events"]
    assert trace["n_events"] == sum(events[6::8]) == n_events, (trace["n_events"], sum(events[6::8]), n_events)
    assert sum(events[7::8]) == sum(s["h2d"] + s["d2h"] for s in sums.values())
    for heat_map in trace["maps"]:
        cells, want = heat_map["cells"], sums.get(heat_map["object"], {"h2d": 0, "d2h": 0})
        # Each cell is rounded to a byte.
        for at, what in (2, "h2d"), (3, "d2h"):
            assert abs(sum(cells[at::5]) - want[what]) <= len(cells) / 5, (heat_map["object"], what)
    assert trace["end"]["complete"] is True


def whole():
    """Each event of a small trace is in the page by itself."""
    sums = make(5, 300)
    trace, _ = page()
    check_sums(trace, sums, 300)
    assert trace["width_us"] == 0 and len(trace["events"]) == 8 * 300 and len(trace["maps"]) == 5
    tracks = [(track["pid"], track["tid"], track["name"]) for track in trace["tracks"]]
    assert (1, -1, "program p") in tracks and (2, 1, "to device") in tracks, tracks
    # Without a trace.
    os.unlink("trace")
    assert page()[0] is None


def large():
    """Many events: short ones are together, and nothing is lost."""
    n = 10 ** 6 if FULL else 10 ** 5
    sums = make(4096, n)
    start = time.monotonic()
    trace, size = page()
    print(f"{size / 1e6:.1f} MB, {time.monotonic() - start:.1f} s")
    check_sums(trace, sums, n)
    assert trace["width_us"] > 0 and len(trace["events"]) < 8 * n / 2 and len(trace["maps"]) == 256
    assert size <= LARGEST


class Cells(html.parser.HTMLParser):
    """The numbers of a page as the browser shows them: (path, data-n, text)."""

    def __init__(self):
        super().__init__()
        self.cells, self.at = [], None

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if "data-path" in attributes:
            self.at = [attributes["data-path"], attributes["data-n"], ""]
            self.cells.append((self.at, tag))

    def handle_data(self, data):
        if self.at:
            self.at[2] += data

    def handle_endtag(self, tag):
        self.at = None


def look(path, value):
    for part in path.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def show(chromium, page_file, *options):
    """What Chromium makes of a page, and the processor time that this takes."""
    start = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    done = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           "--user-data-dir=profile", "--enable-logging=stderr", "--v=0",
                           "--virtual-time-budget=60000", "--dump-dom", *options,
                           "file://" + os.path.abspath(page_file) + "?theme=dark"],
                          capture_output=True, text=True, check=False, timeout=500)
    return done, sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - start


def check_time(chromium):
    """A page of 4,096 objects and a million events takes at most three seconds of a processor more than an empty page.
    Other tests do not change this number much. In one process, so that all of the time is known."""
    with open("empty.html", "w", encoding="utf-8") as file:
        file.write("<!DOCTYPE html><title>empty</title>")
    _, empty = show(chromium, "empty.html", "--single-process")
    done, seconds = show(chromium, "page.html", "--single-process")
    print(f"{seconds - empty:.1f} s of a processor more than an empty page")
    assert len(done.stdout) > 10 ** 6 and empty > 0.1, (len(done.stdout), empty)
    assert seconds - empty <= SLOWEST, seconds


def browser():
    """Every number that Chromium shows is the report's, and its console is empty."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        print("skipped: there is no Chromium (Debian: chromium)")
        sys.exit(77)
    for n_objects, n_events in (5, 300), (4096, 10 ** 6 if FULL else 10 ** 5):
        make(n_objects, n_events)
        page()
        assert os.path.getsize("page.html") <= LARGEST
        done, _ = show(chromium, "page.html")
        if n_events == 10 ** 6:
            check_time(chromium)
        bad = [line for line in done.stderr.split("\n") if "CONSOLE" in line]
        assert not bad, bad
        cells = Cells()
        cells.feed(re.sub(r"<script.*?</script>", "", done.stdout, flags=re.S))
        with open("report", encoding="utf-8") as file:
            report = json.load(file)
        assert len(cells.cells) > 50, done.stdout[-2000:]
        for (path, number, text), tag in cells.cells:
            assert float(number) == look(path, report), (path, number)
            assert tag != "td" or int(text.replace(",", "")) == look(path, report), (path, text)
        assert "<b>" not in re.sub(r"<script.*?</script>", "", done.stdout, flags=re.S), "a name is an element"
        assert "k&lt;1&gt;" in done.stdout


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    {"whole": whole, "large": large, "browser": browser}[CASE]()
    os.chdir("/")
