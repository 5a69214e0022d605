/* SPDX-License-Identifier: MIT */
/* program.c - modules as OpenCL programs, compiled or from the cache, and their kernels. */
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adsm.h"
#include "cache.h"
#include "device.h"
#include "base/log.h"
#include "options.h"

/* Options for kernel modules. The second, if the device supports it: quotients and roots are as on other devices. */
#define DIALECT_OPTIONS "-cl-std=CL1.2 "
#define ROUNDED_OPTIONS DIALECT_OPTIONS "-cl-fp32-correctly-rounded-divide-sqrt "
/* Option for source: the driver describes the parameters of its kernels. */
#define SOURCE_OPTIONS "-cl-kernel-arg-info "

/* ---- compiling */

static bool rounds(const struct adsm_cl_device *device)
{
	cl_device_fp_config config = 0;

	adsm_cl.clGetDeviceInfo(device->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof(config), &config, NULL);
	return config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
}

/* The options for the compiler; NULL: out of memory. */
static char *make_options(struct adsm_cl_device *device, const struct adsm_image *image)
{
	const char *ours = image->kind == ADSM_IMAGE_MODULE ? rounds(device) ? ROUNDED_OPTIONS : DIALECT_OPTIONS :
		image->kind == ADSM_IMAGE_SOURCE ? SOURCE_OPTIONS : "";
	char *options;

	return asprintf(&options, "%s%s", ours, image->options) < 0 ? NULL : options;
}

/* The compiler failed: store a sentence with its log, and return an errno. */
static int build_failed(struct adsm_cl_device *device, cl_program program, cl_int error)
{
	char before[160], *log = NULL;
	size_t size = 0;

	adsm_format(before, sizeof(before), "%s cannot compile the program (%s): ", device->base.base.name,
		    adsm_cl_error_name(error));
	if (!adsm_cl.clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size))
		log = calloc(1, size + 1);
	if (log)
		adsm_cl.clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
	adsm_say_long(before, log && *log ? log : "the compiler gave no reason");
	free(log);
	return error == CL_OUT_OF_RESOURCES || error == CL_OUT_OF_HOST_MEMORY ? -ENOMEM :
		error == CL_DEVICE_NOT_AVAILABLE ? adsm_cl_error(device, error, "clBuildProgram") : -ENOEXEC;
}

/* Compile the program. The caller gets it, or it is released if that fails. */
static int build(struct adsm_cl_device *device, cl_program program, const char *options, cl_program *ret_program)
{
	cl_int error = adsm_cl.clBuildProgram(program, 1, &device->id, options, NULL, NULL);
	int ret = error ? build_failed(device, program, error) : 0;

	if (ret)
		adsm_cl.clReleaseProgram(program);
	else
		*ret_program = program;
	return ret;
}

static int refused(struct adsm_cl_device *device, cl_int error, const char *what)
{
	int ret = adsm_cl_errno(device, error, what);

	if (ret != -EIO)
		return adsm_cl_error(device, error, what);
	return adsm_fail(-ENOEXEC, "%s does not accept %s (%s)", device->base.base.name, what,
			 adsm_cl_error_name(error));
}

static int from_source(struct adsm_cl_device *device, const char *text, size_t size, const char *options,
		       cl_program *ret_program)
{
	cl_int error;
	cl_program program = adsm_cl.clCreateProgramWithSource(device->context, 1, &text, &size, &error);

	if (error)
		return refused(device, error, "the source");
	return build(device, program, options, ret_program);
}

static int from_spirv(struct adsm_cl_device *device, const struct adsm_image *image, const char *options,
		      cl_program *ret_program)
{
	char versions[1024];
	cl_program program;
	cl_int error;

	adsm_cl_device_text(device->id, CL_DEVICE_IL_VERSION, versions, sizeof(versions));
	if (device->version < 21 || !*versions || !adsm_cl.clCreateProgramWithIL)
		return adsm_fail(-ENOEXEC, "%s does not accept SPIR-V: use OpenCL C source", device->base.base.name);
	program = adsm_cl.clCreateProgramWithIL(device->context, image->data, image->size, &error);
	if (error)
		return refused(device, error, "this SPIR-V");
	return build(device, program, options, ret_program);
}

static int from_binary(struct adsm_cl_device *device, const void *data, size_t size, const char *options,
		       cl_program *ret_program)
{
	const unsigned char *bytes = data;
	cl_int error, status = CL_SUCCESS;
	cl_program program;

	program = adsm_cl.clCreateProgramWithBinary(device->context, 1, &device->id, &size, &bytes, &status, &error);
	if (error || status) {
		if (!error)
			adsm_cl.clReleaseProgram(program);
		return refused(device, error ? error : status, "this binary");
	}
	return build(device, program, options, ret_program);
}

