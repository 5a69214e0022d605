/* SPDX-License-Identifier: MIT */
/*
 * language.cu - what is more than a function: indices, vectors, printf, assert, new, the standard library's functions
 * that kernels may call, and a host's part as programs have it.
 */
#include <algorithm>
#include <cassert>
#include <cmath>
#include <complex>
#include <cstdio>
#include <iostream>
#include <memory>
#include <vector>

__constant__ float table[4] = { 1, 2, 3, 4 };
__device__ int counter;
__managed__ int managed;
__device__ void *kept;

struct base {
	__device__ virtual int get(void) const { return 1; }
	__device__ virtual ~base() { }
};

struct derived : base {
	int value;
	__device__ explicit derived(int v) : value(v) { }
	__device__ int get(void) const override { return value; }
};

__device__ int lanes(dim3 d)
{
	return (int)(d.x * d.y * d.z);
}

__global__ void __launch_bounds__(256, 2) language(float *p, const double *__restrict__ q, int n, float4 v)
{
	extern __shared__ float dynamic[];
	__shared__ __align__(16) float fixed[32];
	alignas(base) char memory[sizeof(derived)];
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	dim3 all = blockDim, copy(threadIdx);
	uint3 index = blockIdx;

	if (i >= n)
		return;
	assert(p != nullptr);
	dynamic[i] = fixed[i & 31] = table[i & 3] + lanes(gridDim) + lanes(all) + copy.x + index.y + warpSize;
	__syncthreads();
	const base *made = new derived(i), *placed = new (memory) derived(2);
	float *array = new float[4];

	array[1] = v.x + make_float4(1, 2, 3, 4).w + make_int2(1, 2).y;
	p[i] = made->get() + placed->get() + array[1] + fixed[31 - (i & 31)];
	printf("%d %f %s\n", i, q[i], "text");
	delete[] array;
	delete made;
	/* By the names of the C library and of C++, of floats, doubles and integers. */
	p[i] += std::exp(p[i]) + expf(p[i]) + exp(i) + std::pow(p[i], 2) + pow(q[i], 3) + std::pow(q[i], p[i]) + sqrt(i) +
		std::sqrt(p[i]) + std::abs(p[i]) + abs(i) + fabs(p[i]) + std::fabs(q[i]) + std::floor(p[i]) + fmin(p[i], 2.f);
	p[i] += std::min(i, 3) + std::max(p[i], 2.f) + min(i, 3u) + max(q[i], p[i]) + std::hypot(p[i], 2.f);
	p[i] += std::isnan(p[i]) + isinf(q[i]) + std::isfinite(p[i]) + signbit(p[i]) + std::log(i) + std::atan2(p[i], 1.f);
	const std::complex<float> z = std::complex<float>(p[i], 2) * std::complex<float>(1, p[i]);

	p[i] += std::abs(z) + (z / std::complex<float>(3, 4)).imag() + std::exp(std::complex<double>(q[i], 1)).real();
	atomicAdd(&counter, 1);
	managed = INT_MAX;
	kept = malloc(8);
	__syncthreads();
	free(kept);
}

template <typename F>
__global__ void apply(F f, int n)
{
	if (threadIdx.x < n)
		f(threadIdx.x);
}

static void check(cudaError_t error)
{
	if (error != cudaSuccess)
		std::cerr << cudaGetErrorString(error) << "\n";
}

int main(int argc, char **argv)
{
	std::vector<float> numbers(256, 1.5f);
	std::shared_ptr<int> shared = std::make_shared<int>(3);
	cudaStream_t stream;
	cudaEvent_t from, to;
	cudaDeviceProp properties;
	float *p, ms;
	double *q;

	check(cudaGetDeviceProperties(&properties, 0));
	check(cudaMalloc(&p, 1024));
	check(cudaMallocManaged(&q, 2048));
	check(cudaStreamCreate(&stream));
	check(cudaEventCreate(&from));
	check(cudaEventCreate(&to));
	check(cudaMemcpy(p, numbers.data(), 1024, cudaMemcpyHostToDevice));
	check(cudaMemcpyToSymbol(table, numbers.data(), sizeof(table)));
	check(cudaEventRecord(from));
	language<<<dim3(2, 1), 128, 512, stream>>>(p, q, 256, make_float4(1, 2, 3, 4));
	apply<<<1, 32>>>([=] __device__ (int i) { p[i] *= 2; }, argc);
	apply<<<1, 32>>>([=] __host__ __device__ (int i) { p[i] += (float)i; }, 3);
	check(cudaGetLastError());
	check(cudaEventRecord(to));
	check(cudaDeviceSynchronize());
	check(cudaEventElapsedTime(&ms, from, to));
	printf("%f %f %f %d\n", exp(2.0), std::exp(1.0f), sqrtf(2), min(*shared, std::max(argc, 2)));
	check(cudaFree(p));
	return std::isnan(ms) || rsqrtf(ms) > max(1.f, 2.f);
}
