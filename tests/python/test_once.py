# SPDX-License-Identifier: MIT
"""Write-once objects."""
import errno
import gc
import threading

import kernels
import numpy as np
import pytest

import adsm


def test_units_of_threads():
    blocks = adsm.Once(8, 256, "i4")
    assert len(blocks) == 8 and not blocks.is_set(0)

    def make():
        for i in range(8):
            with blocks.write(i) as unit:
                unit[:] = np.arange(256) + 256 * i

    thread = threading.Thread(target=make)
    total = []
    reader = threading.Thread(target=lambda: total.append(sum(int(unit.sum()) for unit in blocks)))
    reader.start()
    thread.start()
    thread.join()
    reader.join()
    assert total == [2096128]
    assert blocks.is_set(7) and blocks[-1][255] == 2047
    with pytest.raises(ValueError):
        blocks[0][0] = 1
    with pytest.raises(adsm.Error) as caught:
        blocks.fresh(0)
    assert caught.value.errno == errno.EEXIST
    with pytest.raises(IndexError):
        blocks[8]


def test_a_unit_that_is_left_by_an_exception_is_not_set():
    once = adsm.Once(2, (), "f8")
    with pytest.raises(KeyError):
        with once.write(0):
            raise KeyError
    assert not once.is_set(0)
    once[0] = 5
    assert once[0] == 5 and once[0].shape == ()


def test_units_are_written_again():
    once = adsm.Once(3, 4, "i4")

    def make():
        for i in range(100):
            once.room(i % 3)[:] = i
            once.set(i % 3)

    thread = threading.Thread(target=make)
    thread.start()
    for i in range(100):
        assert once[i % 3].tolist() == [i] * 4
        once.empty(i % 3)
    thread.join()
    with pytest.raises(adsm.Error) as caught:
        once.empty(0)
    assert caught.value.errno == errno.EINVAL and "is not set" in str(caught.value)


def test_units_keep_the_object():
    once = adsm.Once(3, 4, "i8")
    once[1] = [1, 2, 3, 4]
    unit = once.get(1)[1:]
    del once
    gc.collect()
    assert unit.tolist() == [2, 3, 4]


def test_places():
    assert adsm.Once(4, 1024, "i4").place(0) is None
    assert adsm.Once(4, 1024, "i4", adsm.on_device(0)).place(3) == 0
    assert adsm.Once(4, 1024, "i4", adsm.striped(2)).place(3) == 0
    assert adsm.Once(4, 1024, "i4", adsm.tiled(2, 2)).place(3) == 0
    asked = []
    once = adsm.Once(4, 1024, "i4", adsm.placed(lambda unit: asked.append(unit) or (0 if unit % 2 else None)))
    assert [once.place(i) for i in range(4)] == [None, 0, None, 0] and asked == [0, 1, 2, 3]
    with pytest.raises(adsm.Error):
        adsm.Once(4, 1024, "i4", adsm.on_device(70))
    with pytest.raises(adsm.Error) as caught:
        adsm.Once(4, 1024, "i4", adsm.placed(lambda unit: {}[unit]))
    assert isinstance(caught.value.__cause__, KeyError)
    units = [0, 70]
    again = adsm.placed(lambda unit: units.pop(0) if units else {}[unit])
    for cause in None, KeyError:
        with pytest.raises(adsm.Error) as caught:
            adsm.Once(2, 1024, "i4", again)
        assert type(caught.value.__cause__) is (cause or type(None))
    units += [0, 0, 70, 70]
    adsm.Once(2, 1024, "i4", again).free()
    with pytest.raises(adsm.Error) as caught:
        adsm.Once(2, 1024, "i4", again)
    assert caught.value.__cause__ is None
    once.free()
    assert adsm.waiters() == []


def test_freed_objects():
    once = adsm.Once(2, 4, "i4")
    once.free()
    once.free()
    plain = adsm.kernel(kernels.ONCE, "plain")
    for ask in [lambda: len(once), lambda: once.get(0), lambda: once[0], lambda: once.is_set(0), lambda: once.units(),
                lambda: once.place(0), lambda: plain(adsm.In(once.units(0, 1)), None, 1, threads=1)]:
        with pytest.raises(adsm.Error, match="freed") as caught:
            ask()
        assert caught.value.errno == errno.EINVAL


