/* SPDX-License-Identifier: MIT */
/*
 * hook.c - what look-ups give, with the library preloaded: the driver's wrappers where the driver itself would have
 * answered with one that has a wrapper, and else what they give without the library.
 *
 * TEST_LIBRARY: the library. TEST_DRIVER: the driver's double. TEST_OTHER: hook_driver.c. TEST_NEIGHBOUR: one of
 * hook_neighbour.c that nothing is linked with.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../check.h"
#include "cuda/cu.h"
#include "hook.h"

#ifdef __x86_64__
#define LIBC_VERSION "GLIBC_2.2.5"
#else
#define LIBC_VERSION "GLIBC_2.17"
#endif

typedef CUresult get_fn(const char *symbol, void **function, int version, uint64_t flags);
typedef CUresult get_2_fn(const char *symbol, void **function, int version, uint64_t flags, int *status);

static void *open_env(const char *variable, int flags)
{
	const char *path = getenv(variable);
	void *handle = path ? dlopen(path, flags) : NULL;

	if (!handle) {
		printf("%s: %s\n", variable, path ? dlerror() : "is not set");
		exit(1);
	}
	return handle;
}

/* What the C library itself says: its own function, which its version tells from others of that name. */
static void *raw(void *handle, const char *name)
{
	static void *(*look_up)(void *handle, const char *name);

	if (!look_up) {
		void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *libdl = dlopen("libdl.so.2", RTLD_LAZY);

		look_up = (void *(*)(void *, const char *))(uintptr_t)dlvsym(libc, "dlsym", "GLIBC_2.34");
		if (!look_up)
			look_up = (void *(*)(void *, const char *))(uintptr_t)dlvsym(libdl, "dlsym", LIBC_VERSION);
	}
	return look_up(handle, name);
}

static void *library(void)
{
	static void *handle;

	if (!handle)
		handle = open_env("TEST_LIBRARY", RTLD_LAZY | RTLD_NOLOAD);
	return handle;
}

/* What is to be handed out for a function of the driver's. */
static void *expected(void *driver, const char *name)
{
	void *wrapper = raw(library(), name);

	return wrapper && raw(driver, name) ? wrapper : raw(driver, name);
}

/* ---- others' look-ups */

static void next(void)
{
	static const char *const libc_names[] = { "malloc", "read", "memcpy", "dlopen", "dlclose" };
	static const char *const cu_names[] = { "cuBlasThing", "cuMemAlloc_v2", "cuGetProcAddress_v2" };
	void *second = dlopen("libhook-neighbour-2.so", RTLD_LAZY | RTLD_NOLOAD);
	void *driver = open_env("TEST_DRIVER", RTLD_NOW | RTLD_GLOBAL);

	CHECK(second);
	/* It is the next, and asked for as itself. */
	CHECK(hook_1_next("cuGetProcAddress") == raw(driver, "cuGetProcAddress"));
	CHECK(hook_2_next("cuGetProcAddress_v2") == raw(driver, "cuGetProcAddress_v2"));
	/* Relative to the library it would be the first's. */
	CHECK(hook_1_next("hook_value") && hook_1_next("hook_value") == raw(second, "hook_value"));
	CHECK(!hook_2_next("hook_value"));
	for (size_t i = 0; i < sizeof(cu_names) / sizeof(*cu_names); i++) {
		CHECKF(hook_1_next(cu_names[i]) == raw(second, cu_names[i]), "%s", cu_names[i]);
		CHECKF(hook_2_next(cu_names[i]) == raw(driver, cu_names[i]), "%s", cu_names[i]);
	}
	for (size_t i = 0; i < sizeof(libc_names) / sizeof(*libc_names); i++) {
		void *found = hook_1_next(libc_names[i]);

		/* Some have moved into libc, and have another version since. */
		CHECKF(found && (found == hook_1_next_version(libc_names[i], LIBC_VERSION) ||
				 found == hook_1_next_version(libc_names[i], "GLIBC_2.34") ||
				 found == hook_1_next_version(libc_names[i], "GLIBC_2.14")), "%s", libc_names[i]);
	}
}

