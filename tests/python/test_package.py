# SPDX-License-Identifier: MIT
"""The package itself: it agrees with the headers, its types are right, pip installs it, and its example runs."""
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import adsm
from adsm import _library, _signature

ROOT = pathlib.Path(__file__).parents[2]
BINDINGS = ROOT / "bindings" / "python"
STRUCTURES = {
    "adsmDim": _library.Dim, "adsmArg": _library.Arg, "adsmAllocOptions": _library.AllocOptions,
    "adsmModuleOptions": _library.ModuleOptions, "adsmDeviceProps": _library.DeviceProps,
    "adsmObjectProps": _library.ObjectProps, "adsmEvent": _library.EventHandle, "adsmOnce": _library.OnceHandle,
    "adsmOnceDistribution": _library.OnceDistribution, "adsmOnceRange": _library.OnceRange,
    "adsmOnceWaiter": _library.OnceWaiter,
}
CONSTANTS = ["DEVICE_CURRENT", "ALLOC_POPULATE", "ALLOC_ZERO", "ARG_NONE", "ARG_POINTER", "ARG_VALUE", "ARG_CONST",
             "ARG_USE", "ARG_LOCAL", "ARG_ONCE", "MODULE_AUTO", "MODULE_ADSM", "MODULE_SOURCE", "ONCE_HOST",
             "ONCE_DEVICE", "ONCE_STRIPED", "ONCE_TILED", "ONCE_OWN", "ONCE_ON_HOST", "CONST_MAX", "ARGS_MAX",
             "NAME_SIZE"]


def header(name):
    return (ROOT / "include" / name).read_text()


