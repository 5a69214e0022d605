# SPDX-License-Identifier: MIT
"""layers.py finds what is planted into a small house, and nothing in the house itself: layers_test.py CC..."""
import json
import os
import subprocess
import sys
import tempfile

import layers
import tree

HOUSE = {
    "include/adsm.h": "int adsmCall(void);\n",
    "lib/base/log.h": "/* One may say so: (adsm_elsewhere()) */\nvoid adsm_log(void);\n"
                      "#define adsm_LOG adsm_elsewhere(\n",
    "lib/base/log.c": '#include "base/log.h"\nvoid adsm_log(void) { }\n',
    "backends/backend.h": "struct adsm_backend { int (*alloc)(void); };\n"
                          "extern const struct adsm_backend adsm_cpu[2];\n",
    "backends/process/open.h": "int adsm_open(void);\n",
    "backends/process/open.c": '#include "open.h"\n#include "backend.h"\nint adsm_open(void) { return 0; }\n',
    "backends/process/device/pool.h": '#include "process/open.h"\n',
    "backends/cpu/cpu.c": '#include "backend.h"\n#include "process/open.h"\nconst struct adsm_backend adsm_cpu[2];\n',
    "backends/cuda/cu.h": "int adsm_cu(void);\n",
    "backends/cuda/cu.c": '#include "cu.h"\n#include "base/log.h"\nint adsm_cu(void) { adsm_log(); return 0; }\n',
    "protocols/protocol.h": "struct adsm_protocol { int n_states; };\n",
    "protocols/states.h": "enum adsm_state { ADSM_INVALID };\n",
    "lib/core/block.h": "extern int adsm_block;\nstatic inline int adsm_state(void) {\n"
                        "\tint adsm_elsewhere(void);\n\treturn adsm_elsewhere();\n}\n",
    "lib/core/block.c": '#include "core/block.h"\n#include "backend.h"\n#include "protocol.h"\nint adsm_block;\n'
                        "int read(void);\nint any(void) { return adsm_cpu[0].alloc() + read(); }\n",
    "lib/core/object.h": '#include "core/block.h"\nint adsm_object(void);\n',
    # With block.c a circle, were read() not libc's name.
    "lib/core/object.c": '#include "core/object.h"\nint read(void) { return 0; }\n'
                         "int adsm_object(void) { return adsm_block; }\n",
    "lib/run/touch/fault.h": "int adsm_fault(void);\n",
    "lib/run/wait/wait.c": "int adsm_wait(void) { return 0; }\n",
    "lib/run/touch/fault.c": '#include "core/object.h"\n#include "run/touch/fault.h"\n'
                             "int adsm_fault(void) { return adsm_object(); }\n",
    "lib/start/start.c": '#include "backend.h"\nint adsm_start(void) { return adsm_cpu[0].alloc(); }\n',
    "lib/api/api.h": "int adsm_api(void);\n",
    "lib/api/api.c": '#include "adsm.h"\n#include "run/touch/fault.h"\nint adsmCall(void) { return adsm_fault(); }\n'
                     '#include "api/api.h"\nint adsm_api(void) { return 0; }\n',
    "interpose/io.c": '#include "run/touch/fault.h"\n#include "cuda/cu.h"\n'
                      "int write(void) { return adsm_fault() + adsm_cu(); }\n",
    "tools/info.c": '#include "adsm.h"\n#include "base/log.h"\nint main(void) { adsm_log(); return adsmCall(); }\n',
    "tests/conform/case.c": '#include "adsm.h"\n',
}
# What is added to a file of the house, and what must be found then.
PLANTED = {
    "an upward include": ("lib/core/block.c", '#include "run/touch/fault.h"\n',
                          ["lib/core names lib/run/touch/fault.h of lib/run/touch"]),
    "what one protocol calls its states": ("lib/core/block.c", '#include "protocols/states.h"\n',
                                           ["lib/core names protocols/states.h of protocols"]),
    "a lower room of run naming a higher one": ("lib/run/wait/wait.c", '#include "run/touch/fault.h"\n',
                                                ["lib/run/wait names lib/run/touch/fault.h of lib/run/touch"]),
    "an upward symbol": ("lib/core/block.c", "int adsm_fault(void);\nint stray(void) { return adsm_fault(); }\n",
                         ["lib/core names adsm_fault of lib/run/touch"]),
    "an upward variable": ("lib/base/log.c", "extern int adsm_block;\nint *stray = &adsm_block;\n",
                           ["lib/base names adsm_block of lib/core"]),
    "the core naming a backend": ("lib/core/block.c", '#include "cuda/cu.h"\n',
                                  ["lib/core names backends/cuda/cu.h of backends"]),
    "api calling a backend": ("lib/api/api.c", "int adsm_cu(void);\nint stray(void) { return adsm_cu(); }\n",
                              ["lib/api names adsm_cu of backends"]),
    "start calling a backend": ("lib/start/start.c", "int adsm_cu(void);\nint stray(void) { return adsm_cu(); }\n",
                                ["lib/start names adsm_cu of backends"]),
    "a circle of symbols": ("lib/core/block.c", "int adsm_object(void);\nint stray(void) { return adsm_object(); }\n",
                            ["lib/core/block is in a circle", "lib/core/object is in a circle"]),
    "a circle of includes": ("lib/core/block.h", '#include "object.h"\n',
                             ["lib/core/block is in a circle", "lib/core/object is in a circle"]),
    "a header for another": ("lib/core/block.h", "int adsm_object(void);\n",
                             ["lib/core/block.h declares adsm_object"]),
    "a header for nobody": ("lib/run/touch/fault.h", "void *adsm_nowhere(int (*asked)(void),\n\tint size);\n",
                            ["lib/run/touch/fault.h declares adsm_nowhere"]),
    "a header for another's variable": ("lib/run/touch/fault.h", "extern int adsm_block;\n",
                                        ["lib/run/touch/fault.h declares adsm_block"]),
    "the wrappers reaching api": ("interpose/io.c", "int adsm_api(void);\nint stray(void) { return adsm_api(); }\n",
                                  ["interpose names adsm_api of lib/api"]),
    "a backend knowing another": ("backends/cpu/cpu.c",
                                  '#include "../cuda/cu.h"\nint stray(void) { return adsm_cu(); }\n',
                                  ["backends names adsm_cu of backends",
                                   "backends names backends/cuda/cu.h of backends"]),
    "what backends share knowing one": ("backends/process/open.c", '#include "cuda/cu.h"\n',
                                        ["backends/process names backends/cuda/cu.h of backends"]),
    "a tool reaching inside": ("tools/info.c", "int adsm_object(void);\nint stray(void) { return adsm_object(); }\n",
                               ["tools names adsm_object of lib/core"]),
    "a test reaching inside": ("tests/conform/case.c", '#include "core/block.h"\n',
                               ["tests/conform names lib/core/block.h of lib/core"]),
}


