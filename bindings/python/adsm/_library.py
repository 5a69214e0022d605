# SPDX-License-Identifier: MIT
"""The C library: where its file is, the functions of its headers, and errors as exceptions."""
from __future__ import annotations

import ctypes
import errno
import os
import pathlib
import sys
import threading
import warnings
from ctypes import POINTER, c_char, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_uint32, c_uint64, c_void_p
from types import FrameType
from typing import Any, Optional

NAME = "libadsm.so.0"
# Where the library lies below a prefix.
FOLDERS = ("lib", "lib64", "lib/*-linux-gnu")


class Error(OSError):
    """A function of the library failed. errno is the error code, and strerror the library's sentence about it."""


class CompileError(Error):
    """A kernel's source does not compile. strerror has the compiler's messages."""


class OutOfMemory(Error, MemoryError):
    """The device or the host has not enough memory."""


class PreloadWarning(RuntimeWarning):
    """The library is not preloaded, so system calls fail on shared arrays."""


class Dim(ctypes.Structure):
    _fields_ = [("x", c_uint), ("y", c_uint), ("z", c_uint)]


class Arg(ctypes.Structure):
    _fields_ = [("kind", c_uint32), ("access", c_uint32), ("data", c_void_p), ("size", c_size_t)]


class AllocOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("protocol", c_char_p), ("block_size", c_size_t), ("device", c_int),
                ("flags", c_uint)]


class ModuleOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("kind", c_int), ("device", c_int), ("build_options", c_char_p)]


class DeviceProps(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char * 64), ("backend", c_char * 16),
                ("memory_size", c_uint64), ("memory_free", c_uint64), ("compute_units", c_uint),
                ("same_address", c_uint), ("unified", c_uint), ("signal_safe", c_uint), ("lost", c_uint),
                ("max_workers", c_uint), ("memory", c_char * 16), ("made_of", c_char * 256)]


class ObjectProps(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("address", c_void_p), ("size", c_size_t), ("block_size", c_size_t),
                ("n_blocks", c_size_t), ("n_invalid", c_size_t), ("n_read_only", c_size_t), ("n_dirty", c_size_t),
                ("protocol", c_char * 16), ("device", c_int), ("device_address", c_uint64)]


class EventHandle(ctypes.Structure):
    _fields_ = [("device", c_uint64), ("queue", c_uint64), ("seq", c_uint64)]


class OnceHandle(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("flags", POINTER(c_ubyte)), ("size", c_size_t), ("count", c_size_t),
                ("address", c_void_p), ("room", c_void_p)]


PLACE = ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t)


class OnceDistribution(ctypes.Structure):
    errors: list[BaseException]         # of the function of placed()
    _fields_ = [("struct_size", c_size_t), ("kind", c_int), ("device", c_int), ("stripe", c_size_t),
                ("rows", c_size_t), ("columns", c_size_t), ("grid_rows", c_uint), ("place", PLACE), ("arg", c_void_p)]


class OnceRange(ctypes.Structure):
    _fields_ = [("once", POINTER(OnceHandle)), ("first", c_size_t), ("count", c_size_t)]


class OnceWaiter(ctypes.Structure):
    _fields_ = [("address", c_void_p), ("unit", c_size_t), ("device", c_int), ("thread", c_int),
                ("waited_ns", c_uint64), ("where", c_void_p), ("kernel", c_char * 64), ("place", c_char * 128)]


# Values of the headers.
DEVICE_CURRENT = -1
ALLOC_POPULATE, ALLOC_ZERO = 1, 2
IN, OUT, INOUT = 1, 2, 3
ARG_NONE, ARG_POINTER, ARG_VALUE, ARG_CONST, ARG_USE, ARG_LOCAL, ARG_ONCE = range(7)
MODULE_AUTO, MODULE_ADSM, MODULE_SOURCE = 0, 1, 2
ONCE_HOST, ONCE_DEVICE, ONCE_STRIPED, ONCE_TILED, ONCE_OWN = range(5)
ONCE_ON_HOST = -1
CONST_MAX = 64 << 10
ARGS_MAX = 256
NAME_SIZE = 32

