# SPDX-License-Identifier: MIT
"""What kernels take: read from a compiled module, or from the source of a kernel in OpenCL C.

A module of adsmcc describes its kernels in the section adsm_kernels (struct adsm_kernel_desc of adsm_kernel.h) or, if
they are in CUDA C, in the lines of the section adsm_entries.
"""
from __future__ import annotations

import ctypes
import re
import struct
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _library

TASK = 2                        # ADSM_KERNEL_TASK
RAW = 16                        # ADSM_KERNEL_RAW

# Types of the languages, each with the dtypes that arrays and values of it have. A character may also be a bool.
_NUMBERS = {
    "float": "f4", "double": "f8", "half": "f2", "__half": "f2", "float16_t": "f2",
    "signed char": "i1", "short": "i2", "int": "i4", "long": "i8", "long long": "i8",
    "unsigned char": "u1 b1", "unsigned short": "u2", "unsigned int": "u4", "unsigned long": "u8",
    "unsigned long long": "u8", "char": "i1 u1 b1 S1", "bool": "b1 u1", "_Bool": "b1 u1",
    "uchar": "u1 b1", "ushort": "u2", "uint": "u4", "ulong": "u8", "size_t": "u8", "ptrdiff_t": "i8",
    "int8_t": "i1", "int16_t": "i2", "int32_t": "i4", "int64_t": "i8",
    "uint8_t": "u1 b1", "uint16_t": "u2", "uint32_t": "u4", "uint64_t": "u8",
    # Of a value in PTX only its size is known, not whether it has a sign.
    "f16": "f2", "f32": "f4", "f64": "f8", "u8": "u1 i1 b1", "u16": "u2 i2", "u32": "u4 i4", "u64": "u8 i8",
    "s8": "i1 u1 b1", "s16": "i2 u2", "s32": "i4 u4", "s64": "i8 u8",
    "b8": "u1 i1 b1", "b16": "u2 i2 f2", "b32": "u4 i4 f4", "b64": "u8 i8 f8",
}


class Parameter(NamedTuple):
    """A parameter of a kernel."""

    name: str
    type: str                   # as in the source, such as "float"; "": unknown
    kind: int                   # ADSM_ARG_*; ARG_NONE: unknown
    access: int                 # of a pointer: IN, OUT or INOUT; 0: unknown
    size: int                   # bytes of the value, or of an element; 0: unknown


class Signature(NamedTuple):
    """What a module says of a kernel."""

    name: str
    flags: int
    parameters: list[Parameter]


def canonical(text: str) -> str:
    """A type's name without qualifiers, and with the words of integers in one order."""
    words = [word for word in text.split() if word not in ("const", "volatile", "restrict", "struct", "__restrict__")]
    if "unsigned" in words or "signed" in words or len(words) > 1:
        sign = "unsigned" if "unsigned" in words else ""
        rest = [word for word in words if word not in ("unsigned", "signed")]
        if set(rest) <= {"int", "long", "short", "char"}:
            if "char" in rest:
                return "unsigned char" if sign else "signed char" if "signed" in words else "char"
            rest = [word for word in rest if word != "int"] or ["int"]
            words = [sign, *rest] if sign else rest
        else:
            words = rest
    return " ".join(words)


def dtypes_of(type_name: str) -> list[np.dtype[Any]]:
    """The dtypes of a type, the usual one first. Empty: it is not a number, or unknown."""
    return [np.dtype(code) for code in _NUMBERS.get(canonical(type_name), "").split()]


# ---- modules of adsmcc


def sections(image: bytes) -> dict[str, bytes]:
    """The sections of an ELF file of 64 bits."""
    offset, = struct.unpack_from("=Q", image, 40)
    size, n, names = struct.unpack_from("=HHH", image, 58)
    headers = [struct.unpack_from("=IIQQQQ", image, offset + i * size) for i in range(n)]
    _, _, _, _, names_at, names_size = headers[names]
    texts = image[names_at:names_at + names_size]
    return {texts[name:texts.index(b"\0", name)].decode(): image[at:at + length]
            for name, kind, _, _, at, length in headers if kind == 1}


def _text(field: bytes) -> str:
    return field.split(b"\0")[0].decode(errors="replace")


