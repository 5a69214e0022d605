# SPDX-License-Identifier: MIT
"""Make manual pages of their sources and of what is written elsewhere.

  page.py SCDOC ADSM_INFO README SOURCE >PAGE     the page of a program, or adsm(7)
  page.py --names HEADER...                       print the names of the functions of public headers
  page.py --functions SCDOC FOLDER HEADER... [-- NAME...]
                                                  the pages of these functions, NAME.3 in the folder; fails if their
                                                  names are not NAME...

A line "@options A B" becomes the entries of these options, "@flags A B" one line for each other option as adsmrun takes
it, "@program" the program of README's first section. A page with "@options" has to name each option once.
"""
import os
import re
import subprocess
import sys

import header


def escape(text):
    return re.sub(r"([\\*_])", r"\\\1", text)


def table(info):
    """name: (default, valid, meaning), in the table's order"""
    lines = subprocess.run([info, "--options-markdown"], check=True, encoding="utf-8",
                           stdout=subprocess.PIPE).stdout.splitlines()
    rows = [re.fullmatch(r"\| `ADSM_(\w+)` \| `(.*?)` \| (.*) \| (.*) \|", line).groups() for line in lines
            if line.startswith("| `ADSM_")]
    return {name: tuple(map(escape, rest)) for name, *rest in rows}


def entry(name, row):
    default, valid, meaning = row
    # What it is about is the heading above.
    meaning = re.sub(r"^(cpu device|cluster|scratchpad|opencl|cuda|for tests): ", "", meaning)
    return f"*ADSM_{name}*\n\t{meaning[0].upper()}{meaning[1:]}.++\nValid: {valid}. Default: *{default}*.\n"


def flag(name, row):
    return f"*--{name.lower().replace('_', '-')}* {row[1]}"


def program(readme):
    section = re.search(r"## In one minute\n(.*?)\n## ", readme, re.S).group(1)
    blocks = re.findall(r"```(?:c|sh)\n(.*?)```", section, re.S)
    return "\n\n".join("```\n" + block.replace("\\", "\\\\") + "```" for block in blocks)


def fill(source, options, readme):
    left = list(options)
    for line in source.splitlines():
        word, *names = line.split() or [""]
        if word == "@options":
            for name in names:
                left.remove(name)
            yield "\n".join(entry(name, options[name]) for name in names)
        elif word == "@flags":
            yield "++\n".join(flag(*item) for item in options.items() if item[0] not in names)
        elif word == "@program":
            yield program(readme)
        else:
            yield line
    if "@options" in source and left:
        sys.exit("no place for the options " + " ".join(left))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def roff(scdoc, text):
    page = subprocess.run([scdoc], input=text, check=True, encoding="utf-8", stdout=subprocess.PIPE).stdout
    # Names are not hyphenated: the macros of a section would turn that on again.
    return page.replace("\n.nh\n", "\n.nh\n.nr HY 0\n", 1)


def sentence(text, names):
    """What a header says, with its parameters and the functions of the library marked."""
    text = re.sub(r"(?<!\w)@(\w+)", lambda match: f"<{match.group(1)}>", text)
    text = re.sub(r"([\\*_`])", r"\\\1", text)
    text = re.sub(r"<((?:\w|\\_)+)>", r"_\1_", text)
    return re.sub(r"\b(adsm[A-Z]\w*)\(\)", lambda match: f"*{match.group(1)}*()" if match.group(1) in names
                  else match.group(), text)


def code(text):
    return "```\n" + text.expandtabs(8).replace("\\", "\\\\") + "\n```"


def block(kind, content, names):
    if kind == "code":
        return code(content)
    if kind == "text":
        return sentence(content, names)
    return "\n".join(f"*{escape(term)}*\n\t{sentence(text, names)}" if term else f"- {sentence(text, names)}"
                     for term, text in content)


def section(kind, content, before):
    """The section of a block: what follows "Returns 0 or:" belongs to it."""
    if kind == "text" and re.match(r"Returns |Return (0|like)\b", content):
        return "RETURN VALUE"
    if kind == "items" and before != "RETURN VALUE" and all(term and term[0] not in "-E" for term, _ in content):
        return "PARAMETERS"
    return "DESCRIPTION" if before == "PARAMETERS" or kind == "text" and before != "RETURN VALUE" else before


def function_page(function, names):
    """The source of the page of a function, or of several that belong together."""
    sections, here = {"DESCRIPTION": [], "PARAMETERS": [], "RETURN VALUE": []}, "DESCRIPTION"
    for kind, content in function.blocks:
        here = section(kind, content, here)
        sections[here].append(block(kind, content, names))
    text = [f'{function.names[0]}(3) "libadsm" "One pointer for CPU and accelerator"', "# NAME",
            f"{', '.join(function.names)} - {escape(function.summary)}", "# SYNOPSIS",
            code(f"#include <{function.header}>\n\n" + "\n".join(function.declarations))]
    for name, parts in sections.items():
        text += [f"# {name}", *parts] if parts else []
        if name == "PARAMETERS" and function.structures:
            text += ["# STRUCTURES", code("\n\n".join(function.structures))]
    others = sorted(names & set(re.findall(r"\b(adsm[A-Z]\w+)\(\)", function.comment)) - set(function.names))
    text += ["# SEE ALSO", ", ".join(["*adsm*(7)"] + [f"*{name}*(3)" for name in others])]
    return "\n\n".join(text) + "\n"


def write_functions(scdoc, folder, rest):
    headers, wanted = (rest[:rest.index("--")], rest[rest.index("--") + 1:]) if "--" in rest else (rest, None)
    found = header.functions(*headers)
    names = {name for function in found for name in function.names}
    if wanted is not None and names != set(wanted):
        sys.exit("the headers have other functions than when the build was set up: run 'meson setup --reconfigure'")
    for function in found:
        for name in function.names:
            with open(os.path.join(folder, name + ".3"), "w", encoding="utf-8") as file:
                file.write(roff(scdoc, function_page(function, names)) if name == function.names[0] else
                           f".so man3/{function.names[0]}.3\n")


def main():
    if sys.argv[1] == "--names":
        print("\n".join(name for function in header.functions(*sys.argv[2:]) for name in function.names))
    elif sys.argv[1] == "--functions":
        write_functions(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        scdoc, info, readme, source = sys.argv[1:]
        sys.stdout.reconfigure(encoding="utf-8")
        sys.stdout.write(roff(scdoc, "\n".join(fill(read(source), table(info), read(readme))) + "\n"))


if __name__ == "__main__":
    main()
