/* SPDX-License-Identifier: MIT */
/*
 * adopt.c - programs that use the driver themselves. Through adsm_cuda.h: their calls go past the library, so they
 * say what their commands use. Or with calls that do not, and nothing said.
 */
#include "conform.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <adsm_cuda.h>
#include "cuda/cu.h"

#define FEW 1024u

#define FUNCTIONS(F) \
	F(cuInit, (unsigned flags)) \
	F(cuCtxCreate_v2, (CUcontext *context, unsigned flags, CUdevice device)) \
	F(cuCtxDestroy_v2, (CUcontext context)) \
	F(cuCtxPushCurrent_v2, (CUcontext context)) \
	F(cuCtxPopCurrent_v2, (CUcontext *context)) \
	F(cuCtxGetCurrent, (CUcontext *context)) \
	F(cuStreamCreate, (CUstream *stream, unsigned flags)) \
	F(cuStreamDestroy_v2, (CUstream stream)) \
	F(cuStreamSynchronize, (CUstream stream)) \
	F(cuCtxSynchronize, (void)) \
	F(cuMemAlloc_v2, (CUdeviceptr *p, size_t size)) \
	F(cuMemFree_v2, (CUdeviceptr p)) \
	F(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t size)) \
	F(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)) \
	F(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t size)) \
	F(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t size, CUstream stream)) \
	F(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t size)) \
	F(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t size, CUstream stream)) \
	F(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *copy)) \
	F(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream)) \
	F(cuModuleLoadData, (CUmodule *module, const void *image)) \
	F(cuModuleUnload, (CUmodule module)) \
	F(cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name)) \
	F(cuLaunchKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
			   unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params, \
			   void **extra))

static struct {
#define FIELD(name, params) CUresult (*name) params;
	FUNCTIONS(FIELD)
#undef FIELD
} cu;

#define CU(call) do { \
	CUresult error_ = (call); \
	if (error_) \
		FAIL("%s returned error %d of CUDA", #call, error_); \
} while (0)

static CUmodule module;

/* The driver; @past: not by way of the library, whose dlsym() hands out functions of its own. */
static void open_driver(bool past)
{
	const char *file = getenv("ADSM_CUDA_LIBRARY");
	void *library = dlopen(file && *file ? file : "libcuda.so.1", RTLD_NOW);
	void *(*look_up)(void *, const char *) = dlsym;

	if (!library)
		skip("no driver");
	if (past)
		*(void **)&look_up = dlvsym(dlopen("libc.so.6", RTLD_NOW), "dlsym", "GLIBC_2.34");
	if (!look_up)
		skip("the C library is of before 2.34");
#define LOOK_UP(name, params) CHECK((*(void **)&cu.name = look_up(library, #name)));
	FUNCTIONS(LOOK_UP)
#undef LOOK_UP
	CU(cu.cuInit(0));
}

/* The library's context is current from here on; its kernels, loaded by hand. */
static adsmCudaHandles start(void)
{
	adsmCudaHandles handles = { .struct_size = sizeof(handles) };
	struct stat status;
	FILE *file;
	char *image;

	if (!cu.cuInit)
		open_driver(true);
	CHECK_OK(adsmCudaGet(ADSM_DEVICE_CURRENT, &handles));
	CU(cu.cuCtxPushCurrent_v2(handles.context));
	file = fopen(module_path("conform"), "re");
	CHECK(file && !fstat(fileno(file), &status));
	image = malloc((size_t)status.st_size);
	CHECK(image && fread(image, (size_t)status.st_size, 1, file) == 1);
	fclose(file);
	CU(cu.cuModuleLoadData(&module, image));
	free(image);
	return handles;
}

static void stop(void)
{
	CUcontext context;

	CU(cu.cuModuleUnload(module));
	CU(cu.cuCtxPopCurrent_v2(&context));
	CHECK_OK(adsmShutdown());
}

static CUfunction function(const char *name)
{
	CUfunction found;

	CU(cu.cuModuleGetFunction(&found, module, name));
	return found;
}