/* ---- the cache of compiled programs */

#define CACHE { "opencl", adsm_opencl_options.cache, 0 }

/* Everything that a compiled program depends on; bytes is NULL if memory ran out. */
static struct adsm_cache_key make_key(struct adsm_cl_device *device, const char *source, size_t size,
				      const char *options)
{
	static const cl_device_info of_device[] = {
		CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION,
	};
	struct adsm_cache_key key = { NULL, 0, 0 };
	char text[256] = "";

	adsm_cl.clGetPlatformInfo(device->platform, CL_PLATFORM_VERSION, sizeof(text), text, NULL);
	text[sizeof(text) - 1] = '\0';
	adsm_cache_key_add(&key, text, strlen(text));
	for (size_t i = 0; i < sizeof(of_device) / sizeof(of_device[0]); i++) {
		adsm_cl_device_text(device->id, of_device[i], text, sizeof(text));
		adsm_cache_key_add(&key, text, strlen(text));
	}
	adsm_cache_key_add(&key, options, strlen(options));
	adsm_cache_key_add(&key, source, size);
	return key;
}

/* Some drivers do not know the names and kinds of parameters if a program is a binary. */
static bool knows_arguments(cl_program program)
{
	cl_kernel *kernels;
	bool knows = true;
	cl_uint n = 0;

	if (adsm_cl.clCreateKernelsInProgram(program, 0, NULL, &n))
		return false;
	kernels = calloc(n + 1, sizeof(*kernels));
	if (!kernels || adsm_cl.clCreateKernelsInProgram(program, n, kernels, NULL)) {
		free(kernels);
		return false;
	}
	for (cl_uint i = 0; i < n; i++) {
		cl_kernel_arg_address_qualifier space;
		cl_uint n_args = 0;

		adsm_cl.clGetKernelInfo(kernels[i], CL_KERNEL_NUM_ARGS, sizeof(n_args), &n_args, NULL);
		knows &= !n_args || !adsm_cl.clGetKernelArgInfo(kernels[i], 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
								sizeof(space), &space, NULL);
		adsm_cl.clReleaseKernel(kernels[i]);
	}
	free(kernels);
	return knows;
}

static int from_cache(struct adsm_cl_device *device, const struct adsm_cache_key *key, const char *options,
		      bool arguments, cl_program *ret_program)
{
	const struct adsm_cache cache = CACHE;
	size_t size;
	void *data;
	int ret;

	ret = adsm_cache_get(&cache, key->bytes, key->size, &data, &size);
	if (ret)
		return ret;
	ret = from_binary(device, data, size, options, ret_program);
	free(data);
	if (!ret && arguments && !knows_arguments(*ret_program)) {
		adsm_cl.clReleaseProgram(*ret_program);
		ret = -ENOENT;
	}
	return ret;
}

static void to_cache(struct adsm_cl_device *device, const struct adsm_cache_key *key, cl_program program)
{
	const struct adsm_cache cache = CACHE;
	cl_device_id devices[16];
	size_t sizes[16], size = 0, n;
	unsigned char *binaries[16] = { NULL };

	/* A program's context may have other devices, for which nothing was compiled. */
	if (adsm_cl.clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(devices), devices, &size) ||
	    adsm_cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL))
		return;
	n = size / sizeof(devices[0]);
	for (size_t i = 0; i < n; i++)
		if (devices[i] == device->id && sizes[i])
			binaries[i] = malloc(sizes[i]);
	/* Some drivers abort if the size is not exact. */
	if (!adsm_cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, n * sizeof(binaries[0]), binaries, NULL))
		for (size_t i = 0; i < n; i++)
			if (binaries[i])
				adsm_cache_put(&cache, key->bytes, key->size, binaries[i], sizes[i]);
	for (size_t i = 0; i < n; i++)
		free(binaries[i]);
}

static int compile(struct adsm_cl_device *device, const char *source, size_t size, const char *options,
		   bool arguments, cl_program *ret_program)
{
	/* Files that source includes are not in the key. Modules are one text, without includes. */
	bool closed = !arguments || !memmem(source, size, "include", strlen("include"));
	const struct adsm_cache cache = CACHE;
	struct adsm_cache_key key = { NULL, 0, 0 };
	struct adsm_cache_turn turn;
	int ret;

	if (closed)
		key = make_key(device, source, size, options);
	if (!key.bytes)
		return from_source(device, source, size, options, ret_program);
	ret = from_cache(device, &key, options, arguments, ret_program);
	if (ret) {
		adsm_cache_enter(&cache, key.bytes, key.size, &turn);
		if (turn.fd >= 0)
			ret = from_cache(device, &key, options, arguments, ret_program);
		if (ret) {
			ret = from_source(device, source, size, options, ret_program);
			if (!ret)
				to_cache(device, &key, *ret_program);
		}
		adsm_cache_leave(&cache, key.bytes, key.size, &turn);
	}
	free(key.bytes);
	return ret;
}

