# SPDX-License-Identifier: MIT
"""Reports, traces and options do not follow the program's locale: check.py PROGRAM MODULE. The locales are made here,
where the system has their sources."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM, MODULE = sys.argv[1:]
LOCALES = ["C", "de_DE.UTF-8", "tr_TR.UTF-8"]


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def run(folder, locale):
    """What the program writes: a report for people, one as JSON, a trace; and the locale's decimal point."""
    texts = []
    for kind in ("text", "json"):
        names = [os.path.join(folder, name) for name in ("report", "trace.json")]
        for name in names:
            if os.path.exists(name):
                os.remove(name)
        done = subprocess.run([PROGRAM, MODULE], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(os.environ, LOCPATH=folder, LC_ALL=locale, ADSM_STATS=f"{kind}:{names[0]}",
                                       ADSM_TRACE=names[1]))
        if done.returncode:
            sys.exit(f"{locale}: {done.stdout}")
        for name in names:
            with open(name, encoding="utf-8") as file:
                texts.append(file.read())
    for text in texts[1:]:
        json.loads(text)
    return texts[0], done.stdout.strip()


if os.environ.get("TEST_SKIP"):
    skip(os.environ["TEST_SKIP"])
if not shutil.which("localedef"):
    skip("there is no localedef")
with tempfile.TemporaryDirectory(prefix="adsm-test-") as made:
    for wanted in LOCALES[1:]:
        language, charset = wanted.split(".")
        if subprocess.run(["localedef", "-i", language, "-f", charset, os.path.join(made, wanted)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).returncode:
            skip(f"{wanted} cannot be made: Debian has its source in the package locales")
    plain, point = run(made, "C")
    if point != "." or not re.search(r" \d+\.\d{3} %", plain):
        sys.exit(f"the decimal point is '{point}', or no line has a percentage:\n{plain}")
    for wanted in LOCALES[1:]:
        report, point = run(made, wanted)
        if point != ",":
            sys.exit(f"{wanted}: the decimal point is '{point}'")
        commas = [line for line in report.splitlines() if re.search(r"\d,\d", line)]
        if commas:
            sys.exit(f"{wanted}: {commas[0]}")
