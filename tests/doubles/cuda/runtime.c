/* SPDX-License-Identifier: MIT */
/*
 * runtime.c - a double of CUDA's runtime library, upon whatever libcuda.so.1 there is: a shared library, and the same
 * code as an archive that becomes part of a program.
 *
 * It reaches the driver as the real one does: dlopen(), one dlsym() for cuGetProcAddress_v2, all else through that, at
 * the versions that the real one names; nothing of the driver before the program's first call. What a compiler's stubs
 * register is loaded at the first launch, as a library of the driver's; the last to unregister lets the context go.
 *
 * TEST_RUNTIME=per-thread: default streams are those of the threads.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cu.h"
#include "runtime.h"

#define VERSION 13000
_Static_assert(sizeof(struct cudaDeviceProp) == 1008 && offsetof(struct cudaDeviceProp, managedMemory) == 636,
	       "not as programs have it");
_Static_assert(sizeof(struct cudaFuncAttributes) == 144, "not as programs have it");
#define MAX_BINARIES 16
#define MAX_FUNCTIONS 128
#define MAX_DEPTH 8			/* launches begun */
#define FATBIN_MAGIC 0x466243b1

/* Name, version, version of the flavour for per-thread default streams (0: has none), parameters. */
#define FUNCTIONS(F) \
	F(cuInit, 2000, 0, (unsigned flags)) \
	F(cuDriverGetVersion, 2020, 0, (int *version)) \
	F(cuGetErrorName, 6000, 0, (CUresult error, const char **name)) \
	F(cuGetErrorString, 6000, 0, (CUresult error, const char **text)) \
	F(cuDeviceGet, 2000, 0, (CUdevice *device, int ordinal)) \
	F(cuDeviceGetCount, 2000, 0, (int *count)) \
	F(cuDeviceGetAttribute, 2000, 0, (int *value, int attribute, CUdevice device)) \
	F(cuDeviceGetName, 2000, 0, (char *name, int size, CUdevice device)) \
	F(cuDeviceTotalMem, 3020, 0, (size_t *size, CUdevice device)) \
	F(cuDevicePrimaryCtxSetFlags, 11000, 0, (CUdevice device, unsigned flags)) \
	F(cuProfilerStart, 4000, 0, (void)) \
	F(cuProfilerStop, 4000, 0, (void)) \
	F(cuDevicePrimaryCtxRetain, 7000, 0, (CUcontext *context, CUdevice device)) \
	F(cuDevicePrimaryCtxRelease, 11000, 0, (CUdevice device)) \
	F(cuDevicePrimaryCtxReset, 11000, 0, (CUdevice device)) \
	F(cuCtxGetCurrent, 4000, 0, (CUcontext *context)) \
	F(cuCtxSetCurrent, 4000, 0, (CUcontext context)) \
	F(cuCtxSynchronize, 13000, 0, (CUcontext context)) \
	F(cuMemGetInfo, 3020, 0, (size_t *free, size_t *total)) \
	F(cuMemAlloc, 3020, 0, (CUdeviceptr *p, size_t size)) \
	F(cuMemAllocPitch, 3020, 0, (CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element)) \
	F(cuMemFree, 3020, 0, (CUdeviceptr p)) \
	F(cuMemAllocAsync, 11020, 11020, (CUdeviceptr *p, size_t size, CUstream stream)) \
	F(cuMemFreeAsync, 11020, 11020, (CUdeviceptr p, CUstream stream)) \
	F(cuMemHostAlloc, 2020, 0, (void **p, size_t size, unsigned flags)) \
	F(cuMemFreeHost, 2000, 0, (void *p)) \
	F(cuMemHostRegister, 6050, 0, (void *p, size_t size, unsigned flags)) \
	F(cuMemHostUnregister, 4000, 0, (void *p)) \
	F(cuMemHostGetDevicePointer, 3020, 0, (CUdeviceptr *device, void *p, unsigned flags)) \
	F(cuMemAllocManaged, 6000, 0, (CUdeviceptr *p, size_t size, unsigned flags)) \
	F(cuPointerGetAttribute, 4000, 0, (void *value, int attribute, CUdeviceptr p)) \
	F(cuIpcGetMemHandle, 4010, 0, (cudaIpcMemHandle_t *handle, CUdeviceptr p)) \
	F(cuMemcpy, 4000, 7000, (CUdeviceptr dst, CUdeviceptr src, size_t size)) \
	F(cuMemcpyAsync, 4000, 7000, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)) \
	F(cuMemcpyHtoD, 3020, 7000, (CUdeviceptr dst, const void *src, size_t size)) \
	F(cuMemcpyDtoH, 3020, 7000, (void *dst, CUdeviceptr src, size_t size)) \
	F(cuMemcpyDtoD, 3020, 7000, (CUdeviceptr dst, CUdeviceptr src, size_t size)) \
	F(cuMemcpyHtoDAsync, 3020, 7000, (CUdeviceptr dst, const void *src, size_t size, CUstream stream)) \
	F(cuMemcpyDtoHAsync, 3020, 7000, (void *dst, CUdeviceptr src, size_t size, CUstream stream)) \
	F(cuMemcpyDtoDAsync, 3020, 7000, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)) \
	F(cuMemcpy2DUnaligned, 3020, 7000, (const CUDA_MEMCPY2D *copy)) \
	F(cuMemcpy2DAsync, 3020, 7000, (const CUDA_MEMCPY2D *copy, CUstream stream)) \
	F(cuMemsetD8, 3020, 7000, (CUdeviceptr p, unsigned char value, size_t n)) \
	F(cuMemsetD8Async, 3020, 7000, (CUdeviceptr p, unsigned char value, size_t n, CUstream stream)) \
	F(cuMemsetD2D8, 3020, 7000, (CUdeviceptr p, size_t pitch, unsigned char value, size_t width, size_t height)) \
	F(cuStreamCreate, 2000, 0, (CUstream *stream, unsigned flags)) \
	F(cuStreamDestroy, 4000, 0, (CUstream stream)) \
	F(cuStreamSynchronize, 2000, 7000, (CUstream stream)) \
	F(cuStreamQuery, 2000, 7000, (CUstream stream)) \
	F(cuStreamWaitEvent, 3020, 7000, (CUstream stream, CUevent event, unsigned flags)) \
	F(cuStreamAddCallback, 5000, 7000, (CUstream stream, CUstreamCallback *function, void *data, unsigned flags)) \
	F(cuLaunchHostFunc, 10000, 10000, (CUstream stream, CUhostFn *function, void *data)) \
	F(cuStreamBeginCapture, 10010, 10010, (CUstream stream, int mode)) \
	F(cuStreamEndCapture, 10000, 10000, (CUstream stream, CUgraph *graph)) \
	F(cuGraphInstantiateWithFlags, 11040, 0, (CUgraphExec *exec, CUgraph graph, unsigned long long flags)) \
	F(cuGraphLaunch, 10000, 10000, (CUgraphExec exec, CUstream stream)) \
	F(cuGraphExecDestroy, 10000, 0, (CUgraphExec exec)) \
	F(cuGraphDestroy, 10000, 0, (CUgraph graph)) \
	F(cuEventCreate, 2000, 0, (CUevent *event, unsigned flags)) \
	F(cuEventDestroy, 4000, 0, (CUevent event)) \
	F(cuEventRecord, 2000, 7000, (CUevent event, CUstream stream)) \
	F(cuEventQuery, 2000, 0, (CUevent event)) \
	F(cuEventSynchronize, 2000, 0, (CUevent event)) \
	F(cuEventElapsedTime, 2000, 0, (float *milliseconds, CUevent start, CUevent end)) \
	F(cuLibraryLoadData, 12000, 0, (CUlibrary *library, const void *code, int *options, void **values, unsigned n, \
					int *library_options, void **library_values, unsigned n_library)) \
	F(cuLibraryGetKernel, 12000, 0, (CUkernel *kernel, CUlibrary library, const char *name)) \
	F(cuLibraryGetGlobal, 12000, 0, (CUdeviceptr *p, size_t *size, CUlibrary library, const char *name)) \
	F(cuKernelGetAttribute, 12000, 0, (int *value, int attribute, CUkernel kernel, CUdevice device)) \
	F(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, 0, (int *n, CUfunction function, int threads, \
									   size_t shared, unsigned flags)) \
	F(cuLibraryUnload, 12000, 0, (CUlibrary library)) \
	F(cuLaunchKernel, 4000, 7000, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
				       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, \
				       CUstream stream, void **params, void **extra)) \
	F(cuLaunchCooperativeKernel, 9000, 9000, (CUfunction function, unsigned grid_x, unsigned grid_y, \
						  unsigned grid_z, unsigned block_x, unsigned block_y, \
						  unsigned block_z, unsigned shared, CUstream stream, void **params)) \
	F(cuLaunchKernelEx, 11060, 11060, (const CUlaunchConfig *config, CUfunction function, void **params, \
					   void **extra))

