/* SPDX-License-Identifier: MIT */
/*
 * driver_ptx.c - PTX of clang's. Compiling it here would take too long for tests: TEST_CUDA_PTX names the module that
 * adsmcc made of the same text, with code for the CPU. A kernel gets the addresses of its module's variables as further
 * arguments, and before them the size of the memory that a launch adds to each block.
 */
#include "driver_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/module.h"
#include "base/symbols.h"

#define LOCAL_KIND 5

static uint8_t digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Addresses in initial values stay 0: the library's objects have them. */
static CUresult make_variables(struct context *ctx, struct CUmod_st *module)
{
	const char *text = module->info->symbols;
	struct adsm_symbol symbol;

	module->variables = calloc((size_t)module->info->n_symbols + 1, sizeof(*module->variables));
	for (uint32_t i = 0; module->variables && adsm_symbol_next(&text, &symbol); i++) {
		struct driver_variable *variable = &module->variables[i];
		uint64_t offset;

		if (memory_alloc_global(ctx, symbol.size, &variable->address, &offset))
			return CUDA_ERROR_OUT_OF_MEMORY;
		variable->size = symbol.size;
		snprintf(variable->name, sizeof(variable->name), "%.*s", (int)symbol.name_size, symbol.name);
		memset(memory_bytes + offset, 0, symbol.size);
		for (size_t b = 0; b < symbol.n_bytes; b++)
			memory_bytes[offset + b] = (char)(digit(symbol.bytes[2 * b]) << 4 |
							  digit(symbol.bytes[2 * b + 1]));
	}
	return module->variables ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

/* What launches need of a kernel: names, and its parameters without those that the double adds. */
static void describe(struct CUfunc_st *function, const struct adsm_kernel_info *kernel)
{
	struct adsm_kernel_desc *desc = &function->desc;

	function->kernel = kernel;
	snprintf(desc->name, sizeof(desc->name), "%.*s", (int)kernel->full_size, kernel->full);
	desc->max_threads = kernel->max_threads;
	for (uint32_t i = 0; i < kernel->n_params && i < ADSM_KERNEL_PARAMS_MAX; i++) {
		if (kernel->params[i].kind == LOCAL_KIND)
			continue;
		desc->params[i].kind = kernel->params[i].kind;
		desc->params[i].size = kernel->params[i].size;
		desc->n_params = i + 1;
	}
}

CUresult ptx_read(struct context *ctx, struct CUmod_st *module, const char *text, void **ret_image, size_t *ret_size)
{
	const char *path = getenv("TEST_CUDA_PTX");
	CUresult error = path ? module_read(path, ret_image, ret_size) : CUDA_ERROR_INVALID_PTX;

	if (error)
		return error;
	error = adsm_module_info_create(*ret_image, *ret_size, &module->info) || strcmp(module->info->ptx, text) ?
		CUDA_ERROR_INVALID_PTX : make_variables(ctx, module);
	if (error)
		munmap(*ret_image, *ret_size);
	else
		module->n = module->info->n_kernels;
	return error;
}

const char *ptx_name(struct CUmod_st *module, size_t i)
{
	describe(module->functions[i], &module->info->kernels[i]);
	return module->info->kernels[i].name;
}

void ptx_free(struct CUmod_st *module)
{
	for (uint32_t i = 0; module->variables && i < module->info->n_symbols; i++) {
		if (module->variables[i].address)
			memory_free_now_locked(module->variables[i].address);
	}
	free(module->variables);
	adsm_module_info_destroy(module->info);
	module->variables = NULL;
	module->info = NULL;
}

const struct driver_variable *ptx_variable(const struct CUmod_st *module, const char *name)
{
	for (uint32_t i = 0; module->info && i < module->info->n_symbols; i++) {
		if (!strcmp(module->variables[i].name, name))
			return &module->variables[i];
	}
	return NULL;
}

static void add(struct driver_message *message, uint64_t value)
{
	const uint32_t i = message->n_params++;
	const uint32_t end = DRIVER_PARAM_BYTES - (uint32_t)sizeof(value) * (i + 1);

	memcpy(message->params + end, &value, sizeof(value));
	message->param_offset[i] = (uint16_t)end;
	message->param_const[i] = 0;
}

void ptx_collect(const struct CUfunc_st *function, unsigned shared, struct driver_message *message)
{
	const struct adsm_kernel_info *kernel = function->kernel;

	for (uint32_t i = function->desc.n_params; i < kernel->n_params; i++)
		add(message, shared);
	for (uint32_t i = kernel->n_params; i < kernel->n_params + kernel->n_variables; i++)
		add(message, function->module->variables[strtoul(kernel->params[i].name, NULL, 10)].address);
}
