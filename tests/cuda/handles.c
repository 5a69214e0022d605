/* SPDX-License-Identifier: MIT */
/*
 * handles.c - launches by handles of each kind, from wherever a program can have them, with the library preloaded: the
 * parameters' values lie in shared memory, so it has to know them. The driver's double crashes where it is asked about
 * a handle of the wrong kind, and gives those that have ended out again as the other one. What a program has from where
 * nobody sees it, it has here by test_cuda_function().
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../doubles/cuda/driver.h"
#include "module.inc"

#define FUNCTIONS(F) \
	F(cuInit, (unsigned flags)) \
	F(cuCtxCreate_v2, (CUcontext *context, unsigned flags, CUdevice device)) \
	F(cuCtxDestroy_v2, (CUcontext context)) \
	F(cuCtxSetCurrent, (CUcontext context)) \
	F(cuCtxSynchronize, (void)) \
	F(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device)) \
	F(cuDevicePrimaryCtxReset_v2, (CUdevice device)) \
	F(cuModuleLoadData, (CUmodule *module, const void *image)) \
	F(cuModuleUnload, (CUmodule module)) \
	F(cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name)) \
	F(cuModuleEnumerateFunctions, (CUfunction *functions, unsigned n, CUmodule module)) \
	F(cuLibraryLoadData, (CUlibrary *library, const void *image, int *options, void **values, unsigned n, \
			      int *library_options, void **library_values, unsigned n_library)) \
	F(cuLibraryUnload, (CUlibrary library)) \
	F(cuLibraryGetKernel, (CUkernel *kernel, CUlibrary library, const char *name)) \
	F(cuLibraryEnumerateKernels, (CUkernel *kernels, unsigned n, CUlibrary library)) \
	F(cuLibraryGetModule, (CUmodule *module, CUlibrary library)) \
	F(cuKernelGetFunction, (CUfunction *function, CUkernel kernel)) \
	F(cuKernelGetName, (const char **name, CUkernel kernel)) \
	F(cuFuncGetName, (const char **name, CUfunction function)) \
	F(cuMemAlloc_v2, (CUdeviceptr *p, size_t size)) \
	F(cuMemFree_v2, (CUdeviceptr p)) \
	F(cuLaunchKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
			   unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params, \
			   void **extra))
#define DECLARE(name, params) CUresult name params;
FUNCTIONS(DECLARE)
test_cuda_counts_fn test_cuda_counts;
test_cuda_function_fn test_cuda_function;

/* Past whatever is in front of the driver. */
#define HIDDEN(name) ((__typeof__(&name))(uintptr_t)test_cuda_function(#name))
#define TRY(call) do { int error_ = (call); if (error_) fail(#call, error_, __LINE__); } while (0)
#define EXPECT(condition) do { if (!(condition)) fail(#condition, 0, __LINE__); } while (0)

static void fail(const char *what, int error, int line)
{
	fprintf(stderr, "handles.c:%d: %s: %d\n", line, what, error);
	exit(1);
}

/* ---- launches */

struct shared {
	unsigned *p, n, word;
};

static struct shared *shared;

static struct shared *allocate(void)
{
	CUdeviceptr p;
	struct shared *s;

	TRY(cuMemAlloc_v2(&p, sizeof(*s)));
	s = (struct shared *)(uintptr_t)p;
	s->p = &s->word;
	s->n = 1;
	s->word = 0;
	return s;
}

