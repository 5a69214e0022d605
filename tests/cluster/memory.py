# SPDX-License-Identifier: MIT
"""What large tests ask of a machine."""
import sys


def need(gib):
    """Skip where so much memory is not free."""
    with open("/proc/meminfo", encoding="utf-8") as file:
        sizes = dict(line.split(":") for line in file)
    free = int(sizes["MemAvailable"].split()[0]) >> 20
    if free < gib:
        print(f"{gib} GiB of memory are needed, and {free} free")
        sys.exit(77)
