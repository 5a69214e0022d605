# SPDX-License-Identifier: MIT
"""NumPy arrays on shared memory."""
from __future__ import annotations

import contextlib
import ctypes
import operator
import os
from typing import Any, Iterator, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _library

Array = npt.NDArray[Any]
ACCESSES = {"in": _library.IN, "out": _library.OUT, "inout": _library.INOUT}


class Memory:
    """One object of the library. It is the base of the arrays on it, and frees the object when the last one is gone."""

    n_live = 0

    def __init__(self, address: int, size: int, free: Any, keep: Any = None, readonly: bool = False) -> None:
        self.address = address
        self.size = size
        self._free = free               # None: the memory belongs to something else
        self._keep = keep               # what owns the memory then
        self._pid = os.getpid()
        self._readonly = readonly
        if free:
            Memory.n_live += 1

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": (self.size,), "typestr": "|u1", "data": (self.address, self._readonly)}

    def __del__(self, getpid: Any = os.getpid) -> None:
        # The child of a fork has no objects. adsmFree() waits for calls that use the object.
        if getattr(self, "_free", None) and self._pid == getpid():
            type(self).n_live -= 1
            self._free(self.address)

    def array(self, shape: Any, dtype: Any, order: str = "C") -> Array:
        buffer: Any = np.asarray(self)
        return np.ndarray(shape, dtype=dtype, buffer=buffer, order="F" if order == "F" else "C")


class ObjectInfo(NamedTuple):
    """Properties of the object that an array is in. n_invalid, n_read_only and n_dirty count blocks in these states."""

    address: int
    size: int
    block_size: int
    n_blocks: int
    n_invalid: int
    n_read_only: int
    n_dirty: int
    protocol: str
    device: int


def parse_size(size: Union[int, str]) -> int:
    """Bytes of a size such as 65536 or "64K"."""
    if isinstance(size, str):
        factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(size[-1:].upper(), 0)
        return int(size[:-1]) * factor if factor else int(size)
    return size


def _allocate(size: int, flags: int, name: Optional[str], protocol: Optional[str],
              block_size: Union[int, str, None], device: Optional[int]) -> Memory:
    library = _library.get()
    options = _library.AllocOptions(ctypes.sizeof(_library.AllocOptions),
                                    protocol.encode() if protocol is not None else None,
                                    parse_size(block_size or 0),
                                    _library.DEVICE_CURRENT if device is None else device, flags)
    _library.warn_without_preload()
    # An array without elements has memory, too, so that kernels can take it.
    address = _library.check_pointer(library.adsmAllocWith(max(size, 1), ctypes.byref(options)),
                                     f"cannot allocate {size} bytes of shared memory")
    memory = Memory(address, max(size, 1), library.adsmFree)
    if name is None:
        frame = _library.caller()[1]
        place = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}".encode(errors="replace")
        # The end of a long name says more than its beginning. The first character may be cut.
        name = place[1 - _library.NAME_SIZE:].decode(errors="ignore")
    set_name_at(address, name)
    return memory


def set_name_at(address: int, name: str) -> None:
    _library.check(_library.get().adsmSetName(address, name.encode(errors="replace")))


def shape_of(shape: Any) -> tuple[int, ...]:
    """The dimensions of an array, which are integers from 0 up."""
    dimensions = tuple(operator.index(n) for n in (shape if np.iterable(shape) else (shape,)))
    if any(n < 0 for n in dimensions):
        raise ValueError(f"shape {dimensions} has a negative dimension")
    return dimensions


def _make(shape: Any, dtype: npt.DTypeLike, order: str, flags: int, name: Optional[str], protocol: Optional[str],
          block_size: Union[int, str, None], device: Optional[int]) -> Array:
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise TypeError(f"dtype {kind} contains Python objects, which kernels cannot use: use numbers or structures")
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', not {order!r}")
    dimensions = shape_of(shape)
    size = kind.itemsize
    for n in dimensions:
        size *= n
    memory = _allocate(size, flags, name, protocol, block_size, device)
    return memory.array(dimensions, kind, order)


def empty(shape: Any, dtype: npt.DTypeLike = float, order: str = "C", *, name: Optional[str] = None,
          protocol: Optional[str] = None, block_size: Union[int, str, None] = None,
          device: Optional[int] = None) -> Array:
    """Return a new array on shared memory. Its values are undefined.

    shape, dtype, order: as for numpy.empty().
    name: the array's name in reports, traces and messages; None: the file and line of the call.
    protocol: "batch", "lazy" or "rolling"; None: the option ADSM_PROTOCOL.
    block_size: bytes of a block, such as 4096 or "4K"; None: the option ADSM_BLOCK_SIZE.
    device: a device's index; None: the thread's device (set_device()).

    The memory lives as long as the array and its views.
    """
    return _make(shape, dtype, order, 0, name, protocol, block_size, device)


def zeros(shape: Any, dtype: npt.DTypeLike = float, order: str = "C", *, name: Optional[str] = None,
          protocol: Optional[str] = None, block_size: Union[int, str, None] = None,
          device: Optional[int] = None) -> Array:
    """Return a new array of zeros on shared memory. The device writes the zeros.

    The parameters are those of empty().
    """
    return _make(shape, dtype, order, _library.ALLOC_ZERO, name, protocol, block_size, device)


