# SPDX-License-Identifier: MIT
"""Kernels: languages, arguments and their checks, errors."""
import gc
import os
import pathlib
import shutil
import subprocess
import sys

import kernels
import numpy as np
import pytest

import adsm

on_cpu = pytest.mark.skipif(os.environ.get("ADSM_BACKEND") != "cpu", reason="only on the backend cpu")
clang = pytest.mark.skipif(not any(shutil.which(name) for name in ["clang", *(f"clang-{n}" for n in range(14, 20))]),
                           reason="no clang, so no CUDA C")


def vecadd_arrays(n=1000):
    return adsm.array(np.arange(n, dtype="f4")), adsm.array(np.ones(n, "f4")), adsm.empty(n, "f4")


def test_dialect():
    vecadd = adsm.kernel(kernels.VECADD)
    a, b, c = vecadd_arrays()
    vecadd(a, b, c, 1000, grid=4, block=256)
    assert (c == np.arange(1000) + 1).all()
    vecadd(adsm.In(a), adsm.In(c), adsm.InOut(c), 500, threads=500, block=64)
    adsm.sync()
    assert c[499] == 999 and c[500] == 501
    assert repr(vecadd) == "<adsm.Kernel vecadd(float *a, float *b, float *c, int n)>"
    assert [p.access for p in vecadd.parameters] == [1, 1, 2, 0]


def test_what_moves():
    vecadd = adsm.kernel(kernels.VECADD)
    a, b, c = vecadd_arrays(1 << 20)
    before = adsm.stats()
    vecadd(a, b, c, 1 << 20, threads=1 << 20)
    adsm.sync()
    moved = adsm.stats() - before
    assert moved.calls == 1
    assert moved.d2h_bytes == 0
    assert adsm.stats(c).h2d_bytes == 0                 # ADSM_OUT is not sent
    assert adsm.stats(a).h2d_bytes == a.nbytes
    assert c.sum(dtype="f8") == a.sum(dtype="f8") + (1 << 20)
    assert adsm.stats(c).d2h_bytes == c.nbytes
    adsm.reset_stats()
    assert adsm.stats().calls == 0


def test_a_part_of_an_array():
    """The rest of an array keeps its values, although the kernel declares that it overwrites all."""
    vecadd = adsm.kernel(kernels.VECADD)
    a, b, c = vecadd_arrays(100000)
    c[...] = 7
    vecadd(a[100:], b, c[50000:50010], 10, threads=10)
    assert c[50000:50010].tolist() == list(range(101, 111))
    assert (c[:50000] == 7).all() and (c[50010:] == 7).all()
    vecadd(a, b, adsm.Out(c[:10]), 10, threads=10)
    assert c[50000] == 101 and c[99999] == 7
    other = adsm.empty(100000, "f4")
    c[...] = 7
    vecadd.assign(c[50000:50010], "out")
    vecadd(a, b, other, 10, threads=10)
    assert (c == 7).all()
    vecadd.assign(c[:], "out")
    with pytest.raises(ValueError, match="not on shared memory"):
        vecadd.assign(np.zeros(3))


def test_arguments_are_checked():
    vecadd = adsm.kernel(kernels.VECADD)
    a, b, c = vecadd_arrays()
    frozen = c[:]
    frozen.flags.writeable = False
    size = {"grid": 4, "block": 256}
    for arguments, error, said in [
            ((a, b, c), TypeError, "takes 4 arguments (a, b, c, n), got 3"),
            ((a, b, c, 1, 2), TypeError, "got 5"),
            ((a.astype("f4"), b, c, 1000), TypeError, "'a', float *): the array is not on shared memory"),
            ((adsm.array(a, "f8"), b, c, 1000), TypeError, "expected an array of float32, got float64"),
            ((a, b, c.view(">f4"), 1000), TypeError, "byte order"),
            ((a, b, adsm.zeros((10, 10), "f4")[:, 1], 1000), ValueError, "not contiguous"),
            ((a, b, frozen, 1000), ValueError, "read-only"),
            ((a, b, 5, 1000), TypeError, "is a pointer: pass an array on shared memory"),
            ((a, b, c, c), TypeError, "'n', int) is a value, not an array"),
            ((a, b, c, 1.5), TypeError, "expected int32, got a float"),
            ((a, b, c, "x"), TypeError, "expected int32, got str"),
            ((a, b, c, 1 << 31), OverflowError, "2147483648 does not fit into int32"),
            ((a, b, c, adsm.In(3)), TypeError, "In() is for arrays"),
            ((a, b, c, adsm.Local(3)), TypeError, "memory of the block")]:
        with pytest.raises(error) as caught:
            vecadd(*arguments, **size)
        assert said in str(caught.value)
    for size, error, said in [
            ({}, TypeError, "grid= and block="), ({"grid": 4}, TypeError, "grid= and block="),
            ({"grid": 4, "threads": 5, "block": 6}, TypeError, "threads="),
            ({"grid": 0, "block": 1}, ValueError, "grid"), ({"grid": (1, 1, 1, 1), "block": 1}, ValueError, "grid"),
            ({"workers": 3}, TypeError, "not a task"),
            ({"grid": 1, "block": 2000}, adsm.Error, "at most 1024")]:
        with pytest.raises(error) as caught:
            vecadd(a, b, c, 1000, **size)
        assert said in str(caught.value)


