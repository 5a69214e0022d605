# SPDX-License-Identifier: MIT
"""Arrays: what they are, and how long their memory lives."""
import gc
import os

import kernels
import numpy as np
import pytest

import adsm


@pytest.mark.parametrize("shape", [0, 1, 7, (3, 4), (2, 0, 5), (), [2, 3]])
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16", "S5", "M8[s]", [("a", "i4"), ("b", "f4", (3,))]])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_those_of_numpy(shape, dtype, order):
    expected = np.zeros(shape, dtype, order)
    for made in (adsm.empty(shape, dtype, order), adsm.zeros(shape, dtype, order), adsm.array(expected)):
        assert type(made) is np.ndarray
        assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
        assert made.strides == expected.strides or not made.size
        assert adsm.is_shared(made) and made.flags.writeable
    assert adsm.zeros(shape, dtype, order).tobytes() == expected.tobytes()


def test_copies():
    values = np.arange(12.0).reshape(3, 4)
    assert (adsm.array(values) == values).all()
    assert adsm.array(values.T).flags.f_contiguous
    assert adsm.array([1, 2, 3], dtype="i2").dtype == np.int16
    shared = adsm.array(values)
    assert adsm.asarray(shared) is shared
    assert adsm.asarray(shared, dtype="f8") is shared
    assert adsm.asarray(shared, dtype="f4") is not shared
    assert adsm.asarray(values) is not values
    assert not adsm.is_shared(values) and not adsm.is_shared([1])


@pytest.mark.parametrize("call, error", [
    (lambda: adsm.empty(3, dtype=object), TypeError),
    (lambda: adsm.empty(-1), ValueError),
    (lambda: adsm.empty(5 / 2), TypeError),
    (lambda: adsm.zeros((2, 2.0)), TypeError),
    (lambda: adsm.Once(2, 2.9), TypeError),
    (lambda: adsm.Once(2, -1), ValueError),
    (lambda: adsm.DeviceArray(2.5), TypeError),
    (lambda: adsm.DeviceArray(-4), ValueError),
    (lambda: adsm.DeviceArray((-2, -3)), ValueError),
    (lambda: adsm.empty(3, order="A"), ValueError),
    (lambda: adsm.empty(3, protocol="rollin"), adsm.Error),
    (lambda: adsm.empty(3, block_size=100), adsm.Error),
    (lambda: adsm.empty(3, device=100), adsm.Error),
    (lambda: adsm.empty(1 << 58), MemoryError),
    (lambda: adsm.info(np.zeros(3)), ValueError),
    (lambda: adsm.stats(np.zeros(3)), ValueError),
])
def test_errors(call, error):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value)


def test_options_of_one_array():
    a = adsm.empty(100000, "u1", protocol="lazy")
    b = adsm.empty(100000, "u1", protocol="rolling", block_size="8K", name="volume")
    assert adsm.info(a).protocol == "lazy" and adsm.info(a).n_blocks == 1
    assert adsm.info(b).block_size == 8192 and adsm.info(b).n_blocks == 13
    assert adsm.info(b[5000:6000]).address == adsm.info(b).address


def test_views_keep_the_memory():
    a = adsm.array(np.arange(1000.0))
    view = a[10:20:2].reshape(5, 1).T
    frozen = memoryview(a)
    address = adsm.info(a).address
    del a
    gc.collect()
    assert adsm.info(view).address == address
    assert view.tolist() == [[10, 12, 14, 16, 18]]
    del view
    assert frozen[999] == 999
    before = adsm._arrays.Memory.n_live
    del frozen
    assert adsm._arrays.Memory.n_live == before - 1


def mappings():
    with open("/proc/self/maps", encoding="utf-8") as file:
        return sum(1 for _ in file)


def resident():
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * 4096


def test_many_arrays_leak_nothing():
    def make(n):
        for i in range(n):
            a = adsm.empty(1000 + i % 3000, "f8")
            a[0] = i
            assert a[1:][::-1].base is not None

    make(1000)
    gc.collect()
    maps, memory, files = mappings(), resident(), os.listdir("/proc/self/fd")
    make(10000)
    assert adsm._arrays.Memory.n_live == 0
    assert mappings() <= maps + 20
    assert resident() < memory + (8 << 20)
    assert os.listdir("/proc/self/fd") == files
    adsm.shutdown()                         # fails if an object exists
    assert adsm.zeros(3).tolist() == [0, 0, 0]


def test_held():
    a = adsm.zeros(10000)
    with adsm.held(a[5:], "in") as b:
        assert b[0] == 0
        assert adsm.info(a).n_invalid == 0
    with pytest.raises(ValueError):
        with adsm.held(a, "write"):
            pass
    with pytest.raises(ValueError):
        with adsm.held(np.zeros(3)):
            pass


@pytest.mark.parametrize("chosen", [adsm.held, adsm.lent])
@pytest.mark.parametrize("index", [np.s_[::2], np.s_[:, :4], np.s_[3:5]])
def test_what_is_between_the_elements(chosen, index):
    """It keeps what a kernel wrote, although all of the array is overwritten."""
    a = adsm.array(np.zeros((64, 512)), block_size="4K")
    adsm.kernel(kernels.SHIFT)(a, 7, a.size, threads=a.size)
    with chosen(a[index], "out") as b:
        b[...] = 1
    expected = np.full(a.shape, 7.0)
    expected[index] = 1
    assert (a == expected).all()
