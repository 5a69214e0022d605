# SPDX-License-Identifier: MIT
"""Each file of the library that sleeps on a futex word has its row in the list of waits in docs/architecture.md, and
each row its file."""
import re

import tree

DOCUMENT = "docs/architecture.md"

sleeping = {path for path in tree.files(["lib", "backends", "interpose"], (".c", ".h"))
            if re.search(r"\badsm_os_(wait|await)\(", tree.read(path))}
section = tree.read(DOCUMENT).split("\n## Waits\n")[1].split("\n## ")[0]
listed = {file for row in section.splitlines() if row.startswith("| `")
          for file in re.findall(r"`([\w/.]+\.[ch])`", row)}
problems = [f"{path}: sleeps on a futex word, and is not in the list of waits in {DOCUMENT}" for path in
            sorted(sleeping - listed)]
problems += [f"{DOCUMENT}: lists waits of {path}, which has none" for path in sorted(listed - sleeping)]
tree.finish(problems, len(sleeping))
