/* SPDX-License-Identifier: MIT */
/* module.c - modules and their kernels: embedded PTX, source that NVRTC compiles, and binaries for the driver. */
#include "module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adsm.h"
#include "launch.h"
#include "base/log.h"
#include "nvrtc.h"
#include "variable.h"

#define LOG_SIZE 8192
#define PARAMS_MAX 256

/* ---- loading code into the driver */

/* Does the driver refuse this kind of image? Then it may still accept code that is compiled for the device. */
static bool is_refusal(CUresult error)
{
	return error == CUDA_ERROR_INVALID_IMAGE || error == CUDA_ERROR_NO_BINARY_FOR_GPU ||
	       error == CUDA_ERROR_INVALID_PTX || error == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
	       error == CUDA_ERROR_JIT_COMPILER_NOT_FOUND || error == CUDA_ERROR_JIT_COMPILATION_DISABLED ||
	       error == CUDA_ERROR_INVALID_SOURCE || error == CUDA_ERROR_NOT_FOUND ||
	       error == CUDA_ERROR_INVALID_VALUE;
}

static int load_failed(struct adsm_cuda_device *device, CUresult error, const char *what, const char *log)
{
	char before[192];

	if (!is_refusal(error))
		return adsm_cuda_error(device, error, "loading a module");
	adsm_format(before, sizeof(before), "%s does not accept %s (%s)%s", device->base.base.name, what,
		    adsm_cu_error_name(error), *log ? ": " : "");
	adsm_say_long(before, log);
	return -ENOEXEC;
}

