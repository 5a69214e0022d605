# SPDX-License-Identifier: MIT
"""The sizes of the device's own code in store/layout.h are upper bounds: store_code.py HEADER LIBRARIES..."""
import re
import subprocess
import sys

PARTS = {"ADSM_SCRATCHPAD_CACHE_CODE": ("cache.c.o", "direct.c.o", "store.c.o"),
         "ADSM_SCRATCHPAD_MANAGER_CODE": ("partition_call.c.o", "policy.c.o", ".S.o")}


def main(header, libraries):
    with open(header, encoding="utf-8") as file:
        text = file.read()
    sizes = re.findall(r"^ *(\d+)\s.*?([\w.]+\.o) \(ex",
                       subprocess.run(["size", *libraries], check=True, capture_output=True, text=True).stdout, re.M)
    for name, files in PARTS.items():
        found = [(file, int(size)) for size, file in sizes if file.endswith(files)]
        limit, size = int(re.search(rf"{name} (\d+)", text)[1]), sum(size for _, size in found)
        print(f"{name} {limit}: {size} bytes in {found}")
        assert len(found) == 3 and limit / 4 < size <= limit, (name, found)


main(sys.argv[1], sys.argv[2:])
