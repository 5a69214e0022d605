/* SPDX-License-Identifier: MIT */
/*
 * driver_library.c - libraries, whose kernels are the same in every context: each has a module in those where it was
 * used. And the handles of kernels: functions belong to a module, in its context; kernels belong to a library. A launch
 * takes both; other functions crash if they get the wrong kind.
 */
#include "driver_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct CUlib_st {
	struct CUlib_st *next;
	void *image;
	size_t n;
	struct CUkern_st **kernels;
};

static struct CUlib_st *libraries;
static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;	/* of making them; outside the other */
static union kernel_handle *free_handles;
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;	/* inside the other */

/* ---- handles */

union kernel_handle *handle_take(enum handle_kind kind)
{
	union kernel_handle *handle;

	pthread_mutex_lock(&handles_lock);
	handle = free_handles;
	if (handle)
		free_handles = handle->free.next;
	pthread_mutex_unlock(&handles_lock);
	if (handle)
		memset(handle, 0, sizeof(*handle));
	else
		handle = calloc(1, sizeof(*handle));
	if (!handle)
		abort();
	handle->kind = kind;
	return handle;
}

void handle_give(union kernel_handle *handle)
{
	pthread_mutex_lock(&handles_lock);
	handle->free.kind = ENDED_HANDLE;
	handle->free.next = free_handles;
	free_handles = handle;
	pthread_mutex_unlock(&handles_lock);
}

static void check_kind(const char *name, const void *handle, enum handle_kind kind)
{
	static const char *const kinds[] = { "a handle that has ended", "a CUfunction", "a CUkernel" };
	const union kernel_handle *given = handle;

	if (given && given->kind == kind)
		return;
	driver_say("%s takes %s, and was given %s", name, kinds[kind], given ? kinds[given->kind] : "NULL");
	abort();
}

struct CUfunc_st *handle_function(const char *name, CUfunction function)
{
	check_kind(name, function, FUNCTION);
	return function;
}

static struct CUkern_st *handle_kernel(const char *name, CUkernel kernel)
{
	check_kind(name, kernel, KERNEL);
	return kernel;
}

/* ---- libraries */

static bool is_library(const struct CUlib_st *library)
{
	const struct CUlib_st *each;

	pthread_mutex_lock(&lock);
	for (each = libraries; each && each != library; each = each->next)
		;
	pthread_mutex_unlock(&lock);
	return each;
}

/* The module in this context. The first call that needs it makes it. */
static CUresult get_module(struct context *ctx, struct CUmod_st **ret, struct CUlib_st *library)
{
	CUresult error = 0;

	if (!is_library(library))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&modules_lock);
	*ret = module_of_library(ctx, library);
	if (!*ret) {
		error = module_load(ctx, ret, library->image, 0, NULL, NULL);
		if (!error)
			(*ret)->library = library;
	}
	pthread_mutex_unlock(&modules_lock);
	return error;
}

static void free_library(struct CUlib_st *library)
{
	for (size_t i = library->n; i--;)
		handle_give((union kernel_handle *)library->kernels[i]);
	free(library->kernels);
	free(library->image);
	free(library);
}

static CUresult load(struct context *ctx, struct CUlib_st **ret, const void *image, unsigned n, const int *options,
		     void **values)
{
	struct CUlib_st *library = calloc(1, sizeof(*library));
	struct CUmod_st *module;
	CUresult error;
	size_t size;

	if (!library)
		return CUDA_ERROR_OUT_OF_MEMORY;
	error = ret ? module_load(ctx, &module, image, n, options, values) : CUDA_ERROR_INVALID_VALUE;
	if (error) {
		free(library);
		return error;
	}
	module->library = library;
	size = module_image_size(image);
	library->image = malloc(size);
	library->kernels = calloc(module->n + 1, sizeof(*library->kernels));
	if (!library->image || !library->kernels)
		abort();
	memcpy(library->image, image, size);
	for (; library->n < module->n; library->n++) {
		struct CUkern_st *kernel = (struct CUkern_st *)handle_take(KERNEL);

		kernel->library = library;
		kernel->index = library->n;
		memcpy(kernel->name, module->functions[library->n]->desc.name, sizeof(kernel->name));
		library->kernels[library->n] = kernel;
	}
	pthread_mutex_lock(&lock);
	library->next = libraries;
	libraries = library;
	pthread_mutex_unlock(&lock);
	*ret = library;
	return 0;
}

static CUresult load_file(struct context *ctx, struct CUlib_st **ret, const char *path)
{
	void *image;
	size_t size;
	CUresult error = module_read(path, &image, &size);

	if (error)
		return error;
	error = load(ctx, ret, image, 0, NULL, NULL);
	munmap(image, size);
	return error;
}

static CUresult unload(struct context *ctx, struct CUlib_st *library)
{
	struct CUlib_st **at = &libraries;
	struct CUmod_st *module;

	if (!is_library(library))
		return CUDA_ERROR_INVALID_HANDLE;
	while ((module = module_of_library(NULL, library)))
		module_unload(module->ctx, module);
	pthread_mutex_lock(&lock);
	while (*at != library)
		at = &(*at)->next;
	*at = library->next;
	pthread_mutex_unlock(&lock);
	free_library(library);
	return 0;
}