def test_structures_and_constants(tmp_path):
    """The C compiler's sizes, offsets and values equal those of the package."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    lines = ['#include <stdio.h>', '#include "adsm_once.h"', "int main(void) {"]
    expected = []
    for name, structure in STRUCTURES.items():
        lines.append(f'printf("%zu\\n", sizeof({name}));')
        expected.append(ctypes.sizeof(structure))
        for field in structure._fields_:
            lines.append(f'printf("%zu\\n", __builtin_offsetof({name}, {field[0]}));')
            expected.append(getattr(structure, field[0]).offset)
    for name in CONSTANTS:
        lines.append(f'printf("%lld\\n", (long long)ADSM_{name});')
        expected.append(getattr(_library, name))
    for name, value in (("IN", 1), ("OUT", 2), ("INOUT", 3)):
        lines.append(f'printf("%d\\n", ADSM_ACCESS_{name});')
        expected.append(getattr(_library, name))
        assert getattr(_library, name) == value
    (tmp_path / "sizes.c").write_text("\n".join([*lines, "return 0; }"]))
    subprocess.run([compiler, "-I", ROOT / "include", "-o", tmp_path / "sizes", tmp_path / "sizes.c"], check=True)
    printed = subprocess.run([tmp_path / "sizes"], check=True, capture_output=True, text=True).stdout.split()
    assert [int(word) for word in printed] == expected


@pytest.mark.parametrize("package, library, found", [
    ("usr/lib/python3/dist-packages", "usr/lib/x86_64-linux-gnu", True),
    ("usr/local/lib/python3.11/dist-packages", "usr/local/lib", True),
    ("p/lib64/python3.11/site-packages", "p/lib64", True), ("p/lib64/python3.11/site-packages", "p/lib", True),
    ("home/lib/python", "home/lib", True), ("p/lib/python3.11/site-packages", "p", False),
    ("p/lib/python3.11/site-packages", "lib", False), ("p/lib/python3.11/site-packages", "", False),
    ("p/lib/python3.11/site-packages", "p/lib/python3.11/site-packages", False),
    ("p/lib/source/bindings/python", "p/lib", False), ("source/bindings/python", "source/lib", False),
    ("source/bindings/python", "", False)])
def test_library_of_the_prefix(tmp_path, monkeypatch, package, library, found):
    """Only the prefix where the package is installed is searched."""
    monkeypatch.delenv("ADSM_LIBRARY")
    monkeypatch.setattr(_library, "__file__", str(tmp_path / package / "adsm" / "_library.py"))
    file = tmp_path / library / "libadsm.so.0"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    assert _library.find() == (str(file) if found else "libadsm.so.0")


def test_prototypes():
    """Each function has as many parameters as in the headers."""
    headers = ("adsm.h", "adsm_copy.h", "adsm_once.h", "adsm_lend.h", "adsm_queue.h")
    text = re.sub(r"/\*.*?\*/", "", "".join(map(header, headers)), flags=re.S)
    for name, _, parameters in _library.PROTOTYPES:
        found = re.search(rf"ADSM_API [^;(]*\b{name}\(([^;]*)\);", text)
        assert found, name
        words = found.group(1).strip()
        assert len(parameters) == (0 if words == "void" else words.count(",") + 1), name


def test_counters():
    rows = re.findall(r"^\tX\((\w+), ", header("adsm.h"), re.M)
    assert list(adsm.Stats._fields) == rows


def test_versions():
    numbers = [re.search(rf"ADSM_VERSION_{part} (\d+)", header("adsm.h")).group(1)
               for part in ("MAJOR", "MINOR", "PATCH")]
    assert adsm.__version__ == ".".join(numbers)
    assert f'version = "{adsm.__version__}"' in (BINDINGS / "pyproject.toml").read_text()
    flags = header("adsm_kernel.h")
    assert f"#define ADSM_KERNEL_TASK {_signature.TASK}u" in flags
    assert f"#define ADSM_KERNEL_RAW {_signature.RAW}u" in flags


@pytest.mark.parametrize("text, expected", [
    ("const float", "f4"), ("unsigned", "u4"), ("long unsigned int", "u8"), ("long long int", "i8"),
    ("short int", "i2"), ("signed char", "i1"), ("signed", "i4"), ("size_t", "u8"), ("struct atom", None),
    ("long double", None), ("unsigned char const", "u1"), ("uint", "u4")])
def test_types(text, expected):
    found = _signature.dtypes_of(text)
    assert (found[0].str[1:] if found else None) == expected


def test_types_are_checked():
    mypy = shutil.which("mypy")
    if not mypy or "TEST_FULL" not in os.environ:
        pytest.skip("only with mypy (Debian: mypy) and TEST_FULL=1")
    cache = os.path.join(os.environ["XDG_CACHE_HOME"], "mypy")
    done = subprocess.run([mypy, "--strict", "--cache-dir", cache, "--python-executable", sys.executable,
                           BINDINGS / "adsm"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pip(tmp_path):
    if subprocess.run([sys.executable, "-c", "import setuptools, wheel, pip"], check=False,
                      capture_output=True).returncode:
        pytest.skip("no pip, setuptools and wheel (Debian: python3-pip, python3-setuptools, python3-wheel)")
    source = tmp_path / "python"
    shutil.copytree(BINDINGS, source)
    environment = dict(os.environ)
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--no-index",
                    "--no-compile", "--target", tmp_path / "site", source], check=True, env=environment)
    names = {path.name for path in (tmp_path / "site" / "adsm").iterdir()}
    assert {path.name for path in (BINDINGS / "adsm").iterdir()} - {"__pycache__"} <= names and "py.typed" in names
    environment["PYTHONPATH"] = f"{tmp_path / 'site'}:{environment['PYTHONPATH']}"
    done = subprocess.run([sys.executable, "-c", "import adsm; print(adsm.__file__, adsm.version())"], check=True,
                          env=environment, capture_output=True, text=True)
    assert done.stdout == f"{tmp_path}/site/adsm/__init__.py {adsm.__version__}\n"


DEBIAN = "import sysconfig; sysconfig.get_path('purelib', 'posix_local')"


@pytest.mark.parametrize("prefix, option, folder", [
    ("/usr/local", [], None), ("/usr", [], "/usr/lib/python3/dist-packages"),
    ("/usr/local", ["-Dpython.purelibdir=own"], "/usr/local/own")])
def test_install_for_debian(tmp_path, prefix, option, folder):
    """Meson installs into a folder that Debian's Python searches: a folder of its packages only below /usr."""
    meson, python = shutil.which("meson"), "/usr/bin/python3"
    if not meson or subprocess.run([python, "-c", DEBIAN], check=False, capture_output=True).returncode:
        pytest.skip("no meson, or /usr/bin/python3 is not Debian's")
    searched = subprocess.run([python, "-c", "import site; print(*site.getsitepackages())"], check=True, text=True,
                              capture_output=True).stdout.split()
    shutil.copytree(BINDINGS, tmp_path / "python", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "meson.build").write_text("project('python')\nsubdir('python')\n")
    (tmp_path / "meson_options.txt").write_text("option('python', type: 'boolean', value: true)\n")
    environment = dict(os.environ, PATH="/usr/bin:/bin", DESTDIR=str(tmp_path / "root"))
    environment.pop("LD_PRELOAD", None)
    for command in (["setup", "--prefix", prefix, *option, tmp_path / "build", tmp_path],
                    ["install", "-C", tmp_path / "build"]):
        subprocess.run([meson, *command], check=True, env=environment, capture_output=True)
    found, = (tmp_path / "root").glob("**/adsm")
    names = {path.name for path in (BINDINGS / "adsm").iterdir()} - {"__pycache__"}
    assert {path.name for path in found.iterdir()} == names
    found = "/" + str(found.parent.relative_to(tmp_path / "root"))
    assert found == folder if folder else found in searched


def test_example(tmp_path):
    example = BINDINGS / "examples" / "spots.py"
    done = subprocess.run([sys.executable, example, tmp_path / "spots.png", "--steps", "200"], check=False,
                          capture_output=True, text=True)
    if "clang" in done.stderr and not shutil.which("clang"):
        pytest.skip("no clang, so no CUDA C")
    assert done.returncode == 0, done.stderr
    picture = (tmp_path / "spots.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n") and picture.endswith(b"IEND\xaeB`\x82")
