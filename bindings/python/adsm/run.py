# SPDX-License-Identifier: MIT
"""python3 -m adsm.run SCRIPT [ARGUMENT...]: runs a program of Python with libadsm preloaded."""
from __future__ import annotations

import os
import subprocess
import sys
from typing import NoReturn

from . import _library

USAGE = """\
usage: python3 -m adsm.run SCRIPT [ARGUMENT...]
       python3 -m adsm.run -m MODULE [ARGUMENT...]
       python3 -m adsm.run -c COMMAND [ARGUMENT...]
Run a program of Python with libadsm preloaded, so that system calls work on shared arrays.
"""


def fail(text: str) -> NoReturn:
    sys.stderr.write(f"adsm.run: {text}\n")
    sys.exit(125)


def environment(library: str) -> dict[str, str]:
    """The environment with the library first in LD_PRELOAD. Another libadsm is removed from the list."""
    changed = dict(os.environ)
    entry = library
    # LD_PRELOAD is split at spaces and colons, LD_LIBRARY_PATH only at colons and semicolons.
    if " " in library:
        folder, entry = os.path.split(library)
        changed["LD_LIBRARY_PATH"] = ":".join(filter(None, [folder, changed.get("LD_LIBRARY_PATH")]))
    if ":" in library or " " in entry or (entry != library and ";" in library):
        fail(f"{library}: a library whose path contains a colon, or whose name contains a space, cannot be preloaded")
    others = [other for other in changed.get("LD_PRELOAD", "").replace(":", " ").split()
              if not os.path.basename(other).startswith("libadsm.so")]
    changed["LD_PRELOAD"] = ":".join([entry, *others])
    return changed


def main(arguments: list[str]) -> NoReturn:
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(USAGE) if arguments else sys.stderr.write(USAGE)
        sys.exit(0 if arguments else 2)
    try:
        library = _library.path()
    except ImportError as error:
        fail(str(error))
    flags = subprocess._args_from_interpreter_flags()       # type: ignore[attr-defined]
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *flags, *arguments], environment(library))


if __name__ == "__main__":
    main(sys.argv[1:])
