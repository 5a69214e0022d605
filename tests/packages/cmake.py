# SPDX-License-Identifier: MIT
"""Documents are installed. A project of CMake finds the installed library, builds kernels, and builds them again if a
header has changed: cmake.py CMAKE MESON BUILD_FOLDER SANITIZER"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cmake")


def run(*command, status=0, **more):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if (done.returncode != 0) != status:
        sys.exit(f"{' '.join(command)} ended with {done.returncode} and said:\n{done.stdout}")
    return done.stdout


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def expect(what, found, right):
    if found != right:
        sys.exit(f"{what}: {found!r}, not {right!r}")


def installed(meson, build, folder):
    """Where CMake is to look: the prefix of a library installed below the folder."""
    run(meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder)
    for path, _, names in os.walk(folder):
        if "adsmcc" in names:
            return os.path.dirname(path)
    sys.exit("adsmcc is not installed")


def documents(prefix):
    """The documents that headers and manual pages name are installed."""
    named = set()
    for part in ("include", "share/man"):
        for path, _, names in os.walk(os.path.join(prefix, part)):
            for name in names:
                with open(os.path.join(path, name), encoding="utf-8") as file:
                    # A manual page has its hyphens as \\-.
                    named |= set(re.findall(r"docs/[a-z-]+\.md", file.read().replace("\\-", "-").replace("\\&", "")))
    there = {name for name in named if os.path.exists(os.path.join(prefix, "share/doc/libadsm", name))}
    expect("documents that are installed", sorted(there), sorted(named))
    expect("documents are named", len(named) > 5, True)


def versions(cmake, folder, prefix):
    """The version that is there is found, another one is not."""
    project = os.path.join(folder, "version")
    os.mkdir(project)
    for version, status in (("${WANTED}", 0), ("99.0", 1)):
        write(os.path.join(project, "CMakeLists.txt"), f"""cmake_minimum_required(VERSION 3.20)
project(version NONE)
find_package(adsm {version} REQUIRED)
""")
        with open(os.path.join(SOURCES, "../../../meson.build"), encoding="utf-8") as file:
            wanted = file.read().split("version: '")[1].split("'")[0]
        run(cmake, "-S", project, "-B", os.path.join(project, "build"), "-DCMAKE_PREFIX_PATH=" + prefix,
            "-DWANTED=" + wanted, status=status)


def through_link(cmake, folder, prefix):
    """The folder of libraries is a symbolic link, as /lib is one to /usr/lib. The headers are beside what it names."""
    project, root = os.path.join(folder, "link"), os.path.join(folder, "root")
    os.mkdir(project)
    os.mkdir(root)
    for name in {"lib", "lib64"} & set(os.listdir(prefix)):
        os.symlink(os.path.join(prefix, name), os.path.join(root, name))
    write(os.path.join(project, "CMakeLists.txt"), """cmake_minimum_required(VERSION 3.20)
project(link NONE)
find_package(adsm REQUIRED)
message("found in ${adsm_DIR}")
get_target_property(include adsm::adsm INTERFACE_INCLUDE_DIRECTORIES)
if(NOT EXISTS "${include}/adsm.h")
	message(FATAL_ERROR "there is no ${include}/adsm.h")
endif()
""")
    said = run(cmake, "-S", project, "-B", os.path.join(project, "build"), "-DCMAKE_PREFIX_PATH=" + root)
    expect("found in the linked folder", "found in " + root in said, True)


def listed(out):
    """The list for clangd has the program and the sources of kernels, with their options."""
    with open(os.path.join(out, "compile_commands.json"), encoding="utf-8") as file:
        entries = {os.path.basename(entry["file"]): entry for entry in json.load(file)}
    expect("sources in compile_commands.json", sorted(entries), ["kernels.c", "others.c", "scale.c"])
    expect("options of kernels.c", "FACTOR_BY_OPTION=2" in " ".join(entries["kernels.c"]["arguments"]), True)


def main(cmake, meson, build, sanitizer):
    if cmake == "-":
        print("there is no cmake (Debian: cmake)")
        sys.exit(77)
    if sanitizer != "none":
        print(f"a library with the {sanitizer} sanitizer does not load into a program without it")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        prefix = installed(meson, build, os.path.join(folder, "installed"))
        documents(prefix)
        versions(cmake, folder, prefix)
        through_link(cmake, folder, prefix)
        project, out = os.path.join(folder, "project"), os.path.join(folder, "out")
        shutil.copytree(SOURCES, project)
        header = os.path.join(project, "factor.h")
        write(header, "#define FACTOR 3\n")
        run(cmake, "-G", "Ninja", "-S", project, "-B", out, "-DCMAKE_PREFIX_PATH=" + prefix,
            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
        run(cmake, "--build", out)
        expect("scale", run("./scale", cwd=out), "42\n")
        expect("scale others.adsm", run("./scale", "others.adsm", cwd=out), "700\n")
        listed(out)
        # Only the module depends on the header.
        write(header, "#define FACTOR 5\n")
        run(cmake, "--build", out)
        expect("scale with the other header", run("./scale", cwd=out), "70\n")
        expect("a build without a change", "ninja: no work to do." in run(cmake, "--build", out), True)
        # CMake writes its list anew; the entries of kernels come back.
        os.utime(os.path.join(project, "CMakeLists.txt"))
        run(cmake, "--build", out)
        listed(out)
        expect("a second build without a change", "ninja: no work to do." in run(cmake, "--build", out), True)


if __name__ == "__main__":
    main(*sys.argv[1:])
