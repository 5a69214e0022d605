# SPDX-License-Identifier: MIT
"""Forks, multiprocessing, subprocesses, signals and threads."""
import errno
import faulthandler
import multiprocessing
import os
import subprocess
import sys
import threading

import kernels
import numpy as np

import adsm


def doubled(values):
    """Runs in a process of its own, with its own arrays."""
    shift = adsm.kernel(kernels.SHIFT)
    a = adsm.array(values)
    assert not adsm.is_shared(values)
    shift(a, 1, a.size, threads=a.size)
    return a * 2


def test_spawn():
    values = adsm.array(np.arange(1000.0))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        result = pool.apply(doubled, (values,))
    assert (result == (np.arange(1000) + 1) * 2).all()


def test_fork():
    """The child has no objects. It ends without an error, although it drops the parent's arrays."""
    a = adsm.array(np.arange(1000.0))
    shift = adsm.kernel(kernels.SHIFT)
    child = os.fork()
    if not child:
        code = 1
        try:
            adsm.empty(3)
        except adsm.Error as error:
            code = 0 if error.errno == errno.ENOTSUP else 2
        del a, shift
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    shift(a, 1, 1000, threads=1000)
    assert a[999] == 1000
    child = os.fork()
    if not child:
        faulthandler.disable()
        os.close(2)
        os._exit(int(a[0]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -11
    assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, check=True).stdout == b"1\n"
    assert a[0] == 1


def test_faulthandler():
    """Handlers that the program installs get the faults that are not the library's."""
    faulthandler.enable()
    a = adsm.zeros(100000)
    shift = adsm.kernel(kernels.SHIFT)
    shift(a, 1, a.size, threads=a.size)
    assert a.sum() == a.size


def test_threads():
    """Calls and accesses of several threads; sync() is for the thread's own calls."""
    shift = adsm.kernel(kernels.SHIFT)
    wrong = []

    def work(k):
        a = adsm.zeros(20000)
        for i in range(10):
            shift(a, k, a.size, threads=a.size)
            adsm.sync()
            if a[i * 1000] != k * (i + 1):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
