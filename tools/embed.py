# SPDX-License-Identifier: MIT
"""embed.py INPUT OUTPUT: the bytes of a file as what stands between the braces of a C array, with a 0 at the end."""
import sys

data = open(sys.argv[1], "rb").read() + b"\0"
with open(sys.argv[2], "w") as out:
    for at in range(0, len(data), 32):
        out.write("".join(f"{byte}," for byte in data[at:at + 32]) + "\n")