def test_kernels_that_wait():
    twice = adsm.kernel(kernels.ONCE, "twice")
    src, out = adsm.Once(4, 64, "i4"), adsm.Once(4, 64, "i4")
    twice(src, adsm.InOut(out), grid=4, block=64)
    for i in range(4):
        src[i] = np.arange(64) + i
    assert [int(unit[63]) for unit in out] == [126, 128, 130, 132]
    adsm.sync()
    with pytest.raises(TypeError, match="write-once object"):
        twice(adsm.zeros(4, "i4"), out, grid=4, block=64)


def test_calls_by_units():
    plain = adsm.kernel(kernels.ONCE, "plain")
    src, out = adsm.Once(4, 1000, "i4"), adsm.Once(4, 1000, "i4")
    for i in range(0, 4, 2):
        plain(adsm.In(src.units(i, 2)), adsm.Out(out.units(i, 2)), 2000, threads=2000)
    for i in range(4):
        src[i] = i
    assert [int(unit.sum()) for unit in out] == [0, 3000, 6000, 9000]
    with pytest.raises(TypeError, match="In\\(once.units"):
        plain(src.units(0, 1), adsm.Out(out.units(0, 1)), 1000, threads=1000)
    with pytest.raises(adsm.Error) as caught:
        plain(adsm.In(src.units(0, 1)), adsm.Out(out.units(0, 1)), 1000, threads=1000)
    assert caught.value.errno == errno.EEXIST


def test_calls_by_units_keep_what_they_use():
    """Arrays and objects live until the call has ended, which may begin much later."""
    both = adsm.kernel(kernels.BOTH)
    Memory, DeviceArray, Once = adsm._arrays.Memory, adsm.DeviceArray, adsm.Once
    gc.collect()
    before = Memory.n_live, DeviceArray.n_live, Once.n_live
    src, out, c, d = Once(1, 8, "i4"), Once(2, 8, "i4"), adsm.zeros(8, "i4"), DeviceArray(8, "i4")
    values = adsm.zeros(8, "i4")
    for unit, array in enumerate([c, d]):
        both(adsm.In(src.units()), adsm.Out(out.units(unit, 1)), array, 8, threads=8, uses=[values])
    address = c.ctypes.data
    del array, c, d, values
    gc.collect()
    assert adsm._library.get().adsmIsShared(address)
    src[0] = 3
    del src
    assert out[0].tolist() == out[1].tolist() == [3] * 8
    gc.collect()
    assert (Memory.n_live, DeviceArray.n_live, Once.n_live) == (before[0], before[1], before[2] + 1)
    del out
    gc.collect()
    assert Once.n_live == before[2]


def test_many_calls_by_units_that_wait():
    """What a call costs does not depend on how many others wait."""
    n, looks = 1000, []
    both = adsm.kernel(kernels.BOTH)
    src, out, array = adsm.Once(1, 8, "i4"), adsm.Once(n + 30, 8, "i4"), adsm.zeros(8, "i4")

    def is_set(unit):
        looks.append(unit)
        return adsm.Once.is_set(out, unit)

    def call(unit):
        both(adsm.In(src.units()), adsm.Out(out.units(unit, 1)), array, 8, threads=8)

    out.is_set = is_set
    for unit in range(n):
        call(unit)
    assert len(out._calls) == n and n / 2 < len(looks) < 3 * n
    src[0] = 3
    # Who reads or empties a unit drops what its call used.
    assert out[n - 1].tolist() == [3] * 8 and len(out._calls) == n - 1
    out.empty(0)
    assert len(out._calls) == n - 2
    # So do calls from time to time.
    for unit in range(n, n + 30):
        call(unit)
    assert len(out._calls) <= 30 and len(looks) < 5 * n
    del out.is_set                  # which refers to the object


def test_objects_that_cannot_be_freed():
    """An object that the library does not free counts."""
    once, before = adsm.Once(1, 64, "i4"), adsm.Once.n_live
    handle, free = once._handle, once._free
    once._free = lambda _: -errno.EBUSY
    del once
    gc.collect()
    assert adsm.Once.n_live == before
    assert free(handle) == 0
    adsm.Once.n_live -= 1
