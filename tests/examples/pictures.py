# SPDX-License-Identifier: MIT
"""Pictures for the test of the example convolve: PNG files of RGBA pixels, and what the filters make of them."""
import struct
import zlib

FILTERS = {"blur": (16, [1, 2, 1, 2, 4, 2, 1, 2, 1]), "edges": (1, [-1, -1, -1, -1, 8, -1, -1, -1, -1])}


def pattern(width, height):
    return bytes((x * 7 + y * 13 + c * 50 + x * y) % 256 if c < 3 else 255 - x for y in range(height)
                 for x in range(width) for c in range(4))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(path, width, height, pixels):
    rows = b"".join(b"\0" + pixels[4 * width * y:4 * width * (y + 1)] for y in range(height))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)) +
                   chunk(b"sRGB", b"\0") + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def paeth(left, up, corner):
    first = left + up - corner
    return min((left, up, corner), key=lambda x: abs(first - x))


def unfilter(kind, row, above):
    """The bytes of a row, whose filter is one of PNG's five."""
    out = bytearray(row)
    for i, value in enumerate(row):
        left, corner = (out[i - 4], above[i - 4]) if i >= 4 else (0, 0)
        out[i] = (value + [0, left, above[i], (left + above[i]) // 2, paeth(left, above[i], corner)][kind]) % 256
    return bytes(out)


def read_png(path):
    """Width, height and pixels of a file with RGBA of 8 bits."""
    with open(path, "rb") as file:
        data = file.read()
    at, compressed = 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, at + 8)
            assert (depth, colours, interlaced) == (8, 6, 0), (depth, colours, interlaced)
        elif kind == b"IDAT":
            compressed += data[at + 8:at + 8 + size]
        at += size + 12
    rows, pixels, above = zlib.decompress(compressed), b"", bytes(4 * width)
    for y in range(height):
        begin = y * (4 * width + 1)
        above = unfilter(rows[begin], rows[begin + 1:begin + 4 * width + 1], above)
        pixels += above
    return width, height, pixels


def convolve(name, width, height, pixels):
    divisor, weights = FILTERS[name]
    out = bytearray(pixels)
    for y in range(height):
        for x in range(width):
            for c in range(3):
                total = sum(weight * pixels[4 * (min(max(y + i // 3 - 1, 0), height - 1) * width +
                                                 min(max(x + i % 3 - 1, 0), width - 1)) + c]
                            for i, weight in enumerate(weights))
                out[4 * (y * width + x) + c] = min(max(int(total / divisor), 0), 255)
    return bytes(out)
