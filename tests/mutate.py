# SPDX-License-Identifier: MIT
"""Break the library on purpose, one line at a time, and list what no test notices (tests/README.md, "Mutants").

A mutant is the library with one change: an operator, a condition, a constant, a statement that is left out. It is built
in a copy of the tree, and the tests that cover its file run until one fails. A mutant that passes them all survives.
"""
import argparse
import collections
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The tests that cover a folder, as regular expressions of their names with the suites before: "unit: blocks". Those of
# one line run together; short ones are first.
COVER = {
    "lib/core": [r"unit: (blocks|arena|index|stale-|mappings|orders-|collect-|foreign-|protocol)",
                 r"conform: rolling-4K-discrete / ", r"conform: (lazy-unified|batch-discrete) / ",
                 r"fault: ", r"stress: model-(cpu|collecting)", r"interpose: rolling-4K-linked / "],
    "lib/once": [r"unit: once$", r"once: once (memory|cpp|cpu|told|ranges cpu|ranges crash|devices|tasks|pipelines)$",
                 r"once: once nodes"],
    "backends/store": [r"scratchpad: (cache|crc|sharing-said|right|counted|refused)$",
                       r"tasks: (scratchpad-(works|errors|pages)|(litmus|random)-scratchpad-.*|sharing)$",
                       r"scratchpad: (lost|advised|parboil-)", r"opell: ", r"conform: rolling-64K-scratchpad / "],
    "backends/scratchpad/device": [
        r"scratchpad: (overlay|cache|crc|code-|right|refused|lost|counted|advised|services-.*-scratchpad)",
        r"tasks: (scratchpad-|litmus-scratchpad-|random-scratchpad-|sharing$)", r"opell: ",
        r"conform: rolling-64K-scratchpad / "],
    "backends/cluster/node": [r"unit: (pages-|diff)", r"cluster: (describe|touched|launch)$", r"tasks: hcrc-",
                              r"tasks: (nodes-|litmus-nodes-2-2K|random-nodes-2-2K)",
                              r"cluster: (rules|exchange-|seen-|hcrc-|loss-)", r"once: once nodes"],
}

Mutant = collections.namedtuple("Mutant", "file line kind before after")


# ---- what may be changed

SWAPS = [("operator", before, after) for before, after in (
    (" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
    (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "), (" & ", " | "), (" | ", " & "),
    (" << ", " >> "), (" >> ", " << "), (" += ", " -= "), (" -= ", " += "), (" % ", " / "), ("++;", "--;"),
    ("--;", "++;"), ("true", "false"), ("false", "true"))]
NUMBER = re.compile(r"(?<![\w.])(\d+)(?=[uUlL]*(?![\w.]))")
CONDITION = re.compile(r"^(\s*(?:\} else )?(?:if|while) \()(.*)(\)(?: \{)?)$")
STATEMENT = re.compile(r"^\t+(?!return\b|goto\b|break\b|continue\b|case\b|default\b|else\b|static\b|const\b|struct\b)"
                       r"[\w*(][^=]*?(?:\(.*\)|[\w\])] [-+|&]?= .*|\+\+|--);$")
DECLARATION = re.compile(r"^\t+(?:unsigned|int|bool|size_t|void|char|u?int\d+_t|long|enum|_Atomic|[a-z_]+_t)\b")


def code_lines(text):
    """Lines of functions' bodies, without comments: number (from 1), line."""
    comment = False
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("{"):
            inside = True
        elif line.startswith("}"):
            inside = False
        was, comment = comment, (comment or "/*" in line) and "*/" not in line
        code = line.strip()
        if inside and not was and code and not code.startswith(("/*", "*", "#", "}", "adsm_error", "adsm_warn",
                                                                "assert", "__asm__", '"')):
            yield number, line


def mutants_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    for number, line in code_lines(text):
        code = re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: "\0" * len(found[0]), line.split("/*")[0].rstrip())
        found = [(kind, match.start(), match.end(), after) for kind, before, after in SWAPS
                 for match in re.finditer(re.escape(before), code)]
        found += [("constant", match.start(), match.end(), str(int(match[1]) + 1)) for match in NUMBER.finditer(code)]
        found += [("constant", match.start(), match.end(), "0") for match in NUMBER.finditer(code) if int(match[1])]
        if match := CONDITION.match(code):
            found += [("condition", match.start(2), match.end(2), value) for value in ("0", "1")
                      if not (value == "1" and "while" in match[1])]
        if STATEMENT.match(code) and not DECLARATION.match(code):
            found.append(("deletion", len(code) - len(code.lstrip()), len(code), ";"))
        for kind, start, end, after in found:
            yield Mutant(path, number, kind, line, line[:start] + after + line[end:])


def sources(paths):
    for path in paths or COVER:
        if os.path.isdir(os.path.join(ROOT, path)):
            yield from sorted(os.path.join(path, name) for name in os.listdir(os.path.join(ROOT, path))
                              if name.endswith(".c"))
        else:
            yield path


# ---- the copy

def run(command, **options):
    return subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, **options)