def test_accesses_that_contradict_the_kernel():
    vecadd = adsm.kernel(kernels.VECADD)
    a, b, c = vecadd_arrays()
    c[...] = 7
    adsm.sync()
    for arguments, said in [
            ((a, b, adsm.In(c)), "'c', float *): the kernel accesses the array as Out(), which In() contradicts"),
            ((adsm.Out(a), b, c), "'a', float *): the kernel accesses the array as In(), which Out() contradicts")]:
        with pytest.raises(TypeError) as caught:
            vecadd(*arguments, 1000, threads=1000)
        assert said in str(caught.value)
    assert a[999] == 999 and c[0] == 7
    vecadd(adsm.InOut(a), adsm.In(b), adsm.InOut(c), 1000, threads=1000)
    assert c[999] == 1000
    shift, d = adsm.kernel(kernels.SHIFT), adsm.zeros(10)
    for wrong in adsm.In, adsm.Out:
        with pytest.raises(TypeError, match="as InOut"):
            shift(wrong(d), 1, 10, threads=10)
    types, out = adsm.kernel(kernels.TYPES), adsm.zeros(6)
    pairs = adsm.zeros(2, [("a", "i4"), ("b", "f4")])
    types(out, adsm.In([1, 2]), b"12345678", 1, 1, pairs, grid=1, block=1)
    with pytest.raises(TypeError, match="Out\\(\\) is for arrays that the kernel writes"):
        types(out, adsm.Out([1, 2]), b"12345678", 1, 1, pairs, grid=1, block=1)


def test_values_by_type():
    types = adsm.kernel(kernels.TYPES)
    pair = np.dtype([("a", "i4"), ("b", "f4")])
    out, pairs = adsm.zeros(6), adsm.array(np.array([(1, 2), (3, 4.5)], pair))
    types(out, [0.5, 0.25], np.array((7, 1.5), pair), 255, np.uint64(1 << 60), pairs, grid=1, block=1)
    assert out.tolist() == [0.75, 7, 1.5, 255, 1 << 60, 7.5]
    types(out, np.array([1, 2], "f4"), np.array((1, 2), pair)[()], np.int64(3), True, pairs, grid=1, block=1)
    assert out.tolist() == [3, 1, 2, 3, 1, 7.5]
    for table, structure, small, error in [
            (np.array([1, 2]), b"12345678", 1, TypeError), ([1, 2], b"1234", 1, TypeError),
            ([1, 2], 5, 1, TypeError), ([1, 2], b"12345678", -1, OverflowError), ([], b"12345678", 1, ValueError),
            ([0] * 20000, b"12345678", 1, ValueError), ([1, 2], b"12345678", 1e300, TypeError)]:
        with pytest.raises(error):
            types(out, table, structure, small, 1, pairs, grid=1, block=1)