/* Before the constructors of the library. */
static void early(void)
{
	void *second = dlopen("libhook-neighbour-2.so", RTLD_LAZY | RTLD_NOLOAD);
	const struct hook_early *found = hook_1_early();

	CHECK(found->value && found->value == raw(second, "hook_value"));
	CHECK(found->thing && found->thing == raw(second, "cuBlasThing"));
	CHECK(found->memory && found->memory == raw(second, "cuMemAlloc_v2"));
	CHECK(!hook_2_early()->value && !hook_2_early()->thing && !hook_2_early()->memory);
}

static void anywhere(void)
{
	void *handle = open_env("TEST_NEIGHBOUR", RTLD_NOW | RTLD_LOCAL);
	void *(*any)(const char *) = (void *(*)(const char *))(uintptr_t)raw(handle, "hook_3_any");

	CHECK(any);
	/* Only from inside. */
	CHECK(any && any("hook_3_any") == raw(handle, "hook_3_any"));
	CHECK(!hook_1_any("hook_3_any") && !dlsym(RTLD_DEFAULT, "hook_3_any"));
	CHECK(hook_2_any("cuBlasThing") == (void *)(uintptr_t)hook_1_any("cuBlasThing"));
	/* The driver's: as a program that is linked with it. */
	CHECK(hook_1_any("cuGetProcAddress") == raw(library(), "cuGetProcAddress"));
}

/* The same names, of libraries that are no driver. */
static void others(void)
{
	static const char *const names[] = { "cuBlasThing", "cuMemAlloc_v2", "cuGetProcAddress_v2", "hook_value" };
	void *handle = open_env("TEST_NEIGHBOUR", RTLD_NOW | RTLD_LOCAL), *driver;
	const char *error;

	for (int loaded = 0; loaded < 2; loaded++) {
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			void *own = raw(handle, names[i]);

			dlerror();
			CHECKF(own && dlsym(handle, names[i]) == own, "%s", names[i]);
			CHECKF(!dlerror(), "%s", names[i]);
		}
		CHECK(!dlsym(handle, "cuNothing"));
		error = dlerror();
		CHECK(error && strstr(error, "cuNothing"));
		CHECK(!dlsym(handle, "cuGetProcAddress"));
		error = dlerror();
		CHECK(error && strstr(error, "cuGetProcAddress"));
		CHECK(!dlsym(handle, "c") && !dlsym(handle, "cu") && !dlsym(handle, ""));
		driver = open_env("TEST_DRIVER", RTLD_NOW | RTLD_LOCAL);
		CHECK(dlsym(driver, "cuGetProcAddress_v2") == raw(library(), "cuGetProcAddress_v2"));
	}
	/* Two drivers there are not: the second is just another library. */
	handle = open_env("TEST_OTHER", RTLD_NOW | RTLD_LOCAL);
	CHECK(dlsym(handle, "cuGetProcAddress") == raw(handle, "cuGetProcAddress"));
}

/* ---- the driver's */

