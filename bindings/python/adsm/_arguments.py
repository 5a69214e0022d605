# SPDX-License-Identifier: MIT
"""Arguments of calls: checked against the kernel's parameters, and made into what adsmCallArgs() takes."""
from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _library
from ._arrays import ACCESSES, Memory, address_of, is_shared
from ._signature import RAW, Parameter, Signature, dtypes_of

Argument = Any
ACCESS_NAMES = {_library.IN: "In", _library.OUT: "Out", _library.INOUT: "InOut"}


@dataclasses.dataclass(frozen=True)
class Units:
    """Units of a write-once object, for In() and Out() in a call."""

    once: Any
    first: int
    count: int


class Access:
    """An array, or units of a write-once object, with the access that a call has to it."""

    def __init__(self, value: Any, access: int) -> None:
        self.value = value
        self.access = access

    def __repr__(self) -> str:
        return f"adsm.{ACCESS_NAMES[self.access]}({self.value!r})"


def In(value: Any) -> Access:                       # noqa: N802 - as in PyCUDA
    """The kernel only reads the array."""
    return Access(value, _library.IN)


def Out(value: Any) -> Access:                      # noqa: N802
    """The kernel overwrites all of the array, and does not read its old values."""
    return Access(value, _library.OUT)


def InOut(value: Any) -> Access:                    # noqa: N802
    """The kernel reads and writes the array."""
    return Access(value, _library.INOUT)


class Local(NamedTuple):
    """Memory that the threads of a block share: a __local parameter, or extern __shared__ of CUDA C."""

    size: int


def access_of(name: str) -> int:
    if name not in ACCESSES:
        raise ValueError(f"access must be 'in', 'out' or 'inout', not {name!r}")
    return ACCESSES[name]


def _dim(kernel: str, what: str, value: Any) -> list[int]:
    numbers = list(value) if isinstance(value, (tuple, list)) else [value]
    if not 1 <= len(numbers) <= 3 or not all(isinstance(n, (int, np.integer)) and 0 < n < 1 << 32 for n in numbers):
        raise ValueError(f"kernel '{kernel}': {what} must be one to three positive integers, not {value!r}")
    return [int(n) for n in numbers]


