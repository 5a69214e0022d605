# SPDX-License-Identifier: MIT
"""Vector addition of 10^7 floats by NumPy, by arrays on shared memory, and by explicit copies: python3 -m adsm.run
tests/python/bench.py [N]. Prints medians, and ratios to NumPy and to explicit copies. One round: NumPy fills the
operands, they are added, and NumPy sums the result."""
import statistics
import sys
import time

import kernels
import numpy as np

import adsm

ROUNDS = 9
BLOCK = 256


def numpy_only(n):
    a, b, c = (np.zeros(n, "f4") for _ in range(3))
    return a, b, c, lambda: np.add(a, b, out=c), []


def shared(n, protocol):
    a, b, c = (adsm.zeros(n, "f4", protocol=protocol) for _ in range(3))
    vecadd = adsm.kernel(kernels.VECADD)

    def add():
        vecadd(a, b, c, n, threads=n, block=BLOCK)
        adsm.sync()

    return a, b, c, add, []


def explicit(n):
    a, b, c = (np.zeros(n, "f4") for _ in range(3))
    d, e, f = (adsm.DeviceArray(n, "f4") for _ in range(3))
    vecadd = adsm.kernel(kernels.VECADD)

    def add():
        d.copy_from(a)
        e.copy_from(b)
        vecadd(d, e, f, n, threads=n, block=BLOCK)
        f.copy_to(c)

    return a, b, c, add, [d, e, f]


def measure(way, n, turn):
    """Seconds of a round: all of it, and the addition alone."""
    a, b, c, add, _ = way
    begin = time.perf_counter()
    a.fill(turn)
    b.fill(2)
    middle = time.perf_counter()
    add()
    added = time.perf_counter()
    assert c.sum(dtype="f8") == n * (turn + 2)
    return time.perf_counter() - begin, added - middle


def main():
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7
    ways = {"NumPy": numpy_only(n), "explicit copies": explicit(n),
            **{f"shared, {protocol}": shared(n, protocol) for protocol in ("batch", "lazy", "rolling")}}
    times = {name: [] for name in ways}
    for turn in range(ROUNDS + 1):
        for name, way in ways.items():
            took = measure(way, n, turn)
            if turn:                                # the first round is warm-up
                times[name].append(took)
    medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in times.items()}
    device, = adsm.devices()
    print(f"{n:,} floats on {device.name}, {'' if adsm.is_preloaded() else 'not '}preloaded, "
          f"medians of {ROUNDS} rounds")
    print(f"{'':18} {'round':>9} {'addition':>9} {'/ NumPy':>9} {'/ copies':>9}")
    for name, (whole, addition) in medians.items():
        print(f"{name:18} {whole * 1e3:6.1f} ms {addition * 1e3:6.1f} ms {whole / medians['NumPy'][0]:9.2f} "
              f"{whole / medians['explicit copies'][0]:9.2f}")


main()
