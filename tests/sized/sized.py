# SPDX-License-Identifier: MIT
"""Programs compiled with an older or a newer header work with this library:
sized.py LIBRARY MODULE SANITIZER CC... -- [CXX]

The headers of include/ are copied. In one copy each structure lacks its last field, in another it has one more, in the
third it is unchanged. caller.c is compiled with each copy and runs with the library as built."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "..", "..", "include")


def replaced(text, pattern, by):
    changed, n = re.subn(pattern, by, text, flags=re.S | re.M)
    if n != 1:
        sys.exit(f"sized.py: {n} times, not once, in the header: {pattern}")
    return changed


# What an older header lacks. Whole words of 8 bytes go, as a structure has no padding at its end.
OLDER = {
    "adsm.h": [
        (r"^\tint device;[^\n]*\n\tunsigned flags;[^\n]*\n\} adsmAllocOptions;", "} adsmAllocOptions;"),
        (r"(#define ADSM_ALLOC_OPTIONS_INIT) [^\n]*", r"\1 { sizeof(adsmAllocOptions), NULL, 0 }"),
        (r"^\tconst char \*build_options;[^\n]*\n", ""),
        (r"(#define ADSM_MODULE_OPTIONS_INIT) [^\n]*",
         r"\1 { sizeof(adsmModuleOptions), ADSM_MODULE_AUTO, ADSM_DEVICE_CURRENT }"),
        (r"^\tchar made_of\[256\];[^\n]*\n", ""),
        (r"^\tuint64_t device_address;[^\n]*\n", ""),
        (r" \\\n\tX\(moved_bytes, [^\n]*\n", "\n"),
    ],
    "adsm_once.h": [(r"^\tchar place\[128\];[^\n]*\n", "")],
}
NEWER = {
    "adsm.h": [(r"^(\} %s;)" % name, r"\tsize_t later;\n\1") for name in
               ("adsmAllocOptions", "adsmModuleOptions", "adsmDeviceProps", "adsmObjectProps", "adsmStats")],
    "adsm_once.h": [(r"^(\} adsmOnceWaiter;)", r"\tsize_t later;\n\1"),
                    (r"^(\} adsmOnceDistribution;)", r"\tsize_t later;\n\1"),
                    (r"^(\tdistribution\.arg = NULL;\n)", r"\1\tdistribution.later = 0;\n")],
    "adsm_split.h": [(r"^(\} adsmSplit;)", r"\tsize_t later;\n\1")],
}


def main():
    library, module, sanitizer, *rest = sys.argv[1:]
    if sanitizer != "none":
        print(f"a library with the {sanitizer} sanitizer does not load into a program without it")
        sys.exit(77)
    split = rest.index("--")
    compilers = [rest[:split] + ["-std=gnu11"]] + [[cxx, "-x", "c++"] for cxx in rest[split + 1:]]
    failed = 0
    for name, edits in ("same", {}), ("older", OLDER), ("newer", NEWER):
        with tempfile.TemporaryDirectory() as folder:
            for header in os.listdir(INCLUDE):
                if header.endswith((".h", ".hpp")):
                    shutil.copy(os.path.join(INCLUDE, header), folder)
            for header, changes in edits.items():
                with open(os.path.join(INCLUDE, header), encoding="utf-8") as file:
                    text = file.read()
                for change in changes:
                    text = replaced(text, *change)
                with open(os.path.join(folder, header), "w", encoding="utf-8") as file:
                    file.write(text)
            for compiler in compilers:
                program = os.path.join(folder, "caller")
                subprocess.run([*compiler, "-Wall", "-Werror", "-Wno-missing-field-initializers", f"-D{name.upper()}",
                                "-I", folder, "-o", program, os.path.join(HERE, "caller.c"), "-x", "none", library,
                                "-pthread"], check=True)
                environment = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(library))
                done = subprocess.run([program, module], env=environment)
                if done.returncode:
                    print(f"{' '.join(compiler)}, {name} header: ended with {done.returncode}")
                    failed = 1
    sys.exit(failed)


main()
