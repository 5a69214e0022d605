# SPDX-License-Identifier: MIT
"""No sentence of a public header, a manual page, README or a message has more than 30 words, and none has a phrase
that docs/style.md bans. plain.py checks all of them; plain.py FILE... checks the prose of some files, and plain.py
--messages FILE... the messages in C files. A message is a string literal; adjacent literals are one."""
import re
import sys

import tree

LONGEST = 30
STYLE = "docs/style.md"
ROOMS = ["lib", "protocols", "interpose", "backends", "tools"]  # whose messages are checked


def banned():
    """The phrases of the list in docs/style.md: the first column of its table "Banned phrases"."""
    section = re.search(r"^### Banned phrases\n(.*?)(?=^#|\Z)", tree.read(STYLE), re.M | re.S).group(1)
    rows = re.findall(r"^\| `([^`]+)` \|", section, re.M)
    return [(row, re.compile(r"\b" + re.escape(row).replace("…", r".{1,40}?") + r"\b", re.I)) for row in rows]


def comments(text):
    """The prose of C: what comments say, each row of a list by itself."""
    for match in re.finditer(r"/\*+(.*?)\*/|//([^\n]*)", text, re.S):
        body = re.sub(r"^[ \t]*\*(?!\*) ?", "", match.group(1) or match.group(2) or "", flags=re.M)
        yield text[:match.start()].count("\n") + 1, re.sub(r"(?<!\s)(?=-{4})", "\n", body)


def messages(text):
    """String literals; those with only blanks, comments and macros in between are one text."""
    token = re.compile(r"/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\])+'|\"((?:\\.|[^\"\\])*)\"", re.S)
    start, body, end = 0, "", None
    for match in token.finditer(text):
        if match.group(1) is None:
            continue
        between = "" if end is None else re.sub(r"/\*.*?\*/|//[^\n]*", " ", text[end:match.start()], flags=re.S)
        if end is not None and re.fullmatch(r"[\s\w\\]*", between):
            body += between.strip() + match.group(1)
        else:
            yield start, re.sub(r"\\[nt]", "\n", body)
            start, body = text[:match.start()].count("\n") + 1, match.group(1)
        end = match.end()
    yield start, re.sub(r"\\[nt]", "\n", body)


def markdown(text):
    """Of Markdown and scdoc: paragraphs, list items and cells of tables, without programs."""
    def blank(match):
        return "\n" * match.group().count("\n")

    text = re.sub(r"^```.*?^```", blank, text, flags=re.M | re.S)
    yield 1, re.sub(r"\]\([^)]*\)|\[!\[.*", "]", text)


def pieces(line, text):
    """Paragraphs, each with its line: also items of lists, parameters, headings, rows with columns and cells stand by
    themselves."""
    begin = 0
    for match in [*re.finditer(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*|#@]|\d+\.|E[A-Z]+ |\S[^\n\t]*?(?:\t| {2,})))|\|",
                              text), None]:
        end = match.start() if match else len(text)
        yield line + text[:begin].count("\n") + (text[begin:begin + 1] == "\n"), text[begin:end]
        begin = match.end() if match else end


def sentences(text):
    text = re.sub(r"\b(e\.g|i\.e|etc|vs|al|cf)\.", r"\1", text)
    return re.split(r"(?<=[.!?:;])[)\"'*_]*\s+", " ".join(text.split()))


def words(sentence):
    return len([word for word in sentence.split() if re.search(r"\w", word)])


def look(path, phrases, texts):
    for start, body in texts(tree.read(path)):
        for line, piece in pieces(start, body):
            for sentence in sentences(piece):
                if words(sentence) > LONGEST:
                    yield f"{path}:{line}: {words(sentence)} words: {sentence[:100]}..."
                for phrase, pattern in phrases:
                    if pattern.search(sentence):
                        yield f"{path}:{line}: banned phrase '{phrase}': {sentence[:100]}"


def main():
    paths = sys.argv[1:]
    if paths[:1] == ["--messages"]:
        checks = [(path, messages) for path in paths[1:]]
    elif paths:
        checks = [(path, comments if path.endswith((".h", ".hpp", ".c")) else markdown) for path in paths]
    else:
        checks = [(path, comments) for path in tree.files(["include"], (".h", ".hpp"))]
        checks += [(path, markdown) for path in [*tree.files(["docs/man"], (".scd",)), "README.md"]]
        checks += [(path, messages) for path in tree.files(ROOMS, (".c", ".h"))]
    phrases = banned()
    problems = [problem for path, texts in checks for problem in look(path, phrases, texts)]
    tree.finish(problems, len(checks) if phrases else 0)


if __name__ == "__main__":
    main()
