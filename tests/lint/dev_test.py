# SPDX-License-Identifier: MIT
"""./dev and tests/run.py, with programs in place of Meson, Ninja and others that note how they are called."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import tree

PROGRAMS = {
    "apt-get": "",
    "id": "echo 0",
    "abidw": "",
    "llvm-config": """[ -s "$STATE/llvm" ] || exit
case $1 in
--version) cat "$STATE/llvm" ;;
--includedir | --bindir) echo "$STATE" ;;
esac""",
    # What ./dev reads of a build folder.
    "meson": """echo "meson $*" >>"$STATE/calls"
command=$1 werror=false folder=
shift
for word; do
	case $word in
	-Dwerror=*) werror=${word#*=} ;;
	-*) ;;
	*) folder=${folder:-$word} ;;
	esac
done
case $command in
setup)
	mkdir -p "$folder/meson-info" "$folder/meson-dist"
	: >"$folder/build.ninja"
	! grep -q ^1 "$STATE/llvm" || echo adsmcc-spaces >"$folder/build.ninja"
	echo ADSM_HAVE_OPENCL >"$folder/compile_commands.json"
	echo '"name": "mpi"' >"$folder/meson-info/intro-dependencies.json"
	cp meson.build "$folder/read"
	;;
dist)
	# -C FOLDER: by the version that Meson has read last.
	version=$(sed -n "s/.*version: '\\(.*\\)',/\\1/p" "$folder/read")
	: >"$folder/meson-dist/libadsm-$version.tar.xz"
	;;
test)
	cat "$STATE/said"
	mkdir -p "$folder/meson-logs"
	cp "$STATE/log" "$folder/meson-logs/testlog.json"
	;;
esac
case $command in
setup | configure)
	echo "[{\\"name\\": \\"werror\\", \\"value\\": $werror, \\"section\\": \\"core\\"}]" \\
		>"$folder/meson-info/intro-buildoptions.json"
	;;
esac""",
    # -C FOLDER TARGET...: whatever is built, what Meson makes of meson.build is built first.
    "ninja": 'echo "ninja $*" >>"$STATE/calls"\ncp meson.build "$2/read"',
}
problems = []
n_checked = 0


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def expect(what, found, right):
    global n_checked
    n_checked += 1
    if found != right:
        problems.append(f"{what}: {found}, not {right}")


class Folder:
    """A copy of ./dev, the programs, and the folder STATE of what these read and note."""
    def __init__(self, folder):
        self.folder, self.state, programs = folder, os.path.join(folder, "state"), os.path.join(folder, "programs")
        for path in (self.state, programs, os.path.join(self.state, "llvm-c"), os.path.join(folder, "tests")):
            os.mkdir(path)
        shutil.copy(os.path.join(tree.ROOT, "dev"), folder)
        shutil.copy(os.path.join(tree.ROOT, "tests/run.py"), os.path.join(folder, "tests"))
        for name, text in PROGRAMS.items():
            write(os.path.join(programs, name), "#!/bin/sh\n" + text + "\n", 0o755)
        for version in range(14, 20):
            write(os.path.join(programs, f"llvm-config-{version}"), "#!/bin/sh\nexit 1\n", 0o755)
        write(os.path.join(self.state, "llvm-c/Core.h"), "")
        write(os.path.join(self.state, "clang"), "", 0o755)
        self.llvm("")
        self.version("1.0")
        self.environment = dict(os.environ, PATH=programs + ":" + os.environ["PATH"], STATE=self.state)
        self.environment.pop("CI", None)

    def llvm(self, version):
        write(os.path.join(self.state, "llvm"), version)

    def version(self, version):
        write(os.path.join(self.folder, "meson.build"), f"\tversion: '{version}',\n")

    def run(self, *command, **environment):
        """Status, output, and the calls of Meson and Ninja."""
        calls = os.path.join(self.state, "calls")
        write(calls, "")
        done = subprocess.run(command, cwd=self.folder, env=dict(self.environment, **environment), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        with open(calls, encoding="utf-8") as file:
            return done.returncode, done.stdout, file.read().splitlines()


def builds(folder):
    """A build folder is set up again only for what has come since, and warnings are errors where CI says so."""
    ninja = "ninja -C build "
    for what, environment, llvm, calls in (
            ("the first build", {}, "", ["meson setup build -Dwerror=false", ninja]),
            ("a build with CI", {"CI": "1"}, "", ["meson configure build -Dwerror=true", ninja]),
            ("another build with CI", {"CI": "1"}, "", [ninja]),
            ("a build without CI", {}, "", ["meson configure build -Dwerror=false", ninja]),
            ("a build with an LLVM that is too new", {}, "20.1.2", [ninja]),
            ("a build with an LLVM that is too old", {}, "9.0.1", [ninja]),
            ("a build with an LLVM that has come", {}, "19.1.7", ["meson setup --wipe build", ninja]),
            ("the build after it", {}, "19.1.7", [ninja])):
        folder.llvm(llvm)
        status, said, found = folder.run("./dev", "build", **environment)
        expect(what, (status, [call.rstrip() for call in found]), (0, [call.rstrip() for call in calls]))
        if status:
            problems.append(said)


def dists(folder):
    """The archive has the version of meson.build; the packages of LLVM are of a version that can be used."""
    for version, llvm, packages in (("1.0", "", "llvm-dev"), ("1.1", "20.1.2", "clang-19 llvm-19-dev"),
                                    ("1.2", "19.1.7", "")):
        folder.llvm(llvm)
        folder.version(version)
        status, said, _ = folder.run("./dev", "dist")
        expect(f"dist of {version}", status, 0)
        expect(f"the archive of {version}", f"libadsm-{version}.tar.xz" in said, True)
        installing = [line for line in said.splitlines() if line.startswith("./dev: installing")]
        found = [word for line in installing for word in line.split() if "llvm" in word or word.startswith("clang-1")]
        expect(f"missing packages beside LLVM {llvm}", " ".join(found), packages)
    # Meson has not read meson.build again.
    write(os.path.join(folder.folder, "programs/ninja"), "#!/bin/sh\n", 0o755)
    folder.version("1.3")
    expect("dist without an archive", folder.run("./dev", "dist")[0] != 0, True)


def runs(folder):
    """A test that was named but has not run is a failure."""
    ran = ["libadsm:unit / options", "libadsm:unit+more / wait / one", "unit - libadsm:index", "plain"]
    write(os.path.join(folder.state, "said"),
          "".join(f"{i + 1}/{len(ran)} {name}   OK   0.01s\n" for i, name in enumerate(ran)))
    write(os.path.join(folder.state, "log"), "".join(
        json.dumps({"name": name, "result": "OK", "starttime": 1.0, "duration": 0.1}) + "\n" for name in ran))
    results = os.path.join(folder.folder, "results")
    for names, missing in ((["options", "wait / one", "index", "plain"], []),
                           (["options", "gone", "one"], ["gone", "one"])):
        write(results, "")
        folder.run(sys.executable, "tests/run.py", "run", results, "build", "--suite", "unit", *names,
                   "--timeout-multiplier", "5")
        with open(results, encoding="utf-8") as file:
            failed = json.loads(file.read())["failed"]
        expect(f"failures of {names}", failed, [f"build: there is no test {name}" for name in missing])


with tempfile.TemporaryDirectory() as path:
    shell = Folder(path)
    builds(shell)
    dists(shell)
    runs(shell)
tree.finish(problems, n_checked)