# Name, type of the result, types of the parameters.
PROTOTYPES: list[tuple[str, Any, list[Any]]] = [
    ("adsmVersion", c_int, []),
    ("adsmInit", c_int, []),
    ("adsmShutdown", c_int, []),
    ("adsmOption", c_int, [c_char_p, c_char_p]),
    ("adsmErrorString", c_char_p, [c_int]),
    ("adsmLastError", c_char_p, []),
    ("adsmAllocWith", c_void_p, [c_size_t, POINTER(AllocOptions)]),
    ("adsmFree", c_int, [c_void_p]),
    ("adsmHold", c_int, [c_void_p, c_size_t, c_uint]),
    ("adsmUnhold", c_int, [c_void_p, c_size_t]),
    ("adsmIsShared", c_int, [c_void_p]),
    ("adsmSetName", c_int, [c_void_p, c_char_p]),
    ("adsmSafe", c_uint64, [c_void_p]),
    ("adsmObjectInfo", c_int, [c_void_p, POINTER(ObjectProps)]),
    ("adsmModuleLoadWith", c_void_p, [c_char_p, c_size_t, POINTER(ModuleOptions)]),
    ("adsmModuleUnload", c_int, [c_void_p]),
    ("adsmModuleGlobal", c_void_p, [c_void_p, c_int, c_char_p, POINTER(c_size_t)]),
    ("adsmKernelGet", c_void_p, [c_void_p, c_char_p]),
    ("adsmCallArgs", c_int, [c_void_p, Dim, Dim, POINTER(Arg), c_size_t]),
    ("adsmSync", c_int, []),
    ("adsmAssign", c_int, [c_void_p, c_void_p, c_uint]),
    ("adsmDeviceCount", c_int, []),
    ("adsmDeviceInfo", c_int, [c_int, POINTER(DeviceProps)]),
    ("adsmDeviceSet", c_int, [c_int]),
    ("adsmDeviceAlloc", c_void_p, [c_size_t]),
    ("adsmDeviceFree", c_int, [c_void_p]),
    ("adsmCopyToDevice", c_int, [c_void_p, c_void_p, c_size_t]),
    ("adsmCopyToHost", c_int, [c_void_p, c_void_p, c_size_t]),
    ("adsmDeviceFill", c_int, [c_void_p, c_int, c_size_t]),
    ("adsmCopyToDeviceAsync", c_int, [c_void_p, c_void_p, c_size_t, POINTER(EventHandle)]),
    ("adsmCopyToHostAsync", c_int, [c_void_p, c_void_p, c_size_t, POINTER(EventHandle)]),
    ("adsmEventWait", c_int, [EventHandle]),
    ("adsmCallEvent", c_int, [POINTER(EventHandle)]),
    ("adsmEventQuery", c_int, [EventHandle]),
    ("adsmEventTime", c_int, [EventHandle, POINTER(c_uint64), POINTER(c_uint64)]),
    ("adsmLend", c_int, [c_void_p, c_size_t, c_uint, POINTER(c_void_p), POINTER(c_void_p)]),
    ("adsmLoanEnd", c_int, [c_void_p, c_size_t]),
    ("adsmStatsGet", c_int, [c_void_p, c_size_t]),
    ("adsmObjectStatsGet", c_int, [c_void_p, c_void_p, c_size_t]),
    ("adsmStatsReset", c_int, []),
    ("adsmOnceAlloc", POINTER(OnceHandle), [c_size_t, c_size_t, POINTER(OnceDistribution)]),
    ("adsmOnceFree", c_int, [POINTER(OnceHandle)]),
    ("adsmOnceWait", c_void_p, [POINTER(OnceHandle), c_size_t]),
    ("adsmOnceFresh", c_void_p, [POINTER(OnceHandle), c_size_t]),
    ("adsmOnceSet", c_int, [POINTER(OnceHandle), c_size_t]),
    ("adsmOnceRoom", c_void_p, [POINTER(OnceHandle), c_size_t]),
    ("adsmOnceEmpty", c_int, [POINTER(OnceHandle), c_size_t]),
    ("adsmOnceCallArgs", c_int, [c_void_p, Dim, Dim, POINTER(Arg), c_size_t]),
    ("adsmOncePlace", c_int, [POINTER(OnceHandle), c_size_t, POINTER(c_int)]),
    ("adsmOnceWaiters", c_int, [POINTER(OnceWaiter), c_size_t, c_size_t]),
]

