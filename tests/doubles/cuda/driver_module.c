/* SPDX-License-Identifier: MIT */
/*
 * driver_module.c - images and launches. An image is a kernel module as a native compiler makes it, an ELF file that
 * describes its kernels in section "adsm_kernels"; the device loads it. Nothing else is one. What it exports besides,
 * in whole pages, are its variables.
 */
#include "driver_own.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_THREADS 1024u
#define MAX_SHARED (227 * 1024)
#define VALUE_KIND 2
#define CONST_KIND 3

struct global {
	struct global *next;
	CUdeviceptr address;
	size_t size;
	char name[64];
};

static struct CUmod_st *modules;
static pthread_mutex_t globals_lock = PTHREAD_MUTEX_INITIALIZER;	/* outside the other */

static bool within(size_t offset, size_t size, size_t whole)
{
	return offset <= whole && size <= whole - offset;
}

/* How large an image is, by what its headers say. Images have no size of their own. */
size_t module_image_size(const void *image)
{
	const Elf64_Ehdr *header = image;
	const Elf64_Shdr *sections = (const void *)((const char *)header + header->e_shoff);
	size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;

	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_NOBITS && sections[i].sh_offset + sections[i].sh_size > size)
			size = sections[i].sh_offset + sections[i].sh_size;
	}
	return size;
}

/* The kernels' descriptions, n of them; NULL: it has none. */
static const char *find_kernels(const char *image, size_t size, size_t *ret_n)
{
	const Elf64_Ehdr *header = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
	const Elf64_Shdr *names = &sections[header->e_shstrndx];

	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (strcmp(image + names->sh_offset + sections[i].sh_name, "adsm_kernels"))
			continue;
		if (!within(sections[i].sh_offset, sections[i].sh_size, size))
			return NULL;
		*ret_n = sections[i].sh_size / sizeof(struct adsm_kernel_desc);
		return image + sections[i].sh_offset;
	}
	return NULL;
}

/* @descs: NULL for PTX. */
static CUresult load_kernels(struct CUmod_st *module, const char *descs)
{
	struct driver_message *message = calloc(1, sizeof(*message));
	struct driver_reply reply;
	int ret = message ? 0 : ENOMEM;

	for (size_t i = 0; i < module->n && !ret; i++) {
		struct CUfunc_st *function = module->functions[i] = (struct CUfunc_st *)handle_take(FUNCTION);

		function->module = module;
		function->max_shared = 48 * 1024;
		if (descs)
			memcpy(&function->desc, descs + i * sizeof(function->desc), sizeof(function->desc));
		message->op = DRIVER_KERNEL;
		message->index = module->index;
		snprintf(message->name, sizeof(message->name), "%s",
			 descs ? function->desc.name : ptx_name(module, i));
		ret = device_ask(message, -1, &reply);
		function->index = reply.index;
	}
	free(message);
	return ret ? CUDA_ERROR_INVALID_IMAGE : 0;
}