/* @data: PTX ends with a NUL. */
static int load_data(struct adsm_cuda_device *device, const void *data, const char *what, CUmodule *ret_module)
{
	int names[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	struct adsm_cuda_scope scope;
	char *log = calloc(1, LOG_SIZE + 1);
	void *values[] = { log, (void *)(uintptr_t)LOG_SIZE };
	CUmodule module = NULL;
	CUresult error;
	int ret;

	if (!log)
		return adsm_fail(-ENOMEM, "not enough memory to load a module");
	error = adsm_cuda_enter(device, &scope);
	if (!error)
		error = adsm_cu.cuModuleLoadDataEx(&module, data, sizeof(names) / sizeof(names[0]), names, values);
	adsm_cuda_leave(&scope);
	ret = error ? load_failed(device, error, what, log) : 0;
	if (!ret)
		*ret_module = module;
	free(log);
	return ret;
}

static int load_compiled(struct adsm_cuda_device *device, const char *text, const char *options, CUmodule *ret_module)
{
	size_t size;
	char *image;
	int ret = adsm_cuda_compile(text, options, device->capability, &image, &size);

	if (ret)
		return ret;
	ret = load_data(device, image, "the code that NVRTC compiled", ret_module);
	free(image);
	return ret;
}

/* ---- images */

/*
 * The compiler's options for kernel modules, unless the program's options @asked contain others. The macros of the
 * dialect need C++20. Results must equal those of other compilers, which do not contract operations either. Returns
 * NULL if out of memory.
 */
static char *make_options(const char *asked)
{
	const char *language = strstr(asked, "std=") ? "" : "--std=c++20 ";
	const char *numbers = strstr(asked, "fmad") || strstr(asked, "use_fast_math") ? "" : "--fmad=false ";
	char *options;

	return asprintf(&options, "%s%s%s", language, numbers, asked) < 0 ? NULL : options;
}

/* Load the source in a module of adsmcc. @embedded: the error of loading the module's PTX; 0: it has no PTX. */
static int load_text(struct adsm_cuda_device *device, const struct adsm_image *image, int embedded,
		     CUmodule *ret_module)
{
	char *options, *before = embedded ? strdup(adsm_last_error()) : NULL;
	int ret;

	if (!*image->text) {
		free(before);
		return embedded ? embedded : adsm_fail(-ENOEXEC, "the kernel module has neither PTX nor source for "
						       "other devices: compile it again with adsmcc");
	}
	options = make_options(image->options);
	if (!options) {
		free(before);
		return adsm_fail(-ENOMEM, "not enough memory for the compiler's options");
	}
	ret = load_compiled(device, image->text, options, ret_module);
	free(options);
	if (ret == -ENOTSUP && before) {
		adsm_say_long("", before);
		ret = embedded;
	} else if (ret == -ENOTSUP) {
		before = strdup(adsm_last_error());
		adsm_say_long("the kernel module has no code for CUDA devices: adsmcc --ptx adds it at build time, "
			      "NVRTC of the CUDA toolkit at load time; ", before ? before : "");
		ret = -ENOEXEC;
	}
	free(before);
	return ret;
}

/* Load a module in CUDA C. Its PTX has full names, which the code keeps the description for. */
static int load_cuda(struct adsm_cuda_device *device, struct adsm_cuda_code *code, struct adsm_module_info *info)
{
	struct adsm_cuda_scope scope;
	CUresult error;
	int ret = *info->ptx ? load_data(device, info->ptx, "the kernel module's PTX", &code->module) :
		adsm_fail(-ENOEXEC, "the kernel module has no PTX: compile it again with adsmcc");

	if (ret)
		return ret;
	code->info = info;
	error = adsm_cuda_enter(device, &scope);
	if (!error)
		error = adsm_cuda_variables_find(code);
	if (error)
		adsm_cu.cuModuleUnload(code->module);
	adsm_cuda_leave(&scope);
	if (!error)
		return 0;
	free(code->variables);
	code->variables = NULL;
	code->module = NULL;
	code->info = NULL;
	return adsm_cuda_error(device, error, "finding the variables of a module");
}

static int load_module(struct adsm_cuda_device *device, const struct adsm_image *image, struct adsm_cuda_code *code)
{
	CUmodule *ret_module = &code->module;
	struct adsm_module_info *info;
	int ret = adsm_module_info_create(image->data, image->size, &info);

	if (ret)
		return ret;
	if (*info->entries) {
		ret = load_cuda(device, code, info);
		if (ret)
			adsm_module_info_destroy(info);
		return ret;
	}
	if (*info->ptx)
		ret = load_data(device, info->ptx, "the kernel module's PTX", ret_module);
	/* This driver may be too old for the PTX: compile the source instead. */
	if (!*info->ptx || ret == -ENOEXEC)
		ret = load_text(device, image, ret, ret_module);
	adsm_module_info_destroy(info);
	return ret;
}

static int load_source(struct adsm_cuda_device *device, const struct adsm_image *image, CUmodule *ret_module)
{
	const char *text = image->data;
	int ret;

	if (strnlen(text, image->size) != image->size)
		return adsm_fail(-ENOEXEC, "the source contains a NUL byte");
	if (adsm_module_is_ptx(text, image->size))
		return load_data(device, text, "this PTX", ret_module);
	ret = load_compiled(device, text, image->options, ret_module);
	return ret == -ENOTSUP ? -ENOEXEC : ret;
}

/* ---- modules */

static int load_image(struct adsm_driven_code *code, const struct adsm_image *image)
{
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)code->base.device;
	struct adsm_cuda_code *own = (struct adsm_cuda_code *)code;
	CUmodule *ret_module = &own->module;

	switch (image->kind) {
	case ADSM_IMAGE_MODULE:
		return load_module(device, image, own);
	case ADSM_IMAGE_SOURCE:
		return load_source(device, image, ret_module);
	case ADSM_IMAGE_BINARY:
		/* The driver does not get the size of the binary: check it here. */
		if (!adsm_module_is_binary(image->data, image->size))
			return adsm_fail(-ENOEXEC, "the binary is not a complete cubin or fatbin");
		return load_data(device, image->data, "this binary", ret_module);
	default:
		return adsm_fail(-ENOEXEC, "%s does not accept SPIR-V: use CUDA C++, PTX or a cubin",
				 device->base.base.name);
	}
}