@pytest.mark.parametrize("kind, given, expected", [
    ("int", [1, -2], [1, -2]), ("int", [[1, 2], [3, 4]], [1, 2, 3, 4]), ("int", (True, np.int8(5)), [1, 5]),
    ("int", 7, [7]), ("int", [-1 << 31], [-1 << 31]), ("int", [1.7, 2.9], TypeError), ("int", [1, 2.0], TypeError),
    ("int", ["3", "4"], TypeError), ("int", [None], TypeError), ("int", [1 << 31], OverflowError),
    ("int", [1 << 70], OverflowError), ("unsigned", [-1], OverflowError), ("unsigned char", [255, 0], [255, 0]),
    ("unsigned char", [256], OverflowError), ("unsigned long", [1, 1 << 63], [1, 1 << 63]),
    ("float", [1, 2.5], [1, 2.5]), ("float", [True, 1 << 70], [1, 1 << 70]), ("float", ["1"], TypeError),
    ("float", [1e39], OverflowError), ("double", [1e39, float("inf")], [1e39, float("inf")]),
    ("float", [], ValueError)])
def test_constants(kind, given, expected):
    source = r"""
#include <adsm_kernel.h>

ADSM_KERNEL(constants, ADSM_OUT(double, out), ADSM_CONST(KIND, table), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n)
			out[ADSM_GLOBAL_X] = (double)table[ADSM_GLOBAL_X];
	}
}
"""
    constants = adsm.kernel(source.replace("KIND", kind))
    n = len(expected) if isinstance(expected, list) else 0
    out = adsm.empty(n, "f8")
    if n:
        constants(out, given, n, grid=1, block=8)
        assert out.tolist() == expected
        return
    with pytest.raises(expected, match="'table'"):
        constants(out, given, n, grid=1, block=8)


def test_floats_do_not_overflow():
    shift = adsm.kernel(kernels.SHIFT.replace("double, by", "float, by"))
    a = adsm.zeros(4)
    shift(a, 1e-3, 4, threads=4)
    assert a[3] == np.float32(1e-3)
    shift(a, float("inf"), 4, threads=4)
    assert a[3] == np.inf
    with pytest.raises(OverflowError):
        shift(a, 1e39, 4, threads=4)


@clang
@on_cpu
def test_cuda():
    module = adsm.module(kernels.CUDA)
    assert module.names == ["scale", "fill", "total"]
    n = 1000
    src, out = adsm.array(np.arange(n, dtype="f4")), adsm.empty(n, "f4")
    bias = module.variable("bias", "f4")
    assert bias.tolist() == [0, 0]
    bias[0] = 0.5
    module.scale(out, src, 2, n, threads=n)
    assert (out == np.arange(n) * 2 + 0.5).all()
    # What adsmcc infers is less than what the caller knows, but an array that is only read cannot be the output.
    module.scale(adsm.Out(out), adsm.In(src), 3, n, threads=n)
    assert (out == np.arange(n) * 3 + 0.5).all()
    with pytest.raises(TypeError, match="as In\\(\\), which Out"):
        module.scale(out, adsm.Out(src), 2, n, threads=n)
    with pytest.raises(TypeError, match="expected an array of float32, got int32"):
        module.scale(out, src.view("i4"), 2, n, threads=n)
    with pytest.raises(TypeError, match="expected int32, got a float"):
        module.scale(out, src, 2.5, 2.5, threads=n)
    short = adsm.zeros(8, "i2")
    module.fill(short, -3, grid=1, block=8)
    assert (short == -3).all()
    sums, numbers = adsm.empty(4, "i4"), adsm.array(np.arange(32, dtype="i4"))
    module.total(sums, numbers, adsm.Local(32), grid=4, block=8)
    assert sums.tolist() == numbers.reshape(4, 8).sum(1).tolist()
    with pytest.raises(AttributeError, match="scale"):
        module.nothing


