# SPDX-License-Identifier: MIT
"""What the lint tests share: the files of the tree, and how a test ends."""
import os
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def files(folders, suffixes):
    """Paths, relative to the root, of the files below the folders."""
    for folder in folders:
        for path, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith(suffixes):
                    yield os.path.relpath(os.path.join(path, name), ROOT)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def finish(problems, n_checked):
    """One line per problem; a test that looked at nothing has failed too."""
    for problem in problems:
        print(problem)
    sys.exit(0 if n_checked and not problems else 1)
