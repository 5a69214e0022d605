/* SPDX-License-Identifier: MIT */
/* after.c - the last step: both arrays are shared, and the library calls the kernel. No buffer or copy is left. */
#define CL_TARGET_OPENCL_VERSION 120
#include "open.h"

#include <adsm_opencl.h>

int main(void)
{
	const size_t size = N * sizeof(cl_uint);
	cl_uint *data, *weights, sum = 0;
	adsmKernel *blend;

	open_device();
	check(adsmOpenCLUse(context, device), "adsmOpenCLUse");
	data = adsmAlloc(size);
	weights = adsmAlloc(size);
	blend = adsmOpenCLKernel(ADSM_DEVICE_CURRENT, kernel);
	check(!data || !weights || !blend, "adsmAlloc");
	for (cl_uint i = 0; i < N; i++)
		data[i] = i, weights[i] = 2 * i + 1;
	for (int round = 0; round < ROUNDS; round++) {
		data[round] += 100;		/* the CPU's part of the work */
		check(adsmCall(blend, adsmDim3(N / GROUP, 1, 1), adsmDim3(GROUP, 1, 1), adsmInOut(data),
			       adsmIn(weights)), "adsmCall");
		check(adsmSync(), "adsmSync");
	}
	for (int i = 0; i < N; i++)
		sum += data[i];
	printf("%u\n", sum);
	return 0;
}