@clang
@on_cpu
def test_pointers_of_cuda():
    """A kernel whose name has no types; pointers that are NULL, or in memory; parameters that take both."""
    follow = adsm.kernel(kernels.FOLLOW)
    a, b = adsm.zeros(4, "f4"), adsm.zeros(4, "f4")
    table = adsm.array([a.ctypes.data, b.ctypes.data], "u8")
    follow(table, 2, None, 0, 3, threads=2, uses=[a, adsm.InOut(b)])
    assert a[0] == 3 and b[0] == 3
    follow(table, 2, adsm.array([5], "f4"), a[1:], np.int16(-3), threads=2, uses_all=True)
    assert a.tolist() == [2, 0, 0, 0] and b[0] == 2
    with pytest.raises(OverflowError, match="70000"):
        follow(table, 2, None, 0, 70000, threads=2)
    unused, mask = adsm.kernel(kernels.UNUSED), adsm.array([1, 2], "i4")
    for value in mask, mask[1:], adsm.zeros(3, "f4"), adsm.DeviceArray(2, "i4"), adsm.In(mask), None, 0:
        a[:] = 0
        unused(a, value, grid=1, block=4)
        assert a.tolist() == [1, 1, 1, 1]
    with pytest.raises(TypeError, match="not on shared memory"):
        unused(a, np.zeros(2, "i4"), grid=1, block=4)
    wide, values = adsm.kernel(kernels.WIDE), [1.5, 4, 2, np.array([3, 4], "f4").tobytes()]
    wide(a, *values, grid=1, block=4)
    assert a.tolist() == [10.5] * 4
    for i in range(4):
        with pytest.raises(TypeError, match=f"argument {i + 2} .*is a value, not an array"):
            wide(a, *values[:i], b, *values[i + 1:], grid=1, block=4)
        with pytest.raises(TypeError, match="got NoneType"):
            wide(a, *values[:i], None, *values[i + 1:], grid=1, block=4)
    with pytest.raises(TypeError, match="uses="):
        follow(table, 2, None, 0, 3, threads=2, uses=[np.zeros(3)])


def test_opencl():
    if os.environ["ADSM_BACKEND"] != "opencl":
        signature, = adsm._signature.of_opencl(kernels.OPENCL)
        assert signature.name == "axpy"
        assert [(p.name, p.type, p.kind, p.access) for p in signature.parameters] == [
            ("x", "float", 1, 1), ("y", "float", 1, 0), ("a", "float", 2, 0), ("n", "uint", 2, 0),
            ("room", "float", 5, 0)]
        with pytest.raises(adsm.CompileError):
            adsm.kernel(kernels.OPENCL)
        return
    axpy = adsm.kernel(kernels.OPENCL)
    x, y = adsm.array(np.arange(100, dtype="f4")), adsm.array(np.ones(100, "f4"))
    axpy(x, y, 2, 100, adsm.Local(64), threads=100, block=10)
    assert (y == 1 + 2 * x).all()
    with pytest.raises(TypeError, match="memory of the block"):
        axpy(x, y, 2, 100, 64, threads=100, block=10)
    with pytest.raises(adsm.CompileError, match="nonsense"):
        adsm.kernel("__kernel void bad(__global int *a) { a[0] = nonsense; }")


@on_cpu
def test_tasks():
    center = adsm.kernel(kernels.TASK)
    a, total = adsm.array(np.arange(1000.0)), adsm.zeros(1)
    center(a, 1000, total, workers=6)
    adsm.sync()
    assert a[0] == -499.5 and a[999] == 499.5
    with pytest.raises(TypeError, match="workers="):
        center(a, 1000, total, grid=6, block=1)


def test_sources_that_do_not_compile():
    with pytest.raises(adsm.CompileError) as caught:
        adsm.kernel(kernels.VECADD.replace("a[ADSM_GLOBAL_X]", "d[ADSM_GLOBAL_X]"))
    text = caught.value.strerror
    assert "kernel.c:8" in text and "'d'" in text.replace("‘", "'").replace("’", "'")
    assert "/tmp" not in text and "expansion of macro ‘ADSM_SCAN" not in text
    with pytest.raises(ValueError, match="language="):
        adsm.kernel("int x;")
    with pytest.raises(ValueError, match="2 kernels"):
        adsm.kernel(kernels.ONCE)
    with pytest.raises(adsm.Error, match="vecadd"):
        adsm.kernel(kernels.VECADD, "vecsub")


CRASH = r"""
import adsm, kernels

crash = adsm.kernel(kernels.SHIFT.replace("a[ADSM_GLOBAL_X] += by", "a[ADSM_GLOBAL_X + (1L << 40)] = by"))
a = adsm.zeros(4)
crash(a, 1, 4, threads=4)
try:
    adsm.sync()
except adsm.Error as error:
    print(error)
"""


