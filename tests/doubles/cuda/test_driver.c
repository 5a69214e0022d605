/* SPDX-License-Identifier: MIT */
/* test_driver.c - the driver double does what driver.h says: how it begins and ends, its names, how it misbehaves. */
#include "test_driver.h"

/* ---- starting */

static void plain(void)
{
	CUcontext current;
	CUdevice device = 9;
	char name[64];
	int n = 0;

	open_driver("");
	IS(CUDA_ERROR_NOT_INITIALIZED, cu.cuDeviceGetCount(&n));
	OK(cu.cuInit(0));
	OK(cu.cuInit(0));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuInit(1));
	OK(cu.cuDriverGetVersion(&n));
	CHECK(n == DRIVER_VERSION);
	OK(cu.cuDeviceGetCount(&n));
	CHECK(n == 1);
	OK(cu.cuDeviceGet(&device, 0));
	IS(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGet(&device, 1));
	OK(cu.cuDeviceGetName(name, sizeof(name), 0));
	OK(cu.cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0));
	CHECK(n == 1 && *name);
	IS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSynchronize());
	IS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxPopCurrent_v2(&current));
	OK(cu.cuCtxGetCurrent(&current));
	CHECK(!current);
	/* A child process that no other process here knows. */
	CHECK(counts().device_pid > 0 && waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD);
}

static void contexts(void)
{
	CUcontext own, current;
	CUdeviceptr p;
	CUstream stream;

	start("");
	OK(more.cuCtxCreate_v4(&own, NULL, 0, 0));
	OK(cu.cuCtxGetCurrent(&current));
	CHECK(current == own && counts().contexts == 2);
	p = allocated(4096);
	OK(cu.cuStreamCreate(&stream, 0));
	OK(cu.cuCtxPushCurrent_v2(context));
	OK(cu.cuCtxPopCurrent_v2(&current));
	CHECK(current == context && p);
	OK(more.cuCtxDestroy_v2(own));
	OK(cu.cuCtxGetCurrent(&current));
	CHECK(current == context && !counts().used && !counts().streams && counts().contexts == 1);
	OK(more.cuCtxSetCurrent(own));
	IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuCtxSynchronize());
	OK(more.cuCtxSetCurrent(NULL));
	OK(cu.cuCtxGetCurrent(&current));
	CHECK(!current);
	IS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxPushCurrent_v2((CUcontext)&own));
	/* The primary one counts. */
	OK(cu.cuDevicePrimaryCtxRetain(&own, 0));
	CHECK(own == context);
	OK(cu.cuDevicePrimaryCtxRelease_v2(0));
	OK(more.cuCtxSetCurrent(context));
	OK(cu.cuCtxSynchronize());
	OK(cu.cuDevicePrimaryCtxRelease_v2(0));
	IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuCtxSynchronize());
	IS(CUDA_ERROR_INVALID_CONTEXT, cu.cuDevicePrimaryCtxRelease_v2(0));
}

/* Asked for before: a thread of the driver's may have had its lock while the process was copied. */
static struct test_cuda_counts at_fork;

static void in_fork(void)
{
	CUcontext current;
	CUdeviceptr p;

	IS(CUDA_ERROR_NOT_INITIALIZED, cu.cuInit(0));
	IS(CUDA_ERROR_NOT_INITIALIZED, cu.cuMemAlloc_v2(&p, 1));
	IS(CUDA_ERROR_NOT_INITIALIZED, cu.cuCtxGetCurrent(&current));
	/* The parent's device continues without this one. */
	_exit(kill(at_fork.device_pid, 0) ? 1 : 0);
}

static void forks(void)
{
	char said[512] = "";

	start("");
	more.counts(&at_fork);
	CHECK(at_fork.device_pid > 0);
	CHECK(child(in_fork, said, sizeof(said)) == 0);
	allocated(4096);
	OK(cu.cuCtxSynchronize());
}

/* ---- names */

