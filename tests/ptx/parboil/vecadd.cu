// SPDX-License-Identifier: MIT
// vecadd.cu - parboil/vecadd/kernels.c in CUDA C.
extern "C" __global__ void __launch_bounds__(512) vecadd(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}