@on_cpu
def test_failing_calls():
    """A kernel that crashes is an error of sync(), and ends the device."""
    done = subprocess.run([sys.executable, "-c", CRASH], cwd=os.path.dirname(__file__), capture_output=True, text=True,
                          check=False)
    assert "kernel 'shift'" in done.stdout, done.stdout + done.stderr


def test_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    header = tmp_path / "by.h"
    header.write_text("#define BY 1\n")
    source = kernels.SHIFT.replace("+= by", "+= BY").replace("<adsm_kernel.h>", '<adsm_kernel.h>\n#include "by.h"')
    runs = []
    run = adsm._compile.subprocess.run
    monkeypatch.setattr(adsm._compile.subprocess, "run", lambda *a, **k: runs.append(1) or run(*a, **k))

    def result():
        a = adsm.zeros(1)
        adsm.kernel(source, options=["-I", str(tmp_path)])(a, 0, 1, threads=1)
        return a[0]

    assert result() == 1 and result() == 1 and len(runs) == 1
    header.write_text("#define BY 20\n")
    assert result() == 20 and len(runs) == 2
    folder = pathlib.Path(tmp_path, "adsm", "python")
    assert len(list(folder.iterdir())) == 1 and folder.stat().st_mode & 0o77 == 0
    for path in folder.iterdir():
        path.write_text("damaged")
    assert result() == 20 and len(runs) == 3
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-5000])
    assert result() == 20 and result() == 20 and len(runs) == 4
    file = tmp_path / "kernel.c"
    file.write_text(source)
    a = adsm.zeros(1)
    adsm.kernel(file, cache=False)(a, 0, 1, threads=1)
    assert a[0] == 20 and len(runs) == 5


def test_files_of_any_bytes(tmp_path):
    """A comment in another character set."""
    file, a = tmp_path / "latin.c", adsm.zeros(1)
    file.write_bytes(b"/* caf\xe9 */" + kernels.SHIFT.encode())
    for by in 1, 2:
        adsm.kernel(file)(a, by, 1, threads=1)
    assert a[0] == 3


def test_cache_by_headers(tmp_path, monkeypatch):
    """A path that rules for make write in another way. A module of a file that is not found is not kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "a b#c$d"
    folder.mkdir()
    read = adsm._compile._dependencies
    rules = []
    monkeypatch.setattr(adsm._compile, "_dependencies", lambda text: rules.append(text) or read(text))
    source = kernels.SHIFT.replace("+= by", "+= BY").replace("<adsm_kernel.h>", '<adsm_kernel.h>\n#include "by.h"')
    a = adsm.zeros(1)
    for by in 1, 20, 300:
        (folder / "by.h").write_text(f"#define BY {by}\n")
        for _ in range(2):
            adsm.kernel(source, options=["-I", str(folder)])(a, 0, 1, threads=1)
    assert a[0] == 642 and len(rules) == 3
    monkeypatch.setattr(adsm._compile, "_dependencies", lambda text: ["/nonexistent"])
    for by in 1000, 20000:
        (folder / "by.h").write_text(f"#define BY {by}\n")
        adsm.kernel(source, options=["-I", str(folder)])(a, 0, 1, threads=1)
    assert a[0] == 21642


def test_files_that_are_no_modules(tmp_path):
    file = tmp_path / "module"
    whole = adsm._compile.compile_source(kernels.SHIFT, "adsm", [], False)
    maps = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    libm = next(line.split()[-1] for line in maps if "/libm.so" in line)
    images = [pathlib.Path(libm).read_bytes(), b"text", b"\x7fELF"]
    for image in images + [whole[:n] for n in (20, len(whole) // 2, len(whole) - 50)]:
        file.write_bytes(image)
        with pytest.raises(adsm.Error):
            adsm.load(file)
    file.write_bytes(whole)
    assert adsm.load(file).names == ["shift"]


def test_modules_are_freed():
    module = adsm.module(kernels.VECADD)
    kernel = module.vecadd
    assert module.vecadd is kernel
    del module
    a, b, c = vecadd_arrays()
    kernel(a, b, c, 1000, threads=1000)
    gc.collect()
    before = len(adsm._modules._modules)
    del kernel
    assert len(adsm._modules._modules) == before - 1
    assert c[999] == 1000
