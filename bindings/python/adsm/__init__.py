# SPDX-License-Identifier: MIT
"""adsm: NumPy arrays that the CPU and kernels of an accelerator share (libadsm).

    import adsm

    scale = adsm.kernel(r'''
    __global__ void scale(float *out, const float *in, float factor, int n)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x;

        if (i < n)
            out[i] = in[i] * factor;
    }
    ''')
    a = adsm.array(range(1000), dtype="float32")
    b = adsm.empty(1000, dtype="float32")
    scale(b, a, 3, 1000, threads=1000)
    print(b[999])

Run it by `python3 -m adsm.run SCRIPT`. docs/python.md describes the package.
"""
from ._arguments import In, InOut, Local, Out
from ._arrays import ObjectInfo, array, asarray, device_address, empty, held, info, is_shared, lent, set_name, zeros
from ._devices import Device, DeviceArray, Event, call_event, devices, set_device
from ._library import CompileError, Error, OutOfMemory, PreloadWarning, is_preloaded
from ._modules import Kernel, Module, kernel, load, module, sync
from ._once import Once, Waiter, on_device, placed, striped, tiled, waiters
from ._options import options, set_options, shutdown, start, version
from ._signature import Parameter
from ._stats import Stats, reset_stats, stats

__version__ = "0.2.0"

__all__ = [
    "CompileError", "Device", "DeviceArray", "Error", "Event", "In", "InOut", "Kernel", "Local", "Module", "ObjectInfo",
    "Once", "Out", "OutOfMemory", "Parameter", "PreloadWarning", "Stats", "Waiter", "array", "asarray",
    "call_event", "device_address", "devices", "empty", "held", "info", "is_preloaded", "is_shared", "kernel", "lent",
    "load", "module", "on_device", "options", "placed", "reset_stats", "set_device", "set_name", "set_options",
    "shutdown", "start", "stats", "striped", "sync", "tiled", "version", "waiters", "zeros",
]
