# SPDX-License-Identifier: MIT
"""adsm-info --watch: its numbers are those of the process, and it ends with the process.

watch.py ADSM_INFO PROGRAM MODULE"""
import os
import pty
import re
import subprocess
import sys

info, program, module = sys.argv[1:]
problems = []


def check(what, is_right):
    if not is_right:
        problems.append(what)


def watch(pid, *options):
    done = subprocess.run([info, "--watch", str(pid), *options], encoding="utf-8", stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=60)
    if "the system does not let this user" in done.stderr:
        print(done.stderr.strip())
        sys.exit(77)
    return done


def human(number):
    units = ["B", "KiB", "MiB", "GiB"]
    while number >= 1024 and len(units) > 1:
        number /= 1024
        units.pop(0)
    return f"{number:.1f} {units[0]}" if units[0] != "B" else f"{number} B"


class Program:
    def __init__(self):
        self.process = subprocess.Popen([program, module], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        encoding="utf-8", env={**os.environ, "ADSM_BACKEND": "cpu",
                                                               "ADSM_PROTOCOL": "rolling", "ADSM_BLOCK_SIZE": "4096"})
        self.pid = self.process.pid

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return [int(word) for word in self.process.stdout.readline().split()]

    def end(self):
        self.process.stdin.close()
        check("the program failed", self.process.wait(60) == 0)


def check_numbers(running):
    """While the program waits, the totals are exact, and nothing is busy."""
    for rounds in range(3):
        error, sent, fetched, calls = running.answer()
        check("a round failed", not error and calls == rounds)
        said = watch(running.pid, "--interval", "0.01", "--times", "2").stdout
        pictures = said.strip("\n").split("\n\n")
        check(f"two pictures, without control characters:\n{said}", len(pictures) == 2 and "\033" not in said)
        for picture in pictures:
            for pattern in [rf"^process {running.pid}: 2 objects$", rf"^  sent .* 0 B/s +{human(sent)} in total$",
                            rf"^  fetched .* 0 B/s +{human(fetched)} in total$", rf"^  calls +0/s +{calls} in total$",
                            r"^device 0: cpu, .*: 0 calls/s, 0 running; 2 objects, 512\.0 KiB$",
                            "^no object is busy$"]:
                check(f"{pattern}\n\tis not in\n{picture}", re.search(pattern, picture, re.M))
        running.do("round" if rounds < 2 else "run")


def check_live(running):
    """While it runs, until a picture shows what it does. Then it ends, and --watch too."""
    watcher = subprocess.Popen([info, "--watch", str(running.pid), "--interval", "0.1"], stdout=subprocess.PIPE,
                               encoding="utf-8")
    busy = r"^the\?sums +256\.0 KiB  0  rolling +0 B +\d+\.\d [KMG]iB +[1-9]\d* +\d+ +\d+ +\d+$"
    for line in watcher.stdout:
        if re.search(busy, line):
            break
    running.end()
    rest = watcher.stdout.read()
    check(f"the end: {rest[-200:]}", rest.endswith(f"process {running.pid} has ended\n"))
    check("--watch failed", watcher.wait(60) == 0)


def check_terminal(running):
    master, slave = pty.openpty()
    watcher = subprocess.Popen([info, "--watch", str(running.pid), "--interval", "0.01", "--times", "2"], stdout=slave)
    os.close(slave)
    said = b""
    try:
        while data := os.read(master, 4096):
            said += data
    except OSError:
        pass  # the other side is closed
    watcher.wait(60)
    os.close(master)
    check(f"not drawn in place: {said}", said.count(b"\033[H") == 3 and b"no object is busy\033[K" in said)


def check_exec(running):
    """It has not ended, but it is another program."""
    watcher = subprocess.Popen([info, "--watch", str(running.pid), "--interval", "0.01"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, encoding="utf-8")
    watcher.stdout.readline()
    running.do("exec")
    out, said = watcher.communicate(timeout=60)
    check(f"after exec: {watcher.returncode}, {said}", watcher.returncode == 1 and "another program" in said)
    check(f"after exec: {out[-200:]}", "has ended" not in out)


def check_errors():
    done = watch(os.getpid())
    check(f"{done}", done.returncode == 1 and "it has not loaded libadsm.so" in done.stderr)
    done = watch(999999999)
    check(f"{done}", done.returncode == 1 and "there is no such process" in done.stderr)
    for options in [("x",), ("1", "--interval", "0"), ("1", "--interval", "2x"), ("1", "--times"), ("1", "--x", "2"),
                    ("1", "--times", "0.5"), ("1.5",)]:
        check(f"{options}", watch(*options).returncode == 2)


first = Program()
first.do("stats")
check_numbers(first)
check_live(first)
second = Program()
second.do("stats")
second.answer()
check_terminal(second)
check_exec(second)
second.end()
check_errors()
print("\n".join(problems))
sys.exit(1 if problems else 0)