static const char *const driver_names[] = {
	"cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString", "cuDeviceGet", "cuDeviceGetCount",
	"cuDeviceGetAttribute", "cuDeviceTotalMem_v2", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2",
	"cuDevicePrimaryCtxReset_v2", "cuCtxCreate_v2", "cuCtxDestroy_v2", "cuCtxGetCurrent", "cuCtxSetCurrent",
	"cuCtxSynchronize", "cuCtxSynchronize_v2", "cuMemGetInfo_v2", "cuMemAlloc_v2", "cuMemAllocPitch_v2",
	"cuMemAllocAsync", "cuMemAllocAsync_ptsz", "cuMemAllocHost_v2", "cuMemAllocManaged", "cuMemFree_v2",
	"cuMemFreeAsync", "cuMemFreeHost", "cuMemHostRegister_v2", "cuMemcpy", "cuMemcpyAsync", "cuMemcpyHtoD_v2",
	"cuMemcpyHtoD_v2_ptds", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2", "cuMemcpyHtoDAsync_v2",
	"cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyDtoHAsync_v2", "cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2",
	"cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2", "cuMemcpy3D_v2", "cuMemsetD8_v2", "cuMemsetD32Async",
	"cuLaunchKernel", "cuLaunchKernel_ptsz", "cuLaunchKernelEx", "cuLaunchHostFunc", "cuStreamCreate",
	"cuStreamDestroy_v2", "cuStreamSynchronize", "cuStreamSynchronize_ptsz", "cuStreamQuery", "cuStreamWaitEvent",
	"cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventQuery", "cuModuleLoadData",
	"cuModuleGetFunction", "cuModuleUnload", "cuPointerGetAttribute", "cuMemGetAddressRange_v2",
	"cuStreamBatchMemOp_v2_ptsz", "cuGetProcAddress", "cuGetProcAddress_v2", "cuGetExportTable", "cuBlasThing",
	"cuNothing", "cuda", "cu",
};
#define N_DRIVER_NAMES (sizeof(driver_names) / sizeof(*driver_names))
/* These at least have wrappers. */
static const char *const wrapped[] = {
	"cuInit", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoHAsync_v2",
	"cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyBatchAsync_v2", "cuLaunchKernel", "cuLaunchKernel_ptsz",
	"cuCtxSynchronize_v2", "cuStreamSynchronize", "cuStreamBatchMemOp_v2_ptsz", "cuGetProcAddress",
	"cuGetProcAddress_v2",
};
static const char *const passed[] = { "cuCtxSetCurrent", "cuStreamWaitEvent", "cuGetExportTable" };

static void names(void)
{
	void *driver = open_env("TEST_DRIVER", RTLD_NOW | RTLD_LOCAL), *again;
	void *found[N_DRIVER_NAMES];
	Dl_info versioned;

	/* Only the C library itself looks up a version. */
	CHECK(dladdr((void *)(uintptr_t)dlvsym, &versioned) && !strstr(versioned.dli_fname, "libadsm"));
	for (size_t i = 0; i < N_DRIVER_NAMES; i++) {
		found[i] = dlsym(driver, driver_names[i]);
		CHECKF(found[i] == expected(driver, driver_names[i]), "%s", driver_names[i]);
		CHECKF(dlsym(driver, driver_names[i]) == found[i], "%s", driver_names[i]);
	}
	for (size_t i = 0; i < sizeof(wrapped) / sizeof(*wrapped); i++)
		CHECKF(raw(library(), wrapped[i]) && dlsym(driver, wrapped[i]) == raw(library(), wrapped[i]),
		       "%s", wrapped[i]);
	for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		CHECKF(raw(driver, passed[i]) && dlsym(driver, passed[i]) == raw(driver, passed[i]), "%s", passed[i]);
	/* A handle of another library that is linked with the driver, and once more after the last is closed. */
	dlclose(driver);
	again = open_env("TEST_DRIVER", RTLD_NOW | RTLD_GLOBAL);
	for (size_t i = 0; i < N_DRIVER_NAMES; i++)
		CHECKF(dlsym(again, driver_names[i]) == found[i], "%s", driver_names[i]);
}