/* Give the image to the device. */
static CUresult send_image(struct CUmod_st *module, const void *image, size_t size, char *ret_text, size_t text_size)
{
	struct driver_message message = { .op = DRIVER_LOAD };
	struct driver_reply reply = { 0 };
	int fd = memfd_create("cuda-module", MFD_CLOEXEC), ret;

	if (fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t done = 0; done < size;) {
		ssize_t n = pwrite(fd, (const char *)image + done, size - done, (off_t)done);

		if (n <= 0) {
			close(fd);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		done += (size_t)n;
	}
	ret = device_ask(&message, fd, &reply);
	close(fd);
	if (ret) {
		snprintf(ret_text, text_size, "%s", reply.text);
		return ret == ENODEV ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_INVALID_IMAGE;
	}
	module->index = reply.index;
	module->functions = calloc(module->n ? module->n : 1, sizeof(*module->functions));
	return module->functions ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult load_text(struct context *ctx, struct CUmod_st *module, const char *text, char *ret_text,
			  size_t text_size)
{
	const char *start = text + strspn(text, " \n");
	CUresult error;
	void *image;
	size_t size;

	snprintf(ret_text, text_size, "the driver double takes native modules only");
	/* clang begins with comments. */
	if (strncmp(start, ".version", 8) && strncmp(start, "//", 2))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	error = ptx_read(ctx, module, text, &image, &size);
	if (error)
		return error;
	error = send_image(module, image, size, ret_text, text_size);
	munmap(image, size);
	return error ? error : load_kernels(module, NULL);
}

static CUresult load_image(struct context *ctx, struct CUmod_st *module, const void *image, char *ret_text,
			   size_t text_size)
{
	const char *descs;
	size_t size;
	CUresult error;

	if (!image)
		return CUDA_ERROR_INVALID_VALUE;
	module->ctx = ctx;
	if (memcmp(image, ELFMAG, SELFMAG)) {
		const char *text = image;

		return load_text(ctx, module, text, ret_text, text_size);
	}
	if (((const Elf64_Ehdr *)image)->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ((const Elf64_Ehdr *)image)->e_type != ET_DYN)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	size = module_image_size(image);
	descs = find_kernels(image, size, &module->n);
	if (!descs)
		return CUDA_ERROR_INVALID_IMAGE;
	error = send_image(module, image, size, ret_text, text_size);
	return error ? error : load_kernels(module, descs);
}

/* Handles of kernels are taken in this order, and given back in the other: the next module has the same. */
static void free_module(struct CUmod_st *module)
{
	for (size_t i = module->functions ? module->n : 0; i--;) {
		if (module->functions[i])
			handle_give((union kernel_handle *)module->functions[i]);
	}
	free(module->functions);
	ptx_free(module);
	free(module);
}

CUresult module_load(struct context *ctx, struct CUmod_st **ret, const void *image, unsigned n, const int *options,
		     void **values)
{
	struct CUmod_st *module;
	char text[192] = "", *log = NULL;
	size_t log_size = 0;
	CUresult error;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
			log = values[i];
		if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			log_size = (size_t)(uintptr_t)values[i];
	}
	module = calloc(1, sizeof(*module));
	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	error = load_image(ctx, module, image, text, sizeof(text));
	if (log && log_size)
		snprintf(log, log_size, "%s", text);
	pthread_mutex_lock(&lock);
	if (error) {
		free_module(module);
		pthread_mutex_unlock(&lock);
		return error;
	}
	module->next = modules;
	modules = module;
	counts.modules++;
	pthread_mutex_unlock(&lock);
	*ret = module;
	return 0;
}

CUresult module_read(const char *path, void **ret_image, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	CUresult error = CUDA_ERROR_FILE_NOT_FOUND;
	void *image;

	if (fd < 0)
		return error;
	if (!fstat(fd, &status) && status.st_size > 0) {
		image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (image != MAP_FAILED) {
			*ret_image = image;
			*ret_size = (size_t)status.st_size;
			error = 0;
		}
	}
	close(fd);
	return error;
}

static CUresult load_file(struct context *ctx, struct CUmod_st **ret, const char *path)
{
	void *image;
	size_t size;
	CUresult error = module_read(path, &image, &size);

	if (error)
		return error;
	error = module_load(ctx, ret, image, 0, NULL, NULL);
	munmap(image, size);
	return error;
}

static void unload_locked(struct CUmod_st **at)
{
	struct driver_message message = { .op = DRIVER_UNLOAD, .index = (*at)->index };
	struct CUmod_st *module = *at;
	struct driver_reply reply;

	*at = module->next;
	device_ask(&message, -1, &reply);
	for (struct global *global = module->globals, *next; global; global = next) {
		next = global->next;
		memory_free_now_locked(global->address);
		free(global);
	}
	free_module(module);
	counts.modules--;
}

CUresult module_unload(struct context *ctx, struct CUmod_st *module)
{
	struct CUmod_st **at = &modules;
	CUresult error = CUDA_ERROR_INVALID_HANDLE;

	stream_drain(ctx);
	pthread_mutex_lock(&lock);
	while (*at && *at != module)
		at = &(*at)->next;
	if (*at) {
		unload_locked(at);
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

void module_end_context(struct context *ctx)
{
	pthread_mutex_lock(&lock);
	for (struct CUmod_st **at = &modules; *at;) {
		if ((*at)->ctx == ctx)
			unload_locked(at);
		else
			at = &(*at)->next;
	}
	pthread_mutex_unlock(&lock);
}

struct CUmod_st *module_of_library(const struct context *ctx, const struct CUlib_st *library)
{
	struct CUmod_st *each;

	pthread_mutex_lock(&lock);
	for (each = modules; each && (each->library != library || (ctx && each->ctx != ctx)); each = each->next)
		;
	pthread_mutex_unlock(&lock);
	return each;
}

static bool is_module(const struct CUmod_st *module)
{
	const struct CUmod_st *each;

	pthread_mutex_lock(&lock);
	for (each = modules; each && each != module; each = each->next)
		;
	pthread_mutex_unlock(&lock);
	return each;
}

static CUresult get_function(struct CUfunc_st **ret, struct CUmod_st *module, const char *name)
{
	if (!ret || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_module(module))
		return CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; i < module->n; i++) {
		if (!strcmp(module->functions[i]->desc.name, name)) {
			*ret = module->functions[i];
			return 0;
		}
	}
	return CUDA_ERROR_NOT_FOUND;
}

static CUresult list_functions(struct CUfunc_st **ret, unsigned n, struct CUmod_st *module)
{
	if (!is_module(module))
		return CUDA_ERROR_INVALID_HANDLE;
	for (unsigned i = 0; i < n && i < module->n; i++)
		ret[i] = module->functions[i];
	return 0;
}

/* Moves to memory of the device's that copies reach, once. */
static CUresult make_global(struct context *ctx, struct CUmod_st *module, const char *name, struct global **ret)
{
	struct driver_message *message = calloc(1, sizeof(*message));
	struct global *global = calloc(1, sizeof(*global));
	struct driver_reply reply = { 0 };
	CUresult error = CUDA_ERROR_NOT_FOUND;

	if (!message || !global) {
		error = CUDA_ERROR_OUT_OF_MEMORY;
		goto free_both;
	}
	message->op = DRIVER_GLOBAL;
	message->index = module->index;
	snprintf(message->name, sizeof(message->name), "%s", name);
	strcpy(global->name, message->name);
	if (device_ask(message, -1, &reply))
		goto free_both;
	global->size = reply.index;
	error = memory_alloc_global(ctx, global->size, &global->address, &message->offset);
	if (error)
		goto free_both;
	message->address = global->address;
	if (device_ask(message, -1, &reply)) {
		memory_free_now(global->address);
		error = CUDA_ERROR_UNKNOWN;
		goto free_both;
	}
	free(message);
	*ret = global;
	return 0;

free_both:
	free(message);
	free(global);
	return error;
}

static struct global *find_global_locked(const struct CUmod_st *module, const char *name)
{
	struct global *global = module->globals;

	while (global && strcmp(global->name, name))
		global = global->next;
	return global;
}

/* Either result may be left out. */
CUresult module_global(struct context *ctx, CUdeviceptr *ret, size_t *ret_size, struct CUmod_st *module,
		       const char *name)
{
	const struct driver_variable *variable;
	struct global *global;
	CUresult error = 0;

	if (!name || (!ret && !ret_size))
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_module(module))
		return CUDA_ERROR_INVALID_HANDLE;
	variable = ptx_variable(module, name);
	if (variable) {
		if (ret)
			*ret = variable->address;
		if (ret_size)
			*ret_size = variable->size;
		return 0;
	}
	if (module->info)
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&globals_lock);
	global = find_global_locked(module, name);
	if (!global) {
		error = make_global(ctx, module, name, &global);
		if (!error) {
			pthread_mutex_lock(&lock);
			global->next = module->globals;
			module->globals = global;
			pthread_mutex_unlock(&lock);
		}
	}
	pthread_mutex_unlock(&globals_lock);
	if (!error && ret)
		*ret = global->address;
	if (!error && ret_size)
		*ret_size = global->size;
	return error;
}