int adsm_cl_program_make(struct adsm_cl_device *device, const char *source, size_t size, cl_program *ret_program)
{
	return compile(device, source, size, DIALECT_OPTIONS, false, ret_program);
}

/* ---- modules */

static int make_program(struct adsm_cl_device *device, const struct adsm_image *image, const char *options,
			cl_program *ret_program)
{
	switch (image->kind) {
	case ADSM_IMAGE_MODULE:
		if (!*image->text)
			return adsm_fail(-ENOEXEC, "the kernel module has no source for other devices: compile it "
					 "again with adsmcc");
		return compile(device, image->text, strlen(image->text), options, false, ret_program);
	case ADSM_IMAGE_SOURCE:
		return compile(device, image->data, image->size, options, true, ret_program);
	case ADSM_IMAGE_SPIRV:
		return from_spirv(device, image, options, ret_program);
	default:
		return from_binary(device, image->data, image->size, options, ret_program);
	}
}

static int load(struct adsm_driven_code *code, const struct adsm_image *image)
{
	struct adsm_cl_device *device = (struct adsm_cl_device *)code->base.device;
	char *options = make_options(device, image);
	int ret = options ? make_program(device, image, options, &((struct adsm_cl_code *)code)->program) : -ENOMEM;

	free(options);
	return ret;
}

int adsm_cl_module_load(struct adsm_device *device, const struct adsm_image *image, struct adsm_code **ret_code)
{
	return adsm_driven_module_load(device, image, sizeof(struct adsm_cl_code), load, ret_code);
}

int adsm_cl_kernel_adopt(struct adsm_device *base, void *handle, struct adsm_code **ret_code)
{
	struct adsm_cl_device *device = (struct adsm_cl_device *)base;
	ADSM_SIGNALS_BLOCKED;
	cl_context context = NULL;
	struct adsm_cl_code *code;

	if (handle && (adsm_cl.clGetKernelInfo(handle, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL) ||
		       context != device->context))
		return adsm_fail(-EINVAL, "%p is not a kernel of the context that %s uses: see adsmOpenCLGet() and "
				 "adsmOpenCLUse()", handle, device->base.base.name);
	code = (struct adsm_cl_code *)adsm_driven_code_create(&device->base.base, sizeof(*code));
	if (!code)
		return -ENOMEM;
	code->adopted = handle;
	if (handle)
		adsm_cl.clRetainKernel(handle);
	*ret_code = &code->base.base;
	return 0;
}

void adsm_cl_module_unload(struct adsm_code *base)
{
	struct adsm_cl_code *code = (struct adsm_cl_code *)base;
	ADSM_SIGNALS_BLOCKED;

	if (!base)
		return;
	for (struct adsm_driven_entry *entry = code->base.entries; entry; entry = entry->next)
		if (((struct adsm_cl_entry *)entry)->kernel && !code->adopted)
			adsm_cl.clReleaseKernel(((struct adsm_cl_entry *)entry)->kernel);
	if (code->program)
		adsm_cl.clReleaseProgram(code->program);
	if (code->adopted)
		adsm_cl.clReleaseKernel(code->adopted);
	adsm_driven_code_destroy(&code->base);
}

/* ---- kernels */

static int get_kernel(struct adsm_driven_entry *base, const char *name)
{
	struct adsm_cl_entry *entry = (struct adsm_cl_entry *)base;
	struct adsm_cl_code *code = (struct adsm_cl_code *)base->base.code;
	struct adsm_cl_device *device = (struct adsm_cl_device *)code->base.base.device;
	cl_int error = CL_SUCCESS;

	entry->reachable_at = UINT64_MAX;
	entry->kernel = code->adopted;	/* the only kernel of this code */
	if (code->program)
		entry->kernel = adsm_cl.clCreateKernel(code->program, name, &error);
	if (error == CL_INVALID_KERNEL_NAME)
		return adsm_fail(-ENOENT, "the module has no kernel '%s'", name);
	if (!error && entry->kernel)
		adsm_cl.clGetKernelWorkGroupInfo(entry->kernel, device->id, CL_KERNEL_WORK_GROUP_SIZE,
						 sizeof(base->max_threads), &base->max_threads, NULL);
	return adsm_cl_error(device, error, "clCreateKernel");
}

int adsm_cl_kernel_get(struct adsm_code *code, const char *name, struct adsm_entry **ret_entry)
{
	return adsm_driven_kernel_get(code, name, sizeof(struct adsm_cl_entry), get_kernel, ret_entry);
}