class Copy:
    """The tree as it is committed, and a build of it."""
    def __init__(self, folder):
        self.folder, self.build = folder, os.path.join(folder, "build")
        self.was = {}
        if not os.path.exists(os.path.join(folder, "meson.build")):
            os.makedirs(folder, exist_ok=True)
            subprocess.run(f"git -C {ROOT} archive HEAD | tar -x -C {folder}", shell=True, check=True)
        if not os.path.exists(os.path.join(self.build, "build.ninja")):
            subprocess.run(["meson", "setup", self.build, folder, "-Dwerror=false"],
                           check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(self.build, "meson-info/intro-tests.json"), encoding="utf-8") as file:
            self.tests = json.load(file)
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as file:
            self.objects = collections.defaultdict(list)
            for entry in json.load(file):
                name = os.path.relpath(os.path.join(entry["directory"], entry["file"]), folder)
                self.objects[name].append(entry["output"])
        with open(os.path.join(self.build, "meson-info/intro-targets.json"), encoding="utf-8") as file:
            self.targets = {target["id"]: [os.path.relpath(name, self.build) for name in target["filename"]]
                            for target in json.load(file)}

    def ninja(self, *targets):
        return run(["ninja", "-C", self.build, "-j2", *targets])

    def make(self, path):
        """Whether what its tests need can be built."""
        ids = {name for tests in self.chosen(path) for test in tests for name in test["depends"]}
        return not self.ninja(*sorted({name for target in ids for name in self.targets.get(target, [])})).returncode

    def write(self, path, line=None, text=None):
        """With a line changed; without one, as it was. Meson and ninja look at times: each is newer than the last."""
        name = os.path.join(self.folder, path)
        if path not in self.was:
            with open(name, encoding="utf-8") as file:
                self.was[path] = file.read()
        lines = self.was[path].splitlines(keepends=True)
        if line:
            lines[line - 1] = text + "\n"
        with open(name, "w", encoding="utf-8") as file:
            file.write("".join(lines))

    def code(self, path):
        """What is compiled of it, whatever line numbers it has."""
        digest = hashlib.sha256()
        for name in self.objects[path]:
            digest.update(run(["objdump", "-d", "-r", "-s", "-j", ".text", "-j", ".rodata", "-j", ".data",
                               os.path.join(self.build, name)]).stdout.encode())
        return digest.hexdigest()

    def chosen(self, path):
        tests = []
        for pattern in COVER[max((folder for folder in COVER if path.startswith(folder)), key=len)]:
            tests.append([test for test in self.tests if ":more" not in "".join(test["suite"]) and any(
                re.search(pattern, f"{suite.split(':')[-1]}: {test['name']}") for suite in test["suite"])])
        return tests