CU_IN(cuModuleLoad, (CUmodule *ret, const char *path), load_file(ctx, ret, path))
CU_IN(cuModuleLoadData, (CUmodule *ret, const void *image), module_load(ctx, ret, image, 0, NULL, NULL))
CU_IN(cuModuleLoadDataEx, (CUmodule *ret, const void *image, unsigned n, int *options, void **values),
      module_load(ctx, ret, image, n, options, values))
CU_IN(cuModuleLoadFatBinary, (CUmodule *ret, const void *image), module_load(ctx, ret, image, 0, NULL, NULL))
CU_IN(cuModuleUnload, (CUmodule module), module_unload(ctx, module))
CU_IN(cuModuleGetFunction, (CUfunction *ret, CUmodule module, const char *name), get_function(ret, module, name))
CU_IN(cuModuleGetFunctionCount, (unsigned *n, CUmodule module),
      plan.old ? CUDA_ERROR_NOT_SUPPORTED : !is_module(module) ? CUDA_ERROR_INVALID_HANDLE :
      (*n = (unsigned)module->n, 0))
CU_IN(cuModuleEnumerateFunctions, (CUfunction *ret, unsigned n, CUmodule module),
      plan.old ? CUDA_ERROR_NOT_SUPPORTED : list_functions(ret, n, module))
