# SPDX-License-Identifier: MIT
"""How far a long measurement is: one line on standard error, if that is a terminal. The end erases it."""
import sys
import time


class Progress:
    def __init__(self, n):
        self.n, self.done, self.begun, self.terminal = n, 0, time.monotonic(), sys.stderr.isatty()

    def step(self, what):
        """The next of n parts begins."""
        seconds = int(time.monotonic() - self.begun)
        self.done += 1
        self.write(f"part {self.done} of {self.n}, {seconds // 60}:{seconds % 60:02}: {what}")

    def end(self):
        self.write("")

    def write(self, line):
        if self.terminal:
            sys.stderr.write("\r\033[K" + line + "\r")
            sys.stderr.flush()
