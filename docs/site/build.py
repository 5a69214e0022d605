# SPDX-License-Identifier: MIT
"""Build the documentation site with Sphinx and MyST: build.py SPHINX_BUILD OUT; a warning is an error.

The pages are the documents of the tree, and one page for each public header with functions, which docs/man/header.py
reads. Without Sphinx or MyST the exit status is 77.
"""
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "docs", "man"))
import header  # noqa: E402, pylint: disable=wrong-import-position

# Captions, and which pages are below each; a page is below the first that fits.
GROUPS = [
    ("Start", ["README", "docs/tutorial", "docs/examples/*", "docs/howto-*", "docs/programs", "docs/options",
               "docs/limits"]),
    ("C++ and Python", ["docs/cpp*", "docs/python*", "bindings/*"]),
    ("Functions", ["reference/*"]),
    ("Reports", ["docs/observe*"]),
    ("Kernels", ["docs/cuda-c*", "docs/tasks*", "docs/services", "docs/once*"]),
    ("Devices", ["docs/opencl", "docs/cuda*", "docs/cluster*", "docs/scratchpad*", "docs/mpi*", "docs/gpu/*"]),
    ("Benchmarks", ["docs/parboil", "docs/benchmarks*", "docs/evaluation*"]),
    ("Development", ["*"]),
]


def headers():
    """The public headers with functions, without their suffix."""
    for name in sorted(os.listdir(os.path.join(TOP, "include"))):
        if name.endswith(".h"):
            with open(os.path.join(TOP, "include", name), encoding="utf-8") as file:
                if re.search(r"^ADSM_API ", file.read(), re.M):
                    yield name[:-2]


HEADERS = list(headers())


def documents():
    """The Markdown of the tree, and the pictures of the documents."""
    for folder, folders, names in os.walk(TOP):
        path = os.path.relpath(folder, TOP)
        if path == ".":
            folders[:] = ["bindings", "docs", "examples", "tests"]
        for name in sorted(names):
            if name.endswith((".md", ".svg", ".png")):
                yield os.path.normpath(os.path.join(path, name))


def link(match, path):
    """A link of a document. What is no page of the site becomes text; a header becomes its page."""
    text, target = match.groups()
    name, anchor = re.fullmatch(r"([^#]*)(#.*)?", target).groups()
    found = os.path.normpath(os.path.join(os.path.dirname(path), name))
    if re.match(r"\w+:", target) or not name or name.endswith(".md"):
        return match.group()
    if found in [f"include/{base}.h" for base in HEADERS]:
        page = "reference/" + os.path.basename(found)[:-2] + ".md"
        return f"[{text}]({os.path.relpath(page, os.path.dirname(path) or '.')}{anchor or ''})"
    return text


def convert(text, path):
    """A document as MyST takes it. Headings have no gap in their levels; a table of adsm-info begins with ###."""
    begin, *rest = re.split(r"^(?=## )", text, maxsplit=1, flags=re.M)
    text = re.sub(r"^### ", "## ", begin, flags=re.M) + "".join(rest)
    # Links, but neither pictures nor code.
    parts = re.split(r"(^```.*?^```$|`[^`\n]+`(?!\]))", text, flags=re.M | re.S)
    return "".join(part if index % 2 else re.sub(r"(?<!!)\[((?:[^\[\]]|`[^`]*`)*)\]\(([^()\s]+)\)",
                                                 lambda match: link(match, path), part)
                   for index, part in enumerate(parts))


def titles(parts):
    """For each function the page and heading that describes it."""
    return {name: (page, re.sub(r"[^\w\- ]", "", ", ".join(part.names).lower()).replace(" ", "-"))
            for page, own in parts.items() for part in own for name in part.names}


def sentence(text, where):
    """What a header says, as Markdown: parameters are code, and functions are links."""
    text = re.sub(r"([\\*_<\[\]])", r"\\\1", text)
    text = re.sub(r"(?<!\w)@((?:\w|\\_)+(?:->\w+)?)", lambda match: "`" + match.group(1).replace("\\", "") + "`", text)
    return re.sub(r"\b(adsm[A-Z]\w*)\(\)", lambda match: f"[`{match.group()}`]({'%s.md#%s' % where[match.group(1)]})"
                  if match.group(1) in where else f"`{match.group()}`", text)


def reference(page, own, where):
    """The page of a header."""
    yield f"# {page}.h"
    for part in own:
        yield f"## {', '.join(part.names) or part.blocks[0][1]}"
        if part.names:
            yield "```c\n" + "\n".join(part.declarations) + "\n```"
        for kind, content in part.blocks if part.names else part.blocks[1:]:
            if kind == "code":
                # What stands for more is no C.
                yield f"```{'' if '...' in content else 'c'}\n{content}\n```"
            elif kind == "text":
                yield sentence(content, where)
            else:
                yield "\n".join("- " + (f"`{term}`: " if term else "") + sentence(text, where)
                                for term, text in content)
        if part.structures:
            yield "```c\n" + "\n\n".join(part.structures) + "\n```"


def index(pages):
    yield "# libadsm\n\nOne pointer for CPU and accelerator.\n"
    left = sorted(pages)
    for caption, patterns in GROUPS:
        here = [page for pattern in patterns for page in left if fnmatch.fnmatch(page, pattern)]
        left = [page for page in left if page not in here]
        if not here:
            continue
        yield "\n".join(["```{toctree}", ":maxdepth: 1", f":caption: {caption}", "", *here, "```\n"])


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def stage(folder):
    pages = []
    for path in documents():
        if not path.endswith(".md"):
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            shutil.copy(os.path.join(TOP, path), os.path.join(folder, path))
            continue
        with open(os.path.join(TOP, path), encoding="utf-8") as file:
            write(os.path.join(folder, path), convert(file.read(), path))
        pages.append(path[:-3])
    parts = {page: header.read(os.path.join(TOP, "include", page + ".h"))[0] for page in HEADERS}
    where = titles(parts)
    for page, own in parts.items():
        write(os.path.join(folder, "reference", page + ".md"), "\n\n".join(reference(page, own, where)) + "\n")
        pages.append("reference/" + page)
    write(os.path.join(folder, "index.md"), "\n".join(index(pages)))
    shutil.copy(os.path.join(TOP, "docs", "site", "conf.py"), folder)


def main(sphinx, out):
    if sphinx == "-":
        print("there is no sphinx-build (Debian: python3-sphinx, python3-myst-parser)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        stage(os.path.join(folder, "source"))
        done = subprocess.run([sphinx, "-q", "-W", "--keep-going", "-b", "html", "-d", os.path.join(folder, "doctrees"),
                               os.path.join(folder, "source"), out], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", check=False)
    print(done.stdout)
    if "Could not import extension myst_parser" in done.stdout:
        print("there is no MyST (Debian: python3-myst-parser)")
        sys.exit(77)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