static void proc_address(void)
{
	static const struct {
		const char *name;
		int version;
		unsigned flags;
		const char *symbol;	/* NULL: none */
		int status;
	} rows[] = {
		{ "cuMemAlloc", 3020, 0, "cuMemAlloc_v2", 0 },
		{ "cuMemAlloc", 13000, 0, "cuMemAlloc_v2", 0 },
		{ "cuMemAlloc", 2000, 0, "cuMemAlloc", 0 },
		{ "cuMemAlloc", 1000, 0, NULL, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT },
		{ "cuCtxSynchronize", 2000, 0, "cuCtxSynchronize", 0 },
		{ "cuCtxSynchronize", 12080, 0, "cuCtxSynchronize", 0 },
		{ "cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2", 0 },
		{ "cuMemcpyBatchAsync", 12080, 0, "cuMemcpyBatchAsync", 0 },
		{ "cuMemcpyBatchAsync", 13000, 0, "cuMemcpyBatchAsync_v2", 0 },
		{ "cuMemcpyBatchAsync", 13000, 2, "cuMemcpyBatchAsync_v2_ptsz", 0 },
		{ "cuGetProcAddress", 11030, 0, "cuGetProcAddress", 0 },
		{ "cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2", 0 },
		{ "cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz", 0 },
		{ "cuLaunchKernel", 7000, 1, "cuLaunchKernel", 0 },
		{ "cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds", 0 },
		{ "cuInit", 2000, 2, "cuInit", 0 },
		{ "", 0, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND },
		{ "cuNothing", 13000, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND },
		{ "cuMemAlloc_v2", 13000, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND },
	};

	open_driver("");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *p = &p, *q = &q;
		int status = -1;
		CUresult error = rows[i].symbol ? 0 : CUDA_ERROR_NOT_FOUND;

		IS(error, more.cuGetProcAddress_v2(rows[i].name, &p, rows[i].version, rows[i].flags, &status));
		IS(error, more.cuGetProcAddress(rows[i].name, &q, rows[i].version, rows[i].flags));
		CHECK(status == rows[i].status && p == q);
		CHECK(p == (rows[i].symbol ? dlsym(driver, rows[i].symbol) : NULL));
	}
}

static void export_table(void)
{
	const void *table = NULL;
	CUuuid id = { { 0 } };

	open_driver("");
	OK(cu.cuInit(0));
	CHECK(more.cuGetExportTable(&table, &id) && !table);
}

/* ---- misbehaviour */

static void no_device(void)
{
	int n;

	open_driver("no-device");
	IS(CUDA_ERROR_NO_DEVICE, cu.cuInit(0));
	IS(CUDA_ERROR_NOT_INITIALIZED, cu.cuDeviceGetCount(&n));
}

static void stub(void)
{
	open_driver("stub");
	IS(CUDA_ERROR_STUB_LIBRARY, cu.cuInit(0));
}

static void old(void)
{
	CUfunction twice;
	size_t offset;
	CUdeviceptr p;
	void *found;
	int n;

	start("old");
	OK(cu.cuDriverGetVersion(&n));
	CHECK(n == DRIVER_OLD_VERSION);
	twice = kernel("launch", "twice");
	IS(CUDA_ERROR_NOT_SUPPORTED, cu.cuFuncGetParamInfo(twice, 0, &offset, &offset));
	IS(CUDA_ERROR_NOT_SUPPORTED, cu.cuMemAddressReserve(&p, 64 * GiB, 0, 0, 0));
	IS(CUDA_ERROR_NOT_FOUND, more.cuGetProcAddress("cuMemAddressReserve", &found, 11030, 0));
	IS(CUDA_ERROR_NOT_FOUND, more.cuGetProcAddress("cuFuncGetParamInfo", &found, 13000, 0));
	OK(more.cuGetProcAddress("cuCtxSynchronize", &found, 13000, 0));
	CHECK(found == dlsym(driver, "cuCtxSynchronize"));
}

static void no_unified(void)
{
	int value = 1;

	start("no-unified");
	OK(cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0));
	CHECK(!value);
}

static void fail(void)
{
	CUdeviceptr p;

	start("fail=cuMemAlloc_v2:2,fail=cuMemAlloc_v2:3:2,fail=cuCtxSynchronize:1:46");
	OK(cu.cuMemAlloc_v2(&p, 4));
	IS(CUDA_ERROR_UNKNOWN, cu.cuMemAlloc_v2(&p, 4));
	IS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&p, 4));
	OK(cu.cuMemAlloc_v2(&p, 4));
	IS(CUDA_ERROR_DEVICE_UNAVAILABLE, cu.cuCtxSynchronize());
	OK(cu.cuCtxSynchronize());
}

static void lost(void)
{
	CUdeviceptr p;

	start("lost=cuMemAlloc_v2:2:214");
	OK(cu.cuMemAlloc_v2(&p, 4));
	OK(cu.cuCtxSynchronize());
	IS(CUDA_ERROR_ECC_UNCORRECTABLE, cu.cuMemAlloc_v2(&p, 4));
	IS(CUDA_ERROR_ECC_UNCORRECTABLE, cu.cuCtxSynchronize());
	IS(CUDA_ERROR_ECC_UNCORRECTABLE, cu.cuMemFree_v2(p));
	OK(more.cuDevicePrimaryCtxReset_v2(0));
	OK(cu.cuCtxSynchronize());
}

