# SPDX-License-Identifier: MIT
"""The manual pages are clean and complete: man.py GROFF|- ADSM_INFO FOLDER_OF_PAGES TOOL...

Groff has nothing to say about them; adsm(7) has each option of the table, and each function of the public headers,
which also has a page; a tool's page has the options that its --help has, and no other; README and docs/ call adsmrun
with options it has.
"""
import os
import re
import subprocess
import sys

import tree

OPTION = r"(?<![\w-])--?[a-zA-Z][\w-]*"
FUNCTION = r"\b(adsm[A-Z]\w*)\("

groff, info, folder, *tools = sys.argv[1:]
problems = []


def said(*command):
    return subprocess.run(command, check=True, encoding="utf-8", stdout=subprocess.PIPE).stdout


def page(name):
    """A page's words, without roff's."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        text = file.read()
    return re.sub(r"\\f.", "", text.replace(r"\&", "").replace(r"\-", "-"))


def missing(where, what, names):
    problems.extend(f"{where} has no {what}{name}" for name in sorted(names))


names = sorted(name for name in os.listdir(folder) if re.fullmatch(r"(adsm.*|parboil)\.[137]", name))
if not names:
    print("no manual pages here: scdoc was not found, or adsm-info cannot run during the build")
    sys.exit(77)
if groff != "-":
    # A page that only names another one, which is not where groff looks for it, has nothing to say.
    done = subprocess.run([groff, *"-K utf8 -t -man -T utf8 -ww -z".split(),
                           *(name for name in names if not page(name).startswith(".so "))],
                          cwd=folder, encoding="utf-8", stderr=subprocess.PIPE, check=False)
    problems += done.stderr.splitlines()
for name in names:
    # The pages that it refers to.
    missing(name, "page ", {other for other in re.findall(r"\b(adsm[\w-]*)\(\d\)", page(name))} -
            {other.rsplit(".", 1)[0] for other in names})

overview = page("adsm.7")
table = re.findall(r"^\| `ADSM_(\w+)`", said(info, "--options-markdown"), re.M)
missing("adsm.7", "ADSM_", {name for name in table if not re.search(rf"^ADSM_{name}\n", overview, re.M)})
declared = set()
for header in tree.files(["include"], (".h",)):
    declared |= set(re.findall(r"^ADSM_API [^;]*?" + FUNCTION, tree.read(header), re.M))
functions = re.search(r"^\.SH FUNCTIONS\n(.*?)^\.SH ", overview, re.M | re.S).group(1)
missing("adsm.7", "function ", declared - set(re.findall(FUNCTION, functions)))
missing("section 3", "page of ", declared - {name[:-2] for name in names if name.endswith(".3")})

flags = {"--" + name.lower().replace("_", "-") for name in table}
for tool in tools:
    name = os.path.basename(tool)
    helped, paged = set(re.findall(OPTION, said(tool, "--help"))), page(f"{name}.1")
    # Options as a page describes them: at the start of a line, and after a comma there.
    described = {flag for line in re.findall(r"^-.*", paged, re.M) for flag in re.findall(OPTION, line)}
    if name == "adsmrun":
        missing(f"{name}.1", "option ", flags - described)
        helped |= flags
        text = "".join(map(tree.read, ["README.md", *tree.files(["docs"], (".md",))]))
        used = {flag for line in re.findall(r"\badsmrun +(-.*)", text)
                for flag in re.findall(OPTION, re.split(r" (?:\./|adsm-|parboil)", line)[0])}
        missing("adsmrun --help, but README or docs/,", "", used - helped)
    missing(f"{name}.1", "option ", {flag for flag in helped if not re.search(re.escape(flag) + r"(?![\w-])", paged)})
    missing(f"{name} --help, but its page,", "", described - helped)
tree.finish(problems, len(declared))