CU_IN(cuModuleGetGlobal_v2, (CUdeviceptr *p, size_t *size, CUmodule module, const char *name),
      module_global(ctx, p, size, module, name))
CU_OBSOLETE(cuModuleGetGlobal)
CU_IN(cuModuleGetTexRef, (void **ret, CUmodule module, const char *name), CUDA_ERROR_NOT_FOUND)
CU_IN(cuModuleGetSurfRef, (void **ret, CUmodule module, const char *name), CUDA_ERROR_NOT_FOUND)

CU(cuModuleGetLoadingMode, (int *mode))
{
	ENTER(cuModuleGetLoadingMode, INITIALISED);
	*mode = 1;	/* eager */
	return 0;
}

/* ---- functions */

CUresult function_attribute(int *value, int attribute, const struct CUfunc_st *function)
{
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*value = (int)(function->desc.max_threads < MAX_THREADS ? function->desc.max_threads : MAX_THREADS);
		return 0;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = function->max_shared;
		return 0;
	default:
		*value = 0;
		return attribute >= 0 && attribute < 16 ? 0 : CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult function_set_attribute(struct CUfunc_st *function, int attribute, int value)
{
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		if (value < 0 || value > MAX_SHARED)
			return CUDA_ERROR_INVALID_VALUE;
		function->max_shared = value;
	}
	return 0;
}

static size_t param_size(const struct adsm_kernel_param *param)
{
	return param->kind == VALUE_KIND ? param->size : sizeof(CUdeviceptr);
}

/* Where a parameter is, as a compiler would place it. */
CUresult function_param(const struct CUfunc_st *function, size_t index, size_t *ret_offset, size_t *ret_size)
{
	size_t offset = 0, size = 0;

	if (!ret_offset || index >= function->desc.n_params)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i <= index; i++) {
		size_t align = 16;

		offset += size;
		size = param_size(&function->desc.params[i]);
		while (size % align)
			align /= 2;
		offset = (offset + align - 1) / align * align;
	}
	*ret_offset = offset;
	if (ret_size)
		*ret_size = size;
	return 0;
}

