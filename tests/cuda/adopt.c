/* SPDX-License-Identifier: MIT */
/*
 * adopt.c - programs that use the driver themselves, through adsm_cuda.h: its calls do not go through the library
 * (ADSM_CUDA_OBJECTS=off), so they say what their commands use.
 */
#include "conform.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

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
		fail(__FILE__, __LINE__, "%s returned error %d of CUDA", #call, error_); \
} while (0)

static CUmodule module;

/* The driver, by itself. */
static void open_driver(void)
{
	const char *file = getenv("ADSM_CUDA_LIBRARY");
	void *library = dlopen(file && *file ? file : "libcuda.so.1", RTLD_NOW);

	if (!library)
		skip("no driver");
	set("cuda_objects", "off");
#define LOOK_UP(name, params) CHECK((*(void **)&cu.name = dlsym(library, #name)));
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
		open_driver();
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
	stop();
}

static void use(void)
{
	adsmCudaHandles handles;
	CUcontext context, other;
	unsigned *p;

	open_driver();
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
		fail(__FILE__, __LINE__, "%s", adsmLastError());
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

static const struct conform_case cases[] = {
	CASE("get", get),
	CASE("use", use),
	CASE("kernels", kernels),
	CASE("release", release),
	CASE("follows", follows),
};

CONFORM_MAIN(cases)
