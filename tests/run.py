# SPDX-License-Identifier: MIT
"""What ./dev says of its tests. RESULTS collects what several runs left, a line of JSON each.

  run.py run RESULTS FOLDER [ARGUMENT OF MESON TEST]...   the tests of a build folder
  run.py note RESULTS passed|failed NAME                  something that is no test of Meson's
  run.py end RESULTS                                      why tests were skipped, which failed, and the counts
"""
import collections
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time

CPU_SECONDS = 0.25      # of an average test, until a run has told
LINES = 30              # of what a failed test said, and
SHOWN = 10              # of so many
LONGEST = 5             # tests that are named
LINE = re.compile(r"\s*(\d+)/(\d+) (.*?)\s+(OK|EXPECTEDFAIL|SKIP|FAIL|UNEXPECTEDPASS|ERROR|TIMEOUT|INTERRUPT)\s")


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def note(path, **record):
    with open(path, "a", encoding="utf-8") as file:
        print(json.dumps(record), file=file)


class Progress:
    """One line that is written anew on a terminal; elsewhere a line now and then."""
    def __init__(self, folder, took):
        self.folder, self.took, self.begun = folder, took, time.monotonic()
        self.terminal, self.told, self.failed = sys.stdout.isatty(), self.begun, 0

    def say(self, text):
        print("\r\033[K" * self.terminal + text, flush=True)

    def minutes(self, tests):
        """How long the last run of so many tests took here, else a guess."""
        try:
            with open(self.took, encoding="utf-8") as file:
                last = json.load(file)
            if abs(last["tests"] - tests) <= tests / 20:
                return last["seconds"] / 60
        except (OSError, ValueError):
            pass
        return tests * CPU_SECONDS / len(os.sched_getaffinity(0)) / 60

    def step(self, done, tests, name, result):
        if done == 1:
            self.say(f"{self.folder}: {tests} tests, about {max(self.minutes(tests), 1):.0f} min")
        if result not in ("OK", "EXPECTEDFAIL", "SKIP"):
            self.failed += 1
            self.say(f"{result}: {name}")
        now = time.monotonic()
        line = f"{clock(now - self.begun)}  {done} of {tests}, {self.failed} failed"
        if self.terminal:
            line = f"{line}  {name}"[:shutil.get_terminal_size().columns - 1]
            print("\r\033[K" + line, end="", flush=True)
        elif now - self.told >= 60:
            self.told = now
            self.say(line)

    def end(self, tests):
        seconds = time.monotonic() - self.begun
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime
        self.say(f"{self.folder}: {tests} tests in {seconds / 60:.1f} min, with {cpu / 60:.1f} min of CPU time")
        with open(self.took, "w", encoding="utf-8") as file:
            json.dump({"tests": tests, "seconds": seconds}, file)


def said(test):
    return ((test.get("stdout") or "") + (test.get("stderr") or "")).rstrip().splitlines()


def not_run(arguments, results):
    """The tests that the arguments name and that are not in the results: Meson 1.0 says nothing of them. Each option of
    ./dev has a value."""
    names = [name for before, name in zip(["", *arguments], arguments)
             if not before.startswith("-") and not name.startswith("-")]
    # Older Mesons write "project:suite / name", newer ones "suite - project:name".
    return [name for name in names
            if not any(re.fullmatch(rf"(\S+:\S* / |(\S+ - )?\S+:)?{re.escape(name)}", test["name"])
                       for test in results)]


def tell_longest(results):
    """The longest tests, and how long one ran with none beside it: earlier or in parts, they make the whole shorter."""
    changes = sorted([(test["starttime"], 1) for test in results] +
                     [(test["starttime"] + test["duration"], -1) for test in results])
    running, alone = 0, 0
    for (at, change), (until, _) in zip(changes, changes[1:]):
        running += change
        alone += (until - at) * (running == 1)
    longest = sorted(results, key=lambda test: -test["duration"])[:LONGEST]
    print("longest:", ", ".join(f"{test['name'].split(':')[-1]} {test['duration']:.0f} s" for test in longest) +
          f"; one test ran alone for {alone:.0f} s")


def run(path, folder, arguments):
    setup = "-" + arguments[arguments.index("--setup") + 1] if "--setup" in arguments else ""
    log = os.path.join(folder, "meson-logs", f"testlog{setup}")
    if os.path.exists(log + ".json"):
        os.unlink(log + ".json")
    progress, tests, odd, summing = Progress(folder, log + ".took"), 0, [], False
    with subprocess.Popen(["meson", "test", "-C", folder, "--no-rebuild", *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as meson:
        try:
            for line in meson.stdout:
                found = LINE.match(line) if not summing else None
                summing = summing or line.startswith("Summary of Failures")
                if found:
                    tests = int(found[2])
                    progress.step(int(found[1]), tests, found[3], found[4])
                else:
                    odd.append(line)
        except KeyboardInterrupt:
            meson.terminate()
            meson.wait()
            sys.exit(130)
    results = []
    if os.path.exists(log + ".json"):
        with open(log + ".json", encoding="utf-8") as file:
            results = [json.loads(line) for line in file]
    passed, failed, skipped = 0, [], collections.defaultdict(list)
    for test in results:
        if test["result"] == "SKIP":
            skipped[(said(test) or ["no reason given"])[-1].removeprefix("skipped: ")].append(test["name"])
        elif test["result"] in ("OK", "EXPECTEDFAIL"):
            passed += 1
        else:
            failed.append(test)
    progress.end(len(results))
    if results:
        tell_longest(results)
    for test in failed[:SHOWN]:
        print(f"-- {test['name']} ({test['result']})", *said(test)[-LINES:], sep="\n")
    failed = [f"{folder}: {test['name']} ({test['result']})" for test in failed]
    failed += [f"{folder}: there is no test {name}" for name in not_run(arguments, results)]
    if len(results) != tests or not tests:
        sys.stdout.writelines(odd[-LINES:])
        failed.append(f"{folder}: meson test ended with {meson.returncode} after {len(results)} of {tests} tests")
    note(path, passed=passed, failed=failed, skipped=skipped, log=log + ".txt")


def end(path):
    passed, failed, logs, skipped = 0, [], [], collections.Counter()
    with open(path, encoding="utf-8") as file:
        for record in map(json.loads, file):
            passed += record["passed"]
            failed += record["failed"]
            for reason, names in record.get("skipped", {}).items():
                skipped[reason] += len(names)
            if record["failed"] and "log" in record:
                logs.append(record["log"])
    if skipped:
        print("skipped:")
    for reason, n in skipped.most_common():
        print(f"{n:6}  {reason}")
    if failed:
        print("failed:", *failed, sep="\n  ")
    if logs:
        print("what they said:", *logs)
    print(f"{passed} passed, {len(failed)} failed, {skipped.total()} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    command, results_path, *rest = sys.argv[1:]
    if command == "run":
        run(results_path, rest[0], rest[1:])
    elif command == "note":
        note(results_path, passed=int(rest[0] == "passed"), failed=[rest[1]] if rest[0] == "failed" else [])
    else:
        sys.exit(end(results_path))
