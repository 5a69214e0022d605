# SPDX-License-Identifier: MIT
"""Write-once objects: arrays whose readers wait until the data is written."""
from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import operator
import os
from typing import Any, Callable, Iterator, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from . import _library
from ._arguments import Units
from ._arrays import Array, Memory, shape_of

SET = 2                         # ADSM_ONCE_SET
INVALID_DEVICE = -2


class Waiter(NamedTuple):
    """A wait for a unit."""

    unit: int
    device: Optional[int]       # of the kernel that waits; None: a thread of the program
    seconds: float              # since the wait began
    place: str                  # the line of code, or the kernel


def on_device(device: int = _library.DEVICE_CURRENT) -> _library.OnceDistribution:
    """A distribution: all units are in the memory of one device."""
    return _distribution(_library.ONCE_DEVICE, device=device)


def striped(stripe: int = 0) -> _library.OnceDistribution:
    """A distribution: stripes of consecutive units are on the devices in turn. 0: one stripe for each device."""
    return _distribution(_library.ONCE_STRIPED, stripe=stripe)


def tiled(rows: int, columns: int, grid_rows: int = 0) -> _library.OnceDistribution:
    """A distribution: units are the tiles of a matrix, row by row, and are distributed over a grid of devices."""
    return _distribution(_library.ONCE_TILED, rows=rows, columns=columns, grid_rows=grid_rows)


def placed(place: Callable[[int], Optional[int]]) -> _library.OnceDistribution:
    """A distribution: place(unit) returns the index of the unit's device; None: host memory."""
    errors: list[BaseException] = []

    def call(_: Any, unit: int) -> int:
        try:
            device = place(unit)
            return _library.ONCE_ON_HOST if device is None else operator.index(device)
        except BaseException as error:          # which cannot pass through the library
            errors.append(error)
            return INVALID_DEVICE

    made = _distribution(_library.ONCE_OWN, place=_library.PLACE(call))
    made.errors = errors
    return made


def _distribution(kind: int, **fields: Any) -> _library.OnceDistribution:
    return _library.OnceDistribution(ctypes.sizeof(_library.OnceDistribution), kind, **fields)