static const struct {
	const char *symbol;
	int version;
	uint64_t flags;
	const char *name;		/* the driver's symbol */
} versions[] = {
	{ "cuGetProcAddress", 11030, 0, "cuGetProcAddress" },
	{ "cuGetProcAddress", 11030, 2, "cuGetProcAddress" },
	{ "cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2" },
	{ "cuGetProcAddress", 13000, 2, "cuGetProcAddress_v2" },
	{ "cuMemcpyBatchAsync", 12080, 0, "cuMemcpyBatchAsync" },
	{ "cuMemcpyBatchAsync", 12080, 2, "cuMemcpyBatchAsync_ptsz" },
	{ "cuMemcpyBatchAsync", 13000, 0, "cuMemcpyBatchAsync_v2" },
	{ "cuMemcpyBatchAsync", 13000, 2, "cuMemcpyBatchAsync_v2_ptsz" },
	{ "cuCtxSynchronize", 2000, 0, "cuCtxSynchronize" },
	{ "cuCtxSynchronize", 12090, 0, "cuCtxSynchronize" },
	{ "cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2" },
	{ "cuMemAlloc", 3020, 0, "cuMemAlloc_v2" },
	{ "cuMemFree", 13000, 0, "cuMemFree_v2" },
	{ "cuMemcpyHtoD", 3020, 0, "cuMemcpyHtoD_v2" },
	{ "cuMemcpyHtoD", 7000, 1, "cuMemcpyHtoD_v2" },
	{ "cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds" },
	{ "cuMemcpyHtoDAsync", 7000, 2, "cuMemcpyHtoDAsync_v2_ptsz" },
	{ "cuLaunchKernel", 4000, 0, "cuLaunchKernel" },
	{ "cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz" },
	{ "cuLaunchKernelEx", 11060, 0, "cuLaunchKernelEx" },
	{ "cuStreamSynchronize", 7000, 2, "cuStreamSynchronize_ptsz" },
	{ "cuInit", 2000, 0, "cuInit" },
	{ "cuDeviceGet", 2000, 2, "cuDeviceGet" },
};

/* Each by both of those that look up, as they are themselves looked up in each way. */
static void by_version(void)
{
	void *driver = open_env("TEST_DRIVER", RTLD_NOW | RTLD_LOCAL), *function;
	get_2_fn *first = (get_2_fn *)(uintptr_t)dlsym(driver, "cuGetProcAddress_v2"), *get_2;
	get_2_fn *own_2 = (get_2_fn *)(uintptr_t)raw(driver, "cuGetProcAddress_v2");
	get_fn *own = (get_fn *)(uintptr_t)raw(driver, "cuGetProcAddress"), *get;
	CUresult error;
	int status;

	CHECK(first && own && own_2);
	CHECK(!first("cuGetProcAddress", &function, 12000, 0, NULL));
	get_2 = (get_2_fn *)(uintptr_t)function;
	CHECK(get_2 == first && get_2 != own_2);
	CHECK(!first("cuGetProcAddress", &function, 11030, 0, NULL));
	get = (get_fn *)(uintptr_t)function;
	CHECK(get != own && function == dlsym(driver, "cuGetProcAddress"));
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		const char *name = versions[i].name, *symbol = versions[i].symbol;
		int version = versions[i].version;
		uint64_t flags = versions[i].flags;
		void *true_one = NULL;

		CHECKF(!own_2(symbol, &true_one, version, flags, NULL) && true_one == raw(driver, name), "%s", name);
		for (int round = 0; round < 2; round++) {
			function = NULL;
			status = -1;
			CHECKF(!get_2(symbol, &function, version, flags, &status), "%s", name);
			CHECKF(function && function == expected(driver, name), "%s", name);
			CHECKF(status == CU_GET_PROC_ADDRESS_SUCCESS, "%s", name);
			function = NULL;
			CHECKF(!get(symbol, &function, version, flags), "%s", name);
			CHECKF(function == expected(driver, name), "%s", name);
		}
	}
	/* What the driver refuses, and how, is its own affair. */
	static const struct { const char *symbol; int version; uint64_t flags; } refused[] = {
		{ "cuNoSuchThing", 13000, 0 }, { "", 0, 0 }, { "cuMemcpyBatchAsync", 11000, 0 },
		{ "cuMemAlloc", 13000, 77 },
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		void *function_own = &status;
		int status_own = -1;

		function = &status;
		status = -1;
		error = own_2(refused[i].symbol, &function_own, refused[i].version, refused[i].flags, &status_own);
		CHECKF(get_2(refused[i].symbol, &function, refused[i].version, refused[i].flags, &status) == error,
		       "%s", refused[i].symbol);
		CHECKF(function == function_own && status == status_own, "%s", refused[i].symbol);
	}
}

/* ---- all at the same time, for the first time */

static pthread_barrier_t barrier;
static void *shared_driver;

