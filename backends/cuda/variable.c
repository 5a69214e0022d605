/* SPDX-License-Identifier: MIT */
/* cuda/variable.c - see variable.h. */
#include "variable.h"

#include <stdlib.h>
#include <string.h>

#include "adsm.h"
#include "base/symbols.h"

struct adsm_cuda_variable {
	CUdeviceptr address;		/* 0: the driver does not know the variable */
	size_t size;
};

static CUresult find_one(CUmodule module, const struct adsm_symbol *symbol, struct adsm_cuda_variable *variable)
{
	char *name = strndup(symbol->name, symbol->name_size);
	CUresult error = name ? adsm_cu.cuModuleGetGlobal_v2(&variable->address, &variable->size, module, name) :
		CUDA_ERROR_OUT_OF_MEMORY;

	free(name);
	if (error || variable->size < symbol->size)
		variable->address = 0;
	variable->size = symbol->size;
	/* The driver may drop what no kernel uses. */
	return error == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : error;
}

CUresult adsm_cuda_variables_find(struct adsm_cuda_code *code)
{
	const char *text = code->info->symbols;
	struct adsm_symbol symbol;
	CUresult error = CUDA_SUCCESS;

	code->variables = calloc((size_t)code->info->n_symbols + 1, sizeof(*code->variables));
	if (!code->variables)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; !error && adsm_symbol_next(&text, &symbol); i++)
		error = find_one(code->module, &symbol, &code->variables[i]);
	return error;
}

CUresult adsm_cuda_variables_copy(const struct adsm_cuda_entry *entry, const struct adsm_launch *launch, bool before,
				  CUstream stream)
{
	const struct adsm_cuda_code *code = (const struct adsm_cuda_code *)entry->base.base.code;
	const struct adsm_kernel_info *kernel = entry->kernel;
	CUresult error = CUDA_SUCCESS;

	for (uint32_t i = kernel->n_params; !error && i < kernel->n_params + kernel->n_variables; i++) {
		const struct adsm_param *param = &kernel->params[i];
		const struct adsm_cuda_variable *variable = &code->variables[strtoul(param->name, NULL, 10)];
		const uint64_t object = launch->args[i].memory->address + launch->args[i].offset;

		if (!variable->address)
			return CUDA_ERROR_NOT_FOUND;
		if (before)
			error = adsm_cu.cuMemcpyDtoDAsync_v2(variable->address, object, variable->size, stream);
		else if (param->access != ADSM_ACCESS_IN)
			error = adsm_cu.cuMemcpyDtoDAsync_v2(object, variable->address, variable->size, stream);
	}
	return error;
}
