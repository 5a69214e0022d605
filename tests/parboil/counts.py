# SPDX-License-Identifier: MIT
"""What the paper's protocols move, exactly: bytes each way, faults and evictions of every benchmark, one sync after
each call, blocks of 4 KiB: counts.py PROGRAM BENCH SIZE"""
import sys

from program import expect, need_backend, result

BENCH, SIZE = sys.argv[2:]

# calls; explicit: bytes to the device, to the host, constants; batch: bytes each way; lazy: to the device, to the
# host, faults; rolling: to the device, to the host, faults, evictions. Derived by hand from the programs' accesses.
COUNTS = {
    "cp small": (10, (0, 65536, 64000), 655360, (0, 65536, 1), (0, 65536, 16, 0)),
    "mri-q small": (9, (53248, 34816, 8192), 792576, (53248, 34816, 8), (53248, 34816, 23, 0)),
    "mri-fhd small": (9, (57344, 36864, 10240), 847872, (57344, 36864, 11), (57344, 36864, 26, 0)),
    "pns small": (32, (0, 512, 0), 25600512, (0, 512, 64), (0, 512, 64, 0)),
    "rpes small": (13, (691152, 42504, 3120), 11507496, (691152, 42504, 3), (691152, 8192, 171, 161)),
    "sad small": (3, (50688, 8897328, 50688), 26844048, (50688, 8897328, 2), (50688, 5980976, 1474, 9)),
    "tpacf small": (1, (67584, 3360, 84), 70944, (67584, 3360, 2), (71680, 3360, 19, 14)),
    "stencil3d small": (64, (131328, 1024256, 0), 41156608, (16259072, 16384000, 129), (389120, 1269760, 408, 26)),
    "stencil3d small64": (64, (1048832, 5972224, 0), 258211840, (95107072, 95551488, 129),
                          (1306624, 6217728, 1840, 250)),
    "vecadd small": (1, (2097152, 1048576, 0), 3145728, (2097152, 1048576, 3), (2097152, 1048576, 768, 506)),
    "blackscholes small": (20, (1200000, 800000, 0), 40000000, (1200000, 800000, 5), (1200000, 800000, 490, 284)),
    "scan small": (20, (102400, 102400, 0), 4096000, (102400, 102400, 2), (102400, 102400, 50, 21)),
}


def run(*args):
    return result(BENCH, "--size", SIZE, *args, ADSM_PAPER="1")


need_backend()
calls, explicit, batch, lazy, rolling = COUNTS[f"{BENCH} {SIZE}"]
report = run("--variant", "explicit")
expect(report, calls=calls, h2d_bytes=explicit[0], d2h_bytes=explicit[1], const_bytes=explicit[2], read_faults=0,
       write_faults=0, evictions=0)
const_bytes = report["const_bytes"]
expect(run("--protocol", "batch"), calls=calls, h2d_bytes=batch, d2h_bytes=batch, const_bytes=const_bytes, signals=0,
       evictions=0)
report = run("--protocol", "lazy")
expect(report, calls=calls, h2d_bytes=lazy[0], d2h_bytes=lazy[1], const_bytes=const_bytes, evictions=0)
assert report["read_faults"] + report["write_faults"] == lazy[2], report
report = run("--protocol", "rolling", "--block-size", "4K")
expect(report, calls=calls, h2d_bytes=rolling[0], d2h_bytes=rolling[1], const_bytes=const_bytes, evictions=rolling[3],
       ahead_blocks=0)
assert report["read_faults"] + report["write_faults"] == rolling[2], report
