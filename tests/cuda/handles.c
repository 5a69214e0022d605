/* SPDX-License-Identifier: MIT */
/*
 * handles.c - launches by handles of each kind, from every place where a program can get them, with the library
 * preloaded. The parameters' values are in shared memory, so the library has to know the parameters. The driver's
 * double crashes if it is asked about a handle of the wrong kind, and reuses ended handles for the other kind.
 * test_cuda_function() returns functions that the library does not intercept.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

/* Past whatever is in front of the driver. */
#define HIDDEN(name) ((__typeof__(&name))(uintptr_t)test_cuda_function(#name))

/* ---- launches */

struct shared {
	unsigned *p, n, word;
};

static struct shared *shared;

static struct shared *allocate(void)
{
	CUdeviceptr p;
	struct shared *s;

	OK(cuMemAlloc_v2(&p, sizeof(*s)));
	s = (struct shared *)(uintptr_t)p;
	s->p = &s->word;
	s->n = 1;
	s->word = 0;
	return s;
}

static void launch(const void *handle, void **params)
{
	OK(cuLaunchKernel((CUfunction)handle, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

/* "increment", whose parameters' values are in shared memory: they have to be known. */
static void known(const void *handle, struct shared *s)
{
	unsigned before = s->word;

	launch(handle, (void *[]){ &s->p, &s->n });
	OK(cuCtxSynchronize());
	CHECK(s->word == before + 1);
}

/* The same with a handle that the library does not know: the values are in the program's own memory. */
static void unknown(const void *handle)
{
	unsigned before = shared->word, *p = &shared->word, n = 1;

	launch(handle, (void *[]){ &p, &n });
	OK(cuCtxSynchronize());
	CHECK(shared->word == before + 1);
}

static CUlibrary load_library(void)
{
	CUlibrary library;

	OK(cuLibraryLoadData(&library, module_image, NULL, NULL, 0, NULL, NULL, 0));
	return library;
}

static CUmodule load_module(void)
{
	CUmodule module;

	OK(cuModuleLoadData(&module, module_image));
	return module;
}

static CUfunction function_of(CUmodule module)
{
	CUfunction function;

	OK(cuModuleGetFunction(&function, module, "increment"));
	return function;
}

static CUkernel kernel_of(CUlibrary library)
{
	CUkernel kernel;

	OK(cuLibraryGetKernel(&kernel, library, "increment"));
	return kernel;
}

/* ---- cases */

/* All ways to a handle. */
static void kinds(void)
{
	CUfunction functions[64] = { NULL }, function;
	CUkernel kernels[64] = { NULL };
	CUlibrary library = load_library();
	CUmodule module = load_module();
	const char *name;

	known(function_of(module), shared);
	known(kernel_of(library), shared);
	OK(cuKernelGetFunction(&function, kernel_of(library)));
	known(function, shared);
	OK(cuLibraryGetModule(&module, library));
	known(function_of(module), shared);
	module = load_module();
	library = load_library();
	OK(cuModuleEnumerateFunctions(functions, 64, module));
	OK(cuLibraryEnumerateKernels(kernels, 64, library));
	for (int i = 0; i < 64 && functions[i]; i++) {
		OK(cuFuncGetName(&name, functions[i]));
		if (!strcmp(name, "increment"))
			known(functions[i], shared);
		OK(cuKernelGetName(&name, kernels[i]));
		if (!strcmp(name, "increment"))
			known(kernels[i], shared);
	}
}

/* From somewhere else. */
static void strangers(void)
{
	CUlibrary library = load_library();
	CUmodule module = load_module();
	CUfunction function;
	CUkernel kernel;

	OK(HIDDEN(cuModuleGetFunction)(&function, module, "increment"));
	OK(HIDDEN(cuLibraryGetKernel)(&kernel, library, "increment"));
	unknown(function);
	unknown(kernel);
}

/* The handle of a kernel that the library does not know, and that a function had before. */
static CUkernel kernel_instead_of(const CUfunction functions[2])
{
	CUkernel kernel;
	int n = 0;

	do {
		CHECK(n++ < 8);
		OK(HIDDEN(cuLibraryGetKernel)(&kernel, load_library(), "increment"));
	} while ((void *)kernel != (void *)functions[0] && (void *)kernel != (void *)functions[1]);
	return kernel;
}

/* A handle that has ended with its module or library is reused, for another kind. The library was not asked about
 * it. */
static void unloaded(void)
{
	CUmodule module = load_module(), second = load_module();
	CUfunction functions[2] = { function_of(module), function_of(second) }, function;
	CUlibrary library;
	CUkernel kernel;

	OK(cuModuleUnload(module));
	OK(cuModuleUnload(second));
	unknown(kernel_instead_of(functions));

	library = load_library();
	kernel = kernel_of(library);
	OK(cuLibraryUnload(library));
	OK(HIDDEN(cuModuleGetFunction)(&function, load_module(), "increment"));
	CHECK((void *)function == (void *)kernel);
	unknown(function);

	library = load_library();
	OK(cuKernelGetFunction(&functions[0], kernel_of(library)));
	functions[1] = functions[0];
	OK(cuLibraryUnload(library));
	unknown(kernel_instead_of(functions));

	library = load_library();
	OK(cuLibraryGetModule(&module, library));
	functions[0] = functions[1] = function_of(module);
	OK(cuLibraryUnload(library));
	unknown(kernel_instead_of(functions));

	/* Of a kernel that is not known. */
	library = load_library();
	OK(HIDDEN(cuLibraryGetKernel)(&kernel, library, "increment"));
	OK(cuKernelGetFunction(&functions[0], kernel));
	functions[1] = functions[0];
	OK(cuLibraryUnload(library));
	unknown(kernel_instead_of(functions));
}

/* Functions end with their context, and kernels do not. A library's own module may take the handles of one of these. */
static void contexts(void)
{
	CUcontext first, second;
	CUfunction functions[2];
	CUdeviceptr p;
	CUkernel kernel;
	unsigned n = 1;

	OK(cuDevicePrimaryCtxRetain(&first, 0));
	OK(cuCtxCreate_v2(&second, 0, 0));
	kernel = kernel_of(load_library());
	functions[0] = function_of(load_module());
	functions[1] = function_of(load_module());
	OK(cuCtxDestroy_v2(second));
	OK(cuCtxSetCurrent(first));
	unknown(kernel_instead_of(functions));
	known(kernel, shared);
	functions[0] = function_of(load_module());
	functions[1] = function_of(load_module());
	known(functions[0], shared);
	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(HIDDEN(cuMemAlloc_v2)(&p, sizeof(n)));
	launch(kernel_instead_of(functions), (void *[]){ &p, &n });
	launch(kernel, (void *[]){ &p, &n });
	OK(cuCtxSynchronize());
}

/* The driver is asked once, however often a kernel is launched. */
static void once(void)
{
	CUfunction function = function_of(load_module());
	CUkernel kernel = kernel_of(load_library());
	struct test_cuda_counts before, after;

	for (int i = 0; i < 2; i++) {
		test_cuda_counts(&before);
		for (int k = 0; k < 100; k++) {
			known(function, shared);
			known(kernel, shared);
		}
		test_cuda_counts(&after);
		/* It has two parameters, and no third. */
		CHECK(after.asked_params - before.asked_params == (i ? 0 : 2 * 3));
	}
}

/* Everybody loads and launches, and unloads. */
static void *work(void *arg)
{
	struct shared *s = allocate();

	for (int i = 0; i < 60; i++) {
		CUlibrary library = load_library();
		CUmodule module = load_module();

		known(function_of(module), s);
		known(kernel_of(library), s);
		if (i & 1)
			OK(cuLibraryUnload(library));
		known(function_of(module), s);
		OK(cuModuleUnload(module));
		if (!(i & 1))
			OK(cuLibraryUnload(library));
	}
	OK(cuMemFree_v2((uintptr_t)s));
	return arg;
}

static void *enter_and_work(void *context)
{
	OK(cuCtxSetCurrent(context));
	return work(context);
}

static void threads(void)
{
	CUcontext context;
	pthread_t thread[4];

	OK(cuDevicePrimaryCtxRetain(&context, 0));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, enter_and_work, context));
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

static const struct { const char *name; void (*run)(void); } cases[] = {
	{ "kinds", kinds }, { "strangers", strangers }, { "unloaded", unloaded }, { "contexts", contexts },
	{ "once", once }, { "threads", threads },
};

int main(int argc, char **argv)
{
	CUcontext context;

	for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		use_device(&context);
		shared = allocate();
		cases[i].run();
		printf("%s: good\n", argv[1]);
		return 0;
	}
	fprintf(stderr, "usage: handles CASE\n");
	return 2;
}
