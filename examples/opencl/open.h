/* SPDX-License-Identifier: MIT */
/* open.h - OpenCL's part of all three programs: a device, a context, and the kernel that the programs run. */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 65536, GROUP = 64, ROUNDS = 10 };

/* Blend the array with the weights. */
static const char source[] =
	"__kernel void blend(__global uint *data, __global const uint *weights)\n"
	"{\n"
	"	uint i = get_global_id(0);\n"
	"\n"
	"	data[i] = data[i] * weights[i] + i;\n"
	"}\n";

static cl_device_id device;
static cl_context context;
static cl_kernel kernel;

static void check(int failed, const char *what)
{
	if (failed) {
		fprintf(stderr, "%s failed\n", what);
		exit(1);
	}
}

static void open_device(void)
{
	cl_platform_id platform;
	const char *text = source;
	cl_program program;
	cl_int error;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	check(error, "clCreateContext");
	program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
	check(error, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &device, "-cl-kernel-arg-info", NULL, NULL), "clBuildProgram");
	kernel = clCreateKernel(program, "blend", &error);
	check(error, "clCreateKernel");
}
