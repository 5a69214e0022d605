# SPDX-License-Identifier: MIT
"""Each wrong call is refused with its own sentence, and nothing else is: refused.py SOURCE FOLDER_OF_HEADER INCLUDE
COMPILER..."""
import re
import subprocess
import sys

source, *folders, compiler = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    lines = file.read().splitlines()
wanted = {number: line.split("// refused: ")[1] for number, line in enumerate(lines, 1) if "// refused: " in line}
done = subprocess.run([compiler, "-std=c++17", "-fsyntax-only", "-fno-caret-diagnostics" if "clang" in compiler else
                       "-fno-diagnostics-show-caret", "-ferror-limit=0" if "clang" in compiler else "-fmax-errors=0",
                       "-ftemplate-backtrace-limit=0", "-Wno-all", *(f"-I{folder}" for folder in folders), source],
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
# Both compilers name the line of the call beside each error: gcc before it, clang behind it.
place = re.compile(re.escape(source) + r":(\d+):\d+:\s+(?:required from|note: in instantiation|error:)")
found = {}
if "clang" in compiler:
    parts = re.split(r"^(?=\S+:\d+:\d+: (?:fatal )?error: )", done.stdout, flags=re.M)
else:
    parts = re.split(r"(?<=\n)(?=\S+: In instantiation of )", done.stdout)
for part in parts:
    for number in {int(number) for number in place.findall(part)}:
        found.setdefault(number, []).append(part)
problems = [f"line {number}: not refused with '{text}': {lines[number - 1].strip()}\n" +
            "\n".join(found.get(number, []))
            for number, text in wanted.items() if not any(text in part for part in found.get(number, []))]
problems += [f"line {number}: refused: {lines[number - 1].strip()}\n" + "\n".join(found[number])
             for number in sorted(found.keys() - wanted.keys())]
if not done.returncode or not wanted:
    problems.append(f"{compiler} ended with {done.returncode}, {len(wanted)} wrong calls")
if problems:
    print(*problems, sep="\n")
    print(done.stdout[:20000])
sys.exit(1 if problems else 0)