#define F handle_function(__func__, function)
CU_IN(cuFuncGetAttribute, (int *value, int attribute, CUfunction function), function_attribute(value, attribute, F))
CU_IN(cuFuncSetAttribute, (CUfunction function, int attribute, int value), function_set_attribute(F, attribute, value))
CU_IN(cuFuncSetCacheConfig, (CUfunction function, int config), (F, 0))
CU_IN(cuFuncSetSharedMemConfig, (CUfunction function, int config), (F, 0))
CU_IN(cuFuncGetParamInfo, (CUfunction function, size_t index, size_t *offset, size_t *size),
      plan.old ? CUDA_ERROR_NOT_SUPPORTED :
      (driver_count(&counts.asked_params), function_param(F, index, offset, size)))
CU_IN(cuFuncGetName, (const char **name, CUfunction function),
      plan.old ? CUDA_ERROR_NOT_SUPPORTED : (*name = F->desc.name, 0))
CU_IN(cuFuncGetModule, (CUmodule *module, CUfunction function), (*module = F->module, 0))
CU_IN(cuFuncLoad, (CUfunction function), (F, 0))
CU_IN(cuFuncIsLoaded, (int *state, CUfunction function), (F, *state = 1, 0))
#undef F
/* As launches, they take either. */
CU_IN(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *n, CUfunction function, int threads, size_t shared),
      (*n = 1, 0))
CU_IN(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, (int *n, CUfunction function, int threads, size_t shared,
							      unsigned flags), (*n = 1, 0))

/* ---- launches */

static CUresult run_launch(struct op *op)
{
	const struct driver_message *message = op->data;
	struct driver_reply reply = { 0 };
	int worker = stream_worker(op);

	driver_count(&counts.launches);
	if (worker < 0 || device_run(worker, message, &reply))
		return CUDA_ERROR_LAUNCH_FAILED;
	if (reply.error)
		driver_say("kernel '%s' failed with %d at %p", message->name, reply.error,
			   (void *)(uintptr_t)reply.address);
	return reply.error;
}

/* The bytes of the parameters, from pointers to them or from one buffer. */
static CUresult collect(const struct CUfunc_st *function, void **params, void **extra, struct driver_message *message)
{
	const char *buffer = NULL;
	size_t buffer_size = 0, offset, size;

	for (size_t i = 0; extra && extra[i]; i += 2) {
		if (extra[i] == (void *)1)
			buffer = extra[i + 1];
		else if (extra[i] == (void *)2)
			buffer_size = *(size_t *)extra[i + 1];
	}
	if (params && buffer)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < function->desc.n_params; i++) {
		if (function_param(function, i, &offset, &size) || offset + size > DRIVER_PARAM_BYTES)
			return CUDA_ERROR_INVALID_VALUE;
		if (buffer ? offset + size > buffer_size : !params || !params[i])
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(message->params + offset, buffer ? buffer + offset : params[i], size);
		message->param_offset[i] = (uint16_t)offset;
		message->param_const[i] = function->desc.params[i].kind == CONST_KIND;
	}
	message->n_params = function->desc.n_params;
	return 0;
}