def dimensions(kernel: str, is_task: bool, grid: Any, block: Any, threads: Any,
               workers: Optional[int]) -> tuple[_library.Dim, _library.Dim]:
    """The grid and the block of a call."""
    if is_task and (workers is None or grid is not None or block is not None or threads is not None):
        raise TypeError(f"task '{kernel}': a call has workers= in place of grid and block")
    if not is_task and workers is not None:
        raise TypeError(f"kernel '{kernel}' is not a task, so it has no workers: name grid= and block=")
    if is_task:
        return _library.Dim(*_dim(kernel, "workers", workers)), _library.Dim(1, 1, 1)
    if (grid is None) == (threads is None) or (block is None and threads is None):
        raise TypeError(f"kernel '{kernel}': a call has grid= and block=, or threads=")
    of_block = _dim(kernel, "block", 256 if block is None else block)
    if threads is None:
        return _library.Dim(*_dim(kernel, "grid", grid)), _library.Dim(*of_block)
    least = _dim(kernel, "threads", threads)
    of_block += [1] * (len(least) - len(of_block))
    least += [1] * (len(of_block) - len(least))
    return _library.Dim(*(-(-n // b) for n, b in zip(least, of_block))), _library.Dim(*of_block)


def memory_of(array: Any) -> Optional[Memory]:
    """The object that an array of this package is a view of."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, Memory) else None


def _covers(array: Any) -> bool:
    """Whether an array is all of its object."""
    memory = memory_of(array)
    return memory is not None and array.flags.forc and address_of(array) == memory.address and \
        array.nbytes == memory.size


def access_to_object(array: Any, access: int) -> int:
    """The access to all of an array's object. If the array is a part of it, the rest keeps its bytes."""
    return _library.INOUT if access == _library.OUT and not _covers(array) else access


class Binder:
    """Makes the arguments of one kernel."""

    def __init__(self, kernel: str, signature: Optional[Signature]) -> None:
        self.kernel = kernel
        self.parameters: Optional[list[Parameter]] = signature.parameters if signature else None
        self.raw = bool(signature and signature.flags & RAW)

    def _where(self, index: int, parameter: Parameter) -> str:
        star = " *" if parameter.kind in (_library.ARG_POINTER, _library.ARG_CONST, _library.ARG_ONCE) else ""
        name = f"'{parameter.name}'" if parameter.name else ""
        kind = f"{parameter.type}{star}" if parameter.type else ""
        known = ", ".join(text for text in (name, kind) if text)
        return f"kernel '{self.kernel}', argument {index + 1}" + (f" ({known})" if known else "")

    def bind(self, arguments: Sequence[Argument], uses: Sequence[Any],
             uses_all: bool) -> tuple[Any, list[Any], bool]:
        """The array of struct adsmArg, what must live until the call has returned, and whether units are among it."""
        bound: list[_library.Arg] = []
        keep: list[Any] = []
        units = False
        for index, value in enumerate(arguments):
            argument, is_units = self._one(index, value, self._parameter(index, value, len(arguments)), keep)
            bound.append(argument)
            units |= is_units
        if self.parameters is not None and len(arguments) < len(self.parameters):
            self._wrong_count(len(arguments))
        for each in uses:
            access = each.access if isinstance(each, Access) else _library.INOUT
            array = each.value if isinstance(each, Access) else each
            if not is_shared(array):
                raise TypeError(f"kernel '{self.kernel}': uses= must be arrays on shared memory")
            bound.append(_library.Arg(_library.ARG_USE, access_to_object(array, access), address_of(array), 0))
        if uses_all:
            bound.append(_library.Arg(_library.ARG_USE, 0, None, 1))
        return (_library.Arg * len(bound))(*bound), keep, units

    def _parameter(self, index: int, value: Argument, n: int) -> Parameter:
        if self.parameters is None:
            return Parameter("", "", _library.ARG_NONE, 0, 0)
        if index < len(self.parameters):
            return self.parameters[index]
        # extern __shared__ follows the parameters.
        if not isinstance(value, Local):
            self._wrong_count(n)
        return Parameter("", "", _library.ARG_LOCAL, 0, 0)

    def _wrong_count(self, n: int) -> None:
        names = [parameter.name for parameter in self.parameters or []]
        raise TypeError(f"kernel '{self.kernel}' takes {len(names)} arguments ({', '.join(names)}), got {n}")

    def _one(self, index: int, value: Argument, parameter: Parameter,
             keep: list[Any]) -> tuple[_library.Arg, bool]:
        where = self._where(index, parameter)
        access = 0
        if isinstance(value, Access):
            access, value = value.access, value.value
        if isinstance(value, Units):
            return _units(where, value, access, keep), True
        if isinstance(value, Local):
            if parameter.kind not in (_library.ARG_LOCAL, _library.ARG_NONE):
                raise TypeError(f"{where}: Local() is for memory of the block")
            return _library.Arg(_library.ARG_LOCAL, 0, None, value.size), False
        if parameter.kind == _library.ARG_LOCAL:
            raise TypeError(f"{where} is memory of the block: pass adsm.Local(bytes)")
        if parameter.kind == _library.ARG_CONST:
            if access & _library.OUT:
                raise TypeError(f"{where}: {ACCESS_NAMES[access]}() is for arrays that the kernel writes")
            return _constant(where, value, parameter, keep), False
        if parameter.kind == _library.ARG_ONCE:
            if not hasattr(value, "_once_address"):
                raise TypeError(f"{where} is a write-once object (adsm.Once), not {type(value).__name__}")
            return _library.Arg(_library.ARG_POINTER, access, value._once_address, 0), False
        return self._pointer_or_value(where, value, access, parameter, keep), False

    def _pointer_or_value(self, where: str, value: Argument, access: int, parameter: Parameter,
                          keep: list[Any]) -> _library.Arg:
        is_pointer = parameter.kind == _library.ARG_POINTER
        # In CUDA C a pointer takes both. One that the kernel does not use is an integer in PTX, which types in the
        # kernel's name replace if the parameter is a number.
        both = self.raw and (is_pointer or parameter.type in ("u64", "s64", "b64"))
        array = isinstance(value, np.ndarray) and value.ndim > 0 or hasattr(value, "_device_address")
        if is_pointer:
            self._check_access(where, access, parameter)
        if array or (value is None and (is_pointer or both or parameter.kind == _library.ARG_NONE)):
            if parameter.kind == _library.ARG_VALUE and not both:
                raise TypeError(f"{where} is a value, not an array")
            if parameter.kind == _library.ARG_VALUE:
                parameter = parameter._replace(type="", size=0)
            return _pointer(where, value, access, parameter)
        if isinstance(value, np.ndarray) and (is_pointer or parameter.kind == _library.ARG_NONE) and is_shared(value):
            return _pointer(where, value, access, parameter)
        if is_pointer and not (both and isinstance(value, (int, np.integer))):
            raise TypeError(f"{where} is a pointer: pass an array on shared memory (adsm.asarray()), not "
                            f"{type(value).__name__}")
        if access:
            raise TypeError(f"{where}: {ACCESS_NAMES[access]}() is for arrays")
        data = np.uint64(value).tobytes() if is_pointer else _value(where, value, parameter)
        buffer = ctypes.create_string_buffer(data, len(data))
        keep.append(buffer)
        return _library.Arg(_library.ARG_VALUE, _library.IN, ctypes.addressof(buffer), len(data))


    def _check_access(self, where: str, access: int, parameter: Parameter) -> None:
        """The access of an argument includes the one that the kernel declares. In CUDA C, INOUT is not declared: it
        means that adsmcc knows nothing better."""
        declared = parameter.access
        if access and declared & ~access and not (self.raw and declared == _library.INOUT):
            raise TypeError(f"{where}: the kernel accesses the array as {ACCESS_NAMES[declared]}(), which "
                            f"{ACCESS_NAMES[access]}() contradicts")


def _units(where: str, value: Units, access: int, keep: list[Any]) -> _library.Arg:
    if access not in (_library.IN, _library.OUT):
        raise TypeError(f"{where}: pass units as In(once.units(...)) or Out(once.units(...))")
    chosen = _library.OnceRange(value.once._handle, value.first, value.count)
    keep.append(chosen)
    return _library.Arg(_library.ARG_ONCE, access, ctypes.addressof(chosen), ctypes.sizeof(chosen))


def _check_dtype(where: str, value: Any, parameter: Parameter) -> None:
    dtype = value.dtype
    if not dtype.isnative:
        raise TypeError(f"{where}: the byte order of {dtype} is not this machine's")
    numbers = dtypes_of(parameter.type)
    if numbers and dtype not in numbers:
        raise TypeError(f"{where}: expected an array of {numbers[0].name}, got {dtype}")
    size = parameter.size
    if not numbers and size and dtype.itemsize != size and (size % dtype.itemsize or value.nbytes % size):
        raise TypeError(f"{where}: an element has {size} bytes, but {dtype} has {dtype.itemsize}")


def _pointer(where: str, value: Any, access: int, parameter: Parameter) -> _library.Arg:
    if value is None:
        return _library.Arg(_library.ARG_POINTER, access, None, 0)
    if hasattr(value, "_device_address"):
        _check_dtype(where, value, parameter)
        return _library.Arg(_library.ARG_POINTER, access, value._device_address, 0)
    if memory_of(value) is None and not is_shared(value):
        raise TypeError(f"{where}: the array is not on shared memory: make it by adsm.empty(), zeros(), array() or "
                        "asarray()")
    if not (value.flags.c_contiguous or value.flags.f_contiguous):
        raise ValueError(f"{where}: the array is not contiguous, and a kernel gets no strides: copy it by adsm.array()")
    _check_dtype(where, value, parameter)
    used = access or parameter.access
    if used & _library.OUT and not value.flags.writeable:
        raise ValueError(f"{where}: the kernel writes the array, which is read-only")
    if access_to_object(value, used) != used:
        access = _library.INOUT
    return _library.Arg(_library.ARG_POINTER, access, address_of(value), 0)


def _constant(where: str, value: Argument, parameter: Parameter, keep: list[Any]) -> _library.Arg:
    numbers = dtypes_of(parameter.type)
    array = np.ascontiguousarray(_numbers(where, value, numbers) if numbers and not isinstance(value, np.ndarray)
                                 else value)
    _check_dtype(where, array, parameter)
    if not 0 < array.nbytes <= _library.CONST_MAX:
        raise ValueError(f"{where}: constants have 1 to {_library.CONST_MAX} bytes, not {array.nbytes}")
    keep.append(array)
    return _library.Arg(_library.ARG_CONST, _library.IN, address_of(array), array.nbytes)


def _numbers(where: str, value: Argument, targets: list[Any]) -> Any:
    """An array of numbers, by the first dtype that can hold all of them."""
    usual = targets[0]
    raw = np.asarray(value)
    if not raw.size:
        return raw.astype(usual)
    if raw.dtype.kind not in ("biuf" if usual.kind == "f" else "biu"):
        kind = raw.dtype
        raw = np.asarray(value, dtype=object)       # NumPy makes floats of [1, 1 << 63]
        if not all(isinstance(number, (int, np.integer)) for number in raw.flat):
            raise TypeError(f"{where}: expected numbers of {usual.name}, got {kind}")
    for target in targets:
        if target.kind == "f":
            with np.errstate(over="ignore"):
                made = raw.astype(target)
            if not (np.isinf(made) & np.isfinite(raw.astype("f8"))).any():
                return made
        elif target.kind in "iub":
            limits = np.iinfo(target if target.kind != "b" else "u1")
            if limits.min <= raw.min() and raw.max() <= (1 if target.kind == "b" else limits.max):
                return raw.astype(target)
    raise OverflowError(f"{where}: {value!r} does not fit into {usual.name}")


def _number(where: str, value: Union[int, float], targets: list[Any]) -> bytes:
    """The bytes of a number, by the first dtype that can hold it."""
    for target in targets:
        if target.kind == "f":
            with np.errstate(over="ignore"):
                made = np.array(value, dtype=target)
            if np.isfinite(made) or not np.isfinite(value):
                return made.tobytes()
        elif target.kind in "iu":
            limits = np.iinfo(target)
            if isinstance(value, int) and limits.min <= value <= limits.max:
                return np.array(value, dtype=target).tobytes()
        elif target.kind == "b" and value in (0, 1):
            return np.array(value, dtype=target).tobytes()
    if isinstance(value, float) and targets[0].kind != "f":
        raise TypeError(f"{where}: expected {targets[0].name}, got a float")
    raise OverflowError(f"{where}: {value} does not fit into {targets[0].name}")


def _value(where: str, value: Argument, parameter: Parameter) -> bytes:
    """The bytes of a value."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    numbers = dtypes_of(parameter.type)
    if numbers and isinstance(value, (bool, int, np.integer, np.bool_)):
        return _number(where, int(value), numbers)
    if numbers and isinstance(value, (float, np.floating)):
        return _number(where, float(value), numbers)
    data = value.tobytes() if isinstance(value, np.generic) else value
    if not isinstance(data, bytes) or (numbers and not isinstance(value, bytes)):
        expected = numbers[0].name if numbers else "bytes or a numpy scalar, because the parameter's type is unknown"
        raise TypeError(f"{where}: expected {expected}, got {type(value).__name__}")
    size = parameter.size or (numbers[0].itemsize if numbers else len(data))
    if len(data) != size:
        raise TypeError(f"{where}: the value has {size} bytes, got {len(data)}")
    return data
