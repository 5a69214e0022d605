# SPDX-License-Identifier: MIT
"""Plants one fault after the other into the code that the models explore, and sees that the model finds it.

planted.py ROOT OPENCL COMPILER... [-- MODEL...]

The faults are in the file plants beside this one. One for each model; all of them with TEST_FULL=1, or of those models
that are named. OPENCL is empty where its headers are not."""
import os
import subprocess
import sys
import tempfile

INCLUDE = [".", "tests/waits", "include", "lib", "backends", "protocols", "interpose"]


def read_plants(root):
    """Models, files, and pairs of what stands there and what takes its place."""
    plants = []
    with open(os.path.join(root, "tests/waits/plants"), encoding="utf-8") as file:
        before = ""
        for line in file:
            if line.startswith("== "):
                plants.append((*line[3:].split(), []))
            elif line.startswith("-"):
                if before != "-":
                    plants[-1][2].append(["", ""])
                plants[-1][2][-1][0] += line[1:]
            elif line.startswith("+"):
                plants[-1][2][-1][1] += line[1:]
            before = line[:1]
    return plants


def compile_model(root, folder, compiler, source, output, *more):
    subprocess.run([*compiler, "-std=gnu11", "-D_GNU_SOURCE", "-DCL_TARGET_OPENCL_VERSION=300", "-O2", "-w",
                    "-ffunction-sections", "-fdata-sections",
                    *["-I" + os.path.join(place, i) for place in (folder, root) for i in INCLUDE], source, "-o", output,
                    *more], check=True)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def link(root, folder, path):
    """Have headers beside a copy: those of a folder, or one that the copy stood for."""
    there = os.path.join(root, os.path.dirname(path))
    os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
    for name in [os.path.basename(path)] if os.path.basename(path) else os.listdir(there):
        if name.endswith(".h") and not os.path.lexists(os.path.join(folder, os.path.dirname(path), name)):
            os.symlink(os.path.join(there, name), os.path.join(folder, os.path.dirname(path), name))


def plant(root, folder, compiler, model, path, pairs):
    """What the model says of the code with these changes: its exit status, and its words."""
    text = read(os.path.join(root, path))
    for old, new in pairs:
        if text.count(old) != 1:
            sys.exit(f"{path}: not once, but {text.count(old)} times:\n{old}")
        text = text.replace(old, new)
    copy = os.path.join(folder, path)
    link(root, folder, os.path.join(os.path.dirname(path), ""))
    if os.path.lexists(copy):
        os.remove(copy)
    write(copy, text)
    # A copy of the model, too: beside itself it would find the original.
    source = os.path.join(folder, "tests/waits", model + ".c")
    write(source, read(os.path.join(root, "tests/waits", model + ".c")))
    program = os.path.join(folder, "model")
    compile_model(root, folder, compiler, source, program, os.path.join(folder, "step.o"), "-Wl,--gc-sections",
                  "-lpthread")
    os.remove(copy)
    link(root, folder, path)
    result = subprocess.run([program], capture_output=True, text=True, check=False)
    return result.returncode, result.stderr


def main():
    root, opencl, *compiler = sys.argv[1:]
    wanted = []
    if "--" in compiler:
        wanted = compiler[compiler.index("--") + 1:]
        compiler = compiler[:compiler.index("--")]
    missed = 0
    seen = set()
    with tempfile.TemporaryDirectory() as folder:
        compile_model(root, folder, compiler, os.path.join(root, "tests/waits/step.c"), os.path.join(folder, "step.o"),
                      "-c")
        for model, path, pairs in read_plants(root):
            if model not in wanted if wanted else model in seen and not os.environ.get("TEST_FULL"):
                continue
            seen.add(model)
            if model == "opencl" and not opencl:
                continue
            status, said = plant(root, folder, compiler, model, path, pairs)
            found = status == 1 and "the interleaving:" in said
            missed += not found
            print(f"{model}: {path}: {said.splitlines()[0] if found else 'NOT FOUND: ' + pairs[0][0]}", flush=True)
    print(f"{missed} not found")
    return missed != 0


sys.exit(main())
