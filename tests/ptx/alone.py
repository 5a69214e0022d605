# SPDX-License-Identifier: MIT
"""Which kernels of alone.ptx node 0 of a cluster runs alone, by what adsm-info says of the module: alone.py ADSM-INFO
MODULE"""
import re
import subprocess
import sys

text = subprocess.run([sys.argv[1], sys.argv[2]], stdout=subprocess.PIPE, text=True, check=True).stdout
found = re.findall(r"^  (\w+) +\d+ parameters, blocks of up to \d+ threads(.*)$", text, re.M)
FLAGS = {"all": "", "alone": ", may do atomics on objects", "serves": ", may call services"}
wrong = [(name, flags) for name, flags in found if flags != FLAGS[name.partition("_")[0]]]
assert not wrong, wrong
assert len(found) == 29, found
