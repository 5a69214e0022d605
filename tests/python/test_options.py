# SPDX-License-Identifier: MIT
"""Options, start and stop of the library, devices and explicit copies."""
import gc

import kernels
import numpy as np
import pytest

import adsm


@pytest.fixture(autouse=True)
def stopped():
    adsm.shutdown()
    yield
    gc.collect()
    adsm.shutdown()


def block_size():
    return adsm.info(adsm.zeros(100000, "u1")).block_size


def test_options_have_effect_in_the_body(monkeypatch):
    monkeypatch.setenv("ADSM_BLOCK_SIZE", "32K")
    with adsm.options(block_size="4K"):
        assert block_size() == 4096
    assert block_size() == 32768
    adsm.shutdown()
    adsm.set_options(Block_Size=8192)
    assert block_size() == 8192
    adsm.shutdown()
    with adsm.options(block_size="4K", protocol="rolling"):
        with adsm.options(block_size="16K"):
            assert block_size() == 16384
        assert block_size() == 4096
    assert block_size() == 8192
    adsm.shutdown()
    adsm._options._assign("block_size", None)
    assert block_size() == 32768


def test_options_that_are_too_late():
    adsm.zeros(1)
    with pytest.raises(adsm.Error, match="too late.*adsm.shutdown"):
        adsm.set_options(block_size="4K")
    with pytest.raises(adsm.Error, match="too late"):
        with adsm.options(block_size="4K"):
            pass


def test_options_that_are_invalid():
    with pytest.raises(adsm.Error, match="did you mean BLOCK_SIZE"):
        adsm.set_options(blok_size="4K")
    with pytest.raises(adsm.Error, match="batch, lazy, rolling"):
        with adsm.options(block_size="4K", protocol="rollin"):
            pass
    assert block_size() == 65536


def test_arrays_that_outlive_the_options():
    with pytest.raises(adsm.Error, match="cannot stop: 1 arrays"):
        with adsm.options(block_size="4K"):
            a = adsm.zeros(10)
    assert a[0] == 0
    del a
    adsm.shutdown()
    adsm._options._assign("block_size", None)


def test_exceptions_pass():
    with pytest.raises(KeyError):
        with adsm.options(block_size="4K"):
            a = adsm.zeros(10)
            raise KeyError(a.size)
    del a
    gc.collect()
    adsm.shutdown()
    adsm._options._assign("block_size", None)


def test_kernels_outlive_the_library():
    vecadd = adsm.kernel(kernels.VECADD)
    for _ in range(2):
        a, b, c = adsm.array([1, 2], "f4"), adsm.array([3, 4], "f4"), adsm.zeros(2, "f4")
        vecadd(a, b, c, 2, threads=2)
        assert c.tolist() == [4, 6]
        del a, b, c
        adsm.shutdown()


def test_devices():
    device, = adsm.devices()
    assert device.backend == "cpu" and device.index == 0 and device.memory_size > 0 and not device.lost
    adsm.set_device(0)
    with pytest.raises(adsm.Error):
        adsm.set_device(5)
    assert adsm.version() == adsm.__version__


def test_device_arrays():
    vecadd = adsm.kernel(kernels.VECADD)
    n = 100000
    host = np.arange(n, dtype="f4")
    a, b, c = (adsm.DeviceArray(n, "f4") for _ in range(3))
    event = a.start_copy_from(host)
    b.copy_from(host)
    event.wait()
    vecadd(a, b, c, n, threads=n)
    result, shared = np.zeros(n, "f4"), adsm.zeros(n, "f4")
    event = c.start_copy_to(result)
    c.copy_to(shared)
    event.wait()
    assert (result == 2 * host).all() and (shared == result).all()
    a.fill(0)
    a.copy_to(result)
    assert not result.any()
    with pytest.raises(TypeError, match="float32"):
        a.copy_from(np.zeros(n))
    with pytest.raises(TypeError, match="expected an array of float32"):
        vecadd(adsm.DeviceArray(n, "f8"), b, c, n, threads=n)
    with pytest.raises(adsm.Error):
        a.start_copy_from(shared)
    host.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        a.copy_to(host)
    a.start_copy_from(host)                 # an event that is dropped waits for its copy
    with pytest.raises(adsm.Error, match="cannot stop"):
        adsm.shutdown()
