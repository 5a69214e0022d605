/* SPDX-License-Identifier: MIT */
/*
 * failed.c - launches of CUDA C whose copies of variables fail, on the double of CUDA's driver: failed MODULE, the one
 * of the theme memory. Once the call has returned, nothing of it runs, and its object may be written.
 */
#include <adsm.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char **argv)
{
	int status, n = 0;

	CHECK(argc == 2);
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