CUresult module_launch(struct context *ctx, struct CUfunc_st *function, const unsigned grid[3], const unsigned block[3],
		       unsigned shared, void **params, void **extra, struct op *ret_op)
{
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
	struct driver_message *message;
	CUresult error;

	function = handle_launched(ctx, function);
	if (!function || function->module->ctx != ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	for (int i = 0; i < 3; i++) {
		if (!grid[i] || !block[i] || grid[i] > (i ? 65535u : INT32_MAX) || block[i] > (i < 2 ? 1024u : 64u))
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (threads > MAX_THREADS || threads > function->desc.max_threads || shared > (unsigned)function->max_shared)
		return CUDA_ERROR_INVALID_VALUE;
	message = calloc(1, sizeof(*message));
	if (!message)
		return CUDA_ERROR_OUT_OF_MEMORY;
	message->op = DRIVER_LAUNCH;
	message->index = function->index;
	memcpy(message->name, function->desc.name, sizeof(message->name));
	memcpy(message->grid, grid, sizeof(message->grid));
	memcpy(message->block, block, sizeof(message->block));
	error = collect(function, params, extra, message);
	if (error) {
		free(message);
		return error;
	}
	if (function->kernel)
		ptx_collect(function, shared, message);
	*ret_op = (struct op){ .run = run_launch, .data_size = sizeof(*message), .data = message };
	return 0;
}

static CUresult launch(struct context *ctx, struct CUfunc_st *function, const unsigned grid[3], const unsigned block[3],
		       unsigned shared, CUstream stream, bool per_thread, void **params, void **extra)
{
	struct op op;
	CUresult error;

	ctx = stream_context(ctx, stream, per_thread);
	error = module_launch(ctx, function, grid, block, shared, params, extra, &op);
	if (!error && plan.instant && !stream_is_capturing(ctx, stream, per_thread)) {
		uint64_t until = plan.launch_ns ? driver_now_ns() + plan.launch_ns : 0;

		free(op.data);
		while (until && driver_now_ns() < until)
			;
		return 0;
	}
	return error ? error : stream_submit(ctx, stream, per_thread, op, false);
}

#define GRID ((const unsigned[]){ grid_x, grid_y, grid_z })
#define BLOCK ((const unsigned[]){ block_x, block_y, block_z })

CU_TWO(cuLaunchKernel, _ptsz, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream stream,
			       void **params, void **extra),
       launch(ctx, function, GRID, BLOCK, shared, stream, per_thread, params, extra))
CU_TWO(cuLaunchCooperativeKernel, _ptsz, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
					  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
					  CUstream stream, void **params),
       launch(ctx, function, GRID, BLOCK, shared, stream, per_thread, params, NULL))
CU_TWO(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig *c, CUfunction function, void **params, void **extra),
       launch(ctx, function, (const unsigned[]){ c->gridDimX, c->gridDimY, c->gridDimZ },
	      (const unsigned[]){ c->blockDimX, c->blockDimY, c->blockDimZ }, c->sharedMemBytes, c->hStream, per_thread,
	      params, extra))

/* Each launch is in a context of its own: here all of them are on the one device. */
static CUresult launch_all(struct context *ctx, const CUDA_LAUNCH_PARAMS *list, unsigned n)
{
	CUresult error = 0;

	for (unsigned i = 0; i < n && !error; i++)
		error = launch(ctx, list[i].function, list[i].grid, list[i].block, list[i].shared, list[i].stream,
			       false, list[i].params, NULL);
	return error;
}

CU_IN(cuLaunchCooperativeKernelMultiDevice, (CUDA_LAUNCH_PARAMS *list, unsigned n, unsigned flags),
      launch_all(ctx, list, n))
CU_OBSOLETE(cuLaunch)
CU_OBSOLETE(cuLaunchGrid)
CU_OBSOLETE(cuLaunchGridAsync)

/* ---- the linker, which links nothing. It keeps the caller's list of values, and the first one gets its time. */

struct CUlinkState_st {
	void **values;			/* NULL: none */
};

static CUresult link_create(unsigned n, void **values, CUlinkState *ret)
{
	*ret = malloc(sizeof(**ret));
	if (!*ret)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*ret)->values = n ? values : NULL;
	return 0;
}

static CUresult link_destroy(CUlinkState state)
{
	if (state->values)
		state->values[0] = (void *)(uintptr_t)TEST_CUDA_LINK_TIME;
	free(state);
	return 0;
}

CU_IN(cuLinkCreate_v2, (unsigned n, int *options, void **values, CUlinkState *ret), link_create(n, values, ret))
CU_IN(cuLinkDestroy, (CUlinkState state), link_destroy(state))
