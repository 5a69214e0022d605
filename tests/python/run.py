# SPDX-License-Identifier: MIT
"""Runs a file of pytest with an interpreter that has NumPy and pytest: run.py LIBRARY CACHE MODE FILE
[OPTION OF PYTEST]... MODE is preloaded or plain. Without such an interpreter the test is skipped."""
import os
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def interpreter():
    """The interpreter of the tests, else Debian's."""
    for path in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(path) and not subprocess.run([path, "-c", "import numpy, pytest"], check=False,
                                                       stderr=subprocess.DEVNULL).returncode:
            return path
    print("skipped: no python3 has NumPy and pytest (Debian: python3-numpy, python3-pytest)")
    sys.exit(77)


def main():
    library, cache, mode, *rest = sys.argv[1:]
    library = os.path.abspath(library)
    environment = dict(os.environ, ADSM_LIBRARY=library, XDG_CACHE_HOME=cache, PYTHONDONTWRITEBYTECODE="1",
                       PYTHONPATH=os.path.join(ROOT, "bindings", "python"))
    if "TEST_SKIP" in os.environ:
        print(f"skipped: {os.environ['TEST_SKIP']}")
        sys.exit(77)
    python = interpreter()
    if mode == "preloaded":
        environment["LD_PRELOAD"] = library
    os.execve(python, [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *rest], environment)


main()
