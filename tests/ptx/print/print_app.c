/* SPDX-License-Identifier: MIT */
/* print_app.c - a program whose kernels print: print-app MODULE CASE. print.py looks at what it prints. */
#include <adsm.h>
#include <stdlib.h>
#include <sys/wait.h>

#define CHECK_MORE adsmLastError()
#include "../../check.h"

static adsmModule *module;
static int *out;

static int call(const char *name, unsigned blocks, unsigned threads, adsmArg a, adsmArg b)
{
	adsmKernel *kernel = adsmKernelGet(module, name);
	const adsmArg args[] = { a, b };

	CHECK(kernel);
	return adsmCallArgs(kernel, adsmDim3(blocks, 1, 1), adsmDim3(threads, 1, 1), args, b.kind ? 2 : a.kind ? 1 : 0);
}

#define NONE ((adsmArg){ 0 })

static void hello(int number)
{
	CHECK_OK(call("hello", 1, 1, adsmVal(number), adsmPtr(out)));
}

/* Texts are in order with the program's own, which stdio keeps in its buffer. */
static void order(void)
{
	printf("before\n");
	hello(1);
	printf("called\n");
	CHECK_OK(adsmSync());
	printf("synchronized\n");
	hello(2);
	hello(3);
	CHECK_OK(adsmSync());
	CHECK_OK(adsmSync());
	printf("after\n");
}

static void formats(void)
{
	static const int values[] = { 0, 7, 8, 6, 4, 5, 2, 0, 0, -1, -2 };

	CHECK_OK(call("formats", 1, 1, adsmPtr(out), NONE));
	CHECK_OK(adsmSync());
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		CHECK_AT(out[i], i, values[i]);
}

/* Each of 256 threads prints @n lines, of two kernels. */
static void print_lines(int n)
{
	CHECK_OK(call("lines", 4, 64, adsmVal(n), adsmVal((int)'a')));
	CHECK_OK(call("lines", 4, 64, adsmVal(n), adsmVal((int)'b')));
	CHECK_OK(adsmSync());
	printf("end\n");
}

static void few(void)
{
	print_lines(4);
}

/* More than CUDA's buffer has room for. */
static void many(void)
{
	print_lines(45);
}

/* The program keeps its own lock of stdout while it waits for kernels. */
static void locked(void)
{
	flockfile(stdout);
	many();
	funlockfile(stdout);
}

/* A touch waits for the call. The next function writes the text. */
static void touch(void)
{
	int copy;

	hello(4);
	printf("touched %d\n", out[0]);
	CHECK_OK(adsmMemcpy(&copy, out, sizeof(copy)));
	printf("copied %d\n", copy);
}

static void at_exit(void)
{
	hello(5);
	CHECK_EQ(out[0], 5);
}

/* A child prints nothing of its parent's kernels. */
static void forks(void)
{
	int status;
	pid_t child;

	hello(6);
	CHECK_EQ(out[0], 6);
	child = fork();
	if (!child) {
		CHECK_EQ(adsmSync(), -ENOTSUP);
		exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK_OK(adsmSync());
}

/* What has been printed before the kernel ends badly is not lost. */
static void asserts(void)
{
	for (int i = 0; i < 16; i++)
		out[i] = i == 13 ? 7 : 0;
	CHECK_OK(call("fails", 2, 8, adsmPtr(out), NONE));
	CHECK(adsmSync());
	printf("failed\n");
}

static const struct { const char *name; void (*run)(void); } cases[] = {
	{ "order", order }, { "formats", formats }, { "few", few }, { "many", many }, { "locked", locked },
	{ "touch", touch }, { "exit", at_exit }, { "fork", forks }, { "assert", asserts },
};

int main(int argc, char **argv)
{
	CHECK_EQ(argc, 3);
	module = adsmModuleLoad(argv[1]);
	CHECK(module);
	out = adsmAlloc(16 * sizeof(*out));
	CHECK(out);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[2]) != 0)
			continue;
		cases[i].run();
		return 0;
	}
	FAIL("no case '%s'", argv[2]);
}