static void *look(void *arg)
{
	void **found = arg;
	void *function = NULL;
	get_2_fn *get;

	pthread_barrier_wait(&barrier);
	get = (get_2_fn *)(uintptr_t)dlsym(shared_driver, "cuGetProcAddress_v2");
	found[0] = (void *)(uintptr_t)get;
	if (get && !get("cuMemAlloc", &function, 3020, 0, NULL))
		found[1] = function;
	found[2] = dlsym(shared_driver, "cuMemFree_v2");
	return NULL;
}

static void threads(void)
{
	enum { N = 16 };
	pthread_t thread[N];
	void *found[N][3] = { 0 };

	shared_driver = open_env("TEST_DRIVER", RTLD_NOW | RTLD_LOCAL);
	pthread_barrier_init(&barrier, NULL, N);
	for (int i = 0; i < N; i++)
		CHECK(!pthread_create(&thread[i], NULL, look, found[i]));
	for (int i = 0; i < N; i++) {
		pthread_join(thread[i], NULL);
		CHECK(found[i][0] == raw(library(), "cuGetProcAddress_v2"));
		CHECK(found[i][1] == expected(shared_driver, "cuMemAlloc_v2"));
		CHECK(found[i][2] == expected(shared_driver, "cuMemFree_v2"));
	}
}

/* ---- what is said */

static int count(const char *text, const char *word)
{
	int n = 0;

	while ((text = strstr(text, word))) {
		n++;
		text += strlen(word);
	}
	return n;
}

/* A driver that is newer, and is called otherwise; with ADSM_LOG=info. */
static void unknown(void)
{
	static const struct { const char *symbol; int version, n; } rows[] = {
		{ "cuMemShuffle", 0, 1 }, { "cuLaunchLater", 0, 1 }, { "cuStreamForget", 0, 1 },
		/* a version of what has a wrapper */
		{ "cuMemAlloc", 9, 1 },
		{ "cuMemAlloc", 2, 0 }, { "cuDriverGetVersion", 0, 0 },
		{ "cuDeviceGetColour", 0, 0 },
		{ "cuGLGetThing", 0, 0 }, { "cuEGLGetThing", 0, 0 }, { "cuVDPAUGetThing", 0, 0 },
		{ "cuGetExportTable", 0, 0 },
	};
	bool quiet = strcmp(getenv("ADSM_LOG") ? getenv("ADSM_LOG") : "", "info");
	void *driver = open_env("TEST_OTHER", RTLD_NOW | RTLD_LOCAL), *function;
	get_2_fn *get = (get_2_fn *)(uintptr_t)dlsym(driver, "cuGetProcAddress_v2");
	int fd = memfd_create("log", 0), saved = dup(STDERR_FILENO);
	char text[8192] = "";

	CHECK((void *)(uintptr_t)get == raw(library(), "cuGetProcAddress_v2"));
	dup2(fd, STDERR_FILENO);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			CHECKF(!get(rows[i].symbol, &function, rows[i].version, 0, NULL), "%s", rows[i].symbol);
			CHECKF(rows[i].version || function == expected(driver, rows[i].symbol), "%s", rows[i].symbol);
		}
	CHECK(get("cuNothing", &function, 0, 0, NULL) == CUDA_ERROR_NOT_FOUND);
	dup2(saved, STDERR_FILENO);
	CHECK(pread(fd, text, sizeof(text) - 1, 0) >= 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char word[64];
		int n = rows[i].n;

		snprintf(word, sizeof(word), "CUDA's %s: it passes", rows[i].symbol);
		/* One symbol is in two rows. */
		if (!strcmp(rows[i].symbol, "cuMemAlloc"))
			n = 1;
		CHECKF(count(text, word) == (quiet ? 0 : n), "%s", rows[i].symbol);
	}
	CHECK(count(text, "\n") == (quiet ? 0 : 4));
	printf("%s", text);
}