class Once:
    """A write-once object: an array of units. Each unit is written once. A reader waits until the unit is set.

    count: the number of units.
    shape, dtype: of the array that a unit is.
    distribution: on_device(), striped(), tiled() or placed(); None: all units are in host memory.
    """

    n_live = 0
    _left: list[Any] = []           # what calls use that wait for ever

    def __init__(self, count: int, shape: Any = (), dtype: npt.DTypeLike = float,
                 distribution: Optional[_library.OnceDistribution] = None) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = shape_of(shape)
        if self.dtype.hasobject:
            raise TypeError(f"dtype {self.dtype} contains Python objects, which kernels cannot use")
        size = math.prod(self.shape) * self.dtype.itemsize
        library = _library.get()
        getattr(distribution, "errors", []).clear()     # of an earlier object
        handle = library.adsmOnceAlloc(count, size, ctypes.byref(distribution) if distribution else None)
        if not handle:
            error = _library.make_error(-ctypes.get_errno())
            raise error from next(iter(getattr(distribution, "errors", [])), None)
        self._free = library.adsmOnceFree
        self._pid = os.getpid()
        self._object = handle           # None: freed
        # Calls that will set units: the units' range, and what the call uses. It must live until the call has ended.
        self._calls: dict[int, tuple[range, Any]] = {}
        self._last_call: dict[int, int] = {}    # the key of the last call for a unit, which may be gone
        self._look_at = 1                       # with so many calls, look which have ended
        Once.n_live += 1

    def __del__(self, getpid: Any = os.getpid) -> None:
        # If a thread or a kernel still waits for a unit, the memory stays.
        if getattr(self, "_object", None) and self._pid == getpid():
            if self._free(self._object) == 0:
                type(self).n_live -= 1
            else:
                self._left.append(self._calls)

    @property
    def _handle(self) -> Any:
        if not self._object:
            raise _library.Error(errno.EINVAL, "the write-once object was freed")
        return self._object

    def __len__(self) -> int:
        return int(self._handle.contents.count)

    @property
    def _once_address(self) -> int:
        return int(self._handle.contents.address)

    def _index(self, unit: int) -> int:
        if not -len(self) <= unit < len(self):
            raise IndexError(f"unit {unit} does not exist: the write-once object has {len(self)} units")
        return unit % len(self)

    def _keep(self, first: int, count: int, used: Any) -> None:
        """A call that will set these units uses other objects."""
        if len(self._calls) >= self._look_at:
            for key in list(self._calls):
                self._forget(key)
            self._look_at = 2 * len(self._calls) + 1    # so that a call does not cost more if many others wait
        units = range(first, first + count)
        self._calls[id(used)] = units, used
        self._last_call.update(dict.fromkeys(units, id(used)))

    def _forget(self, key: Optional[int]) -> None:
        """Drop what a call used if it has ended."""
        call = self._calls.get(key) if key else None
        if key and call and all(self.is_set(unit) for unit in call[0]):
            self._calls.pop(key, None)

    def _array(self, address: int, readonly: bool) -> Array:
        size = int(self._handle.contents.size)
        return Memory(address, size, None, keep=self, readonly=readonly).array(self.shape, self.dtype)

    def get(self, unit: int) -> Array:
        """Wait until the unit is set, and return it as a read-only array. once[unit] does the same. Other threads of
        Python run meanwhile."""
        unit = self._index(unit)
        address = _library.check_pointer(_library.get().adsmOnceWait(self._handle, unit))
        self._forget(self._last_call.get(unit))
        return self._array(address, True)

    def __getitem__(self, unit: int) -> Array:
        return self.get(unit)

    def __iter__(self) -> Iterator[Array]:
        return (self.get(unit) for unit in range(len(self)))

    def is_set(self, unit: int) -> bool:
        """Whether the unit is set. The function never waits."""
        return bool(self._handle.contents.flags[self._index(unit)] == SET)

    def fresh(self, unit: int) -> Array:
        """Begin to write a unit, and return it as an array. set() completes it."""
        address = _library.get().adsmOnceFresh(self._handle, self._index(unit))
        return self._array(_library.check_pointer(address), False)

    def set(self, unit: int) -> None:
        """Complete a unit: its readers wake up."""
        _library.check(_library.get().adsmOnceSet(self._handle, self._index(unit)))

    def room(self, unit: int) -> Array:
        """Wait until the unit is not set, and begin to write it. Other threads of Python run meanwhile. set() completes
        the unit."""
        address = _library.get().adsmOnceRoom(self._handle, self._index(unit))
        return self._array(_library.check_pointer(address), False)

    def empty(self, unit: int) -> None:
        """Make a set unit empty, so that it can be written again. Arrays of the unit must not be used any more."""
        unit = self._index(unit)
        self._forget(self._last_call.get(unit))
        _library.check(_library.get().adsmOnceEmpty(self._handle, unit))

    @contextlib.contextmanager
    def write(self, unit: int) -> Iterator[Array]:
        """Write a unit in the body of a `with`. If the body raises an exception, the unit is not set."""
        yield self.fresh(unit)
        self.set(unit)

    def __setitem__(self, unit: int, values: Any) -> None:
        with self.write(unit) as array:
            array[...] = values

    def units(self, first: int = 0, count: Optional[int] = None) -> Units:
        """Units as an argument of a call: kernel(In(a.units(0, 16)), Out(b.units(0, 16)), ...)."""
        return Units(self, first, len(self) - first if count is None else count)

    def place(self, unit: int) -> Optional[int]:
        """The index of the device whose memory has the unit; None: host memory."""
        device = ctypes.c_int()
        _library.check(_library.get().adsmOncePlace(self._handle, self._index(unit), ctypes.byref(device)))
        return None if device.value == _library.ONCE_ON_HOST else device.value

    def free(self) -> None:
        """Free the object now. Arrays of its units must not be used afterwards. Error with errno EBUSY: a thread or a
        kernel waits for a unit."""
        if self._object:
            _library.check(self._free(self._object))
            self._object = None
            self._calls.clear()
            Once.n_live -= 1


def waiters() -> list[Waiter]:
    """The waits for units of all write-once objects, the longest first."""
    most = 64
    list_of = (_library.OnceWaiter * most)()
    n = _library.check(_library.get().adsmOnceWaiters(list_of, most, ctypes.sizeof(_library.OnceWaiter)))
    return [Waiter(each.unit, None if each.device == _library.ONCE_ON_HOST else each.device, each.waited_ns / 1e9,
                   each.place.decode(errors="replace")) for each in list_of[:min(n, most)]]
