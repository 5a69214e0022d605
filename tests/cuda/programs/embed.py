# SPDX-License-Identifier: MIT
"""embed.py MODULE OUTPUT: a module's bytes as a C array, as a compiler embeds a device's code."""
import sys

data = open(sys.argv[1], "rb").read()
with open(sys.argv[2], "w") as out:
    out.write("static const unsigned char module_image[] __attribute__((aligned(64))) = {\n")
    for at in range(0, len(data), 32):
        out.write("".join(f"{byte}," for byte in data[at:at + 32]) + "\n")
    out.write("};\n")