def _from_kernels(section: bytes) -> list[Signature]:
    """Kernels in the dialect: an array of struct adsm_kernel_desc."""
    head, parameter, n_most = "=8sIIII64s", "=32s32sIII", 32
    found = []
    flags_at = struct.calcsize(head) + n_most * struct.calcsize(parameter)
    size, = struct.unpack_from("=I", section, 12)
    for at in range(0, len(section) - size + 1, size):
        _, _, _, _, n_parameters, name = struct.unpack_from(head, section, at)
        parameters = []
        for i in range(min(n_parameters, n_most)):
            fields = struct.unpack_from(parameter, section, at + struct.calcsize(head) + i * struct.calcsize(parameter))
            parameters.append(Parameter(_text(fields[0]), _text(fields[1]), *fields[2:]))
        flags, = struct.unpack_from("=I", section, at + flags_at)
        found.append(Signature(_text(name), flags, parameters))
    return found


def _split(text: str) -> list[str]:
    """Parameters that commas separate, but not those in brackets."""
    parts, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    last = text[begin:].strip()
    return parts + [last] if last else parts


def demangled_types(name: str) -> list[str]:
    """The types of the parameters in a mangled name of C++. Empty: the name is not mangled, or cannot be read."""
    if not name.startswith("_Z"):
        return []
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        demangle, free = library.__cxa_demangle, ctypes.CDLL(None).free
    except (OSError, AttributeError):
        return []
    demangle.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    address = demangle(ctypes.c_char_p(name.encode()), None, None, None)
    text = ctypes.string_at(address).decode() if address else ""
    free(address)
    if not text.endswith(")"):
        return []
    # The last brackets at the outermost level are the parameters.
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if depth == 0:
            return _split(text[i + 1:-1])
    return []


def _from_entries(text: str) -> list[Signature]:
    """Kernels in CUDA C: lines of words (lib/base/entries.h)."""
    found: list[Signature] = []
    types: list[str] = []
    for line in text.splitlines():
        word = line.split(" ")
        if word[0] == "kernel":
            found.append(Signature(word[1], int(word[3]), []))
            types = demangled_types(word[2])
        elif word[0] == "param" and word[3] != "7":         # 7: a variable of the module
            name, kind = word[1], int(word[3])
            index = len(found[-1].parameters)
            source = types[index] if index < len(types) else ""
            type_name, size = word[2], int(word[5])
            if kind == _library.ARG_POINTER:
                # The module does not have the type of the elements.
                type_name = source[:-1].strip() if source.endswith("*") else ""
                size = 0
            elif dtypes_of(source):
                type_name = source
            found[-1].parameters.append(Parameter(name, type_name, kind, int(word[4]), size))
    return found


def of_module(image: bytes) -> list[Signature]:
    """The kernels of a module. Empty: adsmcc did not make it, or it is damaged. The library then says so."""
    if image[:4] != b"\x7fELF":
        return []
    try:
        found = sections(image)
        if "adsm_entries" in found:
            return _from_entries(_text(found["adsm_entries"]))
        return _from_kernels(found.get("adsm_kernels", b""))
    except (struct.error, ValueError, IndexError):
        return []


# ---- OpenCL C


def _opencl_parameter(text: str) -> Parameter:
    words = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", text)
    names = re.findall(r"\w+", words)
    name = names[-1] if len(names) > 1 else ""
    spaces = {word.strip("_") for word in names} & {"global", "local", "constant", "private"}
    type_name = re.sub(r"\b(__)?(global|local|constant|private|const|restrict|volatile)\b|\*", " ",
                       words[:words.rindex(name)] if name else words)
    type_name = " ".join(type_name.split())
    numbers = dtypes_of(type_name)
    size = numbers[0].itemsize if numbers else 0
    if "local" in spaces:
        return Parameter(name, type_name, _library.ARG_LOCAL, 0, 0)
    if "*" in words:
        reads = "constant" in spaces or "const" in names
        return Parameter(name, type_name, _library.ARG_POINTER, _library.IN if reads else 0, size)
    return Parameter(name, type_name, _library.ARG_VALUE if numbers else _library.ARG_NONE, 0, size)


def of_opencl(source: str) -> list[Signature]:
    """The kernels in a source of OpenCL C, as far as they can be read without a preprocessor."""
    source = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.S)
    found = []
    for match in re.finditer(r"\b(?:__)?kernel\b[^;{]*?\bvoid\s+(\w+)\s*\(", source):
        depth, end = 1, match.end()
        while depth and end < len(source):
            depth += (source[end] == "(") - (source[end] == ")")
            end += 1
        texts = [text for text in _split(source[match.end():end - 1]) if text != "void"]
        found.append(Signature(match.group(1), 0, [_opencl_parameter(text) for text in texts]))
    return found


def find(signatures: list[Signature], name: str) -> Optional[Signature]:
    return next((each for each in signatures if each.name == name), None)
