/* SPDX-License-Identifier: MIT */
/* cl.c - opens the ICD loader; names of errors. */
#include "cl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "driven.h"
#include "options.h"
#include "base/os.h"

#define LOADER "libOpenCL.so.1"

struct adsm_cl adsm_cl;

static const struct adsm_driven_function functions[] = {
#define REQUIRED(name) { #name, offsetof(struct adsm_cl, name), true },
#define OPTIONAL(name) { #name, offsetof(struct adsm_cl, name), false },
	ADSM_CL_FUNCTIONS(REQUIRED)
	ADSM_CL_LATER_FUNCTIONS(OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
};

int adsm_cl_open(void)
{
	const char *file = *adsm_opencl_options.library ? adsm_opencl_options.library : LOADER;
	const char *missing;
	static void *library;
	struct adsm_cl found;
	void *opened;

	if (library)
		return 0;
	/* Loaders read OCL_ICD_VENDORS, and drivers other variables: the user who starts the program could choose its
	 * code. */
	if (adsm_os_is_privileged())
		return adsm_fail(-EPERM, "no OpenCL: the library does not open drivers in a set-user-ID program, "
				 "because they obey the caller's environment; use the backend 'cpu'");
	opened = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!opened)
		return adsm_fail(-ENODEV, "no OpenCL: the ICD loader cannot be opened (%s); install it (Debian's "
				 "ocl-icd-libopencl1), or set ADSM_OPENCL_LIBRARY to its file", dlerror());
	missing = adsm_driven_functions(opened, functions, sizeof(functions) / sizeof(functions[0]), &found);
	if (missing) {
		dlclose(opened);
		return adsm_fail(-ENODEV, "no OpenCL: %s lacks %s, which is part of OpenCL 1.2", file, missing);
	}
	adsm_cl = found;
	library = opened;	/* never closed, because drivers have threads */
	return 0;
}

const char *adsm_cl_error_name(cl_int error)
{
	switch (error) {
#define NAME(code) case code: return #code;
	NAME(CL_SUCCESS) NAME(CL_DEVICE_NOT_FOUND) NAME(CL_DEVICE_NOT_AVAILABLE) NAME(CL_COMPILER_NOT_AVAILABLE)
	NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE) NAME(CL_OUT_OF_RESOURCES) NAME(CL_OUT_OF_HOST_MEMORY)
	NAME(CL_PROFILING_INFO_NOT_AVAILABLE) NAME(CL_MEM_COPY_OVERLAP) NAME(CL_BUILD_PROGRAM_FAILURE)
	NAME(CL_MAP_FAILURE) NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET) NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
	NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE) NAME(CL_INVALID_VALUE) NAME(CL_INVALID_DEVICE) NAME(CL_INVALID_CONTEXT)
	NAME(CL_INVALID_COMMAND_QUEUE) NAME(CL_INVALID_HOST_PTR) NAME(CL_INVALID_MEM_OBJECT) NAME(CL_INVALID_BINARY)
	NAME(CL_INVALID_BUILD_OPTIONS) NAME(CL_INVALID_PROGRAM) NAME(CL_INVALID_PROGRAM_EXECUTABLE)
	NAME(CL_INVALID_KERNEL_NAME) NAME(CL_INVALID_KERNEL) NAME(CL_INVALID_ARG_INDEX) NAME(CL_INVALID_ARG_VALUE)
	NAME(CL_INVALID_ARG_SIZE) NAME(CL_INVALID_KERNEL_ARGS) NAME(CL_INVALID_WORK_DIMENSION)
	NAME(CL_INVALID_WORK_GROUP_SIZE) NAME(CL_INVALID_WORK_ITEM_SIZE) NAME(CL_INVALID_GLOBAL_OFFSET)
	NAME(CL_INVALID_SAMPLER) NAME(CL_INVALID_EVENT) NAME(CL_INVALID_OPERATION) NAME(CL_INVALID_BUFFER_SIZE)
	NAME(CL_INVALID_GLOBAL_WORK_SIZE) NAME(CL_PLATFORM_NOT_FOUND_KHR)
#undef NAME
	default:
		return adsm_error_number(error);
	}
}
