# SPDX-License-Identifier: MIT
"""Break the library on purpose, one line at a time, and list what no test notices (tests/mutants.md).

A mutant is the library with one change: an operator, a condition, a constant, a statement that is left out. It is built
in a copy of the tree, and the tests that cover its file run until one fails. A mutant that passes them all survives.
mutate.known has those that survive for a good reason: they are not run.
"""
import argparse
import collections
import fcntl
import hashlib
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KNOWN = os.path.join(ROOT, "tests/mutate.known")

# The tests that cover a folder, or the files whose names begin so: regular expressions of "suite: name". --lines takes
# the first lines only: the tests that kill most in little time.
COVER = {
    "lib/core": [r"unit: (blocks|arena|index|stale-|mappings|orders-|collect-|foreign-|protocol|options|process|live)",
                 r"conform: rolling-(4K|64K)-discrete / |reliability: |fault: |observe: (report / |advice-|warnings-)"
                 r"|waits: waits-home", r"stress: model-(cpu|collecting)",
                 r"conform: (lazy-unified|batch-discrete) / ", r"interpose: linked / "],
    "lib/engine": [r"fault: |unit: (mappings-(limits|edges)|collect-|foreign-)",
                   r"conform: rolling-4K-discrete / |interpose: (late|.* / (signals|handlers|unusual|scopes|left)) / ",
                   r"stress: model-cpu"],
    "lib/run": [r"unit: (left-|stale-|orders-|collect-|foreign-|process|live)|fault: "
                r"|waits: waits-(home|gather|later|peers)|reliability: inject-lazy",
                r"conform: rolling-(4K|64K)-discrete / |reliability: |observe: (report / |advice-|warnings-)"
                r"|interpose: linked / ", r"stress: model-cpu|conform: (lazy-unified|batch-discrete) / |mpi: peers"
                r"|scratchpad: services-asked-cpu"],
    "lib/once": [r"unit: once$|waits: waits-once",
                 r"once: once (memory|cpp|cpu|reports|ranges cpu|ranges crash|devices|tasks|pipelines)$",
                 r"once: once nodes"],
    "backends/store": [r"scratchpad: (cache|crc|sharing-said|right|counted|refused)$",
                       r"tasks: (scratchpad-(works|errors|pages)|(litmus|random)-scratchpad-.*|sharing)$",
                       r"scratchpad: (lost|advised|parboil-)", r"opell: ", r"conform: rolling-64K-scratchpad / "],
    "backends/scratchpad/device": [
        r"scratchpad: (overlay|cache|crc|code-|right|refused|lost|counted|advised|services-.*-scratchpad)",
        r"tasks: (scratchpad-|litmus-scratchpad-|random-scratchpad-|sharing$)", r"opell: ",
        r"conform: rolling-64K-scratchpad / "],
    "backends/cluster/node": [r"unit: (pages-|diff)|waits: waits-(doorbell|node|task|command)$"
                              r"|cluster: (describe|touched|launch)$",
                              r"tasks: (nodes-|litmus-nodes-2-2K|random-nodes-2-2K)",
                              r"cluster: (rules|exchange-|costs-|loss-)", r"once: once nodes"],
    "backends/cluster/node/hcrc": [r"tasks: hcrc-", r"tasks: (nodes-|litmus-nodes-2-2K|random-nodes-2-2K)",
                                   r"cluster: hcrc-"],
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


def known():
    """What mutate.known has: (file, line, changed line or "*") without indentation, and the reason."""
    with open(KNOWN, encoding="utf-8") as file:
        entries = "".join(line for line in file if not line.startswith("#")).split("\n\n")
    reasons = {}
    for entry in filter(None, map(str.strip, entries)):
        path, before, after, *reason = [line.strip() for line in entry.splitlines()]
        reasons[path, before, after] = " ".join(reason)
    return reasons


def keys(mutant):
    """The entries of mutate.known that a mutant may have."""
    return [(mutant.file, mutant.before.strip(), after) for after in (mutant.after.strip(), "*")]


def sources(paths):
    for path in paths or [path for path in COVER if os.path.isdir(os.path.join(ROOT, path))]:
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
            subprocess.run(["meson", "setup", self.build, folder, "-Dwerror=false", "-Doptimization=1",
                            "-Ddebug=false"], check=True, stdout=subprocess.DEVNULL)
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

    def needs(self, tests):
        """The files that tests need."""
        return {name for test in tests for target in test["depends"] for name in self.targets.get(target, [])}

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

    def chosen(self, path, lines=None):
        """The tests that cover a file: all, or those of the first lines."""
        patterns = COVER[max((folder for folder in COVER if path.startswith(folder)), key=len)][:lines]
        return [test for test in self.tests if ":more" not in "".join(test["suite"]) and any(
            re.search(pattern, f"{suite.split(':')[-1]}: {test['name']}")
            for suite in test["suite"] for pattern in patterns)]


class Tests:
    """Runs tests, and knows what each one took, and how many mutants of a folder it has killed."""
    def __init__(self, copy, options):
        self.copy, self.lines, self.longest, self.each = copy, options.lines, options.longest, options.each
        self.took, self.kills = {}, collections.Counter()
        self.name = os.path.join(copy.folder, "took")
        if os.path.exists(self.name):
            with open(self.name, encoding="utf-8") as file:
                self.took = json.load(file)

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
        """What its tests take with nothing changed: wall time, processor time; None where they fail or are skipped."""
        new = [test for test in self.copy.chosen(path, self.lines) if self.key(test) not in self.took]
        if new and self.copy.ninja(*sorted(self.copy.needs(new))).returncode:
            sys.exit("mutate: the tree itself does not build")
        for test in new:
            before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            ret = self.once(test, min(5 * test["timeout"], self.longest), 600)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.took[self.key(test)] = None if ret else (
                time.monotonic() - begun, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            if ret:
                print(f"useless{' (too long)' if ret is None else ''}: {test['name']}", flush=True)
        if new:
            with open(self.name, "w", encoding="utf-8") as file:
                json.dump({key: took for key, took in self.took.items() if took}, file)

    def kill(self, path, slower):
        """What came of it, and the first test that fails. Short ones first, and those that have killed others."""
        folder = os.path.dirname(path)
        tests = [test for test in self.copy.chosen(path, self.lines)
                 if (self.took[self.key(test)] or [self.longest])[0] < self.longest]
        ready, left = set(), self.each
        for test in sorted(tests, key=lambda test: (0.1 + self.took[self.key(test)][1]) /
                           (1 + self.kills[folder, self.key(test)])):
            needs = self.copy.needs([test]) - ready
            if needs and self.copy.ninja(*sorted(needs)).returncode:
                return "does not link", None
            ready |= needs
            wall, cpu = self.took[self.key(test)]
            left -= 0.02 + cpu
            if left < 0:
                break
            ret = self.once(test, 10 + slower * wall, int(5 + slower * cpu))
            if ret != 0:
                self.kills[folder, self.key(test)] += 1
                return "killed", test["name"] + (" (hangs)" if ret is None else "")
        return "survived", None


# ---- all of it

def try_one(copy, tests, mutant, unchanged, slower):
    """(what came of it, the test)."""
    copy.write(mutant.file, mutant.line, mutant.after)
    objects = copy.objects[mutant.file]
    if not objects or copy.ninja(*objects).returncode:
        return "does not compile", None
    if copy.code(mutant.file) == unchanged[mutant.file]:
        return "same code", None
    return tests.kill(mutant.file, slower)


def draw(mutants, seed):
    """In random order, one of each file after the other."""
    files = collections.defaultdict(list)
    for mutant in mutants:
        files[mutant.file].append(mutant)
    turns = []
    for file in sorted(files):
        random.Random(f"{seed} {file}").shuffle(files[file])
        turns += [(turn, random.Random(f"{seed} {turn} {file}").random(), mutant)
                  for turn, mutant in enumerate(files[file])]
    return [mutant for _, _, mutant in sorted(turns)]


def try_all(copy, mutants, done, total, options):
    """Those that are not done, one after the other."""
    begun = time.monotonic()
    tests, unchanged = Tests(copy, options), {}
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="files or folders of the tree; all that tests are known for")
    parser.add_argument("--folder", default="build-mutants", help="where the copy is, and its build")
    parser.add_argument("--n", type=int, default=100, help="how many mutants, drawn at random; 0: all")
    parser.add_argument("--sample", type=int, default=0, help="at most so many of each file; 0: no limit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0, help="begin no other one after so long; 0: no limit")
    parser.add_argument("--slower", type=float, default=10, help="a test hangs after so many times what it took")
    parser.add_argument("--lines", type=int, help="only the tests of so many lines of COVER; all")
    parser.add_argument("--longest", type=float, default=3600, help="only tests that take less than so many seconds")
    parser.add_argument("--each", type=float, default=1e9, help="processor time of tests for a mutant, at most")
    parser.add_argument("--log", help="a file, to which a line of JSON is added for each mutant; those in it are done")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    options = parser.parse_args()

    mutants = [mutant for path in sources(options.paths) for mutant in mutants_of(path)]
    total = len(mutants)
    reasons = known()
    for path, before, after in sorted(reasons.keys() - {key for mutant in mutants for key in keys(mutant)}):
        if path in {mutant.file for mutant in mutants}:
            print(f"mutate.known: there is no such mutant: {path}: {before}: {after}")
    mutants = draw([mutant for mutant in mutants if not reasons.keys() & set(keys(mutant))], options.seed)
    if options.sample:
        taken = collections.Counter()
        mutants = [mutant for mutant in mutants
                   if taken.update([mutant.file]) or taken[mutant.file] <= options.sample]
    mutants = mutants[:options.n] if options.n else mutants
    if options.list:
        for mutant in sorted(mutants):
            print(f"{mutant.file}:{mutant.line}: {mutant.kind}: {mutant.after.strip()}")
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit("mutate: ended by a signal"))
    done = set()
    if options.log and os.path.exists(options.log):
        with open(options.log, encoding="utf-8") as file:
            done = {(record["file"], record["line"], record["after"]) for record in map(json.loads, file)}
    copy = Copy(os.path.abspath(options.folder))
    with open(os.path.join(copy.folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try_all(copy, mutants, done, total, options)


if __name__ == "__main__":
    main()
