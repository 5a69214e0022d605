/* SPDX-License-Identifier: MIT */
/* hook_runtime.cu - a program of the runtime interface, as anybody's: says what its first allocation came to. */
#include <cstdio>

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

int main()
{
	float *a = nullptr;
	cudaError_t error = cudaMalloc(&a, 4096);

	if (!error) {
		add<<<1, 32>>>(a, a, a, 32);
		error = cudaDeviceSynchronize();
		cudaFree(a);
	}
	std::printf("%d %s\n", (int)error, cudaGetErrorName(error));
	return error ? 3 : 0;
}