def array(values: Any, dtype: npt.DTypeLike = None, order: str = "K", *, name: Optional[str] = None,
          protocol: Optional[str] = None, block_size: Union[int, str, None] = None,
          device: Optional[int] = None) -> Array:
    """Return a copy of an array, or of other values, on shared memory.

    dtype: None: that of the values.
    order: "C" or "F"; "K": Fortran's order if the values have only this one, else that of C.
    The other parameters are those of empty().
    """
    source = np.asarray(values, dtype=dtype)
    if order == "K":
        order = "F" if source.flags.fnc else "C"
    result = _make(source.shape, source.dtype, order, 0, name, protocol, block_size, device)
    result[...] = source
    return result


def asarray(values: Any, dtype: npt.DTypeLike = None, *, name: Optional[str] = None,
            protocol: Optional[str] = None, block_size: Union[int, str, None] = None,
            device: Optional[int] = None) -> Array:
    """Return the array itself if it is on shared memory and has the dtype, else a copy of the values, as array()
    does."""
    if type(values) is np.ndarray and (dtype is None or values.dtype == np.dtype(dtype)) and is_shared(values):
        return values
    return array(values, dtype, name=name, protocol=protocol, block_size=block_size, device=device)


def address_of(values: Array) -> int:
    return int(values.__array_interface__["data"][0])


def is_shared(values: Any) -> bool:
    """Whether an array's memory is shared memory."""
    return isinstance(values, np.ndarray) and bool(_library.get().adsmIsShared(address_of(values)))


def object_properties(address: int) -> _library.ObjectProps:
    properties = _library.ObjectProps(ctypes.sizeof(_library.ObjectProps))
    _library.check(_library.get().adsmObjectInfo(address, ctypes.byref(properties)))
    return properties


def info(values: Array) -> ObjectInfo:
    """Describe the object that an array is in. No byte moves."""
    require_shared(values)
    found = object_properties(address_of(values))
    return ObjectInfo(found.address or 0, found.size, found.block_size, found.n_blocks, found.n_invalid,
                      found.n_read_only, found.n_dirty, found.protocol.decode(), found.device)


def device_address(values: Array) -> int:
    """The address of an array's first element on its device, for pointers that kernels find in memory. A call of such a
    kernel needs uses=[array]. The object keeps its device memory from now on.

    Errors: ENOTSUP if memory of the device has no addresses, ENOMEM if the device is full.
    """
    require_shared(values)
    return _library.check_pointer(_library.get().adsmSafe(address_of(values)))


def set_name(values: Array, name: str) -> None:
    """Name the object that an array is in, for reports, traces and messages."""
    require_shared(values)
    set_name_at(address_of(values), name)


def require_shared(values: Any) -> None:
    if not is_shared(values):
        raise ValueError("the array is not on shared memory: make it by adsm.empty(), zeros(), array() or asarray()")


def extent(values: Array) -> tuple[int, int]:
    """The address of an array's first byte in memory, and the number of bytes up to its last one."""
    low = high = address_of(values)
    for n, stride in zip(values.shape, values.strides):
        if n == 0:
            return address_of(values), 0
        low += min(0, (n - 1) * stride)
        high += max(0, (n - 1) * stride)
    return low, high + values.itemsize - low


def _access_of_extent(values: Array, access: str) -> int:
    """An access to all bytes up to the array's last one. The bytes between its elements keep their values."""
    return ACCESSES["inout" if access == "out" and not values.flags.forc else access]


@contextlib.contextmanager
def held(values: Array, access: str = "inout") -> Iterator[Array]:
    """Keep an array accessible in the body of a `with`, for system calls of a program without preload.

    access: "in": the body reads the array. "inout": it reads and writes. "out": it overwrites all of the array.

    Calls of kernels that may use the array fail in the body, with errno EBUSY.
    """
    if access not in ACCESSES:
        raise ValueError(f"access must be 'in', 'out' or 'inout', not {access!r}")
    require_shared(values)
    library = _library.get()
    address, size = extent(values)
    if size:
        _library.check(library.adsmHold(address, size, _access_of_extent(values, access)))
    try:
        yield values
    finally:
        if size:
            _library.check(library.adsmUnhold(address, size))


@contextlib.contextmanager
def lent(values: Array, access: str = "inout") -> Iterator[Array]:
    """Lend an array to other code in the body of a `with`, such as a library that gives memory to a driver. The result
    is an array of the same bytes at an address without faults. It is valid in the body only.

    access: "in": the other code reads the array. "inout": it reads and writes. "out": it overwrites all of the array.

    No kernel may write the array in the body, and if the other code writes, no kernel may read it. An array that is not
    on shared memory is the result itself.
    """
    if access not in ACCESSES:
        raise ValueError(f"access must be 'in', 'out' or 'inout', not {access!r}")
    if access != "in" and not values.flags.writeable:
        raise ValueError("the array is read-only")
    address, size = extent(values)
    if not size or not is_shared(values):
        yield values
        return
    library = _library.get()
    loan, other = ctypes.c_void_p(), ctypes.c_void_p()
    _library.check(library.adsmLend(address, size, _access_of_extent(values, access), ctypes.byref(loan),
                                    ctypes.byref(other)))
    try:
        memory: Any = Memory(other.value or 0, size, None, keep=values, readonly=access == "in")
        yield np.ndarray(values.shape, dtype=values.dtype, buffer=np.asarray(memory),
                         offset=address_of(values) - address, strides=values.strides)
    finally:
        _library.check(library.adsmLoanEnd(loan, 0 if access == "in" else size))
