/* SPDX-License-Identifier: MIT */
/*
 * first.c - a program that calls a kernel of a module of PTX once: first MODULE KERNEL WHAT. first.py runs it.
 *
 * add: the kernel adds one to each element. sum: it writes the sum of its other 255 parameters to element 0. signals:
 * as add, and the program sees no child and no signal. subreaper: the same, and orphans become the program's children.
 * run: the kernel runs. fails: the call fails; prints the sentence. get: there is no such kernel.
 */
#include <adsm.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define CHECK_MORE adsmLastError()
#define CHECK_OUT stdout
#include "../../check.h"

#define N 64
#define N_PARAMS 256

static volatile sig_atomic_t n_signals;

static void on_child(int sig)
{
	n_signals += sig == SIGCHLD;
}

static int call_add(adsmKernel *kernel, int *data)
{
	int n = N;

	return adsmCall(kernel, adsmDim3(2, 1, 1), adsmDim3(N / 2, 1, 1), adsmPtr(data), adsmVal(n));
}

static void add(adsmKernel *kernel, int *data)
{
	CHECK_OK(call_add(kernel, data));
	CHECK_OK(adsmSync());
	for (int i = 0; i < N; i++)
		CHECK_EQ(data[i], i + 1);
}

static void sum(adsmKernel *kernel, int *data)
{
	static int values[N_PARAMS];
	static adsmArg args[N_PARAMS];
	int want = 0;

	args[0] = adsmPtr(data);
	for (int i = 1; i < N_PARAMS; i++) {
		values[i] = i * i;
		want += values[i];
		args[i] = (adsmArg){ ADSM_ARG_VALUE, 0, &values[i], sizeof(*values) };
	}
	CHECK_OK(adsmCallArgs(kernel, adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), args, N_PARAMS));
	CHECK_OK(adsmSync());
	CHECK_EQ(data[0], want);
}

/* The compiler runs, and the program has a handler and waits for children that it does not have. */
static void signals(adsmKernel *kernel, int *data)
{
	const struct sigaction action = { .sa_handler = on_child };
	int status;

	CHECK(!sigaction(SIGCHLD, &action, NULL));
	add(kernel, data);
	CHECK_EQ(waitpid(-1, &status, 0), -1);
	CHECK_EQ(errno, ECHILD);
	CHECK_EQ(wait(NULL), -1);
	CHECK_EQ((int)n_signals, 0);
}

int main(int argc, char **argv)
{
	adsmModule *module;
	adsmKernel *kernel;
	int *data;

	CHECK(argc == 4);
	if (!strcmp(argv[3], "subreaper"))
		CHECK(!prctl(PR_SET_CHILD_SUBREAPER, 1));
	module = adsmModuleLoad(argv[1]);
	CHECK(module);
	kernel = adsmKernelGet(module, argv[2]);
	if (!strcmp(argv[3], "get")) {
		CHECK(!kernel);
		CHECK_EQ(errno, ENOENT);
		return 0;
	}
	CHECK(kernel);
	data = adsmAlloc(N * sizeof(*data));
	CHECK(data);
	for (int i = 0; i < N; i++)
		data[i] = i;
	if (!strcmp(argv[3], "add"))
		add(kernel, data);
	else if (!strcmp(argv[3], "run"))
		CHECK(!call_add(kernel, data) && !adsmSync());
	else if (!strcmp(argv[3], "sum"))
		sum(kernel, data);
	else if (!strcmp(argv[3], "signals") || !strcmp(argv[3], "subreaper"))
		signals(kernel, data);
	else if (!strcmp(argv[3], "fails") && call_add(kernel, data))
		puts(adsmLastError());
	else
		FAIL("the call did not fail");
	CHECK_OK(adsmFree(data));
	CHECK_OK(adsmModuleUnload(module));
	return 0;
}
