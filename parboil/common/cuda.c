/* SPDX-License-Identifier: MIT */
/* cuda.c - what the variants on CUDA's driver ask for. Neither building nor running without it needs the toolkit. */
#include "cuda.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

#define MAX_ARRAYS 32
#define MAX_PIECES 64
#define PIECE ((size_t)1 << 20)	/* of an array, where there are not too many */
#define NAME_SIZE 128

/* ---- the driver's interface and the compiler's, as much as is used; numbers and names are theirs */

enum { MAJOR = 75, MINOR = 76 };	/* of a device: its compute capability */
enum { HOST_DEVICEMAP = 2, ATTACH_GLOBAL = 1, STREAM_NON_BLOCKING = 1, TO_CPU = -1, PREFERRED_LOCATION = 3,
       NO_TIMING = 2 };

#define DRIVER(F) \
	F(cuInit, (unsigned flags)) \
	F(cuGetErrorName, (int error, const char **name)) \
	F(cuDeviceGetCount, (int *count)) \
	F(cuDeviceGet, (int *device, int ordinal)) \
	F(cuDeviceGetName, (char *name, int size, int device)) \
	F(cuDeviceGetAttribute, (int *value, int attribute, int device)) \
	F(cuDevicePrimaryCtxRetain, (void **context, int device)) \
	F(cuDevicePrimaryCtxRelease_v2, (int device)) \
	F(cuCtxPushCurrent_v2, (void *context)) \
	F(cuStreamCreate, (void **stream, unsigned flags)) \
	F(cuStreamDestroy_v2, (void *stream)) \
	F(cuStreamSynchronize, (void *stream)) \
	F(cuStreamWaitEvent, (void *stream, void *event, unsigned flags)) \
	F(cuEventCreate, (void **event, unsigned flags)) \
	F(cuEventDestroy_v2, (void *event)) \
	F(cuEventRecord, (void *event, void *stream)) \
	F(cuEventSynchronize, (void *event)) \
	F(cuMemAlloc_v2, (uint64_t *p, size_t size)) \
	F(cuMemFree_v2, (uint64_t p)) \
	F(cuMemAllocManaged, (uint64_t *p, size_t size, unsigned flags)) \
	F(cuMemAdvise, (uint64_t p, size_t size, int advice, int device)) \
	F(cuMemPrefetchAsync, (uint64_t p, size_t size, int device, void *stream)) \
	F(cuMemHostAlloc, (void **p, size_t size, unsigned flags)) \
	F(cuMemFreeHost, (void *p)) \
	F(cuMemHostGetDevicePointer_v2, (uint64_t *p, void *host, unsigned flags)) \
	F(cuMemcpyHtoDAsync_v2, (uint64_t dst, const void *src, size_t size, void *stream)) \
	F(cuMemcpyDtoHAsync_v2, (void *dst, uint64_t src, size_t size, void *stream)) \
	F(cuMemcpyDtoH_v2, (void *dst, uint64_t src, size_t size)) \
	F(cuMemsetD8Async, (uint64_t p, unsigned char value, size_t n, void *stream)) \
	F(cuModuleLoadData, (void **module, const void *image)) \
	F(cuModuleUnload, (void *module)) \
	F(cuModuleGetFunction, (void **function, void *module, const char *name)) \
	F(cuLaunchKernel, (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
			   unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **params, \
			   void **extra))
#define COMPILER(F) \
	F(nvrtcCreateProgram, (void **program, const char *text, const char *name, int n_headers, \
			       const char *const *headers, const char *const *names)) \
	F(nvrtcCompileProgram, (void *program, int n_options, const char *const *options)) \
	F(nvrtcGetPTXSize, (void *program, size_t *size)) \
	F(nvrtcGetPTX, (void *program, char *ptx)) \
	F(nvrtcGetProgramLogSize, (void *program, size_t *size)) \
	F(nvrtcGetProgramLog, (void *program, char *log)) \
	F(nvrtcDestroyProgram, (void **program))

#define FIELD(name, params) int (*name) params;
static struct { DRIVER(FIELD) } cu;
static struct { COMPILER(FIELD) } rtc;