static void ended(void)
{
	int n;

	IS(CUDA_ERROR_DEINITIALIZED, cu.cuDeviceGetCount(&n));
	IS(CUDA_ERROR_DEINITIALIZED, cu.cuInit(0));
	IS(CUDA_ERROR_DEINITIALIZED, cu.cuCtxSynchronize());
	_exit(7);
}

static void not_ended(void)
{
	OK(cu.cuCtxSynchronize());
}

static void leave(void)
{
	atexit(ended);
	start("");
	/* Once more is not again. */
	OK(cu.cuInit(0));
	atexit(not_ended);
	exit(0);
}

/* Handlers of exit() find it as it was, or ended, by when they were registered. */
static void at_exit(void)
{
	char said[1024] = "";
	int status = child(leave, said, sizeof(said));

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* When a context has ended, its parts belong to no context, whatever replaces it. */
static void dead_event(void)
{
	CUevent event;

	start("");
	OK(cu.cuEventCreate(&event, 0));
	OK(more.cuDevicePrimaryCtxReset_v2(0));
	cu.cuEventQuery(event);
}

static void dead_stream(void)
{
	CUstream stream;

	start("");
	OK(cu.cuStreamCreate(&stream, 0));
	OK(more.cuDevicePrimaryCtxReset_v2(0));
	cu.cuStreamQuery(stream);
}

static void dead(void)
{
	void (*const uses[])(void) = { dead_event, dead_stream };

	for (int i = 0; i < 2; i++) {
		char said[1024] = "";
		int status = child(uses[i], said, sizeof(said));

		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == DRIVER_DEAD_STATUS && strstr(said, "gone"));
	}
}

static void signals_open(void)
{
	open_driver("signals");
	cu.cuInit(0);
}

static void signals_blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	open_driver("signals");
	OK(cu.cuInit(0));
	_exit(0);
}

static void signals(void)
{
	char said[1024] = "";
	int status = child(signals_open, said, sizeof(said));

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == DRIVER_SIGNALS_STATUS);
	CHECK(strstr(said, "cuInit was entered with SIGUSR1 unblocked"));
	CHECK(child(signals_blocked, said, sizeof(said)) == 0);
}

static char count_file[] = "/tmp/test_driver.XXXXXX";

static void use_some(void)
{
	char words[128];
	int n;

	snprintf(words, sizeof(words), "count=%s", count_file);
	start(words);
	OK(cu.cuDeviceGetCount(&n));
	OK(cu.cuDeviceGetCount(&n));
}

static void count(void)
{
	char text[4096] = "", said[1024] = "";
	int fd = mkstemp(count_file);
	ssize_t n;

	CHECK(fd >= 0);
	CHECK(child(use_some, said, sizeof(said)) == 0);
	close(fd);
	fd = open(count_file, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	unlink(count_file);
	CHECK(n > 0 && strstr(text, "cuDeviceGetCount 2\n") && strstr(text, "cuInit 1\n"));
	CHECK(!strstr(text, "cuMemAlloc"));
}

static void unknown_word(void)
{
	open_driver("strict,nonsense");
}

static void unknown_function(void)
{
	open_driver("fail=cuNothing:1");
}

static void seeded(void)
{
	open_driver("seed=3");
}

static void words(void)
{
	char said[1024] = "", again[1024] = "";

	CHECK(child(unknown_word, said, sizeof(said)) && strstr(said, "'nonsense'"));
	CHECK(child(unknown_function, said, sizeof(said)) && strstr(said, "cuNothing"));
	CHECK(!child(seeded, said, sizeof(said)) && !child(seeded, again, sizeof(again)));
	CHECK(strstr(said, "seed=3:") && !strcmp(said, again));
}

static const struct driver_case cases[] = {
	{ "plain", plain }, { "contexts", contexts }, { "forks", forks }, { "proc-address", proc_address },
	{ "export-table", export_table }, { "no-device", no_device }, { "stub", stub }, { "old", old },
	{ "no-unified", no_unified }, { "fail", fail }, { "lost", lost }, { "at-exit", at_exit }, { "dead", dead },
	{ "signals", signals }, { "count", count }, { "words", words },
};
DRIVER_MAIN(cases)
