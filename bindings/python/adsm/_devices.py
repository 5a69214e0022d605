# SPDX-License-Identifier: MIT
"""Devices, arrays in the memory of a device only, and events."""
from __future__ import annotations

import ctypes
import dataclasses
import errno
import math
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _library
from ._arrays import Array, address_of, shape_of


@dataclasses.dataclass(frozen=True)
class Device:
    """Properties of a device."""

    index: int
    name: str
    backend: str
    memory_size: int            # bytes
    memory_free: int
    compute_units: int
    same_address: bool          # an object has the same address on the CPU and the device
    unified: bool               # CPU and device share physical memory, and nothing is copied
    lost: bool                  # all calls of the device fail
    max_workers: int            # of a task; 0: the device does not support tasks
    memory: str                 # kind of device memory
    made_of: str                # parts of the device, such as the nodes of a cluster


def devices() -> list[Device]:
    """The devices that the library has opened."""
    library = _library.get()
    found = []
    for index in range(_library.check(library.adsmDeviceCount())):
        p = _library.DeviceProps(ctypes.sizeof(_library.DeviceProps))
        _library.check(library.adsmDeviceInfo(index, ctypes.byref(p)))
        found.append(Device(index, p.name.decode(), p.backend.decode(), p.memory_size, p.memory_free, p.compute_units,
                            bool(p.same_address), bool(p.unified), bool(p.lost), p.max_workers, p.memory.decode(),
                            p.made_of.decode()))
    return found


def set_device(index: int) -> None:
    """Set the device of this thread's later allocations."""
    _library.check(_library.get().adsmDeviceSet(index))


class Event:
    """A call of a kernel (call_event()), or a copy that has been started (DeviceArray)."""

    def __init__(self, handle: _library.EventHandle, keep: Any = None) -> None:
        self._handle = handle
        self._keep = keep               # memory that the operation uses
        self._wait = _library.get().adsmEventWait

    def ended(self) -> bool:
        """Whether the call or the copy has ended. Does not wait. Raises the error of a call or a copy that failed."""
        code = _library.get().adsmEventQuery(self._handle)
        if code == -errno.EBUSY:
            return False
        self._keep = None
        _library.check(code)
        return True

    def times(self) -> tuple[int, int]:
        """When a call that has ended ran on the device: its start and its end in nanoseconds, on a clock of the device.

        Errors: EBUSY if the call has not ended, ENOTSUP for copies and for devices that do not report times.
        """
        start, end = ctypes.c_uint64(), ctypes.c_uint64()
        _library.check(_library.get().adsmEventTime(self._handle, ctypes.byref(start), ctypes.byref(end)))
        return start.value, end.value

    def wait(self) -> None:
        """Wait for the end of the call or the copy. Raises its error. Other threads of Python run meanwhile."""
        code = self._wait(self._handle)
        self._keep = None
        _library.check(code)

    def __del__(self) -> None:
        # The memory of a copy must live until its end.
        if getattr(self, "_wait", None) and self._keep is not None:
            self._wait(self._handle)


def call_event() -> Event:
    """The event of this thread's last call. Errors: ENOENT if the thread has made no call."""
    handle = _library.EventHandle()
    _library.check(_library.get().adsmCallEvent(ctypes.byref(handle)))
    return Event(handle)


class DeviceArray:
    """An array in the memory of this thread's device only. The CPU cannot access it, and copies are explicit."""

    n_live = 0

    def __init__(self, shape: Any, dtype: npt.DTypeLike = float) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = shape_of(shape)
        if self.dtype.hasobject:
            raise TypeError(f"dtype {self.dtype} contains Python objects, which kernels cannot use")
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        self._device_address = _library.check_pointer(_library.get().adsmDeviceAlloc(max(self.nbytes, 1)))
        self._pid = os.getpid()
        self._free = _library.get().adsmDeviceFree
        DeviceArray.n_live += 1

    def __del__(self, getpid: Any = os.getpid) -> None:
        if getattr(self, "_free", None) and self._pid == getpid():
            type(self).n_live -= 1
            self._free(self._device_address)

    def _check(self, host: Array, writes: bool) -> int:
        if not isinstance(host, np.ndarray) or host.shape != self.shape or host.dtype != self.dtype:
            raise TypeError(f"a copy needs an array of shape {self.shape} and dtype {self.dtype}")
        if not host.flags.c_contiguous:
            raise ValueError("a copy needs an array that is contiguous in C's order")
        if writes and not host.flags.writeable:
            raise ValueError("the copy writes the array, which is read-only")
        return address_of(host)

    def copy_from(self, host: Array) -> None:
        """Copy an array to the device. The array may be on shared or on ordinary memory."""
        _library.check(_library.get().adsmCopyToDevice(self._device_address, self._check(host, False), self.nbytes))

    def copy_to(self, host: Array) -> None:
        """Copy the device's array into an array."""
        _library.check(_library.get().adsmCopyToHost(self._check(host, True), self._device_address, self.nbytes))

    def start_copy_from(self, host: Array) -> Event:
        """Start a copy to the device. Later calls on the device wait for it. The array must be in ordinary memory, and
        must not change before Event.wait() has returned."""
        handle = _library.EventHandle()
        _library.check(_library.get().adsmCopyToDeviceAsync(self._device_address, self._check(host, False), self.nbytes,
                                                            ctypes.byref(handle)))
        return Event(handle, (self, host))

    def start_copy_to(self, host: Array) -> Event:
        """Start a copy into an array in ordinary memory. Its values are undefined before Event.wait() has returned."""
        handle = _library.EventHandle()
        _library.check(_library.get().adsmCopyToHostAsync(self._check(host, True), self._device_address, self.nbytes,
                                                          ctypes.byref(handle)))
        return Event(handle, (self, host))

    def fill(self, byte: int) -> None:
        """Fill the array with a byte."""
        _library.check(_library.get().adsmDeviceFill(self._device_address, byte, self.nbytes))

    def __repr__(self) -> str:
        return f"<adsm.DeviceArray {self.shape} {self.dtype}>"
