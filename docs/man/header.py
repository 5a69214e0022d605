# SPDX-License-Identifier: MIT
"""What the public headers say of their functions, for the manual pages and the site: functions(HEADER...) reads them.
read(HEADER) also has the comments that begin with a title and belong to no function.

A comment that begins in the first column belongs to the functions and macros that follow it, up to the next comment
or another kind of declaration. Names that end in _ are the headers' own.
"""
import os
import re
from dataclasses import dataclass, field

NAME = re.compile(r"\b(adsm[A-Z]\w*[a-zA-Z0-9])\(")
HEAD = re.compile(r"^(?:ADSM_API\b|static inline\b|#define adsm\w+\()")


@dataclass
class Function:
    """Functions that a comment describes together, in the header's order."""
    header: str
    names: list
    comment: str
    declarations: list
    structures: list = field(default_factory=list)   # the definitions of those that a declaration names

    @property
    def blocks(self):
        """The comment as pairs of a kind and what it contains: text, code, or items, pairs of a term and its text."""
        return list(blocks(self.comment))

    @property
    def summary(self):
        """The first sentence, as a title has it."""
        text = re.sub(r"\s*\(paper[^)]*\)", "", self.blocks[0][1])
        text = re.split(r"[.:](?:\s|$)", text)[0].lstrip("@")
        return text[0].lower() + text[1:]


def plain_c(text):
    """The text without what only C++ has, and without extern "C"."""
    kept, stack = [], []
    for line in text.splitlines():
        if re.match(r"#if", line):
            stack.append("cplusplus" if re.match(r"#ifdef __cplusplus", line) else "other")
        elif re.match(r"#else", line) and stack[-1] in ("cplusplus", "c"):
            stack[-1] = "c"
        elif re.match(r"#endif", line):
            stack.pop()
        elif "cplusplus" not in stack:
            kept.append(line)
    return "\n".join(kept)


def declaration(lines, at):
    """The declaration at this line, and the number of the line after it."""
    if lines[at].startswith("#define"):
        end = at
        while lines[end].endswith("\\"):
            end += 1
        return re.match(r"#define (\w+\([^)]*\))", lines[at]).group(1) + ";", end + 1
    end = at
    while not re.search(r"[;)]$", lines[end]):
        end += 1
    text = re.sub(r"^(?:ADSM_API|static inline) ", "", "\n".join(lines[at:end + 1]))
    if not lines[end].endswith(";"):
        text += ";"
        while lines[end] != "}":
            end += 1
    # Continued lines are aligned to what is now shorter.
    return re.sub(r"\n\s+", "\n\t", text), end + 1


def strip(comment):
    lines = [re.sub(r"^ \*(?: |(?=\t)|$)", "", line) for line in re.sub(r"^/\*+ ?|\s*\*/$", "", comment).split("\n")]
    return "\n".join(lines).strip("\n")


def read(header):
    """The functions of a header, and its structures by name."""
    with open(header, encoding="utf-8") as file:
        text = plain_c(file.read())
    structures = {name: body for body, name in
                  re.findall(r"^(typedef struct (?:adsm\w+ )?\{\n(?:\t.*\n|\n)*\} (adsm\w+);)", text, re.M)}
    lines, found, at, comment = text.splitlines(), [], 0, None
    while at < len(lines):
        line = lines[at]
        if line.startswith("/*"):
            end = at
            while not lines[end].endswith("*/") and "*/" not in lines[end]:
                end += 1
            comment, at = strip("\n".join(lines[at:end + 1])), end + 1
            found.append(Function(os.path.basename(header), [], comment, []))
        elif HEAD.match(line):
            declared, at = declaration(lines, at)
            name = NAME.search(declared)
            if name and comment is not None:
                found[-1].names.append(name.group(1))
                found[-1].declarations.append(declared)
        else:
            # Anything else ends what the comment is about.
            if line.strip() and not re.match(r"[\s}{]", line):
                comment = None
            at += 1
    return [part for part in found if part.names or re.match(r"[^.\n]+\n\n", part.comment)], structures


def functions(*headers):
    """All functions of the headers, with the structures of their parameters."""
    found, structures = [], {}
    for header in headers:
        own, more = read(header)
        found += [part for part in own if part.names]
        structures.update(more)
    for function in found:
        text = "\n".join(function.declarations)
        function.structures = [body for name, body in structures.items()
                               if re.search(rf"\b{name} \*", text) and "#define" not in body]
    return found


ITEM = re.compile(r"(@[\w, @.]+|\s+-?E[A-Z]+(?:, -?E[A-Z]+)*|\s+ENOENT and others|\s+others)(?::|\s\s)\s*(.*)")


def items(lines):
    """A list: pairs of a term and its text. Lines that continue one are further to the right."""
    found = []
    for line in lines:
        match = ITEM.match(line) or re.match(r"\s*()- (.*)", line)
        if match:
            found.append([match.group(1).strip().replace("@", ""), match.group(2)])
        elif found:
            found[-1][1] += " " + line.strip()
    return "items", found


def blocks(comment):
    for paragraph in re.split(r"\n\s*\n", comment):
        lines = paragraph.split("\n")
        if all(line.startswith("\t") for line in lines):
            yield "code", "\n".join(re.sub(r"^\t", "", line) for line in lines)
            continue
        # A sentence, the list that it introduces, and what is said behind that.
        text, listed = [], []
        for line in lines:
            if re.match(r"@[\w, @.]+: |\s*- |\s+\S", line):
                listed.append(line)
                continue
            if listed:
                yield from ([("text", " ".join(text))] if text else [])
                yield items(listed)
                text, listed = [], []
            text.append(line)
        if text:
            yield "text", " ".join(text)
        if listed:
            yield items(listed)
