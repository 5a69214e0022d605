/* SPDX-License-Identifier: MIT */
/* barriers.cu - barriers in loops, in branches, with counts, and of parts of a block. */

extern "C" __global__ void barrier_loop(int *data, int rounds)
{
	__shared__ int shared[128];
	const int t = threadIdx.x, i = blockIdx.x * 128 + t;

	shared[t] = data[i];
	for (int round = 0; round < rounds; round++) {
		__syncthreads();
		const int next = shared[(t + 1) % 128];

		__syncthreads();
		shared[t] = next * 3 + round + t;
	}
	data[i] = shared[t];
}

/* The number of rounds differs between blocks, and what is between two barriers between threads. */
extern "C" __global__ void barrier_uneven(int *data)
{
	__shared__ int shared[96];
	const int t = threadIdx.x, i = blockIdx.x * 96 + t;
	int sum = data[i];

	for (unsigned int round = 0; round < blockIdx.x % 5; round++) {
		for (int k = 0; k < t % 7; k++)
			sum = sum * 5 + k;
		shared[t] = sum;
		__syncthreads();
		if (t % 3 == 0)
			sum += shared[95 - t];
		else if (t % 3 == 1)
			sum -= shared[(t * 7) % 96];
		__syncthreads();
	}
	data[i] = sum;
}

/* All threads of a block take the same side, and both sides have barriers. */
extern "C" __global__ void barrier_branch(const int *in, int *out)
{
	__shared__ int shared[64];
	const int t = threadIdx.x, i = blockIdx.x * 64 + t;

	shared[t] = in[i];
	if (blockIdx.x & 1) {
		__syncthreads();
		out[i] = shared[63 - t];
	} else {
		__syncthreads();
		const int left = shared[(t + 63) % 64];

		__syncthreads();
		shared[t] += left;
		__syncthreads();
		out[i] = shared[(t + 1) % 64];
	}
}

/* Warps of a block wait at two barriers of the program, which are the same barrier of the block. */
extern "C" __global__ void barrier_two_places(const int *in, int *out)
{
	__shared__ int shared[64];
	const int t = threadIdx.x, i = blockIdx.x * 64 + t;

	if (t < 32) {
		shared[t] = in[i] * 2;
		__syncthreads();
		out[i] = shared[t + 32];
	} else {
		shared[t] = in[i] + 7;
		__syncthreads();
		out[i] = shared[t - 32];
	}
}

extern "C" __global__ void barrier_votes(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const int count = __syncthreads_count(in[i] & 1);
	const int all = __syncthreads_and((in[i] & 255) != 255);
	const int any = __syncthreads_or((in[i] & 511) == 511);

	out[i] = count * 4 + (all ? 2 : 0) + (any ? 1 : 0);
}

/* Barrier 1 is for the first two warps only. The others write their results without it. */
extern "C" __global__ void barrier_part(const int *in, int *out)
{
	__shared__ int shared[128];
	const int t = threadIdx.x, i = blockIdx.x * 128 + t;

	shared[t] = in[i];
	if (t < 64) {
		asm volatile("bar.sync 1, 64;" : : : "memory");
		out[i] = shared[t ^ 63];
	} else {
		out[i] = shared[t] + 1;
	}
}

/* The first warp gives the second one work, and does not wait for it at barrier 1. Barrier 2 says that it is read. */
extern "C" __global__ void barrier_arrive(const int *in, int *out, int rounds)
{
	__shared__ int work[32];
	const int t = threadIdx.x & 31;

	in += blockIdx.x * rounds * 32;
	out += blockIdx.x * rounds * 32;
	for (int round = 0; round < rounds; round++) {
		if (threadIdx.x < 32) {
			if (round)
				asm volatile("bar.sync 2, 64;" : : : "memory");
			work[t] = in[round * 32 + t] * 3;
			asm volatile("bar.arrive 1, 64;" : : : "memory");
		} else {
			asm volatile("bar.sync 1, 64;" : : : "memory");
			out[round * 32 + t] = work[31 - t] + round;
			if (round + 1 < rounds)
				asm volatile("barrier.arrive 2, 64;" : : : "memory");
		}
	}
}

/* The last warp has eight threads, and threads of the second one have ended: each warp counts as 32 at a barrier. */
extern "C" __global__ void barrier_short_warps(const int *in, int *out)
{
	__shared__ int shared[72];
	const int t = threadIdx.x, i = blockIdx.x * 72 + t;

	shared[t] = in[i];
	if (t >= 40 && t < 50)
		return;
	asm volatile("bar.sync 1, 96;" : : : "memory");
	out[i] = shared[71 - t];
}

/* Threads wait at so many places that one function has the code of all (REGIONS_MAX in lib/ptx/frame.c). */
template <bool warps> static __device__ __forceinline__ void many(const int *in, int *out)
{
	__shared__ int shared[64];
	const int t = threadIdx.x;
	int x = in[t];

	shared[t] = x;
	if (t == 7)
		return;
#pragma unroll
	for (int i = 64; i < 114; i++) {
		if (in[i] & 1) {
			__syncthreads();
			x += shared[(t + 1) % 64];
			__syncthreads();
			shared[t] = x;
		}
		if (warps)
			x += in[i] & 2 ? __shfl_sync(t < 32 ? 0xffffff7f : 0xffffffff, x, 3) : i;
		x = x * 3 + i;
	}
	out[t] = x;
}

extern "C" __global__ void barrier_many(const int *in, int *out)
{
	many<false>(in, out);
}

extern "C" __global__ void barrier_many_warps(const int *in, int *out)
{
	many<true>(in, out);
}
