# SPDX-License-Identifier: MIT
"""Modules and kernels: from the source to the kernel that can be called."""
from __future__ import annotations

import ctypes
import errno
import pathlib
import threading
import weakref
from typing import Any, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _library, _signature
from ._arguments import Access, Argument, Binder, Units, access_of, access_to_object, dimensions
from ._arrays import Array, Memory, address_of, require_shared
from ._compile import LANGUAGES, compile_source, language_of, read_source

Source = Union[str, pathlib.Path]

# Loading and unloading modules. shutdown() unloads all of them, and the next call loads its own again.
_lock = threading.RLock()
_modules: weakref.WeakSet[Module] = weakref.WeakSet()


class Module:
    """A set of kernels. module.NAME or module["NAME"] is a kernel of it."""

    def __init__(self, image: bytes, kind: int, signatures: list[_signature.Signature],
                 build_options: Optional[str] = None) -> None:
        self._image = image
        self._kind = kind
        self._signatures = signatures
        self._build_options = build_options
        self._handle: Optional[int] = None
        self._unload_function = _library.get().adsmModuleUnload
        # A kernel keeps its module.
        self._kernels: weakref.WeakValueDictionary[str, Kernel] = weakref.WeakValueDictionary()
        self._variables: weakref.WeakSet[Memory] = weakref.WeakSet()
        self._load()
        _modules.add(self)

    def _load(self) -> int:
        with _lock:
            if self._handle is None:
                library = _library.get()
                text = self._build_options.encode() if self._build_options is not None else None
                options = _library.ModuleOptions(ctypes.sizeof(_library.ModuleOptions), self._kind,
                                                 _library.DEVICE_CURRENT, text)
                handle = library.adsmModuleLoadWith(self._image, len(self._image), ctypes.byref(options))
                if not handle:
                    error = _library.make_error(-(ctypes.get_errno() or errno.EIO))
                    if error.errno == errno.ENOEXEC:
                        raise _library.CompileError(error.errno, error.strerror)
                    raise error
                self._handle = handle
            return self._handle

    def _unload(self) -> None:
        with _lock:
            if self._variables:
                raise _library.Error(errno.EBUSY, "the library cannot stop: an array of Module.variable() still exists")
            if self._handle is not None:
                _library.check(_library.get().adsmModuleUnload(self._handle))
                self._handle = None
            for each in self._kernels.values():
                each._handle = None

    def __del__(self) -> None:
        # The function waits for calls of the kernels. In the child of a fork it has no effect.
        handle = getattr(self, "_handle", None)
        if handle is not None:
            self._unload_function(handle)

    @property
    def names(self) -> list[str]:
        """The names of the kernels, as far as they are known."""
        return [signature.name for signature in self._signatures]

    def __getitem__(self, name: str) -> Kernel:
        with _lock:
            found = self._kernels.get(name)
            if found is None:
                found = self._kernels[name] = Kernel(self, name, _signature.find(self._signatures, name))
            return found

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except _library.Error as error:
            raise AttributeError(error.strerror) from None

    def variable(self, name: str, dtype: npt.DTypeLike, device: Optional[int] = None) -> Array:
        """Return an array on a variable of the module: __device__ or __constant__ of CUDA C."""
        size = ctypes.c_size_t()
        address = _library.check_pointer(_library.get().adsmModuleGlobal(
            self._load(), _library.DEVICE_CURRENT if device is None else device, name.encode(), ctypes.byref(size)))
        kind = np.dtype(dtype)
        if size.value % kind.itemsize:
            raise TypeError(f"the variable {name} has {size.value} bytes, which is no multiple of the {kind.itemsize} "
                            f"bytes of {kind}")
        memory = Memory(address, size.value, None, keep=self)
        self._variables.add(memory)
        return memory.array((size.value // kind.itemsize,), kind)

    def __repr__(self) -> str:
        return f"<adsm.Module {', '.join(self.names) or 'of unknown kernels'}>"


class Kernel:
    """A kernel. Call it with its arguments and a grid."""

    def __init__(self, module: Module, name: str, signature: Optional[_signature.Signature]) -> None:
        self._module = module
        self.name = name
        self.is_task = bool(signature and signature.flags & _signature.TASK)
        self._signature = signature
        self._binder = Binder(name, signature)
        self._handle: Optional[int] = None
        self._get()

    def _get(self) -> int:
        if self._handle is None:
            self._handle = _library.check_pointer(
                _library.get().adsmKernelGet(self._module._load(), self.name.encode()))
        return self._handle

    @property
    def parameters(self) -> Optional[list[_signature.Parameter]]:
        """The parameters. None: they are unknown."""
        return self._signature.parameters if self._signature else None

    def __call__(self, *arguments: Argument, grid: Any = None, block: Any = None, threads: Any = None,
                 workers: Optional[int] = None, uses: Sequence[Any] = (), uses_all: bool = False) -> None:
        """Start the kernel. The function does not wait for its end: an access to an array that the kernel writes does,
        and so does sync().

        arguments: arrays on shared memory for pointers, numbers and numpy scalars for values, arrays of any kind for
            constants, Local() for memory of the block, None for NULL. In(), Out() and InOut() name the access.
        grid: the number of blocks; block: the number of threads of a block. An integer, or up to three.
        threads: the least number of threads, instead of grid. block is then 256 by default.
        workers: the number of workers, if the kernel is a task.
        uses: arrays that the kernel reaches by pointers in memory; uses_all: all arrays of the device.

        If an argument is In() or Out() of units of a write-once object, the kernel starts when the units that it reads
        are set, and sync() does not wait for it.
        """
        grid, block = dimensions(self.name, self.is_task, grid, block, threads, workers)
        handle = self._get()
        bound, keep, with_units = self._binder.bind(arguments, uses, uses_all)
        library = _library.get()
        call = library.adsmOnceCallArgs if with_units else library.adsmCallArgs
        code = call(handle, grid, block, bound, len(bound))
        del keep
        if code < 0:
            raise _library.make_error(code)
        if with_units:
            self._keep_used(arguments, uses)

    def _keep_used(self, arguments: Sequence[Argument], uses: Sequence[Any]) -> None:
        """A call by units may begin later. What it uses must live until the units are set that it writes."""
        values = [(each.value, each.access) if isinstance(each, Access) else (each, 0) for each in arguments]
        sets = next(value for value, access in values if isinstance(value, Units) and access == _library.OUT)
        used: list[Any] = [self, *(each.value if isinstance(each, Access) else each for each in uses)]
        used += [value.once if isinstance(value, Units) else value for value, _ in values]
        sets.once._keep(sets.first, sets.count, [each for each in used if each is not sets.once])

    def assign(self, array: Array, access: str = "inout") -> None:
        """Assign an array to the kernel: all its calls use it, and other kernels only if an argument points to it."""
        require_shared(array)
        to_object = access_to_object(array, access_of(access))
        _library.check(_library.get().adsmAssign(address_of(array), self._get(), to_object))

    def __repr__(self) -> str:
        parameters = self.parameters
        if parameters is None:
            return f"<adsm.Kernel {self.name}>"
        pointers = (_library.ARG_POINTER, _library.ARG_CONST, _library.ARG_ONCE)
        texts = [f"{p.type or 'void'} {'*' if p.kind in pointers else ''}{p.name}" for p in parameters]
        return f"<adsm.Kernel {self.name}({', '.join(texts)})>"


def unload_all() -> None:
    """Unload all modules; they are loaded again when they are next used."""
    with _lock:
        for module in list(_modules):
            module._unload()


def module(source: Source, *, language: Optional[str] = None, options: Sequence[str] = (),
           cache: bool = True) -> Module:
    """Compile a source of kernels.

    source: the text, or the path of a file.
    language: "adsm" (adsm_kernel.h), "cuda" (CUDA C), "ptx" or "opencl"; None: it follows from the source.
    options: of adsmcc, or for OpenCL C of the device's compiler.
    cache: whether the module is kept in the user's cache folder.

    Errors: CompileError with the messages of the compiler.
    """
    text = source if isinstance(source, str) else read_source(source)
    if language is None:
        language = language_of(text, "" if isinstance(source, str) else source.suffix)
    if language not in LANGUAGES:
        raise ValueError(f"language must be one of {', '.join(LANGUAGES)}, not {language!r}")
    if language == "opencl":
        return Module(text.encode(errors="surrogateescape"), _library.MODULE_SOURCE, _signature.of_opencl(text),
                      " ".join(options) or None)
    image = compile_source(source, language, options, cache)
    return Module(image, _library.MODULE_ADSM, _signature.of_module(image))


def load(path: Union[str, pathlib.Path]) -> Module:
    """Load a module that adsmcc has compiled."""
    image = pathlib.Path(path).read_bytes()
    return Module(image, _library.MODULE_AUTO, _signature.of_module(image))


def kernel(source: Source, name: Optional[str] = None, *, language: Optional[str] = None,
           options: Sequence[str] = (), cache: bool = True) -> Kernel:
    """Compile a source and return one of its kernels. name may be left out if there is only one. The other parameters
    are those of module()."""
    made = module(source, language=language, options=options, cache=cache)
    if name is None:
        if len(made.names) != 1:
            raise ValueError(f"the source has {len(made.names)} kernels ({', '.join(made.names)}): name one")
        name = made.names[0]
    return made[name]


def sync() -> None:
    """Wait for the calls of this thread since its last sync(), and raise their first error. Each is raised once."""
    _library.check(_library.get().adsmSync())


__all__ = ["Kernel", "Module", "Units", "kernel", "load", "module", "sync"]