/* The same driver, by its other name: its wrappers are used as the driver's are. */
static void other_name(void)
{
	void *driver = open_env("TEST_OTHER", RTLD_NOW | RTLD_LOCAL);
	get_2_fn *get = (get_2_fn *)(uintptr_t)dlsym(driver, "cuGetProcAddress_v2");
	void *function = NULL;

	CHECK((void *)(uintptr_t)get == raw(library(), "cuGetProcAddress_v2"));
	CHECK(get && !get("cuGetExportTable", &function, 0, 0, NULL) && function == raw(driver, "cuGetExportTable"));
	CHECK(get && !get("cuMemFree", &function, 2, 0, NULL) && function == expected(driver, "cuMemFree_v2"));
}

/* ---- programs that are linked: this one has a weak reference */

extern __attribute__((weak)) get_fn cuGetProcAddress;

/* Without a driver, and with one that comes late. */
static void absent(void)
{
	void *driver, *function = NULL;

	/* The test's own environment may lead to the double. */
	if (getenv("LD_LIBRARY_PATH")) {
		unsetenv("LD_LIBRARY_PATH");
		execl("/proc/self/exe", "hook", "absent", (char *)NULL);
	}
	if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {
		printf("skipped: this machine has a driver\n");
		exit(77);
	}
	CHECK(cuGetProcAddress);
	CHECK((void *)(uintptr_t)cuGetProcAddress == raw(library(), "cuGetProcAddress"));
	CHECK(cuGetProcAddress("cuCtxSetCurrent", &function, 4000, 0) == CUDA_ERROR_NOT_FOUND && !function);
	CHECK(cuGetProcAddress("cuCtxSetCurrent", &function, 4000, 0) == CUDA_ERROR_NOT_FOUND && !function);
	driver = open_env("TEST_DRIVER", RTLD_NOW | RTLD_LOCAL);
	CHECK(!cuGetProcAddress("cuCtxSetCurrent", &function, 4000, 0) && function == raw(driver, "cuCtxSetCurrent"));
	CHECK(!cuGetProcAddress("cuMemFree", &function, 3020, 0) && function == expected(driver, "cuMemFree_v2"));
}

/* With one that is found when it is needed: LD_LIBRARY_PATH. */
static void linked(void)
{
	void *driver, *function = NULL;

	CHECK(cuGetProcAddress && !cuGetProcAddress("cuCtxSetCurrent", &function, 4000, 0));
	driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	CHECK(driver && function == raw(driver, "cuCtxSetCurrent"));
}

/* ---- whose memory is shared: a process each, as it is decided once */

static void *look_up(void *driver, const char *name)
{
	void *function = dlsym(driver, name);

	if (!function)
		_exit(10);
	return function;
}

/* Of the program's own, on the first device. */
static CUdeviceptr allocate(void *driver, size_t size)
{
	CUresult (*init)(unsigned flags) = (CUresult (*)(unsigned))look_up(driver, "cuInit");
	CUresult (*retain)(CUcontext *context, CUdevice device) =
		(CUresult (*)(CUcontext *, CUdevice))look_up(driver, "cuDevicePrimaryCtxRetain");
	CUresult (*set)(CUcontext context) = (CUresult (*)(CUcontext))look_up(driver, "cuCtxSetCurrent");
	CUresult (*alloc)(CUdeviceptr *p, size_t size) =
		(CUresult (*)(CUdeviceptr *, size_t))look_up(driver, "cuMemAlloc_v2");
	CUcontext context;
	CUdeviceptr p;

	if (init(0) || retain(&context, 0) || set(context) || alloc(&p, size))
		_exit(11);
	return p;
}

/* Ends with 0, or by a signal where the CPU has no access. */
static void touch(const char *preload, const char *option)
{
	void *driver = open_env("TEST_DRIVER", RTLD_NOW | RTLD_LOCAL);
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	if (preload)
		setenv("LD_PRELOAD", preload, 1);
	else
		unsetenv("LD_PRELOAD");
	setenv("ADSM_CUDA_OBJECTS", option, 1);
	*(volatile char *)(uintptr_t)allocate(driver, 65536) = 1;
	_exit(0);
}

