# SPDX-License-Identifier: MIT
"""version.py OUTPUT DEPFILE VERSION ROOT HEADER...: writes version.inc, the version that the library and the programs
of its devices compare when a device starts. It is the library's version, and a hash of the headers that both sides
share: those named, and the headers of the tree that they include. Comments and spaces do not count."""

import hashlib
import os
import re
import sys

output, depfile, version, root, *headers = sys.argv[1:]
FOLDERS = ["", "include", "lib", "backends", "protocols"]
COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|//[^\n]*', re.DOTALL)


def find(name, beside):
    """The path of an included header, as the compiler finds it."""
    for folder in [beside, *(os.path.join(root, folder) for folder in FOLDERS)]:
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.exists(path):
            return path
    sys.exit(f"version.py: {name}, which a header in {beside} includes, is in no folder of headers")


texts = {}
open_headers = [os.path.normpath(header) for header in headers]
while open_headers:
    path = open_headers.pop()
    if path in texts:
        continue
    with open(path, encoding="utf-8") as file:
        text = COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", file.read())
    texts[path] = " ".join(text.split())
    open_headers += [find(name, os.path.dirname(path)) for name in re.findall(r'# ?include "([^"]+)"', texts[path])]

digest = hashlib.sha256()
# In the order of their names from the root: a build elsewhere has the same hash.
for path in sorted(texts, key=lambda path: os.path.relpath(path, root)):
    digest.update(texts[path].encode() + b"\0")
with open(output, "w", encoding="utf-8") as file:
    file.write(f"""/* SPDX-License-Identifier: MIT */
/* version.inc - written by backends/process/version.py. */
#define ADSM_PROCESS_VERSION_TEXT "{version} ({digest.hexdigest()[:8]})"
""")
with open(depfile, "w", encoding="utf-8") as file:
    file.write(f"{output}: " + " ".join(sorted(texts)) + "\n")
