# SPDX-License-Identifier: MIT
"""Make a manual page of its source and of what is written elsewhere: page.py SCDOC ADSM_INFO README SOURCE >PAGE

A line "@options A B" becomes the entries of these options, "@flags A B" one line for each other option as adsmrun takes
it, "@program" the program of README's first section. A page with "@options" has to name each option once.
"""
import re
import subprocess
import sys


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


scdoc, info, readme, source = sys.argv[1:]
text = "\n".join(fill(read(source), table(info), read(readme))) + "\n"
page = subprocess.run([scdoc], input=text, check=True, encoding="utf-8", stdout=subprocess.PIPE).stdout
# Names are not hyphenated: the macros of a section would turn that on again.
sys.stdout.reconfigure(encoding="utf-8")
sys.stdout.write(page.replace("\n.nh\n", "\n.nh\n.nr HY 0\n", 1))