/* increment(p, n) on a stream of the program's. */
static void increment(CUstream stream, unsigned *p, unsigned n)
{
	uint64_t address = adsmSafe(p);
	void *params[] = { &address, &n };

	CHECK(address);
	CU(cu.cuLaunchKernel(function("increment"), (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
}

static void get(void)
{
	adsmCudaHandles handles = start(), wrong = { .struct_size = 1 };
	CUcontext current;
	pid_t child;
	int status;

	CHECK(handles.context && handles.compute && handles.to_device && handles.to_host);
	CHECK_EQ(handles.device, 0);
	CU(cu.cuStreamSynchronize(handles.compute));
	/* The thread's own context stays what it is. */
	adsmFree(alloc(PAGE));
	CU(cu.cuCtxGetCurrent(&current));
	CHECK(current == handles.context);
	CHECK_ERROR(adsmCudaGet(0, &wrong), EINVAL);
	CHECK_SAYS("adsmCudaHandles");
	CHECK_ERROR(adsmCudaGet(0, NULL), EINVAL);
	CHECK_ERROR(adsmCudaGet(7, &handles), EINVAL);
	CHECK_ERROR(adsmCudaUse(NULL, 0), EBUSY);
	CHECK_SAYS("adsmCudaUse()");
	child = fork();
	if (!child)
		_exit(-adsmCudaUse(NULL, 0));
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), ENOTSUP);
	stop();
}

static void use(void)
{
	adsmCudaHandles handles;
	CUcontext context, other;
	unsigned *p;

	open_driver(true);
	CU(cu.cuCtxCreate_v2(&context, 0, 0));
	CU(cu.cuCtxPopCurrent_v2(&other));
	CHECK_ERROR(adsmCudaUse(context, -1), EINVAL);
	CHECK_ERROR(adsmCudaUse(context, 1), EINVAL);
	CHECK_OK(adsmCudaUse(context, 0));
	handles = start();
	CHECK(handles.context == context);
	CHECK_EQ(handles.device, 0);
	p = words(FEW, 0);
	CALL("increment", FEW, adsmInOut(p), adsmVal(FEW));
	SYNC();
	CHECK_EQ(p[1], 2);
	CHECK_OK(adsmFree(p));
	unload();
	stop();
	/* It is the program's. */
	CU(cu.cuCtxPushCurrent_v2(context));
	CU(cu.cuCtxPopCurrent_v2(&other));
	CHECK_OK(adsmCudaUse(NULL, 0));
	handles = start();
	CHECK(handles.context != context);
	stop();
	CU(cu.cuCtxDestroy_v2(context));
}

/* A kernel of the program's, called by the library. */
static void kernels(void)
{
	adsmKernel *k;
	unsigned *p;
	int error;

	start();
	p = words(FEW, 10);
	k = adsmCudaKernel(ADSM_DEVICE_CURRENT, function("increment"));
	if (!k)
		FAIL("%s", adsmLastError());
	CHECK_OK(adsmCall(k, blocks(FEW), lanes(), adsmInOut(p), adsmVal(FEW)));
	CHECK_OK(adsmCall(k, blocks(FEW), lanes(), adsmInOut(p), adsmVal(FEW)));
	SYNC();
	for (unsigned i = 0; i < FEW; i++)
		CHECK_AT(p[i], i, 12 + i);
	error = adsmCall(k, blocks(FEW), lanes(), adsmInOut(p), adsmVal((char)1));
	CHECK_EQ(error, -EINVAL);
	CHECK_SAYS("argument 1");
	CHECK_NULL(adsmCudaKernel(0, NULL), EINVAL);
	CHECK_NULL(adsmCudaKernel(7, function("increment")), EINVAL);
	CHECK_ERROR(adsmCudaKernelFree(kernel("increment")), EINVAL);
	CHECK_SAYS("adsmCudaKernel()");
	CHECK_OK(adsmCudaKernelFree(k));
	CHECK_OK(adsmCudaKernelFree(NULL));
	CHECK_ERROR(adsmCudaKernelFree(k), EINVAL);
	unload();
	CHECK_OK(adsmFree(p));
	stop();
}

/* What the CPU wrote is there, and what the kernel wrote comes back. */
static void release(void)
{
	unsigned *p;
	CUstream stream;
	adsmArg use;

	start();
	CU(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	p = words(FEW, 0);
	use = adsmInOut(p);
	for (unsigned round = 0; round < 3; round++) {
		CHECK_OK(adsmCudaRelease(&use, 1, round == 2 ? NULL : stream));
		increment(round == 2 ? NULL : stream, p, FEW);
		CU(cu.cuStreamSynchronize(round == 2 ? NULL : stream));
		SETTLE();
		for (unsigned i = 0; i < FEW; i++)
			CHECK_AT(p[i], i, i + 1 + 2 * round);
		for (unsigned i = 0; i < FEW; i++)
			p[i]++;
	}
	CHECK_OK(adsmCudaRelease(NULL, 0, stream));
	use = adsmVal(1);
	CHECK_ERROR(adsmCudaRelease(&use, 1, stream), EINVAL);
	CHECK_SAYS("adsmCudaRelease()");
	use = adsmIn(&use);
	CHECK_ERROR(adsmCudaRelease(&use, 1, stream), EINVAL);
	CU(cu.cuStreamDestroy_v2(stream));
	CHECK_OK(adsmFree(p));
	stop();
}

/* The stream's work runs after the calls before it, which may take their time. */
static void follows(void)
{
	unsigned *p, *q;
	CUstream stream;
	adsmArg uses[2];

	start();
	CU(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	p = words(FEW, 0);
	q = words(FEW, 0);
	CALL("increment", FEW, adsmInOut(q), adsmVal(FEW));
	CALL("late_increment", FEW, adsmVal(SPIN / 10), adsmInOut(p), adsmVal(FEW));
	uses[0] = adsmInOut(p);
	uses[1] = adsmPtr(q);
	CHECK_OK(adsmCudaRelease(uses, 2, stream));
	increment(stream, p, FEW);
	increment(stream, q, FEW);
	CU(cu.cuStreamSynchronize(stream));
	SYNC();
	for (unsigned i = 0; i < FEW; i++) {
		CHECK_AT(p[i], i, i + 2);
		CHECK_AT(q[i], i, i + 2);
	}
	CU(cu.cuStreamDestroy_v2(stream));
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmFree(q));
	unload();
	stop();
}

/* ---- nothing said: the calls of the driver go through the library */

/* Kernels of the program's on what adsmAlloc() gave. */
static void launches(void)
{
	unsigned *p, *q;
	CUstream stream;

	open_driver(false);
	start();
	CU(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	p = words(FEW, 0);
	q = words(FEW, 0);
	for (unsigned round = 1; round <= 4; round++) {
		CUstream which = round & 1 ? stream : NULL;

		increment(which, p, FEW);
		increment(which, q + 1, FEW - 1);
		if (round == 3)
			CU(cu.cuCtxSynchronize());
		else
			CU(cu.cuStreamSynchronize(which));
		for (unsigned i = 0; i < FEW; i++) {
			CHECK_AT(p[i], i, i + 2 * round - 1);
			CHECK_AT(q[i], i, i ? i + round : 0);
			p[i]++;
		}
	}
	CU(cu.cuStreamDestroy_v2(stream));
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmFree(q));
	stop();
}

/* No waiting: what is touched is what the commands before have made of it. */
static void launches_at_once(void)
{
	unsigned *p;
	CUstream stream;
	unsigned long spins = SPIN / 10;
	unsigned n = FEW;
	uint64_t address;
	void *params[] = { &spins, &address, &n };

	open_driver(false);
	start();
	CU(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	p = words(FEW, 0);
	address = adsmSafe(p);
	for (unsigned round = 1; round <= 3; round++) {
		CU(cu.cuLaunchKernel(function("late_increment"), 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
		for (unsigned i = 0; i < FEW; i++)
			CHECK_AT(p[i], i, i + 2 * round - 1);
		for (unsigned i = 0; i < FEW; i++)
			p[i]++;
	}
	CU(cu.cuStreamDestroy_v2(stream));
	CHECK_OK(adsmFree(p));
	stop();
}

#define ROW 256u		/* bytes of a line; 3 quarters of each line are copied */

static CUDA_MEMCPY2D lines_of(int to, const void *dst, int from, const void *src)
{
	return (CUDA_MEMCPY2D){
		.srcMemoryType = from, .dstMemoryType = to,
		.srcHost = src, .srcDevice = (CUdeviceptr)(uintptr_t)src, .srcPitch = ROW,
		.dstHost = (void *)(uintptr_t)dst, .dstDevice = (CUdeviceptr)(uintptr_t)dst, .dstPitch = ROW,
		.WidthInBytes = ROW / 4 * 3, .Height = FEW * sizeof(unsigned) / ROW,
	};
}

/* Copies with objects for their host side, or for both. */
static void copies(void)
{
	const size_t size = FEW * sizeof(unsigned);
	unsigned n = 0;
	CUdeviceptr d;
	CUstream stream;
	unsigned *p, *q;

	open_driver(false);
	start();
	CU(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CU(cu.cuMemAlloc_v2(&d, size));
	p = words(FEW, 0);
	q = words(FEW, 0);
	for (int way = 0; way < 8; way++) {
		const bool lines = way >= 4, async = way & 1, untyped = way & 2;
		const CUDA_MEMCPY2D there = lines_of(untyped ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_DEVICE,
			(void *)(uintptr_t)d, untyped ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_HOST, p);
		const CUDA_MEMCPY2D back = lines_of(untyped ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_HOST, q,
			untyped ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_DEVICE, (void *)(uintptr_t)d);

		/* What is newest is on the device, or, every other round, here. */
		increment(stream, p, FEW);
		CU(cu.cuStreamSynchronize(stream));
		n++;
		if (way & 1)
			p[5]++, p[5]--;
		for (unsigned i = 0; i < FEW; i++)
			q[i] = 7;
		if (lines)
			CU(async ? cu.cuMemcpy2DAsync_v2(&there, stream) : cu.cuMemcpy2D_v2(&there));
		else if (untyped)
			CU(async ? cu.cuMemcpyAsync(d, (CUdeviceptr)(uintptr_t)p, size, stream) :
			   cu.cuMemcpy(d, (CUdeviceptr)(uintptr_t)p, size));
		else
			CU(async ? cu.cuMemcpyHtoDAsync_v2(d, p, size, stream) : cu.cuMemcpyHtoD_v2(d, p, size));
		if (lines)
			CU(async ? cu.cuMemcpy2DAsync_v2(&back, stream) : cu.cuMemcpy2D_v2(&back));
		else if (untyped)
			CU(async ? cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)q, d, size, stream) :
			   cu.cuMemcpy((CUdeviceptr)(uintptr_t)q, d, size));
		else
			CU(async ? cu.cuMemcpyDtoHAsync_v2(q, d, size, stream) : cu.cuMemcpyDtoH_v2(q, d, size));
		CU(async ? cu.cuStreamSynchronize(stream) : cu.cuCtxSynchronize());
		for (unsigned i = 0; i < FEW; i++)
			CHECK_AT(q[i], i, lines && i % (ROW / 4) >= ROW / 16 * 3 ? 7 : i + n);
		/* From one to the other. */
		for (unsigned i = 0; i < FEW; i++)
			q[i] = 8;
		CU(async ? cu.cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)q, p, size, stream) :
		   cu.cuMemcpyDtoH_v2(q, (CUdeviceptr)(uintptr_t)p, size));
		CU(async ? cu.cuStreamSynchronize(stream) : cu.cuCtxSynchronize());
		for (unsigned i = 0; i < FEW; i++)
			CHECK_AT(q[i], i, i + n);
	}
	CU(cu.cuMemFree_v2(d));
	CU(cu.cuStreamDestroy_v2(stream));
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmFree(q));
	stop();
}

static const struct conform_case cases[] = {
	CASE("get", get),
	CASE("use", use),
	CASE("kernels", kernels),
	CASE("release", release),
	CASE("follows", follows),
	CASE("launches", launches),
	FAULT_CASE("launches-at-once", launches_at_once),
	CASE("copies", copies),
};

CONFORM_MAIN(cases)
