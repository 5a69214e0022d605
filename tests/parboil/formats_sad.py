# SPDX-License-Identifier: MIT
"""The files of sad: what is malformed gives one clear line, what is right gives a verified run, and the output
holds the sums of the right macroblocks: formats_sad.py PROGRAM"""
import os
import random
import struct
import tempfile

from program import fails, parboil, result

POSITIONS = 33 * 33
# Width and height of the blocks of each type.
TYPES = [(16, 16), (16, 8), (8, 16), (8, 8), (8, 4), (4, 8), (4, 4)]


def run(*args):
    report = result("sad", *args)
    assert report["max_error"] == 0 and report["calls"] == 3, report
    return report


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, *parts):
    with open(path, "wb") as file:
        for part in parts:
            file.write(part)


def fnv(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def by_type(output, macroblocks):
    """The sums of all macroblocks in the order of the device: type by type."""
    vectors = [output[at:at + 2 * POSITIONS] for at in range(0, len(output), 2 * POSITIONS)]
    first, ordered = 0, []
    for width, height in TYPES:
        n = 256 // width // height
        ordered += [vectors[41 * m + first + i] for m in range(macroblocks) for i in range(n)]
        first += n
    return b"".join(ordered)


def sum_of_differences(images, width, height, left, top, block, p):
    """One sum, as it is defined."""
    dx, dy = p % 33 - 16, p // 33 - 16
    total = 0
    for y in range(top, top + block[1]):
        for x in range(left, left + block[0]):
            at = min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1)
            total += abs(images[0][at] - images[1][y * width + x])
    return total


def check_output(output, images, width, height, rows):
    """Its length, and some of its sums: the first and the last of each type, and others."""
    columns = width // 16
    vectors = 41 * len(rows) * columns
    assert len(output) == 8 + vectors * POSITIONS * 2, (width, height, len(output))
    assert struct.unpack_from("<II", output) == (len(rows) * columns, 0), output[:8]
    values = struct.unpack_from(f"<{vectors * POSITIONS}H", output, 8)
    macroblocks = len(rows) * columns
    start = 0
    for block in TYPES:
        across, in_one = 16 // block[0], 256 // block[0] // block[1]
        samples = [(0, 0, 0), (macroblocks - 1, in_one - 1, POSITIONS - 1)]
        samples += [(random.randrange(macroblocks), random.randrange(in_one), random.randrange(POSITIONS))
                    for _ in range(60)]
        for macroblock, sub, p in samples:
            left = macroblock % columns * 16 + sub % across * block[0]
            top = rows[macroblock // columns] * 16 + sub // across * block[1]
            # Macroblock by macroblock, and all its types together.
            got = values[(41 * macroblock + start + sub) * POSITIONS + p]
            expected = sum_of_differences(images, width, height, left, top, block, p)
            assert got == expected, (width, height, block, macroblock, sub, p, got, expected)
        start += in_one
    assert start == 41, start


def check_generated(paths):
    """What is generated can be read again; with four rows of macroblocks, the output holds all sums."""
    done = parboil("generate", "sad", "--size", "tiny", "--output", paths[2])
    assert done.returncode == 0 and done.stdout.count(": 8196 bytes, FNV-1a") == 2, done.stdout
    inputs = [paths[2] + ".0", paths[2] + ".1"]
    images = [struct.unpack_from("<4096H", read(path), 4) for path in inputs]
    for variant in ["adsm", "explicit"]:
        report = run("--size", "tiny", "--variant", variant, "--input", *inputs, "--output", paths[2])
        assert report["const_bytes"] == 8192, report
        output = read(paths[2])
        assert fnv(by_type(output[8:], 16)) == 0x605b3f171bad7e61, variant
        check_output(output, images, 64, 64, [0, 1, 2, 3])


def check_rows(paths):
    """Images of any height; the ones that are too large for constant memory go another way."""
    for width, height, rows in [(16, 16, [0]), (32, 32, [0, 1]), (16, 48, [0, 1, 2]), (16, 80, [0, 1, 2, 3, 4]),
                                (32, 96, [0, 1, 2, 3, 4, 5]), (16, 112, [0, 1, 2, 3, 5, 6]),
                                (128, 256, [0, 1, 7, 8, 14, 15]), (2080, 16, [0])]:
        # 0 and 255 among them: a sum of 256 pixels is up to 65280.
        images = [[random.choice([0, 17, 90, 255]) for _ in range(width * height)] for _ in range(2)]
        if height == 16:
            images = [[255] * (width * height), [0] * (width * height)]
        for path, image in zip(paths, images):
            write(path, struct.pack(f"<{2 + len(image)}H", width, height, *image))
        outputs = []
        for variant in ["adsm", "explicit"]:
            report = run("--size", "tiny", "--variant", variant, "--input", *paths[:2], "--output", paths[2])
            outputs.append(read(paths[2]))
            assert report["const_bytes"] == (0 if width * height > 32768 else 2 * width * height), report
        assert outputs[0] == outputs[1], (width, height)
        check_output(outputs[0], images, width, height, rows)


def check_malformed(paths):
    good = struct.pack("<HH", 32, 16) + bytes(1024)

    def malformed(which, text, *parts):
        """@parts in place of one of two good files."""
        write(paths[1 - which], good)
        write(paths[which], *parts)
        for variant in ["adsm", "explicit"]:
            said = fails(1, text, "run", "sad", "--size", "tiny", "--variant", variant, "--input", *paths[:2])
            assert said == f"parboil: sad: {paths[which]}: {text}\n", (text, said)

    for which in range(2):
        malformed(which, "ends at byte 0, inside the header of 4 bytes", b"")
        malformed(which, "ends at byte 3, inside the header of 4 bytes", good[:3])
        malformed(which, "ends at byte 4, inside the pixels (bytes 4 to 1028)", good[:4])
        malformed(which, "ends at byte 1027, inside the pixels (bytes 4 to 1028)", good[:-1])
        malformed(which, "the data ends at byte 1028, the file at byte 1029", good, b"x")
        malformed(which, "ends at byte 1028, inside the pixels (bytes 4 to 8585740804)",
                  struct.pack("<HH", 65520, 65520), good[4:])
        for number in [0, 8, 65535]:
            text = f"is {number}, but must be a multiple of 16 more than 0"
            malformed(which, f"byte 0: the width {text}", struct.pack("<HH", number, 16), good[4:])
            malformed(which, f"byte 2: the height {text}", struct.pack("<HH", 32, number), good[4:])
        malformed(which, "byte 4: the pixel is 256, but must be at most 255", good[:4], b"\0\1", good[6:])
        malformed(which, "byte 1026: the pixel is 65535, but must be at most 255", good[:-2], b"\xff\xff")
    malformed(1, f"byte 0: the image is 16x32, but the reference image {paths[0]} is 32x16",
              struct.pack("<HH", 16, 32), good[4:])
    malformed(1, f"byte 2: the image is 32x32, but the reference image {paths[0]} is 32x16",
              struct.pack("<HH", 32, 32), bytes(2048))


def main():
    random.seed(4)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ["reference", "current", "output"]]
        check_generated(paths)
        check_rows(paths)
        check_malformed(paths)


main()
