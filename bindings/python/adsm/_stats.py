# SPDX-License-Identifier: MIT
"""The library's counters."""
from __future__ import annotations

import ctypes
from typing import NamedTuple, Optional

from . import _library
from ._arrays import Array, address_of, is_shared


class Stats(NamedTuple):
    """Counters since the library's start or reset_stats(). Names that end in _ns are times in nanoseconds. The
    difference of two Stats is what happened in between."""

    h2d_bytes: int          # bytes sent to the device
    d2h_bytes: int          # bytes fetched from the device
    h2d_transfers: int      # transfers to the device
    d2h_transfers: int      # transfers from the device
    const_bytes: int        # bytes of constant arguments
    read_faults: int        # blocks that left Invalid for reading
    write_faults: int       # blocks that became Dirty
    signals: int            # entries of the fault handler
    ahead_blocks: int       # blocks opened by fault-ahead
    evictions: int          # blocks sent early by the rolling protocol
    calls: int              # kernel calls
    kernel_ns: int          # time in kernels
    h2d_ns: int             # time sending
    d2h_ns: int             # time fetching
    fault_ns: int           # time handling faults, without transfers and waits
    io_ns: int              # time in interposed input and output
    wait_ns: int            # time waiting for calls
    once_waits: int         # waits for units of write-once objects
    once_ns: int            # time waiting for units of write-once objects
    displaced: int          # objects moved to the host for room on the device
    displaced_bytes: int    # bytes fetched to displace objects
    moved: int              # objects moved to another device for a call
    moved_bytes: int        # bytes fetched to move objects

    def __sub__(self, earlier: Stats) -> Stats:
        return Stats(*(value - before for value, before in zip(self, earlier)))


def stats(array: Optional[Array] = None) -> Stats:
    """Return the counters of the whole library, or of the object that an array is in. Calls and times of kernels are
    counted for the whole library only."""
    counters = (ctypes.c_uint64 * len(Stats._fields))()
    size = ctypes.sizeof(counters)
    if array is None:
        _library.check(_library.get().adsmStatsGet(counters, size))
    elif is_shared(array):
        _library.check(_library.get().adsmObjectStatsGet(address_of(array), counters, size))
    else:
        raise ValueError("the array is not on shared memory")
    return Stats(*counters)


def reset_stats() -> None:
    """Set all counters to 0."""
    _library.check(_library.get().adsmStatsReset())
