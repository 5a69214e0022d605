# SPDX-License-Identifier: MIT
"""Frameworks of others on the driver's double, without the library and with it: frameworks.py LIBADSM NAME.

NAME: a case of ../gpu/frameworks.py, which must come to the same checksum; or numba-tests, Numba's own tests of what it
has of the driver: what passes without the library passes with it. Some fail without, as the double has no PTX.

./dev test --all gets the frameworks, by pip; ends with 77 where they are not.
"""
import os
import re
import subprocess
import sys

MODULES = ("array_attr", "context_stack", "cuda_array_slicing", "cuda_auto_context", "cuda_devicerecord", "cuda_memory",
           "cuda_ndarray", "deallocations", "detect", "emm_plugins", "events", "host_alloc", "init", "managed_alloc",
           "pinned", "profiler", "reset_device", "select_device")
FEWEST = 100        # of Numba's tests that pass: else there is nothing to compare


def run(arguments, library):
    environment = {name: value for name, value in os.environ.items() if name != "ADSM_BACKEND"}
    if library:
        environment["LD_PRELOAD"] = library
    result = subprocess.run([sys.executable, *arguments], env=environment, stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", check=False)
    return result.returncode, result.stdout


def checksum(case, library):
    script = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../gpu/frameworks.py")
    status, text = run([script, case], library)
    if status:
        print(text)
        sys.exit(77 if status == 77 and not library else 1)
    return re.search(r"^checksum=.*", text, re.M)[0]


def passed(library):
    tests = [f"numba.cuda.tests.cudadrv.test_{module}" for module in MODULES]
    _, text = run(["-m", "numba.runtests", "-v", *tests], library)
    return set(re.findall(r"^\w+ \((numba\.cuda\.tests\.\S+)\)(?:\n.*)? \.\.\. (?:.*\n)??ok$", text, re.M)), text


def compare(library):
    try:
        import numba.cuda.testing       # noqa: F401
    except ImportError as error:
        print(error)
        sys.exit(77)
    alone, text = passed(None)
    ours, our_text = passed(library)
    print(f"{len(alone)} pass without the library, {len(ours & alone)} of them with it")
    if len(alone) < FEWEST:
        print(text)
        sys.exit(1)
    if alone - ours:
        print(*sorted(alone - ours), our_text, sep="\n")
        sys.exit(1)


if __name__ == "__main__":
    adsm, name = sys.argv[1:]
    if name == "numba-tests":
        compare(adsm)
    else:
        without, with_it = checksum(name, None), checksum(name, adsm)
        print(without, with_it)
        sys.exit(without != with_it)
