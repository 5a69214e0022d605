# SPDX-License-Identifier: MIT
"""Compiles sources of kernels by adsmcc, and keeps the modules in the user's cache folder."""
from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import Any, Optional, Sequence, Union

from . import _library

SUFFIXES = {"adsm": ".c", "cuda": ".cu", "ptx": ".ptx"}
LANGUAGES = [*SUFFIXES, "opencl"]
MOST_MODULES = 256              # in the cache; the ones that were used least recently are removed
MOST_LINES = 60                 # of the compiler's messages


def language_of(source: str, suffix: str = "") -> str:
    """The language of a source, by the words that only its kernels have."""
    for language, own in SUFFIXES.items():
        if suffix == own and suffix != ".c":
            return language
    if suffix == ".cl":
        return "opencl"
    code = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.S)
    if re.search(r"\bADSM_(KERNEL|KERNEL_MAX|TASK)\b", code):
        return "adsm"
    if "__global__" in code:
        return "cuda"
    if re.search(r"\b(__kernel|kernel)\b[^;{]*\bvoid\b", code):
        return "opencl"
    if re.match(r"\s*\.version\b", code):
        return "ptx"
    raise ValueError("the source has no kernel of a known language: ADSM_KERNEL or ADSM_TASK (adsm_kernel.h), "
                     "__global__ (CUDA C), __kernel (OpenCL C) or .version (PTX). language= names the language")


def read_source(path: pathlib.Path) -> str:
    """The text of a file. It may have any bytes, in comments for instance."""
    return path.read_text(encoding="utf-8", errors="surrogateescape")


def find_compiler() -> str:
    """The file of adsmcc: beside the library, else in the PATH."""
    library = pathlib.Path(_library.path())
    for above in list(library.parents)[:3]:
        for folder in ("bin", "tools"):
            path = above / folder / "adsmcc"
            if os.access(path, os.X_OK):
                return str(path)
    found = shutil.which("adsmcc")
    if not found:
        raise _library.Error(errno.ENOENT, f"adsmcc was not found, neither beside {library} nor in the PATH: install "
                             "it, or load a compiled module by adsm.load()")
    return found


def _state(path: str) -> Optional[list[int]]:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]


def _folder() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "adsm" / "python"


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


def _look_up(key: str) -> Optional[bytes]:
    """The module of a key, if none of the files that its compiler read has changed."""
    file = _folder() / key
    try:
        digest, _, rest = file.read_bytes().partition(b"\n")
        if digest != _digest(rest):
            return None
        line, _, image = rest.partition(b"\n")
        read: dict[str, Any] = json.loads(line)
        if any(_state(path) != state for path, state in read.items()):
            return None
        os.utime(file)
        return image
    except (OSError, ValueError):
        return None


def _write(path: pathlib.Path, data: bytes) -> None:
    """Other processes see all of the file, or the file before."""
    file, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(file, "wb") as out:
            out.write(data)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _keep(key: str, image: bytes, read: list[str]) -> None:
    """Keep a module, if that is possible: a line with the digest of the rest, a line with the states of the files that
    were read, then the module."""
    folder = _folder()
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        states = {path: _state(path) for path in read}
        if None in states.values():         # a change of this file would not be noticed
            return
        rest = json.dumps(states).encode() + b"\n" + image
        _write(folder / key, _digest(rest) + b"\n" + rest)
        files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in files[:-MOST_MODULES]:
            old.unlink(missing_ok=True)


def _dependencies(text: str) -> list[str]:
    """The files in a rule for make."""
    words = re.split(r"(?<!\\)\s+", text.replace("\\\n", " ").partition(":")[2].strip())
    return [re.sub(r"\\([ #])", r"\1", word).replace("$$", "$") for word in words if word]


def _messages(text: str, folder: str) -> str:
    """What a compiler printed, without the folder of the source, and without the insides of adsm_kernel.h."""
    lines = [line.replace(folder + os.sep, "") for line in text.rstrip().splitlines()
             if not re.search(r"adsm_kernel\.h:\d+:\d+: note: in (expansion|definition) of macro", line)]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"... and {len(lines) - MOST_LINES} more lines"]
    return "\n".join(lines)


def compile_source(source: Union[str, pathlib.Path], language: str, options: Sequence[str], cache: bool) -> bytes:
    """The module of a source, which is a text or a file."""
    compiler = find_compiler()
    text = source if isinstance(source, str) else str(source.resolve()) + "\n" + read_source(source)
    key = hashlib.sha256(json.dumps([
        language, list(options), text, os.getcwd(), compiler, _state(compiler),
        [os.environ.get(name) for name in ("CC", "CLANG", "NVCC", "ADSM_PTX_LOCKSTEP")]]).encode()).hexdigest()
    found = _look_up(key) if cache else None
    if found is not None:
        return found
    with tempfile.TemporaryDirectory(prefix="adsm-") as folder:
        file = os.path.join(folder, "kernel" + SUFFIXES[language])
        if isinstance(source, str):
            with open(file, "w", encoding="utf-8") as out:
                out.write(source)
        else:
            file = str(source)
        module, rule = os.path.join(folder, "out.adsm"), os.path.join(folder, "out.d")
        done = subprocess.run([compiler, *options, "-MF", rule, "-o", module, file], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, encoding="utf-8",
                              errors="replace")
        if done.returncode:
            raise _library.CompileError(errno.ENOEXEC, f"adsmcc rejected the source\n{_messages(done.stdout, folder)}")
        with open(module, "rb") as compiled:
            image = compiled.read()
        if cache:
            with open(rule, encoding="utf-8", errors="replace") as made:
                read = [os.path.abspath(path) for path in _dependencies(made.read())]
            _keep(key, image, [path for path in read if not path.startswith(folder)])
    return image
