# SPDX-License-Identifier: MIT
"""A wrapper of libc's looks back (adsm_io_look_back()) before it does anything with shared memory. Else it would write
into bytes that still belong to a call which the thread has left by a jump."""
import re

import tree

USES = re.compile(r"adsm_io_(begin|copy|fill)\w*|adsm_range_(take|give|begin\w*)|adsm_vector_(begin|reach)|"
                  r"adsm_loan_begin|adsm_mapping_(clear|open)|adsm_(move|set)_shared")
# What these files define, wrappers of other files call.
HELPERS = {"range.c", "args_sized.c"}


def functions(text):
    """Of each function and macro the name, whether other files see it, and the names in its body."""
    text = re.sub(r"/\*.*?\*/|__attribute__\(\([^\n]*?\)\) ", "", text, flags=re.S)
    for name, body in re.findall(r"^#define (\w+)\(([^\n]*(?:\\\n[^\n]*)*)", text, re.M):
        yield name, "ADSM_WRAPPER" in body, body
    for head, body in re.findall(r"^([^\s{}/#][^{}/#;]*?)\n\{\n(.*?)^\}$", text, re.M | re.S):
        yield re.search(r"(\w+)\(", head)[1], not re.match(r"static|ADSM_SLOW", head), body


def uses(known, name, seen):
    """What the function uses before it has looked back, or NULL. By the text: branches count as taken."""
    for word in re.findall(r"\w+(?=\)?\()", known[name]):
        if word == "adsm_io_look_back":
            return None
        if USES.fullmatch(word):
            return word
        if word in known and word not in seen:
            found = uses(known, word, seen | {word})
            if found:
                return found
            if "adsm_io_look_back" in known[word]:
                return None
    return None


def main():
    problems, n = [], 0
    for path in tree.files(["interpose/libc"], (".c", ".h")):
        if path.split("/")[-1] in HELPERS:
            continue
        found = list(functions(tree.read(path)))
        known = {name: body for name, _, body in found}
        for name in [name for name, is_seen, _ in found if is_seen]:
            n += 1
            word = uses(known, name, {name})
            if word:
                problems.append(f"{path}: {name}() calls {word}() before adsm_io_look_back()")
    tree.finish(problems, n)


main()