static struct {
#define FIELD(name, version, threads_version, params) CUresult (*name) params;
	FUNCTIONS(FIELD)
#undef FIELD
} driver;

typedef CUresult get_proc_address(const char *name, void **function, int version, uint64_t flags, int *status);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cudaError_t start_error;
static bool per_thread;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of the context and of what follows */
static CUcontext context;
static struct binary {
	const void *image;		/* NULL: unregistered */
	CUlibrary library;		/* NULL: not loaded */
} binaries[MAX_BINARIES];
static struct function {
	const void *host;
	const char *name;
	struct binary *binary;
	CUkernel kernel;		/* NULL: not looked up */
} functions[MAX_FUNCTIONS];
static struct variable {
	const void *host;
	const char *name;
	struct binary *binary;
} variables[MAX_FUNCTIONS];
static size_t n_variables;
static size_t n_functions;

static __thread cudaError_t last_error;
static __thread bool current;		/* the thread has the context */
static __thread struct config {
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
} configs[MAX_DEPTH];
static __thread unsigned depth;

/* ---- reaching the driver */

static void start(void)
{
	const char *word = getenv("TEST_RUNTIME");
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *function;
	get_proc_address *get;
	int status;

	start_error = cudaErrorInsufficientDriver;
	if (!library)
		return;
	get = (get_proc_address *)(uintptr_t)dlsym(library, "cuGetProcAddress_v2");
	if (!get)
		return;
	per_thread = word && !strcmp(word, "per-thread");
	function = NULL;
	get("", &function, 0, CU_GET_PROC_ADDRESS_DEFAULT, &status);
	/* Itself twice, as two functions: what comes after goes through the newer one. */
	function = NULL;
	get("cuGetProcAddress", &function, 11030, CU_GET_PROC_ADDRESS_DEFAULT, &status);
	function = NULL;
	if (!get("cuGetProcAddress", &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status) && function)
		get = (get_proc_address *)(uintptr_t)function;
#define BIND(name, version, threads_version, params) do {						\
		const bool other = per_thread && (threads_version);					\
													\
		function = NULL;									\
		if (get(#name, &function, other ? (threads_version) : (version),			\
			other ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_DEFAULT, &status)) \
			function = NULL;								\
		driver.name = (__typeof__(driver.name))(uintptr_t)function;				\
	} while (0);
	FUNCTIONS(BIND)