static CUresult get_kernel(struct CUkern_st **ret, struct CUlib_st *library, const char *name)
{
	if (!ret || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_library(library))
		return CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; i < library->n; i++) {
		if (!strcmp(library->kernels[i]->name, name)) {
			*ret = library->kernels[i];
			return 0;
		}
	}
	return CUDA_ERROR_NOT_FOUND;
}

static CUresult list_kernels(struct CUkern_st **ret, unsigned n, struct CUlib_st *library)
{
	if (!is_library(library))
		return CUDA_ERROR_INVALID_HANDLE;
	for (unsigned i = 0; i < n && i < library->n; i++)
		ret[i] = library->kernels[i];
	return 0;
}

static CUresult get_global(struct context *ctx, CUdeviceptr *ret, size_t *ret_size, struct CUlib_st *library,
			   const char *name)
{
	struct CUmod_st *module;
	CUresult error = get_module(ctx, &module, library);

	return error ? error : module_global(ctx, ret, ret_size, module, name);
}

CU_IN(cuLibraryLoadData, (CUlibrary *ret, const void *image, int *options, void **values, unsigned n,
			  int *library_options, void **library_values, unsigned n_library),
      load(ctx, ret, image, n, options, values))
CU_IN(cuLibraryLoadFromFile, (CUlibrary *ret, const char *path, int *options, void **values, unsigned n,
			      int *library_options, void **library_values, unsigned n_library),
      load_file(ctx, ret, path))
CU_IN(cuLibraryUnload, (CUlibrary library), unload(ctx, library))
CU_IN(cuLibraryGetKernel, (CUkernel *ret, CUlibrary library, const char *name), get_kernel(ret, library, name))
CU_IN(cuLibraryGetModule, (CUmodule *ret, CUlibrary library), get_module(ctx, ret, library))
CU_IN(cuLibraryGetKernelCount, (unsigned *n, CUlibrary library),
      is_library(library) ? (*n = (unsigned)library->n, 0) : CUDA_ERROR_INVALID_HANDLE)
CU_IN(cuLibraryEnumerateKernels, (CUkernel *ret, unsigned n, CUlibrary library), list_kernels(ret, n, library))
CU_IN(cuLibraryGetGlobal, (CUdeviceptr *p, size_t *size, CUlibrary library, const char *name),
      get_global(ctx, p, size, library, name))
CU_IN(cuLibraryGetManaged, (CUdeviceptr *p, size_t *size, CUlibrary library, const char *name), CUDA_ERROR_NOT_FOUND)

/* ---- kernels: what is asked about them, their function in this context says */

static struct CUfunc_st *function_of(struct context *ctx, const struct CUkern_st *kernel)
{
	struct CUmod_st *module;

	return get_module(ctx, &module, kernel->library) ? NULL : module->functions[kernel->index];
}

struct CUfunc_st *handle_launched(struct context *ctx, CUfunction function)
{
	const union kernel_handle *handle = (const union kernel_handle *)function;

	if (!handle || handle->kind == ENDED_HANDLE)
		return NULL;
	return handle->kind == KERNEL ? function_of(ctx, &handle->kernel) : function;
}

static CUresult kernel_attribute(struct context *ctx, int *value, int attribute, const struct CUkern_st *kernel)
{
	const struct CUfunc_st *function = function_of(ctx, kernel);

	return function ? function_attribute(value, attribute, function) : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult set_attribute(struct context *ctx, int attribute, int value, const struct CUkern_st *kernel)
{
	struct CUfunc_st *function = function_of(ctx, kernel);

	return function ? function_set_attribute(function, attribute, value) : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult kernel_param(struct context *ctx, const struct CUkern_st *kernel, size_t index, size_t *offset,
			     size_t *size)
{
	const struct CUfunc_st *function = function_of(ctx, kernel);

	driver_count(&counts.asked_params);
	return function ? function_param(function, index, offset, size) : CUDA_ERROR_INVALID_HANDLE;
}

#define K handle_kernel(__func__, kernel)
CU_IN(cuKernelGetFunction, (CUfunction *ret, CUkernel kernel),
      (*ret = function_of(ctx, K)) ? 0 : CUDA_ERROR_INVALID_HANDLE)
CU_IN(cuKernelGetName, (const char **ret, CUkernel kernel), (*ret = K->name, 0))
CU_IN(cuKernelGetAttribute, (int *value, int attribute, CUkernel kernel, CUdevice device),
      kernel_attribute(ctx, value, attribute, K))
CU_IN(cuKernelSetAttribute, (int attribute, int value, CUkernel kernel, CUdevice device),
      set_attribute(ctx, attribute, value, K))
CU_IN(cuKernelGetParamInfo, (CUkernel kernel, size_t index, size_t *offset, size_t *size),
      kernel_param(ctx, K, index, offset, size))
#undef K
