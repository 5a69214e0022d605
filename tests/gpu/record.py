# SPDX-License-Identifier: MIT
"""The record of a run: Markdown, written as it goes, on standard output and in a file."""
import collections
import os

from processes import tail

STATES = ("passed", "failed", "hung", "skipped", "late")
SHOWN = 40              # failures of a table, a few lines each; the rest is in the file beside the record


class Record:
    def __init__(self, folder, name):
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, name + ".md")
        self.more = os.path.join(folder, name + "-failures.txt")
        self.file = open(self.path, "w", encoding="utf-8")
        self.failed = 0

    def say(self, *lines):
        for line in lines:
            print(line, flush=True)
            print(line, file=self.file, flush=True)

    def block(self, text):
        """What a program says, as it is."""
        self.say("", "```", *[line[:2000] for line in text.strip("\n").splitlines()], "```")

    def rows(self, *rows):
        """A table; its first row is the heading."""
        for i, row in enumerate(rows):
            self.say("| " + " | ".join(str(cell) for cell in row) + " |")
            if i == 0:
                self.say("|---" * len(row) + "|")

    def fail(self, what, result):
        """Note one failure; all of what it said goes beside the record."""
        self.failed += 1
        with open(self.more, "a", encoding="utf-8") as file:
            file.write(f"==== {what}\n{result.text}\n")

    def judge(self, what, result, shown=True):
        """A single command: what it says, and whether it failed."""
        if shown and result.text.strip():
            self.block(result.text)
        if result.state in ("failed", "hung"):
            self.fail(what, result)
            self.say("", f"**{what}: {result.state}** after {result.seconds:.0f} s.")
        elif result.state == "late":
            self.say("", f"No time: {what}.")

    def table(self, title, results):
        """Of (group, name, result): the counts, and the last lines of what failed."""
        groups = collections.defaultdict(collections.Counter)
        for group, _, result in results:
            groups[group][result.state] += 1
        self.rows((title, *STATES[:-1], "no time"),
                  *[(group, *[counts[state] for state in STATES]) for group, counts in groups.items()])
        bad = [(f"{group} {name}", result) for group, name, result in results if result.state in ("failed", "hung")]
        for what, result in bad:
            self.fail(what, result)
        if bad:
            self.block("\n".join(f"{what}: {result.state}\n{tail(result.text)}" for what, result in bad[:SHOWN]))
