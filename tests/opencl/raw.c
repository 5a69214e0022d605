/* SPDX-License-Identifier: MIT */
/* raw.c - OpenCL by hand, as a program does that does not know the library. */
#include "raw.h"

#include <stdlib.h>

#include <adsm_opencl.h>

void raw_find(struct raw *raw)
{
	cl_uint n = 0;

	if (clGetPlatformIDs(1, &raw->platform, &n) || !n ||
	    clGetDeviceIDs(raw->platform, CL_DEVICE_TYPE_ALL, 1, &raw->device, &n) || !n)
		skip("no OpenCL device: Debian's pocl-opencl-icd is one");
}

void raw_open(struct raw *raw)
{
	cl_int error;

	raw_find(raw);
	raw->context = clCreateContext(NULL, 1, &raw->device, NULL, NULL, &error);
	CL(error);
	raw->queue = clCreateCommandQueueWithProperties(raw->context, raw->device, NULL, &error);
	CL(error);
}

void raw_take(struct raw *raw)
{
	adsmOpenCLHandles handles = { .struct_size = sizeof(handles) };

	/* Before anything else: the driver's threads come from here, and have signals blocked. */
	if (adsmInit() == -ENODEV)
		skip(adsmLastError());
	CHECK_OK(adsmOpenCLGet(ADSM_DEVICE_CURRENT, &handles));
	*raw = (struct raw){ handles.platform, handles.device, handles.context, handles.compute };
}

cl_program raw_program(const struct raw *raw, const char *source, const char *options)
{
	cl_int error;
	cl_program program = clCreateProgramWithSource(raw->context, 1, &source, NULL, &error);

	CL(error);
	error = clBuildProgram(program, 1, &raw->device, options, NULL, NULL);
	if (error) {
		char log[8192] = "";

		clGetProgramBuildInfo(program, raw->device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
		FAIL("clBuildProgram returned error %d of OpenCL: %s", error, log);
	}
	return program;
}

cl_kernel raw_kernel(cl_program program, const char *name)
{
	cl_int error;
	cl_kernel kernel = clCreateKernel(program, name, &error);

	CL(error);
	return kernel;
}

cl_mem raw_buffer(const struct raw *raw, size_t size)
{
	cl_int error;
	cl_mem buffer = clCreateBuffer(raw->context, CL_MEM_READ_WRITE, size, NULL, &error);

	CL(error);
	return buffer;
}

size_t raw_align(const struct raw *raw)
{
	cl_uint bits;

	CL(clGetDeviceInfo(raw->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL));
	return bits / 8;
}
