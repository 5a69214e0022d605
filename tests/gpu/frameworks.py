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


# ---- on the driver's interface, without the runtime: NVIDIA's own Python, and Numba. They run on the driver's double,
# too, which has no CUDA C and no PTX: there kernels are the library's own module.

ADD = """extern "C" __global__ void vecadd(const float *a, const float *b, float *c, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}"""


def host_view(address, n):
    """Floats of the device, read by plain loads: only the library makes that possible."""
    import numpy
    return numpy.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), (n,))


def cuda_core():
    """Pools, streams, events and launches; under the library what a kernel wrote is read, and changed, in place."""
    try:
        import numpy
        from cuda.bindings import driver
        from cuda.core import Device, LaunchConfig, ObjectCode, Program, ProgramOptions, launch
    except ImportError as error:
        skip(error)
    device = Device(0)
    device.set_current()
    if "TEST_GPU" in os.environ:
        options = ProgramOptions(arch="sm_%d%d" % device.compute_capability)
        code = Program(ADD, code_type="c++", options=options).compile("cubin")
    else:
        with open(os.path.join(os.environ["TEST_KERNELS"], "vecadd.adsm"), "rb") as file:
            code = ObjectCode.from_cubin(file.read())
    add, n = code.get_kernel("vecadd"), 1 << 20
    shared = "libadsm" in os.environ.get("LD_PRELOAD", "")
    values = numpy.arange(n, dtype=numpy.float32)
    result = numpy.empty_like(values)

    def copy(function, *arguments):
        error, = function(*arguments)
        if error:
            sys.exit(f"{function.__name__}: {error}")

    def run():
        stream, other = device.create_stream(), device.create_stream()
        memory = [device.allocate(values.nbytes, stream=stream) for _ in range(3)]
        a, b, c = (int(buffer.handle) for buffer in memory)
        stream.sync()
        copy(driver.cuMemcpyHtoD, a, values.ctypes.data, values.nbytes)
        copy(driver.cuMemcpyHtoD, b, values.ctypes.data, values.nbytes)
        sums = 0
        for turn in range(TURNS):
            launch(stream, LaunchConfig(grid=n // 256, block=256), add, *memory, numpy.uint32(n))
            other.wait(stream.record())
            other.sync()
            # All of it is looked at, and one value of an input becomes another.
            if shared:
                result[:] = host_view(c, n)
                host_view(b, n)[turn] = -turn
            else:
                copy(driver.cuMemcpyDtoH, result.ctypes.data, c, values.nbytes)
                copy(driver.cuMemcpyHtoD, b + 4 * turn, numpy.float32([-turn]).ctypes.data, 4)
            sums = zlib.crc32(result.tobytes(), sums)
        for buffer in memory:
            buffer.close(stream)
        return sums
    seconds, sums = timed(run, driver.cuCtxSynchronize)
    _, free, total = driver.cuMemGetInfo()
    tell(seconds, sums, (total - free) >> 20)


def numba_case():
    """Arrays on the device, in order and not, and streams; with a GPU a kernel made of Python, too."""
    try:
        import numpy
        from numba import cuda
    except ImportError as error:
        skip(error)
    if not cuda.is_available():
        skip("Numba finds no device")
    shape = (512, 384, 4)

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    def run():
        sums = 0
        for turn in range(TURNS):
            stream = cuda.stream()
            values = numpy.arange(shape[0] * shape[1] * shape[2], dtype=numpy.float32).reshape(shape) + turn
            there = cuda.to_device(values, stream=stream)
            back = cuda.device_array_like(there)
            back.copy_to_device(there, stream=stream)
            back[3:5].copy_to_device(there[turn:turn + 2], stream=stream)
            flat = back.reshape(values.size)
            if "TEST_GPU" in os.environ:
                double[(values.size + 255) // 256, 256, stream](flat)
            # A second view of the same memory, and one row of it.
            result = flat.copy_to_host(stream=stream)
            stream.synchronize()
            sums = zlib.crc32(back[turn].copy_to_host().tobytes(), zlib.crc32(result.tobytes(), sums))
        return sums
    seconds, sums = timed(run, cuda.synchronize)
    memory = cuda.current_context().get_memory_info()
    tell(seconds, sums, (memory.total - memory.free) >> 20)


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
    "cuda-core": cuda_core,
    "numba": numba_case,
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
