# SPDX-License-Identifier: MIT
"""clang.py TEST_PARSE SOURCE... compiles CUDA sources with clang alone, and has the parser read what clang writes."""
import os
import shutil
import subprocess
import sys
import tempfile

# Of CUDA nothing is needed, and nothing of it is used.
FLAGS = ["-x", "cuda", "--cuda-device-only", "-S", "-nocudainc", "-nocudalib", "--cuda-path=/nonexistent",
         "-Xclang", "-target-sdk-version=11.0", "-Xclang", "-target-feature", "-Xclang", "+ptx75",
         "--cuda-gpu-arch=sm_80", "-std=c++17", "-fno-crash-diagnostics"]
LEVELS = [["-O0", "-g"], ["-O2"], ["-O3", "-gline-tables-only"]]


def main():
    parser, *sources = sys.argv[1:]
    clang = os.environ.get("TEST_CLANG", "clang++")
    if not shutil.which(clang):
        print(f"no {clang} (Debian: clang)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for source in sources:
            for level in LEVELS:
                path = os.path.join(folder, os.path.basename(source) + level[0] + ".ptx")
                subprocess.run([clang, *FLAGS, *level, source, "-o", path], check=True)
                made.append(path)
        subprocess.run([parser, "accept", *made], check=True)
        print(f"{len(made)} files of clang")


main()