int adsm_cl_module_names(struct adsm_code *base, char **ret_names)
{
	struct adsm_cl_code *code = (struct adsm_cl_code *)base;
	struct adsm_cl_device *device = (struct adsm_cl_device *)code->base.base.device;
	static const char nothing[] = "nothing\0";
	size_t size = sizeof(nothing);
	ADSM_SIGNALS_BLOCKED;
	cl_int error = CL_SUCCESS;
	char *names;

	if (code->program)
		error = adsm_cl.clGetProgramInfo(code->program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &size);
	else if (code->adopted)
		error = adsm_cl.clGetKernelInfo(code->adopted, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size);
	if (error)
		return adsm_cl_error(device, error, "querying the names of kernels");
	names = calloc(1, size + 2);
	if (!names)
		return -ENOMEM;
	if (code->program)
		error = adsm_cl.clGetProgramInfo(code->program, CL_PROGRAM_KERNEL_NAMES, size, names, NULL);
	else if (code->adopted)
		error = adsm_cl.clGetKernelInfo(code->adopted, CL_KERNEL_FUNCTION_NAME, size, names, NULL);
	else
		memcpy(names, nothing, size);
	if (error) {
		free(names);
		return adsm_cl_error(device, error, "querying the names of kernels");
	}
	/* "a;b" to "a\0b\0\0" */
	for (char *p = names; *p; p++)
		if (*p == ';')
			*p = '\0';
	*ret_names = names;
	return 0;
}

/* Bytes of a type of OpenCL C by its name; 0: unknown. */
static uint32_t size_of_type(const char *name)
{
	static const struct { const char *name; uint32_t size; } types[] = {
		{ "char", 1 }, { "uchar", 1 }, { "short", 2 }, { "ushort", 2 }, { "half", 2 }, { "int", 4 },
		{ "uint", 4 }, { "float", 4 }, { "long", 8 }, { "ulong", 8 }, { "double", 8 },
		{ "unsigned char", 1 }, { "unsigned short", 2 }, { "unsigned int", 4 }, { "unsigned long", 8 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t length = strlen(types[i].name);
		char *end = NULL;
		unsigned long n;

		if (strncmp(name, types[i].name, length))
			continue;
		if (!name[length])
			return types[i].size;
		n = strtoul(name + length, &end, 10);
		if (end && !*end && n >= 2 && n <= 16)
			return types[i].size * (uint32_t)(n == 3 ? 4 : n);
	}
	return 0;
}

static void describe_param(cl_kernel kernel, cl_uint i, struct adsm_param *ret_param)
{
	cl_kernel_arg_address_qualifier space = 0;
	cl_kernel_arg_type_qualifier qualifiers = 0;
	char name[256] = "", type[256] = "";

	memset(ret_param, 0, sizeof(*ret_param));
	adsm_format(ret_param->name, sizeof(ret_param->name), "%u", i);
	if (adsm_cl.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(space), &space, NULL))
		return;
	adsm_cl.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof(qualifiers), &qualifiers, NULL);
	if (!adsm_cl.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_NAME, sizeof(name), name, NULL) && *name)
		adsm_format(ret_param->name, sizeof(ret_param->name), "%s", name);
	adsm_cl.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof(type), type, NULL);
	adsm_format(ret_param->type, sizeof(ret_param->type), "%s", type);
	switch (space) {
	case CL_KERNEL_ARG_ADDRESS_GLOBAL:
		/* Images are global, too, but not pointers. */
		ret_param->kind = strchr(type, '*') ? ADSM_ARG_POINTER : ADSM_ARG_NONE;
		ret_param->access = qualifiers & CL_KERNEL_ARG_TYPE_CONST ? ADSM_ACCESS_IN : 0;
		break;
	case CL_KERNEL_ARG_ADDRESS_LOCAL:
		ret_param->kind = ADSM_ARG_LOCAL;
		break;
	case CL_KERNEL_ARG_ADDRESS_PRIVATE:
		ret_param->kind = ADSM_ARG_VALUE;
		ret_param->size = size_of_type(type);
		break;
	default:	/* __constant: a copy made at the call, or an object */
		break;
	}
}

int adsm_cl_kernel_params(struct adsm_entry *base, struct adsm_param *ret_params, size_t max)
{
	const struct adsm_cl_entry *entry = (struct adsm_cl_entry *)base;
	ADSM_SIGNALS_BLOCKED;
	cl_uint n = 0;
	cl_int error;

	if (!entry->kernel)
		return 0;
	error = adsm_cl.clGetKernelInfo(entry->kernel, CL_KERNEL_NUM_ARGS, sizeof(n), &n, NULL);
	if (error)
		return adsm_cl_error((struct adsm_cl_device *)entry->base.base.code->device, error,
				     "querying a kernel's parameters");
	for (cl_uint i = 0; i < n && i < max; i++)
		describe_param(entry->kernel, i, &ret_params[i]);
	return (int)n;
}
