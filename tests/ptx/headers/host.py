# SPDX-License-Identifier: MIT
"""The headers of CUDA C in functions of the CPU: host.py SOURCE. clang compiles the source as CUDA, for the CPU only.
The program says what is wrong."""
import os
import shutil
import subprocess
import sys
import tempfile

source, = sys.argv[1:]
clang = os.environ.get("TEST_CLANG", "clang++")
headers = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "include", "cuda-c")
if not shutil.which(clang):
    print(f"no {clang} (Debian: clang)")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, "program")
    for level in "-O0", "-O2":
        # Of CUDA's toolkit nothing is needed, and nothing of it is used.
        subprocess.run([clang, "-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib",
                        "-Wno-unknown-cuda-version", "--cuda-path=/nonexistent", "-std=c++17", level,
                        f"-I{headers}", "-include", "cuda_runtime.h", source, "-o", program], check=True)
        if subprocess.run([program], check=False).returncode:
            sys.exit(1)
