# SPDX-License-Identifier: MIT
"""Start and stop of the library, and its options."""
from __future__ import annotations

import contextlib
import errno
import gc
from typing import Iterator, Optional, Union

from . import _library
from ._arrays import Memory
from ._devices import DeviceArray
from ._modules import unload_all
from ._once import Once

Value = Union[str, int]

# The options that the program has set, and not taken back.
_set: dict[str, str] = {}


def version() -> str:
    """The version of the library, such as "0.2.0"."""
    number = _library.get().adsmVersion()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def start() -> None:
    """Start the library. The first array or call does that, too."""
    _library.check(_library.get().adsmInit())


def shutdown() -> None:
    """Stop the library. It writes its report and trace, and may be started again.

    Kernels are loaded again when they are next called. If arrays on shared memory or other objects still exist, the
    function fails with errno EBUSY.
    """
    gc.collect()
    unload_all()
    code = _library.get().adsmShutdown()
    if code == -errno.EBUSY:
        raise _library.Error(errno.EBUSY, f"the library cannot stop: {Memory.n_live} arrays on shared memory, "
                             f"{DeviceArray.n_live} device arrays and {Once.n_live} write-once objects still exist")
    _library.check(code)


def _assign(name: str, value: Optional[str]) -> None:
    key = name.lower().replace("-", "_")
    code = _library.get().adsmOption(key.encode(), value.encode() if value is not None else None)
    if code == -errno.EBUSY:
        raise _library.Error(errno.EBUSY, f"the option {key} comes too late, because the library is already running: "
                             "set options before the first array, kernel or call, or after adsm.shutdown()")
    _library.check(code)
    if value is None:
        _set.pop(key, None)
    else:
        _set[key] = value


def set_options(**options: Value) -> None:
    """Set options before the library starts: set_options(backend="cpu", block_size="4K").

    The names are those of the environment variables without ADSM_ (docs/options.md), in lower case. These values take
    precedence over the environment. Errors: Error with errno EBUSY if the library is running, EINVAL if there is no
    such option or the value is invalid.
    """
    for name, value in options.items():
        _assign(name, str(value))


@contextlib.contextmanager
def options(**options: Value) -> Iterator[None]:
    """Set options for the body of a `with`. The library must not be running.

    At the end of the body the library stops, and the options have their former values. Arrays that the body makes must
    be gone by then.
    """
    before = {name.lower().replace("-", "_"): _set.get(name.lower().replace("-", "_")) for name in options}
    done: list[str] = []
    try:
        for name, value in options.items():
            _assign(name, str(value))
            done.append(name.lower().replace("-", "_"))
    except _library.Error:
        for name in done:
            _assign(name, before[name])
        raise
    try:
        yield
    except BaseException:
        # The exception's traceback may keep arrays alive. Then the library continues to run with these options.
        with contextlib.suppress(_library.Error):
            _end(before)
        raise
    _end(before)


def _end(before: dict[str, Optional[str]]) -> None:
    shutdown()
    for name, value in before.items():
        _assign(name, value)