def build(root, house, compiler):
    """The house in the folder root, compiled: what meson would have left in root/build."""
    commands = []
    for path, text in house.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write("#pragma once\n" + text if path.endswith(".h") else text)
    os.makedirs(os.path.join(root, "build"))
    for path in house:
        if path.endswith(".c") and not path.startswith("tests/"):
            output = path.replace("/", "_") + ".o"
            subprocess.run([*compiler, "-w", "-c", "-o", "build/" + output,
                            *["-I" + folder for folder in layers.PATHS], path], cwd=root, check=True)
            commands.append({"directory": os.path.join(root, "build"), "file": "../" + path, "output": output})
    with open(os.path.join(root, "build/compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(commands, file)


def found_in(house):
    with tempfile.TemporaryDirectory() as root:
        tree.ROOT = root
        build(root, house, sys.argv[1:])
        found, n_checked, _ = layers.check(os.path.join(root, "build"))
        return sorted(found), n_checked


problems = []
clean, n_checked = found_in(HOUSE)
if clean:
    problems.append(f"in a clean house: {clean}")
for name, (path, text, expected) in PLANTED.items():
    found, _ = found_in({**HOUSE, path: HOUSE[path] + text})
    if found != expected:
        problems.append(f"{name}: found {found}, not {expected}")
for listed, built, n in [("a/old", {"a"}, 0), ("a/gone", {"a"}, 2), ("b/unbuilt", {"a"}, 1)]:
    if len(layers.compare({"a/old declares it": {"x"}}, {listed + " declares it"}, built)) != n:
        problems.append(f"{listed}: listed, and yet wrong; or neither listed nor so, and not found")
tree.finish(problems, n_checked)
