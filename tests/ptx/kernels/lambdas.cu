/* SPDX-License-Identifier: MIT */
/* lambdas.cu - kernels whose parameter is a lambda of the CPU's code. */

template <typename F>
__global__ void lambda_apply(int *data, int n, F f)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		data[i] = f(data[i], i);
}

/* The launch that makes clang compile the kernel. The lambda's object has the values of @a and @b in this order. */
void launch(int *data, int n, int a, short b)
{
	lambda_apply<<<4, 64>>>(data, n, [=] __device__ (int x, int i) { return i % 3 ? x * a : x - b; });
}
