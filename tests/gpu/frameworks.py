# SPDX-License-Identifier: MIT
"""Frameworks on CUDA, which know nothing of the library: frameworks.py NAME, or "list".

Prints seconds=, checksum=, device= (MiB of the device in use) and resident= (MiB, the most there was), to compare a run
alone with one under the library. Ends with 77 where the framework or the device is missing.
"""
import ctypes
import os
import re
import sys
import time
import zlib

SIZE = 4096
TURNS = 50


def resident():
    with open("/proc/self/status", encoding="utf-8") as file:
        return int(re.search(r"^VmHWM:\s*(\d+)", file.read(), re.M)[1]) // 1024


def skip(why):
    print(why)
    sys.exit(77)


def tell(seconds, checksum, device):
    print(f"seconds={seconds:.4f}\nchecksum={checksum}\ndevice={device}\nresident={resident()}")


def timed(run, wait):
    """Seconds of a function after a first call of it, and what it gives."""
    run()
    wait()
    begun = time.monotonic()
    result = run()
    wait()
    return time.monotonic() - begun, result


# ---- PyTorch

def torch_case(run):
    # Without it matrix products refuse to be the same each time.
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    try:
        import torch
    except ImportError as error:
        skip(error)
    if not torch.cuda.is_available():
        skip("PyTorch finds no device")
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    seconds, result = timed(lambda: run(torch), torch.cuda.synchronize)
    free, total = torch.cuda.mem_get_info()
    # By bits: a sum in another order would be another sum.
    checksum = zlib.crc32(result.detach().cpu().contiguous().numpy().tobytes())
    tell(seconds, checksum, (total - free) >> 20)


def matmul(torch):
    torch.manual_seed(1)
    a, b = (torch.randn(SIZE, SIZE, device="cuda") for _ in range(2))
    for _ in range(TURNS):
        a = (a @ b) / SIZE ** 0.5
    return a


def allocator(torch):
    """Tensors of all sizes that come and go: the caching allocator splits, merges, and gives back."""
    torch.manual_seed(1)
    total = torch.zeros(256, device="cuda")
    kept = []
    for i in range(2000):
        kept.append(torch.full((1 + i * 7919 % 1000000,), float(i % 13), device="cuda"))
        total += kept[-1][:1]
        if len(kept) > 50:
            kept.pop(i * 31 % 50)
        if i % 500 == 499:
            kept.clear()
            torch.cuda.empty_cache()
    return total


def graph(torch):
    x = torch.zeros(SIZE, SIZE, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        x.add_(1).mul_(0.5)
    torch.cuda.current_stream().wait_stream(stream)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        x.add_(1).mul_(0.5)
    for _ in range(TURNS):
        captured.replay()
    return x


def fourier(torch):
    torch.manual_seed(1)
    x = torch.randn(SIZE, SIZE, device="cuda")
    for _ in range(10):
        x = torch.fft.ifft2(torch.fft.fft2(x)).real
    return x


def training(torch):
    """A few steps of a small network, with batches from pinned memory."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    batches = [torch.randn(512, 1024).pin_memory() for _ in range(4)]
    for i in range(TURNS):
        optimizer.zero_grad()
        loss = model(batches[i % 4].to("cuda", non_blocking=True)).square().mean()
        loss.backward()
        optimizer.step()
        loss.item()
    return next(model.parameters())


def expandable():
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    torch_case(allocator)


# ---- the others

def cupy_case():
    try:
        import cupy
        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:          # its own kinds of errors are not known where it is not
        skip(error)

    def run():
        cupy.random.seed(1)
        a, b = (cupy.sign(cupy.random.rand(SIZE, SIZE, dtype=cupy.float32) - 0.5) for _ in range(2))
        # Sums of so many signs are exact, whatever the order.
        for _ in range(TURNS):
            a = cupy.sign(a @ b)
        return cupy.fft.ifft2(cupy.fft.fft2(a)).real
    seconds, result = timed(run, cupy.cuda.Device().synchronize)
    free, total = cupy.cuda.runtime.memGetInfo()
    tell(seconds, zlib.crc32(cupy.asnumpy(result).tobytes()), (total - free) >> 20)


def jax_case():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
        import numpy
        if jax.devices()[0].platform not in ("gpu", "cuda"):
            skip("JAX finds no device")
    except Exception as error:          # as above
        skip(error)
    # It tries several ways to multiply, and takes the fastest: sums of signs are exact in all of them.
    step = jax.jit(lambda a, b: jax.numpy.sign(a @ b))

    def run():
        a, b = (jax.numpy.sign(jax.random.normal(jax.random.PRNGKey(i), (SIZE, SIZE))) for i in range(2))
        for _ in range(TURNS):
            a = step(a, b)
        return a.block_until_ready()
    seconds, result = timed(run, lambda: None)
    used = jax.devices()[0].memory_stats() or {}
    tell(seconds, zlib.crc32(numpy.asarray(result).tobytes()), used.get("bytes_in_use", 0) >> 20)


def triton_case():
    # Where Triton looks for what its kernels name.
    global triton, tl
    try:
        import torch
        import triton
        import triton.language as tl
    except ImportError as error:
        skip(error)

    @triton.jit
    def add(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

    def run(torch):
        x = torch.arange(1 << 20, device="cuda", dtype=torch.float32)
        y = torch.zeros_like(x)
        for _ in range(1000):
            add[(1024,)](x, y, x.numel(), BLOCK=1024)
        return y
    torch_case(run)


# ---- what frameworks do, on the driver alone: that runs on its double, too

class Driver:
    """Every call is checked."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL(os.environ.get("ADSM_CUDA_LIBRARY", "libcuda.so.1"))
        except OSError as error:
            skip(error)

    def __getattr__(self, name):
        def call(*arguments):
            error = getattr(self.library, name)(*arguments)
            if error:
                sys.exit(f"{name}: error {error}")
        return call


class Properties(ctypes.Structure):
    """Of an allocation: pinned memory of device 0."""
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", ctypes.c_int), ("device", ctypes.c_int),
                ("rest", ctypes.c_uint64 * 2)]