#undef BIND
	start_error = driver.cuInit ? driver.cuInit(0) : cudaErrorInsufficientDriver;
}

static cudaError_t note(cudaError_t error)
{
	if (error)
		last_error = error;
	return error;
}

static void release_context(void)
{
	if (context && driver.cuDevicePrimaryCtxRelease)
		driver.cuDevicePrimaryCtxRelease(0);
	context = NULL;
}

static cudaError_t started(void)
{
	pthread_once(&once, start);
	return start_error;
}

/* What every call that needs the device begins with. */
static cudaError_t ready(void)
{
	cudaError_t error = started();
	CUcontext now = NULL;
	CUdevice device;

	if (error || current)
		return error;
	pthread_mutex_lock(&lock);
	if (!context) {
		error = driver.cuDeviceGet(&device, 0);
		if (!error)
			error = driver.cuDevicePrimaryCtxRetain(&context, device);
	}
	pthread_mutex_unlock(&lock);
	if (!error)
		error = driver.cuCtxGetCurrent(&now);
	if (!error && !now)
		error = driver.cuCtxSetCurrent(context);
	current = !error;
	return error;
}

#define CALL(name, ...) (driver.name ? driver.name(__VA_ARGS__) : cudaErrorSymbolNotFound)
/* A function of the runtime that is one of the driver's. */
#define PASS(name, ...) do {							\
	cudaError_t error_ = ready();						\
										\
	return note(error_ ? error_ : CALL(name, __VA_ARGS__));			\
} while (0)

#define DEVICE(p) ((CUdeviceptr)(uintptr_t)(p))

