/* SPDX-License-Identifier: MIT */
/*
 * waits.cu - device functions that clang does not inline, whose threads wait for others; values that are not set yet;
 * tiles of several warps, which wait at barriers of their own.
 */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

struct weights {
	int w[20];
};

/* The sum of the block's values, in all threads. A parameter is used after barriers, and a return is between them. */
__device__ __noinline__ int block_sum(int value, int *shared, weights by, int which)
{
	shared[threadIdx.x] = value;
	__syncthreads();
	for (unsigned step = blockDim.x / 2; step; step /= 2) {
		if (threadIdx.x < step)
			shared[threadIdx.x] += shared[threadIdx.x + step];
		__syncthreads();
	}
	const int sum = shared[0];

	if (which == 7)
		return -sum;
	__syncthreads();
	return sum * by.w[which];
}

extern "C" __global__ void wait_sum(const int *in, int *out)
{
	__shared__ int shared[64];
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	weights by;
	int sum = 0;

	for (int k = 0; k < 20; k++)
		by.w[k] = k + (int)blockIdx.x;
	for (int k = 5; k < 9; k++) {
		sum += block_sum(in[i] >> k, shared, by, k);
		__syncthreads();
	}
	out[i] = sum + (int)threadIdx.x;
}

__device__ __noinline__ int warp_sum(int value)
{
	for (int lane = 16; lane; lane /= 2)
		value += __shfl_xor_sync(0xffffffff, value, lane);
	return value;
}

__device__ __noinline__ int warp_twice(int value, int n)
{
	int sum = 0;

	for (int k = 0; k < n; k++)
		sum += warp_sum(value + k) * (k + 1);
	return n & 1 ? warp_sum(sum) : sum;
}

/* Warps call the function with other numbers of rounds, and some do not call it. */
extern "C" __global__ void wait_nested(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, warp = i / 32;

	out[i] = warp % 4 ? warp_twice(in[i] & 0xffff, warp % 4) : -1;
}

/* Before the first barrier @last has no value. */
extern "C" __global__ void wait_unset(const int *in, int *out, int n)
{
	__shared__ int shared;
	const int i = threadIdx.x;
	int last, sum = 0;

	for (int k = 0; k < n; k++) {
		if (i == k % (int)blockDim.x)
			shared = in[k];
		__syncthreads();
		if (k)
			sum += last * k;
		last = shared + i;
		__syncthreads();
	}
	out[i] = sum;
}

extern "C" __global__ void wait_tiles(const int *in, int *out)
{
	__shared__ cooperative_groups::block_tile_memory<256> memory;
	const auto block = cooperative_groups::this_thread_block(memory);
	const auto tile = cooperative_groups::tiled_partition<64>(block);
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	/* The second tile is late. */
	for (int k = 0; tile.meta_group_rank() == 1 && k < 3; k++)
		tile.sync();
	out[i] = cooperative_groups::reduce(tile, in[i], cooperative_groups::plus<int>()) + 3 * tile.shfl_down(in[i], 5);
	block.sync();
}

__device__ int cached_load(const int *p)
{
	int value;

	asm volatile("ld.global.cv.s32 %0, [%1];" : "=r"(value) : "l"(p));
	return value;
}

/* What clang does not put into its callers: a load, and a loop that waits. */
__device__ __noinline__ int called_load(const int *p)
{
	return __ldcv(p);
}

__device__ __noinline__ void wait_for(const int *p)
{
	while (called_load(p) == 0)
		;
}

/* Threads wait for later threads of the block by loads that get what these have stored. */
extern "C" __global__ void wait_fresh(int *flags, int *out)
{
	const int i = threadIdx.x;

	if (i == 0)
		while (__ldcv(flags) == 0)
			;
	if (i == 1)
		while (__ldcv((const int2 *)flags + 1).y == 0)
			;
	if (i == 2)
		while (cached_load(flags + 4) == 0)
			;
	if (i == 3)
		while (called_load(flags + 5) == 0)
			;
	if (i == 4)
		wait_for(flags + 6);
	if (i >= 32)
		atomicExch(flags + (i == 32 ? 0 : i == 33 ? 3 : i == 34 ? 4 : i == 35 ? 5 : 6), 1);
	out[i] = i;
}