class Tests:
    """Runs tests, and knows what each one took."""
    def __init__(self, copy):
        self.copy, self.took, self.useless = copy, {}, set()

    @staticmethod
    def key(test):
        return test["name"] + " " + " ".join(test["cmd"])

    def once(self, test, wall, cpu):
        """The exit status; None: it hung."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        with subprocess.Popen(test["cmd"], env=os.environ | {"ADSM_BACKEND": "cpu"} | test["env"],
                              cwd=test["workdir"] or self.copy.build, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                              preexec_fn=limit) as process:
            try:
                return process.wait(wall)
            except subprocess.TimeoutExpired:
                return None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def baseline(self, path):
        """What its tests take with nothing changed. Those that do not pass then, or are skipped, are useless."""
        new = [test for tests in self.copy.chosen(path) for test in tests if self.key(test) not in self.took]
        if new and not self.copy.make(path):
            sys.exit("mutate: the tree itself does not build")
        for test in new:
            before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            if self.once(test, 5 * test["timeout"], 600) != 0:
                self.useless.add(self.key(test))
                print(f"useless: {test['name']}", flush=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.took[self.key(test)] = (time.monotonic() - begun, after.ru_utime + after.ru_stime - before.ru_utime -
                                         before.ru_stime)

    def kill(self, path, slower):
        """The name of the first test that fails; None: all pass."""
        for tests in self.copy.chosen(path):
            for test in sorted(tests, key=lambda test: self.took[self.key(test)][1]):
                key = self.key(test)
                if key in self.useless:
                    continue
                wall, cpu = self.took[key]
                ret = self.once(test, 30 + slower * wall, int(20 + 10 * cpu))
                if ret:
                    return test["name"]
                if ret is None:
                    return test["name"] + " (hangs)"
        return None


# ---- all of it

def try_one(copy, tests, mutant, unchanged, slower):
    """(what came of it, the test)."""
    copy.write(mutant.file, mutant.line, mutant.after)
    objects = copy.objects[mutant.file]
    if not objects or copy.ninja(*objects).returncode:
        return "does not compile", None
    if copy.code(mutant.file) == unchanged[mutant.file]:
        return "same code", None
    if not copy.make(mutant.file):
        return "does not link", None
    killer = tests.kill(mutant.file, slower)
    return ("killed", killer) if killer else ("survived", None)


def draw(mutants, seed):
    """In random order, one of each folder after the other."""
    folders = collections.defaultdict(list)
    for mutant in mutants:
        folders[os.path.dirname(mutant.file)].append(mutant)
    turns = []
    for folder in sorted(folders):
        random.Random(f"{seed} {folder}").shuffle(folders[folder])
        turns += [(turn, folder, mutant) for turn, mutant in enumerate(folders[folder])]
    return [mutant for _, _, mutant in sorted(turns)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="files or folders of the tree; all that tests are known for")
    parser.add_argument("--folder", default="build-mutants", help="where the copy is, and its build")
    parser.add_argument("--n", type=int, default=100, help="how many mutants, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0, help="begin no other one after so long; 0: no limit")
    parser.add_argument("--slower", type=float, default=10, help="a test hangs after so many times what it took")
    parser.add_argument("--log", help="a file, to which a line of JSON is added for each mutant; those in it are done")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    options = parser.parse_args()

    mutants = [mutant for path in sources(options.paths) for mutant in mutants_of(path)]
    total = len(mutants)
    mutants = draw(mutants, options.seed)
    mutants = mutants[:options.n] if options.n else mutants
    if options.list:
        for mutant in sorted(mutants):
            print(f"{mutant.file}:{mutant.line}: {mutant.kind}: {mutant.after.strip()}")
        return
    begun = time.monotonic()
    done = set()
    if options.log and os.path.exists(options.log):
        with open(options.log, encoding="utf-8") as file:
            done = {(record["file"], record["line"], record["after"]) for record in map(json.loads, file)}
    copy = Copy(os.path.abspath(options.folder))
    tests, unchanged = Tests(copy), {}
    counts = collections.Counter()
    for mutant in mutants:
        if (mutant.file, mutant.line, mutant.after) in done:
            continue
        if options.seconds and time.monotonic() - begun > options.seconds:
            break
        tests.baseline(mutant.file)
        if mutant.file not in unchanged:
            copy.ninja(*copy.objects[mutant.file])
            unchanged[mutant.file] = copy.code(mutant.file)
        try:
            came, killer = try_one(copy, tests, mutant, unchanged, options.slower)
        finally:
            copy.write(mutant.file)
        counts[came] += 1
        print(f"{came}: {mutant.file}:{mutant.line}: {mutant.kind}: {mutant.after.strip()}" +
              (f" [{killer}]" if killer else ""), flush=True)
        if options.log:
            with open(options.log, "a", encoding="utf-8") as file:
                print(json.dumps({"came": came, "test": killer, **mutant._asdict()}), file=file)
    print(f"{sum(counts.values())} of {total} mutants: " + ", ".join(f"{n} {came}" for came, n in counts.most_common()))


if __name__ == "__main__":
    main()
