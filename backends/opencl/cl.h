/* SPDX-License-Identifier: MIT */
/* cl.h - OpenCL, found at run time: the ICD loader's functions, opened with dlopen(). */
#pragma once

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

/* Every loader has these. */
#define ADSM_CL_FUNCTIONS(X) \
	X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) \
	X(clCreateContext) X(clRetainContext) X(clReleaseContext) X(clGetContextInfo) \
	X(clRetainDevice) X(clReleaseDevice) \
	X(clCreateCommandQueue) X(clReleaseCommandQueue) X(clFlush) X(clFinish) \
	X(clCreateBuffer) X(clCreateSubBuffer) X(clReleaseMemObject) X(clGetMemObjectInfo) \
	X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clEnqueueFillBuffer) \
	X(clEnqueueMapBuffer) X(clEnqueueUnmapMemObject) X(clEnqueueMarkerWithWaitList) \
	X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clBuildProgram) \
	X(clRetainProgram) X(clReleaseProgram) X(clGetProgramInfo) X(clGetProgramBuildInfo) \
	X(clCreateKernel) X(clCreateKernelsInProgram) X(clRetainKernel) X(clReleaseKernel) X(clSetKernelArg) \
	X(clGetKernelInfo) X(clGetKernelArgInfo) X(clGetKernelWorkGroupInfo) \
	X(clEnqueueNDRangeKernel) X(clWaitForEvents) X(clReleaseEvent) X(clGetEventInfo) \
	X(clSetEventCallback) X(clCreateUserEvent) X(clSetUserEventStatus) X(clGetEventProfilingInfo) \
	X(clGetExtensionFunctionAddressForPlatform)

/* Loaders for OpenCL 2.0 and later have these, too; otherwise they are NULL. */
#define ADSM_CL_LATER_FUNCTIONS(X) \
	X(clCreateCommandQueueWithProperties) X(clCreateProgramWithIL) X(clCreateBufferWithProperties) \
	X(clSVMAlloc) X(clSVMFree) X(clEnqueueSVMMemcpy) X(clEnqueueSVMMemFill) \
	X(clSetKernelArgSVMPointer) X(clSetKernelExecInfo)

struct adsm_cl {
#define ADSM_CL_FIELD(name) __typeof__(&name) name;
	ADSM_CL_FUNCTIONS(ADSM_CL_FIELD)
	ADSM_CL_LATER_FUNCTIONS(ADSM_CL_FIELD)
#undef ADSM_CL_FIELD
};

extern struct adsm_cl adsm_cl;

/* Open the loader once. Returns 0, or a negative errno with adsm_fail(); the next call tries again. */
int adsm_cl_open(void);

/* Returns "CL_OUT_OF_RESOURCES"; an unknown code as a number, in a buffer of the thread. */
const char *adsm_cl_error_name(cl_int error);