static void launch(const void *handle, void **params)
{
	TRY(cuLaunchKernel((CUfunction)handle, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

/* "increment", whose parameters' values are in shared memory: they have to be known. */
static void known(const void *handle, struct shared *s)
{
	unsigned before = s->word;

	launch(handle, (void *[]){ &s->p, &s->n });
	TRY(cuCtxSynchronize());
	EXPECT(s->word == before + 1);
}

/* The same with what nobody knows: the values are the program's own. */
static void unknown(const void *handle)
{
	unsigned before = shared->word, *p = &shared->word, n = 1;

	launch(handle, (void *[]){ &p, &n });
	TRY(cuCtxSynchronize());
	EXPECT(shared->word == before + 1);
}

static CUlibrary load_library(void)
{
	CUlibrary library;

	TRY(cuLibraryLoadData(&library, module_image, NULL, NULL, 0, NULL, NULL, 0));
	return library;
}

static CUmodule load_module(void)
{
	CUmodule module;

	TRY(cuModuleLoadData(&module, module_image));
	return module;
}

static CUfunction function_of(CUmodule module)
{
	CUfunction function;

	TRY(cuModuleGetFunction(&function, module, "increment"));
	return function;
}

static CUkernel kernel_of(CUlibrary library)
{
	CUkernel kernel;

	TRY(cuLibraryGetKernel(&kernel, library, "increment"));
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
	TRY(cuKernelGetFunction(&function, kernel_of(library)));
	known(function, shared);
	TRY(cuLibraryGetModule(&module, library));
	known(function_of(module), shared);
	module = load_module();
	library = load_library();
	TRY(cuModuleEnumerateFunctions(functions, 64, module));
	TRY(cuLibraryEnumerateKernels(kernels, 64, library));
	for (int i = 0; i < 64 && functions[i]; i++) {
		TRY(cuFuncGetName(&name, functions[i]));
		if (!strcmp(name, "increment"))
			known(functions[i], shared);
		TRY(cuKernelGetName(&name, kernels[i]));
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

	TRY(HIDDEN(cuModuleGetFunction)(&function, module, "increment"));
	TRY(HIDDEN(cuLibraryGetKernel)(&kernel, library, "increment"));
	unknown(function);
	unknown(kernel);
}

/* The handle of a kernel that nobody knows, which a function has had. */
static CUkernel kernel_instead_of(const CUfunction functions[2])
{
	CUkernel kernel;
	int n = 0;

	do {
		EXPECT(n++ < 8);
		TRY(HIDDEN(cuLibraryGetKernel)(&kernel, load_library(), "increment"));
	} while ((void *)kernel != (void *)functions[0] && (void *)kernel != (void *)functions[1]);
	return kernel;
}

/* What has ended with its module or library, is another's later, and of another kind. Nobody had asked about it. */
static void unloaded(void)
{
	CUmodule module = load_module(), second = load_module();
	CUfunction functions[2] = { function_of(module), function_of(second) }, function;
	CUlibrary library;
	CUkernel kernel;

	TRY(cuModuleUnload(module));
	TRY(cuModuleUnload(second));
	unknown(kernel_instead_of(functions));

	library = load_library();
	kernel = kernel_of(library);
	TRY(cuLibraryUnload(library));
	TRY(HIDDEN(cuModuleGetFunction)(&function, load_module(), "increment"));
	EXPECT((void *)function == (void *)kernel);
	unknown(function);

	library = load_library();
	TRY(cuKernelGetFunction(&functions[0], kernel_of(library)));
	functions[1] = functions[0];
	TRY(cuLibraryUnload(library));
	unknown(kernel_instead_of(functions));

	library = load_library();
	TRY(cuLibraryGetModule(&module, library));
	functions[0] = functions[1] = function_of(module);
	TRY(cuLibraryUnload(library));
	unknown(kernel_instead_of(functions));

	/* Of a kernel that is not known. */
	library = load_library();
	TRY(HIDDEN(cuLibraryGetKernel)(&kernel, library, "increment"));
	TRY(cuKernelGetFunction(&functions[0], kernel));
	functions[1] = functions[0];
	TRY(cuLibraryUnload(library));
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

	TRY(cuDevicePrimaryCtxRetain(&first, 0));
	TRY(cuCtxCreate_v2(&second, 0, 0));
	kernel = kernel_of(load_library());
	functions[0] = function_of(load_module());
	functions[1] = function_of(load_module());
	TRY(cuCtxDestroy_v2(second));
	TRY(cuCtxSetCurrent(first));
	unknown(kernel_instead_of(functions));
	known(kernel, shared);
	functions[0] = function_of(load_module());
	functions[1] = function_of(load_module());
	known(functions[0], shared);
	TRY(cuDevicePrimaryCtxReset_v2(0));
	TRY(HIDDEN(cuMemAlloc_v2)(&p, sizeof(n)));
	launch(kernel_instead_of(functions), (void *[]){ &p, &n });
	launch(kernel, (void *[]){ &p, &n });
	TRY(cuCtxSynchronize());
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
		/* Two parameters, and that there is no third. */
		EXPECT(after.asked_params - before.asked_params == (i ? 0 : 2 * 3));
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
			TRY(cuLibraryUnload(library));
		known(function_of(module), s);
		TRY(cuModuleUnload(module));
		if (!(i & 1))
			TRY(cuLibraryUnload(library));
	}
	TRY(cuMemFree_v2((uintptr_t)s));
	return arg;
}

static void *enter_and_work(void *context)
{
	TRY(cuCtxSetCurrent(context));
	return work(context);
}

static void threads(void)
{
	CUcontext context;
	pthread_t thread[4];

	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	for (int i = 0; i < 4; i++)
		EXPECT(!pthread_create(&thread[i], NULL, enter_and_work, context));
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
		TRY(cuInit(0));
		TRY(cuDevicePrimaryCtxRetain(&context, 0));
		TRY(cuCtxSetCurrent(context));
		shared = allocate();
		cases[i].run();
		printf("%s: good\n", argv[1]);
		return 0;
	}
	fprintf(stderr, "usage: handles CASE\n");
	return 2;
}