class Access(ctypes.Structure):
    _fields_ = [("location", ctypes.c_int), ("device", ctypes.c_int), ("flags", ctypes.c_int)]


def segments():
    """Memory as expandable segments have it: a reserved range that grows piece by piece, used by copies and fills."""
    cu = Driver()
    context, start, size, piece = ctypes.c_void_p(), ctypes.c_uint64(), 64 << 20, 2 << 20
    cu.cuInit(0)
    cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cu.cuCtxPushCurrent_v2(context)
    cu.cuMemAddressReserve(ctypes.byref(start), ctypes.c_size_t(size), ctypes.c_size_t(0), ctypes.c_uint64(0),
                           ctypes.c_uint64(0))
    properties, access = Properties(type=1, location=1), Access(location=1, flags=3)

    def run():
        handles, sums = [], 0
        for at in range(0, size // 4, piece):
            handle = ctypes.c_uint64()
            cu.cuMemCreate(ctypes.byref(handle), ctypes.c_size_t(piece), ctypes.byref(properties), ctypes.c_uint64(0))
            cu.cuMemMap(ctypes.c_uint64(start.value + at), ctypes.c_size_t(piece), ctypes.c_size_t(0), handle,
                        ctypes.c_uint64(0))
            cu.cuMemSetAccess(ctypes.c_uint64(start.value + at), ctypes.c_size_t(piece), ctypes.byref(access),
                              ctypes.c_size_t(1))
            handles.append(handle)
            # Across the seam, too.
            whole = ctypes.create_string_buffer(bytes([len(handles)]) * (at + piece))
            cu.cuMemcpyHtoD_v2(start, whole, ctypes.c_size_t(at + piece))
            cu.cuMemsetD8_v2(ctypes.c_uint64(start.value + at + 5), ctypes.c_ubyte(7), ctypes.c_size_t(1000))
            back = ctypes.create_string_buffer(at + piece)
            cu.cuMemcpyDtoH_v2(back, start, ctypes.c_size_t(at + piece))
            sums = zlib.crc32(back.raw, sums)
        for i, handle in enumerate(handles):
            cu.cuMemUnmap(ctypes.c_uint64(start.value + i * piece), ctypes.c_size_t(piece))
            cu.cuMemRelease(handle)
        return sums
    seconds, sums = timed(run, lambda: None)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    cu.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    tell(seconds, sums, (total.value - free.value) >> 20)


CASES = {
    "driver-segments": segments,
    "torch-matmul": lambda: torch_case(matmul),
    "torch-allocator": lambda: torch_case(allocator),
    "torch-expandable": expandable,
    "torch-graph": lambda: torch_case(graph),
    "torch-fourier": lambda: torch_case(fourier),
    "torch-training": lambda: torch_case(training),
    "triton": triton_case,
    "cupy": cupy_case,
    "jax": jax_case,
}

if __name__ == "__main__":
    if sys.argv[1:] == ["list"]:
        print(*CASES)
    else:
        CASES[sys.argv[1]]()
