/* SPDX-License-Identifier: MIT */
/*
 * failed.c - launches of CUDA C that fail, on the double of CUDA's driver: failed MEMORY TILES, the modules of these
 * themes. If copies of variables fail: once the call has returned, nothing of it runs, and its object may be written.
 * If the driver refuses the launch before such a copy, the call does not wait for earlier ones.
 */
#include <adsm_cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_MORE adsmLastError()
#include "../check.h"

#define COPIES 5			/* of variables in a launch, there and back */
#define N 40

/* Returns whether a launch has failed. */
static int fail_copy(const char *path, int nth)
{
	adsmModule *module;
	char plan[64];
	int *p, *q, ret;

	snprintf(plan, sizeof(plan), "late,order,fail=cuMemcpyDtoDAsync_v2:%d", nth);
	setenv("TEST_CUDA", plan, 1);
	module = adsmModuleLoad(path);
	CHECK(module);
	p = adsmAlloc(N * sizeof(*p));
	q = adsmAlloc(N * sizeof(*q));
	CHECK(p && q);
	ret = adsmCall(adsmKernelGet(module, "memory_variable"), adsmDim3(1, 1, 1), adsmDim3(N, 1, 1), adsmPtr(p));
	if (!ret)
		CHECK_OK(adsmSync());
	for (int i = 0; i < N; i++)
		p[i] = 8;
	CHECK_OK(adsmCall(adsmKernelGet(module, "memory_constant"), adsmDim3(1, 1, 1), adsmDim3(N, 1, 1), adsmPtr(p),
			  adsmPtr(q)));
	CHECK_OK(adsmSync());
	for (int i = 0; i < N; i++)
		CHECKF(q[i] == 8 * 2 + 7, "copy %d: element %d is %d", nth, i, q[i]);
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmFree(q));
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	return ret ? 1 : 0;
}

static atomic_bool go;

static void wait_for_go(void *unused)
{
	(void)unused;
	while (!atomic_load(&go))
		usleep(1000);
}

/* The device is busy until the call has been refused. */
static void refuse(const char *path)
{
	adsmCudaHandles handles = { .struct_size = sizeof(handles) };
	void *driver = dlopen(getenv("ADSM_CUDA_LIBRARY"), RTLD_NOW);
	int (*enter)(struct CUctx_st *context), (*launch)(struct CUstream_st *stream, void (*function)(void *), void *);
	adsmModule *module;
	int *p;

	setenv("TEST_CUDA_PTX", path, 1);
	module = adsmModuleLoad(path);
	p = adsmAlloc(N * sizeof(*p));
	CHECK(module && p && driver);
	CHECK_OK(adsmCudaGet(ADSM_DEVICE_CURRENT, &handles));
	*(void **)&enter = dlsym(driver, "cuCtxPushCurrent_v2");
	*(void **)&launch = dlsym(driver, "cuLaunchHostFunc");
	CHECK(enter && launch && !enter(handles.context) && !launch(handles.compute, wait_for_go, NULL));
	CHECK(adsmCall(adsmKernelGet(module, "tile_dynamic"), adsmDim3(1, 1, 1), adsmDim3(N, 1, 1), adsmPtr(p),
		       adsmPtr(p), adsmVal(N), adsmLocal((size_t)1 << 30)) == -EINVAL);
	CHECK(strstr(adsmLastError(), "more shared memory"));
	atomic_store(&go, true);
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
}

int main(int argc, char **argv)
{
	int status, n = 0;
	pid_t child;

	CHECK(argc == 3);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		refuse(argv[2]);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	for (int nth = 1; nth <= COPIES; nth++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			_exit(fail_copy(argv[1], nth) ? 3 : 0);
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
		CHECKF(!WEXITSTATUS(status) || WEXITSTATUS(status) == 3, "copy %d: status %d", nth, status);
		n += WEXITSTATUS(status) == 3;
	}
	printf("%d of %d launches failed\n", n, COPIES);
	CHECK(n);
	return 0;
}
