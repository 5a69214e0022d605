# SPDX-License-Identifier: MIT
"""A picture of a timeline (ADSM_TRACE=FILE), drawn by gnuplot: a row for each thread, each track of a device and each
node of a cluster."""
import argparse
import json
import os
import subprocess
import sys

STYLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../parboil/figures/style.gp")
PROGRAM = 1
PARTS = 1000           # from here on tracks of a device are those of its parts
# What is drawn, each over those before it: its name and its colour, most as style.gp has them.
KINDS = {
    "wait": ("waits for calls", "0xd9d9d9"),
    "call": ("calls a kernel", "yellow"),
    "io": ("input and output", "orange"),
    "read fault": ("read faults", "sky"),
    "write fault": ("write faults", "vermilion"),
    "evicted": ("sent early", "0xcc79a7"),
    "kernel": ("kernels", "black"),
    "to device": ("to the device", "blue"),
    "to host": ("to the host", "green"),
    "part": ("nodes' work", "0x7f7f7f"),
    "exchange": ("exchanges", "0xa6761d"),
}
NARROWEST = 1 / 1400    # of the picture: what is shorter is still seen


def load(path):
    """The events; of a program that was killed, those it left."""
    with open(path, encoding="utf-8") as file:
        text = file.read().rstrip()
    if not text.endswith("]"):
        text = text[:text.rindex("\n") if not text.endswith(",") else None].rstrip().rstrip(",") + "]"
    return json.loads(text)


def kind_of(event):
    category, args = event.get("cat"), event["args"]
    if category == "fault":
        return event["name"].split(",")[0]
    if category == "transfer":
        return "to device" if "h2d_bytes" in args else "to host"
    if category == "part":
        return "exchange" if "exchange_ns" in args else "part"
    return category if category in KINDS else None


def end_of(event):
    return event["ts"] + event.get("dur", 0)


def rows_of(events, shown):
    """From the top: the names of the rows, and each track's row."""
    names = {"process_name": {}, "thread_name": {}}
    for event in events:
        key = (event["pid"], event["tid"]) if event["name"].startswith("thread") else event["pid"]
        if event["name"] in names:
            names[event["name"]][key] = event["args"]["name"]
    used = {(event["pid"], event["tid"]) for event, _ in shown}
    n_devices = len({pid for pid, _ in used if pid != PROGRAM})
    # Tracks beside another have its number, and so many more.
    beside = lambda pid, tid: 10000000 if pid == PROGRAM or tid >= PARTS else 10
    tracks = sorted(used, key=lambda track: (track[0], track[0] != PROGRAM and track[1] >= PARTS,
                                             track[1] % beside(*track), track[1]))
    labels = [names["thread_name"].get(track, str(track[1])) for track in tracks]
    for i, (pid, _) in enumerate(tracks):
        if pid != PROGRAM and n_devices > 1:
            labels[i] = names["process_name"][pid].split(":")[0] + ", " + labels[i]
    return labels, {track: len(tracks) - 1 - i for i, track in enumerate(tracks)}


def size(n):
    for unit, one in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]:
        if n >= one:
            return f"{n / one:.1f} {unit}"
    return f"{n} B"


def caption_of(shown):
    sums = {}
    for event, _ in shown:
        for name, value in event["args"].items():
            if isinstance(value, int):
                sums[name] = sums.get(name, 0) + value
    get = lambda name: sums.get(name, 0)
    return (f"In this: {get('signals')} faults; {size(get('h2d_bytes'))} to the device in {get('h2d_transfers')} "
            f"transfers, {get('evictions')} blocks early; {size(get('d2h_bytes'))} to the host in "
            f"{get('d2h_transfers')}; {sum(kind == 'kernel' for _, kind in shown)} kernels.")


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', "'") + '"'


def script(args, events):
    begin, end = args.begin * 1000, args.end * 1000 if args.end is not None else float("inf")
    shown = [(event, kind_of(event)) for event in events if event["ph"] in ("X", "i") and kind_of(event)]
    shown = [(event, kind) for event, kind in shown if begin <= end_of(event) and event["ts"] <= end]
    if not shown:
        sys.exit("timeline.py: there is nothing to draw")
    end = min(end, max(end_of(event) for event, _ in shown))
    begin = max(begin, min(event["ts"] for event, _ in shown))
    labels, rows = rows_of(events, shown)
    title = args.title or next(event["args"]["name"] for event in events if event["name"] == "process_name")
    tics = ", ".join(f"{quoted(label)} {len(labels) - 1 - i}" for i, label in enumerate(labels))
    lines = [f"csv = ''; out = {quoted(args.out)}; caption = {quoted(caption_of(shown))}; title = {quoted(title)}",
             f"load {quoted(STYLE)}", "unset datafile", "set datafile separator whitespace",
             "set xlabel 'time, ms' offset 0,0.4",
             f"set xrange [{begin / 1000}:{end / 1000}]", f"set yrange [-0.6:{len(labels) - 0.4}]",
             "set lmargin at screen 0.14", "unset grid", "set grid xtics lc rgb '#d0d0d0' lw 1", "set tics scale 0.5",
             "set key maxrows 2 samplen 1", "set tmargin at screen 0.83",
             "set label 1 at screen 0.015, screen 0.025",
             f"set ytics ({tics})"]
    plots = []
    for number, (kind, (name, colour)) in enumerate(KINDS.items()):
        boxes = []
        for event in sorted((event for event, its in shown if its == kind), key=lambda event: event["ts"]):
            left, right = event["ts"], max(end_of(event), event["ts"] + (end - begin) * NARROWEST)
            row = rows[event["pid"], event["tid"]]
            left, right = max(left, begin) / 1000, min(right, end) / 1000
            boxes.append(f"{left} {row} {left} {right} {row - 0.4} {row + 0.4}")
        if boxes:
            lines += [f"$boxes{number} << EOD", *boxes, "EOD"]
            plots.append(f"$boxes{number} using 1:2:3:4:5:6 with boxxyerror fs solid 1 noborder lc rgb {colour} "
                         f"title {quoted(name)}")
    return "\n".join(lines + ["plot " + ", \\\n".join(plots)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace")
    parser.add_argument("out", help="a name that ends with .svg, or another for PNG")
    parser.add_argument("--from", dest="begin", type=float, default=0, metavar="MS", help="since the library's start")
    parser.add_argument("--to", dest="end", type=float, metavar="MS")
    parser.add_argument("--title")
    args = parser.parse_args()
    subprocess.run(["gnuplot", "-d"], input=script(args, load(args.trace)), text=True, check=True)


main()
