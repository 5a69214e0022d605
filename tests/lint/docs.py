# SPDX-License-Identifier: MIT
"""What the documents say of the tree is so: their links and paths exist, the functions of architecture*.md are where
these say, and the locks of architecture-locks.md are all that there are. Examples are short, and have what their pages
show of them."""
import os
import re

import tree

DOCUMENTS = [name for name in sorted(os.listdir(tree.ROOT)) if name.endswith(".md")] + \
    list(tree.files(["docs", "tests", "parboil", "bindings"], (".md",)))
CODE = ["include", "lib", "backends", "protocols", "interpose", "tools"]
ROOMS = ["", "lib", "interpose"]
PLACES = ["lib", "backends", "protocols", "interpose", "examples", "tests", "tools", "docs", "bindings"]
LOCKS = "docs/architecture-locks.md"
LONGEST_EXAMPLE = 150

problems = []
n_checked = 0
code = {path: tree.read(path) for path in tree.files(CODE, (".c", ".h"))}


def exists(path):
    return os.path.exists(os.path.join(tree.ROOT, path))


def defines(text, name):
    """A function's head at the line's start, or a row of a table or macro that makes it."""
    return re.search(rf"^(?!\s|/|#|\*|typedef).*\b{name}\b *\(|^\w+\({name}[,)]", text, re.M)


def anchors(document):
    """What a link may name behind #: the headings, in lower case, without punctuation, with - for blanks."""
    text = re.sub(r"^```.*?^```", "", tree.read(document), flags=re.M | re.S)
    titles = [re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ +(.*?) *$", text, re.M)]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def check(problem, place, is_so):
    global n_checked
    n_checked += 1
    if not is_so:
        problems.append(f"{place}: {problem}")


for document in DOCUMENTS:
    for number, line in enumerate(tree.read(document).splitlines(), 1):
        place = f"{document}:{number}"
        for link in re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", line):
            check(f"links to {link}", place, exists(os.path.join(os.path.dirname(document), link)))
        for link, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)#([^)\s]+)\)", line):
            target = os.path.normpath(os.path.join(os.path.dirname(document), link)) if link else document
            if target.endswith(".md") and exists(target):
                check(f"links to {link}#{anchor}", place, anchor in anchors(target))
        for path in re.findall(rf"`((?:{'|'.join(PLACES)})/[\w./-]*[./][\w]*)`", line):
            check(f"there is no {path}", place, "NAME" in path or exists(path) or
                  exists(os.path.join(os.path.dirname(document), path)))
        if not document.startswith("docs/architecture"):
            continue
        step = re.match(r" *(\w+)\(\) +([\w/]+\.[ch])\b", line)
        if step:
            check(f"{step.group(1)}() is not in {step.group(2)}", place,
                  any(defines(code.get(os.path.join(room, step.group(2)), ""), step.group(1)) for room in ROOMS))
        for name in re.findall(r"\b((?:adsm|interpose)_\w+)\b(?!\.)", line):
            check(f"there is no {name}", place, any(re.search(rf"\b{name}\b", text) for text in code.values()))

# Each program of examples/: with what it includes it is short, and it has a page, whose parts of programs it has.
for name in sorted(os.listdir(os.path.join(tree.ROOT, "examples"))):
    sources = {path: tree.read(path) for path in tree.files(["examples/" + name], (".c", ".cu", ".h"))}
    mains = [path for path, text in sources.items() if re.search(r"^int main\(", text, re.M)]
    shared = sum(len(text.splitlines()) for path, text in sources.items() if path not in mains)
    for path in mains:
        check(f"more than {LONGEST_EXAMPLE} lines, with the files that it needs", path,
              len(sources[path].splitlines()) + shared <= LONGEST_EXAMPLE)
    page = f"docs/examples/{name}.md"
    check("has no program", "examples/" + name, mains)
    check("has no page " + page, "examples/" + name, exists(page))
    if not exists(page):
        continue
    for part in re.findall(r"^```c\n(.*?)^```", tree.read(page), re.M | re.S):
        check("the example does not have this:\n" + part, page, any(part in text for text in sources.values()))

enum = re.search(r"enum adsm_rank \{.*?\};", code["lib/base/os.h"], re.S).group(0)
check("the ranks of locks are not those of lib/base/os.h, in their order", LOCKS,
      re.findall(r"^\| `([A-Z]+)` \|", tree.read(LOCKS), re.M) ==
      re.findall(r"\bADSM_RANK_(?!NONE)(\w+),", enum))
tree.finish(problems, n_checked)