/* The driver's library of a binary. With the lock. */
static cudaError_t load(struct binary *binary)
{
	return binary->library ? cudaSuccess : CALL(cuLibraryLoadData, &binary->library, binary->image, NULL, NULL, 0,
						    NULL, NULL, 0);
}

/* ---- what a compiler's stubs call */

void **__cudaRegisterFatBinary(void *wrapper)
{
	struct { int magic, version; const void *data; void *more; } *fatbin = wrapper;
	void **found = NULL;

	if (fatbin->magic != FATBIN_MAGIC)
		return NULL;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < MAX_BINARIES && !found; i++)
		if (!binaries[i].image) {
			binaries[i] = (struct binary){ .image = fatbin->data };
			found = (void **)&binaries[i];
		}
	pthread_mutex_unlock(&lock);
	return found;
}

void __cudaRegisterFatBinaryEnd(void **binary)
{
}

char __cudaInitModule(void **binary)
{
	return 1;
}

void __cudaUnregisterFatBinary(void **handle)
{
	struct binary *binary = (struct binary *)handle;
	bool last = true;

	if (!binary)
		return;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_functions; i++)
		if (functions[i].binary == binary)
			memset(&functions[i], 0, sizeof(functions[i]));
	for (size_t i = 0; i < n_variables; i++)
		if (variables[i].binary == binary)
			memset(&variables[i], 0, sizeof(variables[i]));
	if (binary->library)
		driver.cuLibraryUnload(binary->library);
	memset(binary, 0, sizeof(*binary));
	for (size_t i = 0; i < MAX_BINARIES; i++)
		last = last && !binaries[i].image;
	if (last)
		release_context();
	pthread_mutex_unlock(&lock);
}

void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name, int threads, void *tid,
			    void *bid, dim3 *block, dim3 *grid, int *warp)
{
	pthread_mutex_lock(&lock);
	if (binary && n_functions < MAX_FUNCTIONS)
		functions[n_functions++] = (struct function){
			.host = host, .name = name, .binary = (struct binary *)binary };
	pthread_mutex_unlock(&lock);
}

void __cudaRegisterVar(void **binary, char *host, char *device, const char *name, int ext, size_t size, int constant,
		       int global)
{
	pthread_mutex_lock(&lock);
	if (binary && n_variables < MAX_FUNCTIONS)
		variables[n_variables++] = (struct variable){ host, name, (struct binary *)binary };
	pthread_mutex_unlock(&lock);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
	if (depth == MAX_DEPTH)
		return 1;
	configs[depth++] = (struct config){ grid, block, shared, stream };
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	if (!depth)
		return note(cudaErrorMissingConfiguration);
	depth--;
	*grid = configs[depth].grid;
	*block = configs[depth].block;
	*shared = configs[depth].shared;
	*(cudaStream_t *)stream = configs[depth].stream;
	return cudaSuccess;
}

/* ---- errors and devices */

cudaError_t cudaGetLastError(void)
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

cudaError_t cudaPeekAtLastError(void)
{
	return last_error;
}

const char *cudaGetErrorName(cudaError_t error)
{
	const char *name = NULL;

	started();		/* names there are in any case */
	if (error == cudaErrorInsufficientDriver)
		return "cudaErrorInsufficientDriver";
	return CALL(cuGetErrorName, error, &name) || !name ? "unrecognized error code" : name;
}

const char *cudaGetErrorString(cudaError_t error)
{
	const char *text = NULL;

	if (error == cudaErrorInsufficientDriver)
		return "CUDA driver version is insufficient for CUDA runtime version";
	started();
	return CALL(cuGetErrorString, error, &text) || !text ? "unrecognized error code" : text;
}

cudaError_t cudaDriverGetVersion(int *version)
{
	cudaError_t error = started();

	return note(error ? error : CALL(cuDriverGetVersion, version));
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = VERSION;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
	cudaError_t error = started();

	*count = 0;
	return note(error ? error : CALL(cuDeviceGetCount, count));
}

cudaError_t cudaGetDevice(int *device)
{
	*device = 0;
	return note(started());
}

cudaError_t cudaSetDevice(int device)
{
	return note(device ? cudaErrorInvalidDevice : ready());
}

cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	PASS(cuDeviceGetAttribute, value, attribute, device);
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
	cudaError_t error = started();

	return note(error ? error : CALL(cuDevicePrimaryCtxSetFlags, 0, flags));
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
	const struct { int attribute, *value; } rows[] = {
		{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &properties->major },
		{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &properties->minor },
		{ CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &properties->multiProcessorCount },
		{ CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, &properties->unifiedAddressing },
	};
	cudaError_t error = started();

	memset(properties, 0, sizeof(*properties));
	properties->warpSize = 32;
	properties->maxThreadsPerBlock = 1024;
	properties->managedMemory = 1;
	if (!error)
		error = CALL(cuDeviceGetName, properties->name, sizeof(properties->name), device);
	if (!error)
		error = CALL(cuDeviceTotalMem, &properties->totalGlobalMem, device);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !error; i++)
		error = CALL(cuDeviceGetAttribute, rows[i].value, rows[i].attribute, device);
	return note(error);
}

cudaError_t cudaProfilerStart(void)
{
	PASS(cuProfilerStart);
}

cudaError_t cudaProfilerStop(void)
{
	PASS(cuProfilerStop);
}

cudaError_t cudaDeviceSynchronize(void)
{
	PASS(cuCtxSynchronize, context);
}

/* As the real one: what the context had is gone, and the next call makes it anew. */
cudaError_t cudaDeviceReset(void)
{
	cudaError_t error = ready();

	if (error)
		return note(error);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_functions; i++)
		functions[i].kernel = NULL;
	for (size_t i = 0; i < MAX_BINARIES; i++)
		if (binaries[i].library) {
			driver.cuLibraryUnload(binaries[i].library);
			binaries[i].library = NULL;
		}
	error = CALL(cuDevicePrimaryCtxReset, 0);
	if (!error) {
		release_context();
		current = false;
		driver.cuCtxSetCurrent(NULL);
	}
	pthread_mutex_unlock(&lock);
	return note(error);
}

/* ---- memory */

cudaError_t cudaMalloc(void **p, size_t size)
{
	cudaError_t error = ready();
	CUdeviceptr address = 0;

	if (!error && size)
		error = CALL(cuMemAlloc, &address, size);
	if (!error)
		*p = (void *)(uintptr_t)address;
	return note(error);
}

cudaError_t cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height)
{
	cudaError_t error = ready();
	CUdeviceptr address;

	if (!error)
		error = CALL(cuMemAllocPitch, &address, pitch, width, height, 4);
	if (!error)
		*p = (void *)(uintptr_t)address;
	return note(error);
}

cudaError_t cudaFree(void *p)
{
	cudaError_t error = ready();

	return note(error || !p ? error : CALL(cuMemFree, DEVICE(p)));
}

cudaError_t cudaMallocAsync(void **p, size_t size, cudaStream_t stream)
{
	cudaError_t error = ready();
	CUdeviceptr address;

	if (!error)
		error = CALL(cuMemAllocAsync, &address, size, stream);
	if (!error)
		*p = (void *)(uintptr_t)address;
	return note(error);
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
	PASS(cuMemFreeAsync, DEVICE(p), stream);
}

cudaError_t cudaHostAlloc(void **p, size_t size, unsigned flags)
{
	PASS(cuMemHostAlloc, p, size, flags);
}

cudaError_t cudaMallocHost(void **p, size_t size)
{
	PASS(cuMemHostAlloc, p, size, 0);
}

cudaError_t cudaFreeHost(void *p)
{
	PASS(cuMemFreeHost, p);
}

cudaError_t cudaHostRegister(void *p, size_t size, unsigned flags)
{
	PASS(cuMemHostRegister, p, size, flags);
}

cudaError_t cudaHostUnregister(void *p)
{
	PASS(cuMemHostUnregister, p);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *p, unsigned flags)
{
	PASS(cuMemHostGetDevicePointer, (CUdeviceptr *)device, p, flags);
}

cudaError_t cudaMallocManaged(void **p, size_t size, unsigned flags)
{
	PASS(cuMemAllocManaged, (CUdeviceptr *)p, size, flags);
}

/* Of a variable whose host side is @symbol; loads what was registered with it. */
static cudaError_t find_symbol(const void *symbol, CUdeviceptr *ret, size_t *ret_size)
{
	struct variable *variable = NULL;
	cudaError_t error = ready();

	if (error)
		return error;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_variables && !variable; i++)
		if (variables[i].host && variables[i].host == symbol)
			variable = &variables[i];
	error = variable ? load(variable->binary) : cudaErrorInvalidSymbol;
	if (!error)
		error = CALL(cuLibraryGetGlobal, ret, ret_size, variable->binary->library, variable->name);
	pthread_mutex_unlock(&lock);
	return error;
}