static void objects(void)
{
	const char *path = getenv("TEST_LIBRARY");
	char behind[4096], before[4096], between[4096];
	const struct { const char *preload, *option; bool shared; } rows[] = {
		{ path, "auto", true }, { behind, "auto", true }, { before, "auto", true }, { between, "auto", true },
		{ "libadsm.so", "auto", true }, { "libadsm.so.0", "auto", true },
		{ NULL, "auto", false }, { "", "auto", false }, { "libother.so", "auto", false },
		{ "../lib/libadsm.so", "auto", true }, { "/opt/$LIB/libadsm.so", "auto", true },
		{ "/none/libadsm.so", "auto", false }, { "lib/libother.so", "auto", false },
		{ NULL, "on", true }, { path, "off", false },
		{ path, "nonsense", false },
	};

	snprintf(behind, sizeof(behind), "libother.so:%s", path);
	snprintf(before, sizeof(before), "%s libother.so", path);
	snprintf(between, sizeof(between), ": libother.so %s:libother.so", path);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		pid_t child = fork();
		int status = -1;

		if (!child)
			touch(rows[i].preload, rows[i].option);
		CHECK(waitpid(child, &status, 0) == child);
		CHECKF(rows[i].shared ? !status : WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
		       "%s", rows[i].preload ? rows[i].preload : rows[i].option);
	}
}

/* Copies and fills that reach beyond shared memory: the driver says what it thinks of them, and nothing is written. */
static void beyond(void)
{
	enum { SIZE = 5000, TOO_MUCH = 1 << 20 };
	void *driver = open_env("TEST_DRIVER", RTLD_NOW | RTLD_LOCAL);
	CUresult (*to_device)(CUdeviceptr dst, const void *src, size_t size) =
		(CUresult (*)(CUdeviceptr, const void *, size_t))look_up(driver, "cuMemcpyHtoD_v2");
	CUresult (*to_host)(void *dst, CUdeviceptr src, size_t size) =
		(CUresult (*)(void *, CUdeviceptr, size_t))look_up(driver, "cuMemcpyDtoH_v2");
	CUresult (*within)(CUdeviceptr dst, CUdeviceptr src, size_t size) =
		(CUresult (*)(CUdeviceptr, CUdeviceptr, size_t))look_up(driver, "cuMemcpyDtoD_v2");
	CUresult (*fill)(CUdeviceptr dst, unsigned char value, size_t n) =
		(CUresult (*)(CUdeviceptr, unsigned char, size_t))look_up(driver, "cuMemsetD8_v2");
	CUdeviceptr p = allocate(driver, SIZE);
	unsigned char *bytes = (unsigned char *)(uintptr_t)p, *host = calloc(1, TOO_MUCH);

	CHECK(host);
	for (int i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)i;
	CHECK(to_device(p + 4000, host, TOO_MUCH) == CUDA_ERROR_INVALID_VALUE);
	CHECK(to_host(host, p + 4000, TOO_MUCH) == CUDA_ERROR_INVALID_VALUE);
	CHECK(within(p + 4000, p, TOO_MUCH) == CUDA_ERROR_INVALID_VALUE);
	CHECK(fill(p + 4000, 0xff, TOO_MUCH) == CUDA_ERROR_INVALID_VALUE);
	for (int i = 0; i < SIZE; i++)
		CHECK(bytes[i] == (unsigned char)i);
	free(host);
}

static const struct { const char *name; void (*run)(void); } cases[] = {
	{ "next", next }, { "early", early }, { "anywhere", anywhere }, { "others", others }, { "names", names },
	{ "versions", by_version }, { "threads", threads }, { "unknown", unknown }, { "other-name", other_name },
	{ "absent", absent }, { "linked", linked }, { "objects", objects },
	{ "beyond", beyond },
};

int main(int argc, char **argv)
{
	const char *skip = getenv("TEST_SKIP");

	if (skip) {
		printf("skipped: %s\n", skip);
		return 77;
	}
	for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(cases[i].name, argv[1])) {
			cases[i].run();
			return 0;
		}
	printf("usage: hook CASE\n");
	return 1;
}