int adsm_cuda_module_load(struct adsm_device *device, const struct adsm_image *image, struct adsm_code **ret_code)
{
	return adsm_driven_module_load(device, image, sizeof(struct adsm_cuda_code), load_image, ret_code);
}

int adsm_cuda_kernel_adopt(struct adsm_device *base, void *kernel, struct adsm_code **ret_code)
{
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)base;
	struct adsm_cuda_scope scope;
	struct adsm_cuda_code *code;
	const int asked = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
	CUresult error = CUDA_SUCCESS;
	int value;

	if (kernel) {
		error = adsm_cuda_enter(device, &scope);
		if (!error)
			error = adsm_cu.cuFuncGetAttribute(&value, asked, kernel);
		adsm_cuda_leave(&scope);
	}
	if (error == CUDA_ERROR_INVALID_VALUE || error == CUDA_ERROR_INVALID_HANDLE ||
	    error == CUDA_ERROR_INVALID_CONTEXT || error == CUDA_ERROR_NOT_FOUND)
		return adsm_fail(-EINVAL, "%p is not a kernel of the context that %s uses (%s): see adsmCudaGet() and "
				 "adsmCudaUse()", kernel, base->name, adsm_cu_error_name(error));
	if (error)
		return adsm_cuda_error(device, error, "querying a kernel");
	code = (struct adsm_cuda_code *)adsm_driven_code_create(base, sizeof(*code));
	if (!code)
		return -ENOMEM;
	code->adopted = kernel;
	*ret_code = &code->base.base;
	return 0;
}

void adsm_cuda_module_unload(struct adsm_code *base)
{
	struct adsm_cuda_code *code = (struct adsm_cuda_code *)base;
	struct adsm_cuda_scope scope;

	if (!base)
		return;
	adsm_cuda_constants_destroy(code);
	if (code->module && !adsm_cuda_enter((struct adsm_cuda_device *)base->device, &scope)) {
		adsm_cu.cuModuleUnload(code->module);
		adsm_cuda_leave(&scope);
	}
	adsm_module_info_destroy(code->info);
	free(code->variables);
	adsm_driven_code_destroy(&code->base);
}

/* ---- kernels */

/* The name of a kernel in the driver's module. The caller frees it. NULL: out of memory. */
static char *name_of(struct adsm_cuda_entry *entry, const struct adsm_cuda_code *code, const char *name)
{
	const long i = code->info ? adsm_module_find(code->info, name) : -1;

	if (i < 0)
		return strdup(name);
	entry->kernel = &code->info->kernels[i];
	return strndup(entry->kernel->full, entry->kernel->full_size);
}

static int get_function(struct adsm_driven_entry *base, const char *name)
{
	struct adsm_cuda_entry *entry = (struct adsm_cuda_entry *)base;
	struct adsm_cuda_code *code = (struct adsm_cuda_code *)base->base.code;
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)code->base.base.device;
	struct adsm_cuda_scope scope;
	CUresult error;
	char *own;
	int most = 0;

	entry->function = code->adopted;
	if (!code->module && !code->adopted)
		return 0;
	own = name_of(entry, code, name);
	if (!own)
		return adsm_fail(-ENOMEM, "kernel '%s': no memory for its name", name);
	error = adsm_cuda_enter(device, &scope);
	if (error) {
		free(own);
		return adsm_cuda_error(device, error, "querying a kernel");
	}
	if (code->module)
		error = adsm_cu.cuModuleGetFunction(&entry->function, code->module, own);
	free(own);
	if (!error)
		error = adsm_cu.cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, entry->function);
	adsm_cuda_leave(&scope);
	base->max_threads = (size_t)most;
	if (error == CUDA_ERROR_NOT_FOUND)
		return adsm_fail(-ENOENT, "the module has no kernel '%s'", name);
	return adsm_cuda_error(device, error, "querying a kernel");
}

int adsm_cuda_kernel_get(struct adsm_code *code, const char *name, struct adsm_entry **ret_entry)
{
	return adsm_driven_kernel_get(code, name, sizeof(struct adsm_cuda_entry), get_function, ret_entry);
}

