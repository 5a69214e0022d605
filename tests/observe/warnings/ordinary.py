# SPDX-License-Identifier: MIT
"""Programs that do nothing unusual are told nothing, whatever the protocol; but of what takes long on a busy machine.
Usage: ordinary.py PARBOIL BENCH."""
import os
import re
import subprocess
import sys

PARBOIL, BENCH = sys.argv[1:3]

env = {k: v for k, v in os.environ.items() if not k.startswith("ADSM_") or k == "ADSM_BACKEND"}
for blocks in "4K", "64K", "1M":
    done = subprocess.run([PARBOIL, "table", BENCH, "--size", "small"], env={**env, "ADSM_BLOCK_SIZE": blocks},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0 and "rolling" in done.stdout, done
    assert "warning" not in re.sub(r"adsm: warning: (moving data took|.* was fetched) .*\n", "", done.stderr), done