/* What a library has not got is NULL. */
#define LOOK_UP_CU(name, params) *(void **)&cu.name = dlsym(handle, #name);
#define LOOK_UP_RTC(name, params) *(void **)&rtc.name = dlsym(handle, #name);

struct array {				/* used or kept */
	struct pb_array base;
	bool used, fetched;		/* fetched: it was, since it was allocated */
};

struct pb_cuda {
	enum pb_variant variant;
	int device;
	void *stream, *copies, *module;	/* copies: a stream, too; of all variants but one the same */
	void *events[MAX_PIECES];	/* made where they are needed */
	bool sent;			/* the next kernel has to wait for the stream of copies */
	struct array arrays[MAX_ARRAYS];
	size_t n_arrays;
};

static void check(int error, const char *function)
{
	const char *name = NULL;

	if (!error)
		return;
	cu.cuGetErrorName(error, &name);
	pb_die("%s: %s (%d)", function, name ? name : "unknown error", error);
}

/* Memory of some kinds not every driver has. */
#define CALL(function, ...) \
	(cu.function ? check(cu.function(__VA_ARGS__), #function) : pb_die("the driver has no %s()", #function))

/* ---- opening and closing */

/* What the environment says, or "" where the library would look for it itself. */
static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value && strcmp(value, "auto") != 0 ? value : "";
}

static void open_driver(void)
{
	const char *path = setting("ADSM_CUDA_LIBRARY");
	void *handle = dlopen(*path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		pb_die("no CUDA driver: %s", dlerror());
	DRIVER(LOOK_UP_CU)
	if (!cu.cuInit || !cu.cuGetErrorName)
		pb_die("%s is not a CUDA driver", *path ? path : "libcuda.so.1");
	CALL(cuInit, 0);
}

static void open_compiler(void)
{
	static const char *const usual[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
		"/usr/local/cuda/lib64/libnvrtc.so" };
	const char *path = setting("ADSM_CUDA_COMPILER");
	void *handle = *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	for (size_t i = 0; !*path && !handle && i < sizeof(usual) / sizeof(usual[0]); i++)
		handle = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		pb_die("NVRTC, which compiles the kernels, cannot be opened: %s", *path ? dlerror() :
		       "install the CUDA toolkit, or set ADSM_CUDA_COMPILER to its file");
	COMPILER(LOOK_UP_RTC)
	if (!rtc.nvrtcCreateProgram || !rtc.nvrtcCompileProgram || !rtc.nvrtcGetPTXSize || !rtc.nvrtcGetPTX ||
	    !rtc.nvrtcGetProgramLogSize || !rtc.nvrtcGetProgramLog || !rtc.nvrtcDestroyProgram)
		pb_die("NVRTC lacks a function");
}

/* The first whose index is ADSM_CUDA_DEVICE, or that has it in its name. */
static int find_device(char *ret_name, size_t size)
{
	const char *wanted = setting("ADSM_CUDA_DEVICE");
	bool any = !*wanted || strcmp(wanted, "all") == 0, number = *wanted && !wanted[strspn(wanted, "0123456789")];
	int count = 0, device;

	CALL(cuDeviceGetCount, &count);
	for (int i = 0; i < count; i++) {
		CALL(cuDeviceGet, &device, i);
		CALL(cuDeviceGetName, ret_name, (int)size, device);
		if (any || (number ? atoi(wanted) == i : strcasestr(ret_name, wanted) != NULL))
			return device;
	}
	if (!count)
		pb_die("no CUDA device");
	pb_die("ADSM_CUDA_DEVICE=%s: no device matches; there are %d devices", wanted, count);
}

static char *read_text(const char *path)
{
	FILE *file = pb_open(path, "r");
	size_t size = pb_file_size(file, path);
	char *text = pb_host_alloc(size + 1);

	if (fread(text, 1, size, file) != size)
		pb_die("%s: cannot be read", path);
	text[size] = '\0';
	fclose(file);
	return text;
}

/* The same text that the library gives to the device. */
static void build(struct pb_cuda *cuda, const char *bench)
{
	char path[PATH_MAX], name[32], arch[32], *log, *ptx, *text;
	/* As the library does: the dialect needs the one, and results like a CPU's the other. */
	const char *const options[] = { arch, "--std=c++20", "--fmad=false" };
	int major = 0, minor = 0;
	size_t size = 0;
	void *program;

	snprintf(name, sizeof(name), "%s.cl", bench);
	pb_files_beside(path, sizeof(path), name);
	text = read_text(path);
	CALL(cuDeviceGetAttribute, &major, MAJOR, cuda->device);
	CALL(cuDeviceGetAttribute, &minor, MINOR, cuda->device);
	snprintf(arch, sizeof(arch), "--gpu-architecture=compute_%d%d", major, minor);
	if (rtc.nvrtcCreateProgram(&program, text, name, 0, NULL, NULL))
		pb_die("%s: nvrtcCreateProgram failed", path);
	if (rtc.nvrtcCompileProgram(program, 3, options)) {
		rtc.nvrtcGetProgramLogSize(program, &size);
		log = pb_host_alloc(size + 1);
		log[0] = log[size] = '\0';
		rtc.nvrtcGetProgramLog(program, log);
		pb_die("%s: NVRTC: %s", path, log);
	}
	if (rtc.nvrtcGetPTXSize(program, &size))
		pb_die("%s: NVRTC wrote no PTX", path);
	ptx = pb_host_alloc(size);
	if (rtc.nvrtcGetPTX(program, ptx))
		pb_die("%s: NVRTC wrote no PTX", path);
	CALL(cuModuleLoadData, &cuda->module, ptx);
	rtc.nvrtcDestroyProgram(&program);
	free(ptx);
	free(text);
}

void pb_cuda_open(struct pb_run *run, enum pb_variant variant, char *ret_device, size_t size)
{
	struct pb_cuda *cuda = pb_host_alloc(sizeof(*cuda));
	char name[NAME_SIZE] = "";
	void *context;

	*cuda = (struct pb_cuda){ .variant = variant };
	open_driver();
	open_compiler();
	cuda->device = find_device(name, sizeof(name));
	snprintf(ret_device, size, "%.*s", (int)size - 1, name);
	CALL(cuDevicePrimaryCtxRetain, &context, cuda->device);
	CALL(cuCtxPushCurrent_v2, context);
	CALL(cuStreamCreate, &cuda->stream, STREAM_NON_BLOCKING);
	cuda->copies = cuda->stream;
	if (variant == PB_CUDA_PIPELINE)
		CALL(cuStreamCreate, &cuda->copies, STREAM_NON_BLOCKING);
	build(cuda, run->bench->name);
	run->cuda = cuda;
}

/* Its arrays are two pieces of memory, of which the CPU's is pinned. */
static bool pins(const struct pb_run *run)
{
	return run->cuda->variant == PB_CUDA_PINNED || run->cuda->variant == PB_CUDA_PINNED_COLD ||
	       run->cuda->variant == PB_CUDA_PIPELINE;
}

static bool copies(const struct pb_run *run)
{
	return run->cuda->variant == PB_CUDA || pins(run);
}

static void give_back(const struct pb_run *run, struct pb_array array)
{
	if (run->cuda->variant == PB_CUDA)
		free(array.host);
	else if (array.host && (pins(run) || run->cuda->variant == PB_ZEROCOPY))
		CALL(cuMemFreeHost, array.host);
	if (!array.host || run->cuda->variant != PB_ZEROCOPY)
		CALL(cuMemFree_v2, array.device);
}

void pb_cuda_close(struct pb_run *run)
{
	struct pb_cuda *cuda = run->cuda;

	CALL(cuStreamSynchronize, cuda->stream);
	for (size_t i = 0; i < cuda->n_arrays; i++)
		give_back(run, cuda->arrays[i].base);
	for (size_t i = 0; i < MAX_PIECES && cuda->events[i]; i++)
		CALL(cuEventDestroy_v2, cuda->events[i]);
	CALL(cuModuleUnload, cuda->module);
	if (cuda->copies != cuda->stream)
		CALL(cuStreamDestroy_v2, cuda->copies);
	CALL(cuStreamDestroy_v2, cuda->stream);
	CALL(cuDevicePrimaryCtxRelease_v2, cuda->device);
	free(cuda);
	run->cuda = NULL;
}

/* ---- memory */

static struct pb_array new_array(const struct pb_run *run, size_t size, bool device_only)
{
	struct pb_array array = { .size = size };
	enum pb_variant variant = run->cuda->variant;

	if (variant == PB_ZEROCOPY && !device_only) {
		CALL(cuMemHostAlloc, &array.host, size, HOST_DEVICEMAP);
		CALL(cuMemHostGetDevicePointer_v2, &array.device, array.host, 0);
	} else if ((variant == PB_MANAGED || variant == PB_MANAGED_PREFETCH) && !device_only) {
		CALL(cuMemAllocManaged, &array.device, size, ATTACH_GLOBAL);
		array.host = (void *)(uintptr_t)array.device;
		if (variant == PB_MANAGED_PREFETCH)
			CALL(cuMemAdvise, array.device, size, PREFERRED_LOCATION, run->cuda->device);
	} else {
		CALL(cuMemAlloc_v2, &array.device, size);
		if (pins(run) && !device_only)
			CALL(cuMemHostAlloc, &array.host, size, 0);
		else if (!device_only)
			array.host = pb_host_alloc(size);
	}
	return array;
}

static struct pb_array alloc(struct pb_run *run, size_t size, bool device_only)
{
	struct pb_cuda *cuda = run->cuda;

	for (size_t i = 0; i < cuda->n_arrays; i++) {
		struct array *array = &cuda->arrays[i];

		if (!array->used && array->base.size == size && !array->base.host == device_only) {
			array->used = true;
			array->fetched = false;
			return array->base;
		}
	}
	if (cuda->n_arrays == MAX_ARRAYS)
		pb_die("more than %d arrays", MAX_ARRAYS);
	cuda->arrays[cuda->n_arrays] = (struct array){ .base = new_array(run, size, device_only), .used = true };
	return cuda->arrays[cuda->n_arrays++].base;
}

struct pb_array pb_cu_alloc(struct pb_run *run, size_t size)
{
	return alloc(run, size, false);
}

struct pb_array pb_cu_alloc_device(struct pb_run *run, size_t size)
{
	return alloc(run, size, true);
}

static struct array *find(struct pb_cuda *cuda, struct pb_array array)
{
	struct array *found = cuda->arrays;

	while (found->base.device != array.device)
		found++;
	return found;
}

/* Both pieces of memory; if there is one, on the side that used it last: managed memory does not move for that. */
static void spoil(const struct pb_run *run, const struct array *array)
{
	const struct pb_cuda *cuda = run->cuda;

	CALL(cuStreamSynchronize, cuda->stream);
	if (array->base.host && (copies(run) || array->fetched || cuda->variant == PB_ZEROCOPY)) {
		memset(array->base.host, PB_SPOILT, array->base.size);
		if (!copies(run))
			return;
	}
	CALL(cuMemsetD8Async, array->base.device, PB_SPOILT, array->base.size, cuda->stream);
	CALL(cuStreamSynchronize, cuda->stream);
}

void pb_cu_free(struct pb_run *run, struct pb_array array)
{
	struct pb_cuda *cuda = run->cuda;
	struct array *found = find(cuda, array);

	spoil(run, found);
	found->used = false;
	if (cuda->variant == PB_CUDA_PINNED_COLD) {
		give_back(run, array);
		*found = cuda->arrays[--cuda->n_arrays];
	}
}

/* ---- transfers */

/* An event of the program's; they are kept. */
static void *event(struct pb_cuda *cuda, size_t i)
{
	if (!cuda->events[i])
		CALL(cuEventCreate, &cuda->events[i], NO_TIMING);
	return cuda->events[i];
}

/* What is enqueued in the one stream from now on waits for what the other has. */
static void follow(struct pb_cuda *cuda, void *after, void *before)
{
	if (after == before)
		return;
	CALL(cuEventRecord, event(cuda, 0), before);
	CALL(cuStreamWaitEvent, after, event(cuda, 0), 0);
}

void pb_cu_send(struct pb_run *run, struct pb_array array, size_t offset, size_t size)
{
	struct pb_cuda *cuda = run->cuda;

	if (cuda->variant == PB_MANAGED_PREFETCH)
		CALL(cuMemPrefetchAsync, array.device + offset, size, cuda->device, cuda->stream);
	if (!copies(run))
		return;
	CALL(cuMemcpyHtoDAsync_v2, array.device + offset, (char *)array.host + offset, size, cuda->copies);
	cuda->sent = true;
	run->result.stats.h2d_bytes += size;
	run->result.stats.h2d_transfers++;
}

/* Enqueue the copy. */
static void begin_fetch(struct pb_run *run, struct pb_array array, size_t offset, size_t size)
{
	struct pb_cuda *cuda = run->cuda;

	find(cuda, array)->fetched = true;
	if (copies(run)) {
		CALL(cuMemcpyDtoHAsync_v2, (char *)array.host + offset, array.device + offset, size, cuda->copies);
		run->result.stats.d2h_bytes += size;
		run->result.stats.d2h_transfers++;
	}
	if (cuda->variant == PB_MANAGED_PREFETCH)
		CALL(cuMemPrefetchAsync, array.device + offset, size, TO_CPU, cuda->stream);
}

void pb_cu_fetch(struct pb_run *run, struct pb_array array, size_t offset, size_t size)
{
	follow(run->cuda, run->cuda->copies, run->cuda->stream);
	begin_fetch(run, array, offset, size);
	CALL(cuStreamSynchronize, run->cuda->copies);
}

/* Of an array that goes to or comes from a file. */
static size_t piece_of(const struct pb_run *run, size_t size)
{
	size_t least = (size + MAX_PIECES - 1) / MAX_PIECES;

	if (run->cuda->variant != PB_CUDA_PIPELINE)
		return size;
	return least > PIECE ? least : PIECE;
}

void pb_cu_read(struct pb_run *run, FILE *in, const char *path, struct pb_array array)
{
	for (size_t at = 0, n; at < array.size; at += n) {
		n = piece_of(run, array.size);
		n = n < array.size - at ? n : array.size - at;
		pb_read(run, in, path, (char *)array.host + at, n);
		pb_cu_send(run, array, at, n);
	}
}

void pb_cu_write(struct pb_run *run, FILE *out, struct pb_array array)
{
	const size_t piece = piece_of(run, array.size);
	struct pb_cuda *cuda = run->cuda;

	follow(cuda, cuda->copies, cuda->stream);
	for (size_t at = 0; at < array.size; at += piece) {
		begin_fetch(run, array, at, piece < array.size - at ? piece : array.size - at);
		CALL(cuEventRecord, event(cuda, at / piece), cuda->copies);
	}
	for (size_t at = 0; at < array.size; at += piece) {
		CALL(cuEventSynchronize, event(cuda, at / piece));
		pb_write(run, out, (char *)array.host + at, piece < array.size - at ? piece : array.size - at);
	}
}

int pb_cu_copy_out(void *dst, const void *src, size_t size)
{
	CALL(cuMemcpyDtoH_v2, dst, (uintptr_t)src, size);
	return 0;
}

void pb_cu_zero(struct pb_run *run, struct pb_array array)
{
	if (run->cuda->variant != PB_ZEROCOPY || !array.host) {
		CALL(cuMemsetD8Async, array.device, 0, array.size, run->cuda->stream);
		return;
	}
	CALL(cuStreamSynchronize, run->cuda->stream);
	memset(array.host, 0, array.size);
}

/* ---- kernels */

void *pb_cu_kernel(struct pb_run *run, const char *name)
{
	void *kernel;

	CALL(cuModuleGetFunction, &kernel, run->cuda->module, name);
	return kernel;
}

void pb_cu_launch(struct pb_run *run, void *kernel, adsmDim grid, adsmDim block, void **args)
{
	if (run->cuda->sent)
		follow(run->cuda, run->cuda->stream, run->cuda->copies);
	run->cuda->sent = false;
	CALL(cuLaunchKernel, kernel, grid.x, grid.y ? grid.y : 1, grid.z ? grid.z : 1, block.x,
	     block.y ? block.y : 1, block.z ? block.z : 1, 0, run->cuda->stream, args, NULL);
	run->result.stats.calls++;
}
