# SPDX-License-Identifier: MIT
"""What the documents show is so: the options table is adsm-info's, and the programs of README and docs/cpp.md run,
built the way these say, with an installed library: readme.py options ADSM_INFO | readme.py program|cpp MESON
BUILD_FOLDER SANITIZER"""
import os
import re
import subprocess
import sys
import tempfile

import tree

# What the programs say where they find what belongs to them.
INSTALLED = {"device 0: cpu 0\n": "adsm-info", "vecadd small on cpu": "parboil run vecadd --size small"}


def options(info):
    table = re.search(r"<!-- options -->\n(.*?)<!-- /options -->", tree.read("docs/options.md"), re.S).group(1).strip()
    real = subprocess.run([info, "--options-markdown"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()
    return [] if table == real else ["docs/options.md: its options are not adsm-info --options-markdown's:", real]


def program(meson, build, sanitizer):
    return build_program(meson, build, sanitizer, "README.md", "In one minute", INSTALLED)


def cpp(meson, build, sanitizer):
    return build_program(meson, build, sanitizer, "docs/cpp.md", "A program", {})


def build_program(meson, build, sanitizer, document, title, others):
    """Install below a temporary folder, then do what the section says, line by line."""
    if sanitizer != "none":
        print(f"a library with the {sanitizer} sanitizer does not load into a program without it")
        sys.exit(77)
    section = re.search(rf"## {title}\n(.*?)\n## ", tree.read(document), re.S).group(1)
    sources = re.findall(r"```(?:c|cpp)\n(/\* (\S+\.c\w*).*?)```", section, re.S)
    commands = re.search(r"```sh\n(.*?)```", section, re.S).group(1)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder],
                       check=True, stdout=subprocess.DEVNULL)
        for text, name in sources:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        found = subprocess.run(["find", folder, "-name", "adsm.pc", "-o", "-name", "libadsm.so", "-o",
                                "-name", "adsmcc"], check=True, text=True, stdout=subprocess.PIPE).stdout.split()
        where = {os.path.basename(path): os.path.dirname(path) for path in found}
        environment = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=folder, PKG_CONFIG_PATH=where["adsm.pc"],
                           LD_LIBRARY_PATH=where["libadsm.so"],
                           PATH=where["adsmcc"] + ":" + os.environ["PATH"])
        done = subprocess.run(["sh", "-ec", commands], cwd=folder, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode or "c[999] = 2997" not in done.stdout:
            return [f"{document}: its program ended with {done.returncode} and said:\n{done.stdout}"]
        return [problem for words, command in others.items()
                for problem in installed(command, words, folder, environment)]


def installed(command, words, folder, environment):
    """Found by the shell, whatever the folder is: how a program finds the library's other files."""
    done = subprocess.run(command.split(), cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode or words not in done.stdout:
        return [f"{command}, installed: ended with {done.returncode} and said:\n{done.stdout}"]
    return []


tree.finish({"options": options, "program": program, "cpp": cpp}[sys.argv[1]](*sys.argv[2:]), 1)
