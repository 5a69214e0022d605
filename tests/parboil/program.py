# SPDX-License-Identifier: MIT
"""The program as the tests run it: its path is the first argument of each of them."""
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
# Whether moving data takes long enough for a warning, and a turn for a word of progress, is a matter of the machine.
TIMES = re.compile(r"^(adsm: warning: (moving data took|.* was fetched) |"
                   r"(part \d+ of \d+, \d+:\d+: )?[\w-]+ \w+: (turn|input) ).*\n", re.MULTILINE)


def start(folder, *args, stdin=None, **environment):
    """The program, running with @folder for its temporary files."""
    return subprocess.Popen([PROGRAM, *args], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=stdin,
                            env=dict(os.environ, TMPDIR=folder, **environment))


def parboil(*args, stdin=None, **environment):
    """Run the program, with the text @stdin to read; its temporary files, if it leaves any, are a failure."""
    with tempfile.TemporaryDirectory() as folder:
        process = start(folder, *args, stdin=None if stdin is None else subprocess.PIPE, **environment)
        stdout, stderr = process.communicate(stdin)
        left = os.listdir(folder)
    assert not left, f"{args} left {left}"
    return subprocess.CompletedProcess(args, process.returncode, stdout, TIMES.sub("", stderr))


def fails(status, text, *args, **environment):
    """The program says one line that contains @text, nothing else, and ends with @status. The line."""
    done = parboil(*args, **environment)
    assert (done.returncode, done.stdout) == (status, ""), done
    assert done.stderr.startswith("parboil: ") and text in done.stderr, (done, text)
    assert len(done.stderr.splitlines()) == 1 and done.stderr.endswith("\n"), done
    return done.stderr


def result(bench, *args, **environment):
    """The report of a verified run of @bench."""
    done = parboil("run", bench, "--json", "-", *args, **environment)
    assert done.returncode == 0, done
    report = json.loads(done.stdout)
    assert report["bench"] == bench and report["verified"] is True, report
    return report


def need_backend():
    """Skip the test where the backend of the environment has no device here."""
    done = parboil("run", "vecadd", "--size", "small")
    if done.returncode and "no OpenCL" in done.stderr:
        print("skipped:", done.stderr.strip())
        sys.exit(77)


def expect(report, **values):
    """The @values are in the report."""
    wrong = {name: (report[name], value) for name, value in values.items() if report[name] != value}
    assert not wrong, f"(got, expected): {wrong} in {report}"
