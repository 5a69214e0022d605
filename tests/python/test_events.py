# SPDX-License-Identifier: MIT
"""Events of calls and copies, loans, pointers in memory."""
import errno
import threading

import kernels
import numpy as np
import pytest

import adsm

# Waits for a unit that the host sets.
WAITS = r"""
#include <adsm_kernel.h>

ADSM_KERNEL(waits, ADSM_ONCE_IN(int, units), ADSM_OUT(int, result))
{
	const int *unit = (const int *)ADSM_GET(units, 0);

	ADSM_THREADS {
		result[0] = unit[0];
	}
}
"""
# Reads arrays by pointers in memory.
FOLLOW = r"""
#include <adsm_kernel.h>

ADSM_KERNEL(follow, ADSM_IN(unsigned long, rows), ADSM_OUT(int, sums), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		const int *row = (const int *)rows[ADSM_GLOBAL_X];

		sums[ADSM_GLOBAL_X] = 0;
		for (int i = 0; i < n; i++)
			sums[ADSM_GLOBAL_X] += row[i];
	}
}
"""
CRASH = r"""
#include <adsm_kernel.h>

ADSM_KERNEL(crash, ADSM_INOUT(int, a))
{
	ADSM_THREADS {
		a[0x20000000] = 1;
	}
}
"""


def test_calls():
    waits = adsm.kernel(WAITS)
    units, result = adsm.Once(1, 1, "i4"), adsm.empty(1, "i4")
    waits(units, result, grid=1, block=1)
    event = adsm.call_event()
    assert not event.ended()
    with pytest.raises(adsm.Error) as raised:
        event.times()
    assert raised.value.errno == errno.EBUSY
    with units.write(0) as unit:
        unit[:] = 7
    event.wait()
    assert event.ended() and event.ended() and result[0] == 7
    start, end = event.times()
    assert 0 < start < end


def test_two_calls():
    shift = adsm.kernel(kernels.SHIFT)
    a, b = adsm.zeros(1000), adsm.zeros(1000)
    shift(a, 1, 1000, threads=1000)
    first = adsm.call_event()
    shift(b, 2, 1000, threads=1000)
    second = adsm.call_event()
    second.wait()
    assert first.ended() and first.times()[1] <= second.times()[0]
    found = []
    other = threading.Thread(target=lambda: found.append((second.ended(), second.times())))
    other.start()
    other.join()
    assert found == [(True, second.times())]
    assert (a == 1).all() and (b == 2).all()


def test_threads_have_their_own_last_call():
    codes = []

    def ask():
        try:
            adsm.call_event()
        except adsm.Error as error:
            codes.append(error.errno)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert codes == [errno.ENOENT]


def test_copies():
    array, host = adsm.DeviceArray(1000, "f4"), np.ones(1000, "f4")
    event = array.start_copy_from(host)
    event.wait()
    assert event.ended()
    with pytest.raises(adsm.Error) as raised:
        event.times()
    assert raised.value.errno == errno.ENOTSUP


def test_loans():
    shift = adsm.kernel(kernels.SHIFT)
    a = adsm.zeros(6000)
    shift(a, 3, 6000, threads=6000)
    with adsm.lent(a, "in") as plain:
        assert not adsm.is_shared(plain) and not plain.flags.writeable and (plain == 3).all()
    with adsm.lent(a[::-2]) as plain:
        assert plain.shape == (3000,) and plain.strides == (-16,)
        plain[0] = 5
    assert a[-1] == 5 and a[-2] == 3
    with adsm.lent(a, "out") as plain:
        plain[:] = 8
    shift(a, 1, 6000, threads=6000)
    assert (a == 9).all()
    ordinary = np.zeros(3)
    with adsm.lent(ordinary) as plain:
        assert plain is ordinary
    with pytest.raises(ValueError, match="access must be"):
        with adsm.lent(a, "both"):
            pass
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        with adsm.lent(a):
            pass


def test_device_addresses():
    follow = adsm.kernel(FOLLOW)
    rows = [adsm.array(np.full(100, i, "i4")) for i in range(4)]
    pointers = adsm.array(np.array([adsm.device_address(row) for row in rows[:3]] +
                                   [adsm.device_address(rows[3][50:])], "u8"))
    assert pointers[3] == adsm.device_address(rows[3]) + 200
    sums = adsm.empty(4, "i4")
    follow(pointers, sums, 50, grid=1, block=4, uses=rows)
    assert sums.tolist() == [0, 50, 100, 150]
    with pytest.raises(ValueError, match="not on shared memory"):
        adsm.device_address(np.zeros(3))


def test_error():
    """The last test: the device is lost."""
    crash, a = adsm.kernel(CRASH), adsm.zeros(1000, "i4")
    crash(a, grid=1, block=1)
    event = adsm.call_event()
    for ask in [event.wait, event.ended]:
        with pytest.raises(adsm.Error, match="crashed"):
            ask()
