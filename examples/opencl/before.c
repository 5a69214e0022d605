/* SPDX-License-Identifier: MIT */
/* before.c - a program in plain OpenCL: two arrays, each with a buffer, and copies before and after the kernel. */
#define CL_TARGET_OPENCL_VERSION 120
#include "open.h"

int main(void)
{
	const size_t size = N * sizeof(cl_uint), global = N, local = GROUP;
	cl_uint *data = malloc(size), *weights = malloc(size), sum = 0;
	cl_mem data_buffer, weights_buffer;
	cl_command_queue queue;
	cl_int error;

	check(!data || !weights, "malloc");
	open_device();
	queue = clCreateCommandQueue(context, device, 0, &error);
	check(error, "clCreateCommandQueue");
	data_buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &error);
	check(error, "clCreateBuffer");
	weights_buffer = clCreateBuffer(context, CL_MEM_READ_ONLY, size, NULL, &error);
	check(error, "clCreateBuffer");
	for (cl_uint i = 0; i < N; i++)
		data[i] = i, weights[i] = 2 * i + 1;
	check(clEnqueueWriteBuffer(queue, weights_buffer, CL_TRUE, 0, size, weights, 0, NULL, NULL), "write");
	for (int round = 0; round < ROUNDS; round++) {
		data[round] += 100;		/* the CPU's part of the work */
		check(clEnqueueWriteBuffer(queue, data_buffer, CL_TRUE, 0, size, data, 0, NULL, NULL), "write");
		check(clSetKernelArg(kernel, 0, sizeof(data_buffer), &data_buffer), "clSetKernelArg");
		check(clSetKernelArg(kernel, 1, sizeof(weights_buffer), &weights_buffer), "clSetKernelArg");
		check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "blend");
		check(clEnqueueReadBuffer(queue, data_buffer, CL_TRUE, 0, size, data, 0, NULL, NULL), "read");
	}
	for (int i = 0; i < N; i++)
		sum += data[i];
	printf("%u\n", sum);
	return 0;
}
