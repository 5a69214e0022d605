# SPDX-License-Identifier: MIT
"""What a machine has, and what is built on it or was carried to it."""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time

SOURCES = ("include", "lib", "backends", "protocols", "interpose", "tools", "parboil", "tests")
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-Ibackends"]


def say(command):
    """The first line of what a command says, or None."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else None


def about():
    """The machine, in a line."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        name = re.search(r"^model name\s*: (.*)", file.read(), re.M)
    return (f"{os.uname().sysname} {os.uname().release}, {name[1] if name else os.uname().machine}, "
            f"{os.cpu_count()} processors, {say([compiler() or 'cc', '--version']) or 'no compiler'}, "
            f"{nvcc() or 'no nvcc'}.")


def compiler():
    return next((shutil.which(name) for name in (os.environ.get("CC", ""), "cc", "gcc", "clang")
                 if name and shutil.which(name)), None)


def nvcc():
    return shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def smi():
    """Name, driver, memory and capability, as the driver's own tool says."""
    return say(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader"])


def nvrtc(folders=("/usr/local/cuda/lib64", "/usr/local/cuda/lib")):
    """The run-time compiler: the toolkit's, or that of Python's packages, which the library does not look for."""
    # The python3 that programs get may be another one, in an environment of its own.
    paths = sys.path + (say(["python3", "-c", "import sys; print(':'.join(sys.path))"]) or "").split(":")
    for folder in [*folders, *(path for path in paths if path.endswith("-packages"))]:
        for pattern in ("libnvrtc.so*", "nvidia/*/lib/libnvrtc.so*"):
            files = sorted(glob.glob(os.path.join(folder, pattern)))
            if files:
                return files[-1]
    return None


def tree():
    """A number for all sources: the same where nothing has changed."""
    sums = hashlib.sha256()
    for root in SOURCES:
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(files):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    sums.update(path.encode() + b"\0" + file.read())
    return sums.hexdigest()


class Build:
    """A folder with all that runs. @log: a file for what building says; @end: no longer than until then."""

    def __init__(self, folder, log, dry, end):
        self.folder, self.log, self.dry, self.end = folder, log, dry, end
        self.how = ""
        self.failed = []

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def attempt(self, *command):
        print(" ".join(command), file=self.log, flush=True)
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, check=False,
                                  timeout=max(self.end - time.monotonic(), 1))
            failed = done.returncode
        except (OSError, subprocess.TimeoutExpired) as error:
            print(error, file=self.log, flush=True)
            failed = True
        if failed:
            self.failed.append(" ".join(command)[:200])

    def stamp(self):
        try:
            with open(self.path("stamp"), encoding="utf-8") as file:
                return file.read().split()
        except OSError:
            return []

    def usable(self):
        """Made from these very sources, and it runs here."""
        stamp = self.stamp()
        return stamp[:1] == [tree()] and (self.dry or "programs" in stamp or not nvcc()) and \
            say([self.path("tools/adsm-info"), "--help"])

    def make(self, carried=False):
        """@carried: for another machine, which may have no compiler."""
        if self.usable() and not carried:
            self.how = "as it was found"
            return
        stamp = [tree()]
        if shutil.which("meson") and shutil.which("ninja"):
            self.how = "by meson"
            if not os.path.exists(self.path("build.ninja")):
                self.attempt("meson", "setup", self.folder, "--buildtype=release", "-Db_ndebug=true")
            self.attempt("ninja", "-C", self.folder, "gpu")
        else:
            self.how = "by hand"
            self.attempt("tests/gpu/build", self.folder)
        if nvcc() and not self.dry:
            self.programs(carried)
            stamp.append("programs")
            if carried:
                self.modules()
        if not self.failed:
            with open(self.path("stamp"), "w", encoding="utf-8") as file:
                print(*stamp, file=file)

    def programs(self, carried):
        """Programs that nvcc makes, with code for the device in them."""
        capability = re.sub(r"\D", "", (smi() or "").rpartition(",")[2])
        arch = [f"-arch=sm_{capability}"] if capability and not carried else ["-arch=all-major"]
        toolkit = os.path.dirname(os.path.dirname(os.path.realpath(nvcc())))
        lib = next(path for path in (toolkit + "/lib64", toolkit + "/lib", toolkit) if os.path.isdir(path))
        out = self.path("programs")
        os.makedirs(out, exist_ok=True)
        for cudart in ("static", "shared"):
            for name, more in ((cudart, []), (cudart + "-per-thread", ["-default-stream", "per-thread"])):
                self.attempt(nvcc(), "-O2", *arch, "-cudart", cudart, *more, "-o", f"{out}/{name}",
                             "tests/gpu/program.cu")
        self.attempt(self.path("tools/adsmcc"), "--emit-text", "-o", f"{out}/conform.cu", "tests/kernels/conform.c")
        self.attempt(nvcc(), "-std=c++20", "-fatbin", *arch, "-o", f"{out}/conform.fatbin", f"{out}/conform.cu")
        self.attempt("python3", "tests/cuda/programs/embed.py", f"{out}/conform.fatbin", f"{out}/module.inc")
        flags = [*FLAGS, "-I" + out,
                 *(f"tests/cuda/programs/{name}.c" for name in ("program", "arrays", "memory", "streams"))]
        # The driver itself is not where programs are made.
        self.attempt(compiler(), *flags, "tests/cuda/programs/driver.c", "-o", f"{out}/driver", f"-L{lib}/stubs",
                     f"-L{lib}", "-lcuda", "-lpthread", "-Wl,--unresolved-symbols=ignore-in-shared-libs")
        self.attempt(compiler(), *flags, "tests/cuda/programs/runtime.c", "-o", f"{out}/runtime-shared", f"-L{lib}",
                     "-lcudart", "-lpthread")
        self.attempt(compiler(), *flags, "tests/cuda/programs/runtime.c", "-o", f"{out}/runtime-static", f"-L{lib}",
                     "-lcudart_static", "-lpthread", "-ldl", "-lrt")

    def modules(self):
        """Kernel modules with PTX in them, for a machine without NVRTC."""
        for source in sorted(glob.glob("tests/kernels/*.c") + glob.glob("parboil/*/kernels.c")):
            bench = source.startswith("parboil")
            name = os.path.basename(os.path.dirname(source) if bench else source[:-2])
            out = self.path("ptx", "parboil" if bench else "tests/kernels")
            os.makedirs(out, exist_ok=True)
            if name != "globals":       # native code only
                self.attempt(self.path("tools/adsmcc"), "--ptx", "--nvcc", nvcc(), "-o", f"{out}/{name}.adsm", source)

    def take_ptx(self):
        """Put those in place; False: there are none."""
        for path in glob.glob(self.path("ptx", "**", "*.adsm"), recursive=True):
            shutil.copy(path, self.path(os.path.relpath(path, self.path("ptx"))))
        return os.path.isdir(self.path("ptx"))