cudaError_t cudaGetSymbolAddress(void **p, const void *symbol)
{
	return note(find_symbol(symbol, (CUdeviceptr *)p, NULL));
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
	return note(find_symbol(symbol, NULL, size));
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t size, size_t offset, int kind)
{
	CUdeviceptr p;
	size_t whole;
	cudaError_t error = find_symbol(symbol, &p, &whole);

	if (!error && (offset > whole || size > whole - offset))
		error = cudaErrorInvalidValue;
	return error ? note(error) : cudaMemcpy((void *)(uintptr_t)(p + offset), src, size, kind);
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t size, size_t offset, int kind)
{
	CUdeviceptr p;
	size_t whole;
	cudaError_t error = find_symbol(symbol, &p, &whole);

	if (!error && (offset > whole || size > whole - offset))
		error = cudaErrorInvalidValue;
	return error ? note(error) : cudaMemcpy(dst, (const void *)(uintptr_t)(p + offset), size, kind);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
	PASS(cuMemGetInfo, free, total);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p)
{
	cudaError_t error = ready();
	int type = 0;

	if (error)
		return note(error);
	memset(attributes, 0, sizeof(*attributes));
	error = CALL(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, DEVICE(p));
	if (error == CUDA_ERROR_INVALID_VALUE)		/* ordinary memory */
		return cudaSuccess;
	attributes->type = type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
	attributes->devicePointer = (void *)(uintptr_t)p;
	return note(error);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p)
{
	PASS(cuIpcGetMemHandle, handle, DEVICE(p));
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t size, int kind)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		PASS(cuMemcpyHtoD, DEVICE(dst), src, size);
	case cudaMemcpyDeviceToHost:
		PASS(cuMemcpyDtoH, dst, DEVICE(src), size);
	case cudaMemcpyDeviceToDevice:
		PASS(cuMemcpyDtoD, DEVICE(dst), DEVICE(src), size);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		PASS(cuMemcpy, DEVICE(dst), DEVICE(src), size);
	}
	return note(cudaErrorInvalidMemcpyDirection);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t size, int kind, cudaStream_t stream)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		PASS(cuMemcpyHtoDAsync, DEVICE(dst), src, size, stream);
	case cudaMemcpyDeviceToHost:
		PASS(cuMemcpyDtoHAsync, dst, DEVICE(src), size, stream);
	case cudaMemcpyDeviceToDevice:
		PASS(cuMemcpyDtoDAsync, DEVICE(dst), DEVICE(src), size, stream);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		PASS(cuMemcpyAsync, DEVICE(dst), DEVICE(src), size, stream);
	}
	return note(cudaErrorInvalidMemcpyDirection);
}

static int side(int kind, bool device)
{
	return kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED : device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

static CUDA_MEMCPY2D copy_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
			     size_t height, int kind)
{
	return (CUDA_MEMCPY2D){
		.srcMemoryType = side(kind, kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice),
		.srcHost = src, .srcDevice = DEVICE(src), .srcPitch = src_pitch,
		.dstMemoryType = side(kind, kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice),
		.dstHost = dst, .dstDevice = DEVICE(dst), .dstPitch = dst_pitch,
		.WidthInBytes = width, .Height = height,
	};
}

cudaError_t cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
			 int kind)
{
	const CUDA_MEMCPY2D copy = copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind);

	if (width > dst_pitch || width > src_pitch)
		return note(cudaErrorInvalidPitchValue);
	PASS(cuMemcpy2DUnaligned, &copy);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
			      size_t height, int kind, cudaStream_t stream)
{
	const CUDA_MEMCPY2D copy = copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind);

	if (width > dst_pitch || width > src_pitch)
		return note(cudaErrorInvalidPitchValue);
	PASS(cuMemcpy2DAsync, &copy, stream);
}

cudaError_t cudaMemset(void *p, int value, size_t n)
{
	PASS(cuMemsetD8, DEVICE(p), (unsigned char)value, n);
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t stream)
{
	PASS(cuMemsetD8Async, DEVICE(p), (unsigned char)value, n, stream);
}

cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height)
{
	PASS(cuMemsetD2D8, DEVICE(p), pitch, (unsigned char)value, width, height);
}

/* ---- streams and events */

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	PASS(cuStreamCreate, stream, CU_STREAM_DEFAULT);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	PASS(cuStreamCreate, stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	PASS(cuStreamDestroy, stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	PASS(cuStreamSynchronize, stream);
}

/* Not ready is no error to remember. */
static cudaError_t query(cudaError_t error)
{
	return error == cudaErrorNotReady ? error : note(error);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	cudaError_t error = ready();

	return query(error ? error : CALL(cuStreamQuery, stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	PASS(cuStreamWaitEvent, stream, event, flags);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t *function, void *data, unsigned flags)
{
	PASS(cuStreamAddCallback, stream, function, data, flags);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t *function, void *data)
{
	PASS(cuLaunchHostFunc, stream, function, data);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	PASS(cuEventCreate, event, CU_EVENT_DEFAULT);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	PASS(cuEventCreate, event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	PASS(cuEventDestroy, event);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	PASS(cuEventRecord, event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	cudaError_t error = ready();

	return query(error ? error : CALL(cuEventQuery, event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	PASS(cuEventSynchronize, event);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end)
{
	PASS(cuEventElapsedTime, milliseconds, begin, end);
}

/* ---- kernels */

/* The driver's kernel for a host stub; loads what was registered with it. */
static cudaError_t kernel_of(const void *host, CUfunction *ret_kernel)
{
	struct function *function = NULL;
	cudaError_t error = ready();

	if (error)
		return error;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_functions && !function; i++)
		if (functions[i].host && functions[i].host == host)
			function = &functions[i];
	if (!function)
		error = cudaErrorInvalidDeviceFunction;
	else
		error = load(function->binary);
	if (!error && !function->kernel)
		error = CALL(cuLibraryGetKernel, &function->kernel, function->binary->library, function->name);
	if (!error)
		*ret_kernel = (CUfunction)function->kernel;
	pthread_mutex_unlock(&lock);
	return error;
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
			     cudaStream_t stream)
{
	CUfunction kernel;
	cudaError_t error = kernel_of(function, &kernel);

	return note(error ? error : CALL(cuLaunchKernel, kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
					 (unsigned)shared, stream, args, NULL));
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	CUfunction found;
	cudaError_t error = kernel_of(function, &found);

	if (!error)
		*kernel = (cudaKernel_t)found;
	return note(error);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
			       cudaStream_t stream)
{
	PASS(cuLaunchKernel, (CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
	     stream, args, NULL);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
	CUfunction kernel;
	cudaError_t error = kernel_of(function, &kernel);

	memset(attributes, 0, sizeof(*attributes));
	if (!error)
		error = CALL(cuKernelGetAttribute, &attributes->maxThreadsPerBlock,
			     CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, (CUkernel)kernel, 0);
	return note(error);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *function, int threads,
								   size_t shared, unsigned flags)
{
	CUfunction kernel;
	cudaError_t error = kernel_of(function, &kernel);

	return note(error ? error : CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, n, kernel, threads,
					 shared, flags));
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
					cudaStream_t stream)
{
	CUfunction kernel;
	cudaError_t error = kernel_of(function, &kernel);

	return note(error ? error : CALL(cuLaunchCooperativeKernel, kernel, grid.x, grid.y, grid.z, block.x, block.y,
					 block.z, (unsigned)shared, stream, args));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **args)
{
	const CUlaunchConfig launch = {
		config->gridDim.x, config->gridDim.y, config->gridDim.z, config->blockDim.x, config->blockDim.y,
		config->blockDim.z, (unsigned)config->dynamicSmemBytes, config->stream, config->attrs,
		config->numAttrs };
	CUfunction kernel;
	cudaError_t error = kernel_of(function, &kernel);

	return note(error ? error : CALL(cuLaunchKernelEx, &launch, kernel, args, NULL));
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
	PASS(cuStreamBeginCapture, stream, mode);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	PASS(cuStreamEndCapture, stream, graph);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	PASS(cuGraphInstantiateWithFlags, exec, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	PASS(cuGraphLaunch, exec, stream);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	PASS(cuGraphExecDestroy, exec);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	PASS(cuGraphDestroy, graph);
}
