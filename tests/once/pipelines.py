# SPDX-License-Identifier: MIT
"""The pipelines of parboil/once in each of their forms, small, and what is said of options that are wrong:
pipelines.py PROGRAM"""
import csv
import os
import subprocess
import sys
import tempfile

FORMS = ["threads", "once", "calls", "copies"]
TEXT = b"Abc xyz {|} `@\n09\xe4\xff" * 3000   # more than three units of 16 KiB, and no whole number of them


def run(*args, **env):
    return subprocess.run([sys.argv[1], *args], env=dict(os.environ, **env), check=False, capture_output=True,
                          text=True)


def rows(*args):
    """Of the table, by the word that it begins with: the program ends with 1 where a result is wrong."""
    done = run(*args)
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    lines = [line.split() for line in done.stdout.splitlines()]
    return [line for line in lines if line[0] in FORMS]


def check_scan(folder):
    sizes = ["50", "100", "200", "400", "500", "1000"]
    path = f"{folder}/rows.csv"
    told = rows("scan", "--adds", "500", "--work", "100", "--csv", path)
    assert [line[:2] for line in told] == [[form, size] for size in sizes for form in FORMS], told
    # Each by itself: memory of another form may have its results.
    for form in FORMS:
        assert len(rows("scan", "--blocks", "7", "--adds", "0", "--form", form, "--csv", path)) == 1
    with open(path, encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert [(row["form"], row["blocks"]) for row in read] == [(form, size) for size in sizes + ["7"] for form in FORMS]
    assert all(float(row["runtime_ms"]) >= float(row["input_ms"]) > 0 for row in read), read


def check_ratios(told, forms=FORMS):
    """The last column is to write-once objects."""
    assert [line[0] for line in told] == forms, told
    once = [float(line[1]) for line in told if line[0] == "once"]
    for line in told:
        if once:
            assert abs(float(line[-1]) - float(line[1]) / once[0]) < 0.02 * float(line[-1]) + 0.02, told
        else:
            assert line[-1] == "-", told


def check_matrix():
    # The second device has no row, one less than the first, as many.
    for blocks in "1", "3", "4":
        check_ratios(rows("matrix", "--blocks", blocks, "--repeat", "2"))
    check_ratios(rows("matrix", "--blocks", "2", "--form", "copies", "--form", "calls"), ["calls", "copies"])
    check_ratios(rows("matrix", "--blocks", "2", "--form", "copies"), ["copies"])


def check_file(folder):
    check_ratios(rows("file", "--blocks", "5", "--repeat", "2"))
    with open(f"{folder}/in", "wb") as file:
        file.write(TEXT)
    for form in FORMS:
        with open(f"{folder}/out", "wb") as file:
            file.write(b"longer than what is written" * 10000)
        check_ratios(rows("file", "--in", f"{folder}/in", "--out", f"{folder}/out", "--form", form), [form])
        with open(f"{folder}/out", "rb") as file:
            assert file.read() == TEXT.upper(), form


def check_wrong(folder):
    path = f"{folder}/in"
    for args, word in [
        ([], "unknown pipeline"), (["sum"], "unknown pipeline: sum"),
        (["scan", "--form", "shared"], "threads, once, calls and copies, not shared"),
        (["scan", "--form"], "or its value is missing: --form"),
        (["matrix", "--tiles", "3"], "unknown option: --tiles"),
        (["matrix", "--blocks", "65"], "--blocks takes a number from 1 to 64, not 65"),
        (["file", "--blocks", "0"], "--blocks takes a number from 1 to 500000, not 0"),
        (["scan", "--repeat", "-1"], "--repeat takes a number from 1 to 1000, not -1"),
        (["matrix", "--adds", "1"], "'matrix' has no option --adds"),
        (["file", "--csv", path], "'file' has no option --csv"), (["scan", "--in", path], "'scan' has no option --in"),
        (["file", "--in", path, "--blocks", "3"], "--blocks cannot be combined with --in"),
    ]:
        done = run(*args)
        assert done.returncode == 2 and word in done.stderr.splitlines()[0], (args, done)
        assert "usage: " in done.stderr and not done.stdout, (args, done)
    for args, env, word in [
        (["file", "--in", path, "--out", path], {}, "the output must be a file, and another file than the input"),
        (["file", "--in", f"{folder}/none"], {}, "none: No such file"),
        (["matrix"], {"ADSM_CPU_DEVICES": "1"}, "two devices"),
    ]:
        done = run(*args, **env)
        assert done.returncode == 1 and word in done.stderr, (args, done)
    with open(path, "rb") as file:
        assert file.read() == TEXT


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_scan(folder)
        check_matrix()
        check_file(folder)
        check_wrong(folder)


if __name__ == "__main__":
    main()
