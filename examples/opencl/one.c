/* SPDX-License-Identifier: MIT */
/* one.c - the first step: the array data is shared. Weights, buffer and queue are still the program's own. */
#define CL_TARGET_OPENCL_VERSION 120
#include "open.h"

#include <adsm_opencl.h>

int main(void)
{
	const size_t size = N * sizeof(cl_uint), global = N, local = GROUP;
	cl_uint *data, *weights = malloc(size), sum = 0;
	cl_mem data_buffer, weights_buffer;
	cl_command_queue queue;
	adsmArg uses[1];
	size_t offset;
	cl_int error;

	check(!weights, "malloc");
	open_device();
	check(adsmOpenCLUse(context, device), "adsmOpenCLUse");
	queue = clCreateCommandQueue(context, device, 0, &error);
	check(error, "clCreateCommandQueue");
	data = adsmAlloc(size);
	check(!data, "adsmAlloc");
	check(adsmOpenCLMem(data, &data_buffer, &offset), "adsmOpenCLMem");
	weights_buffer = clCreateBuffer(context, CL_MEM_READ_ONLY, size, NULL, &error);
	check(error, "clCreateBuffer");
	for (cl_uint i = 0; i < N; i++)
		data[i] = i, weights[i] = 2 * i + 1;
	check(clEnqueueWriteBuffer(queue, weights_buffer, CL_TRUE, 0, size, weights, 0, NULL, NULL), "write");
	for (int round = 0; round < ROUNDS; round++) {
		data[round] += 100;		/* the CPU's part of the work */
		uses[0] = adsmInOut(data);
		check(adsmOpenCLRelease(uses, 1), "adsmOpenCLRelease");
		check(clSetKernelArg(kernel, 0, sizeof(data_buffer), &data_buffer), "clSetKernelArg");
		check(clSetKernelArg(kernel, 1, sizeof(weights_buffer), &weights_buffer), "clSetKernelArg");
		check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "blend");
		check(clFinish(queue), "clFinish");
	}
	for (int i = 0; i < N; i++)
		sum += data[i];
	printf("%u\n", sum);
	return 0;
}