/* ---- names and parameters of kernels that have no description of adsmcc */

/* A list of one name, with an empty name at the end. */
static int list_one(const char *name, char **ret_names)
{
	return asprintf(ret_names, "%s%c", name, '\0') < 0 ? -ENOMEM : 0;
}

/* Call this in the device's context. The caller frees *@functions. If memory runs out, *ret_names stays NULL. */
static CUresult list_functions(CUmodule module, CUfunction **functions, char **ret_names)
{
	const char *name;
	CUresult error;
	unsigned n = 0;
	size_t size;
	FILE *names;

	error = adsm_cu.cuModuleGetFunctionCount(&n, module);
	if (error)
		return error;
	*functions = calloc(n + 1, sizeof(**functions));
	names = open_memstream(ret_names, &size);
	if (*functions && n)
		error = adsm_cu.cuModuleEnumerateFunctions(*functions, n, module);
	for (unsigned i = 0; *functions && names && i < n && !error; i++) {
		error = adsm_cu.cuFuncGetName(&name, (*functions)[i]);
		if (!error)
			fwrite(name, 1, strlen(name) + 1, names);
	}
	if (!names || fclose(names) || !*functions)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return error;
}

int adsm_cuda_module_names(struct adsm_code *base, char **ret_names)
{
	struct adsm_cuda_code *code = (struct adsm_cuda_code *)base;
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)base->device;
	CUfunction *functions = NULL;
	struct adsm_cuda_scope scope;
	const char *name = "kernel";
	char *names = NULL;
	CUresult error;

	if (!code->module && !code->adopted)
		return list_one("nothing", ret_names);
	if (code->module && (!adsm_cu.cuModuleGetFunctionCount || !adsm_cu.cuModuleEnumerateFunctions ||
			     !adsm_cu.cuFuncGetName))
		return adsm_fail(-ENOTSUP, "the CUDA driver is too old to list the kernels of a module: that needs "
				 "version 12.4, except for modules that adsmcc wrote");
	error = adsm_cuda_enter(device, &scope);
	if (!error) {
		if (code->module)
			error = list_functions(code->module, &functions, &names);
		else if (adsm_cu.cuFuncGetName)
			error = adsm_cu.cuFuncGetName(&name, code->adopted);
		adsm_cuda_leave(&scope);
	}
	free(functions);
	if (error) {
		free(names);
		return adsm_cuda_error(device, error, "querying the names of kernels");
	}
	if (!code->module)
		return list_one(name, ret_names);
	*ret_names = names;
	return 0;
}

int adsm_cuda_kernel_params(struct adsm_entry *base, struct adsm_param *ret_params, size_t max)
{
	struct adsm_cuda_entry *entry = (struct adsm_cuda_entry *)base;
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)base->code->device;
	struct adsm_cuda_scope scope;
	size_t offset, size;
	CUresult error;
	int n = 0;

	if (!entry->function)
		return 0;
	if (!adsm_cu.cuFuncGetParamInfo)
		return adsm_fail(-ENOTSUP, "the CUDA driver is too old to describe the parameters of a kernel: that "
				 "needs version 12.4, except for kernels that adsmcc compiled");
	error = adsm_cuda_enter(device, &scope);
	if (error)
		return adsm_cuda_error(device, error, "querying a kernel's parameters");
	while (n < PARAMS_MAX) {
		error = adsm_cu.cuFuncGetParamInfo(entry->function, (size_t)n, &offset, &size);
		if (error)
			break;
		if ((size_t)n < max) {
			struct adsm_param *param = &ret_params[n];

			memset(param, 0, sizeof(*param));
			adsm_format(param->name, sizeof(param->name), "%d", n);
			param->size = (uint32_t)size;
		}
		n++;
	}
	adsm_cuda_leave(&scope);
	/* The driver returns CUDA_ERROR_INVALID_VALUE for the index after the last parameter. */
	return error && error != CUDA_ERROR_INVALID_VALUE ?
		adsm_cuda_error(device, error, "querying a kernel's parameters") : n;
}