_lock = threading.Lock()
_library: Optional[ctypes.CDLL] = None
_path = ""
_warned = False


def _prefix() -> Optional[pathlib.Path]:
    """PREFIX, if this package is in PREFIX/lib/python3.11/site-packages or a similar folder."""
    above = list(pathlib.Path(__file__).resolve().parents)
    for packages, folder in zip(above, above[1:]):
        if folder.name in ("lib", "lib64") and packages.name.startswith("python"):
            return folder.parent
    return None


def find() -> str:
    """The library's file: the one that ADSM_LIBRARY names, else the one of this package's prefix, else one that the
    loader finds."""
    named = os.environ.get("ADSM_LIBRARY")
    if named:
        return named
    prefix = _prefix()
    found = [path for folder in FOLDERS for path in prefix.glob(f"{folder}/{NAME}")] if prefix else []
    return str(found[0]) if found else NAME


class _SymbolInfo(ctypes.Structure):
    _fields_ = [("file", c_char_p), ("base", c_void_p), ("name", c_char_p), ("address", c_void_p)]


def _owner(function: Any) -> _SymbolInfo:
    """The file that a function is in."""
    info = _SymbolInfo()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [c_void_p, POINTER(_SymbolInfo)]
    dladdr(ctypes.cast(function, c_void_p), ctypes.byref(info))
    return info


def is_preloaded() -> bool:
    """Whether calls of the C library's functions reach the library's wrappers."""
    return bool(_owner(ctypes.CDLL(None).read).base == _owner(get().adsmVersion).base)


def path() -> str:
    """The file of the library that is loaded."""
    get()
    return _path


def _load() -> ctypes.CDLL:
    # A preloaded library is already there, whatever its path is.
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "adsmInit"):
        file = find()
        try:
            library = ctypes.CDLL(file, use_errno=True)
        except OSError as error:
            raise ImportError(f"libadsm cannot be loaded: {error}. Install it, or name its file in the environment "
                              "variable ADSM_LIBRARY") from None
    for name, result, parameters in PROTOTYPES:
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{library._name or NAME} has no function {name}(): it is older than this "
                              "package") from None
        function.restype, function.argtypes = result, parameters
    # A relative path is valid as long as the program does not change its folder.
    global _path
    _path = os.path.realpath(os.fsdecode(_owner(library.adsmVersion).file or find()))
    return library


def get() -> ctypes.CDLL:
    """The library with its prototypes, loaded at the first call."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                _library = _load()
    return _library


def make_error(code: int, what: str = "") -> Error:
    """The exception for a negative errno value of this thread's last call."""
    library = get()
    sentence = os.fsdecode(library.adsmLastError() or library.adsmErrorString(code))
    kind = OutOfMemory if code == -errno.ENOMEM else Error
    return kind(-code, f"{what}: {sentence}" if what else sentence)


def check(code: int, what: str = "") -> int:
    """Pass on what a function returned, or raise its error."""
    if code < 0:
        raise make_error(code, what)
    return code


def check_pointer(address: Optional[int], what: str = "") -> int:
    """Pass on an address that a function returned, or raise the error of errno."""
    if not address:
        raise make_error(-(ctypes.get_errno() or errno.EIO), what)
    return address


def caller() -> tuple[int, FrameType]:
    """The first frame outside of this package, and its level as seen from the function that called this one."""
    level, frame = 0, sys._getframe()
    while frame.f_back and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level, frame


def warn_without_preload() -> None:
    """Warn once in a process that system calls do not work on shared arrays."""
    global _warned
    if _warned:
        return
    _warned = True
    if is_preloaded():
        return
    warnings.warn("libadsm is not preloaded, so system calls fail on shared arrays: numpy.save(), tofile(), "
                  "readinto() and others raise OSError ('Bad address', '... requested and 0 written'). Run "
                  "`python3 -m adsm.run SCRIPT`, or put these calls in `with adsm.held(array):`",
                  PreloadWarning, stacklevel=caller()[0])
