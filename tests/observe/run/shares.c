/* SPDX-License-Identifier: MIT */
/* shares.c - uses shared memory, and then ends or stays, as HOW says: shares KERNELS HOW [PROGRAM [ARGUMENT...]] */
#include <adsm.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 65536

static int work(const char *kernels)
{
	double *a = adsmAlloc(N * sizeof(*a)), factor = 3;
	adsmKernel *scale = adsmKernelGet(adsmModuleLoad(kernels), "scale");
	adsmDim grid = { N / 256, 1, 1 }, block = { 256, 1, 1 };

	if (!a || !scale)
		return fprintf(stderr, "%s\n", adsmLastError());
	for (int i = 0; i < N; i++)
		a[i] = i;
	if (adsmCall(scale, grid, block, adsmPtr(a), adsmVal(factor)) || adsmSync() || a[N - 1] != 3.0 * (N - 1))
		return fprintf(stderr, "%s\n", adsmLastError());
	return adsmFree(a);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	pid_t child;
	int status = 0;

	if (work(argv[1]))
		return 1;
	if (!strcmp(how, "wait")) {
		/* Until the other end is closed. */
		puts("ready");
		fflush(stdout);
		while (getchar() != EOF)
			;
	} else if (!strcmp(how, "raise")) {
		raise(atoi(argv[3]));
	} else if (!strcmp(how, "abort")) {
		abort();
	} else if (!strcmp(how, "_exit")) {
		_exit(atoi(argv[3]));
	} else if (!strcmp(how, "exec")) {
		execvp(argv[3], argv + 3);
		return 5;
	} else if (!strcmp(how, "raw-exec")) {
		syscall(SYS_execve, argv[3], argv + 3, environ);
		return 5;
	} else if (!strcmp(how, "vfork")) {
		child = vfork();
		if (!child) {
			execvp(argv[3], argv + 3);
			_exit(5);
		}
		waitpid(child, &status, 0);
		status = WEXITSTATUS(status);
	}
	/* After what may have failed, once more. */
	return work(argv[1]) ? 1 : status;
}
