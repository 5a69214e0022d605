/* SPDX-License-Identifier: MIT */
/* reductions.cu - sums and maxima: of blocks, of warps, of the grid. */

extern "C" __global__ void reduce_tree(const float *in, float *out)
{
	__shared__ float shared[256];
	const int t = threadIdx.x;

	shared[t] = in[blockIdx.x * 256 + t];
	for (int n = 128; n > 0; n /= 2) {
		__syncthreads();
		if (t < n)
			shared[t] += shared[t + n];
	}
	if (t == 0)
		out[blockIdx.x] = shared[0];
}

extern "C" __global__ void reduce_warps(const double *in, double *out, int n)
{
	__shared__ double sums[32];
	const int t = threadIdx.x;
	double sum = 0;

	for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
		sum += in[i];
	for (int with = 16; with > 0; with /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, with);
	if (t % 32 == 0)
		sums[t / 32] = sum;
	__syncthreads();
	if (t < 32) {
		sum = t < blockDim.x / 32 ? sums[t] : 0;
		for (int with = 16; with > 0; with /= 2)
			sum += __shfl_xor_sync(0xffffffff, sum, with);
		if (t == 0)
			out[blockIdx.x] = sum;
	}
}

extern "C" __global__ void reduce_atomics(const int *in, int *sum, int *least, int *most, unsigned int *bits)
{
	const int x = in[blockIdx.x * blockDim.x + threadIdx.x];

	atomicAdd(sum, x);
	atomicMin(least, x);
	atomicMax(most, x);
	atomicAnd(&bits[0], (unsigned int)x | 0xff);
	atomicOr(&bits[1], (unsigned int)x & 0xffff);
	atomicXor(&bits[2], (unsigned int)x);
}

/* The largest element and its place, packed in eight bytes: by atomicCAS(). */
extern "C" __global__ void reduce_place(const unsigned int *in, unsigned long long *best)
{
	const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	const unsigned long long mine = (unsigned long long)in[i] << 32 | i;
	unsigned long long seen = *best;

	while (seen < mine) {
		const unsigned long long old = atomicCAS(best, seen, mine);

		if (old == seen)
			break;
		seen = old;
	}
}

extern "C" __global__ void reduce_redux(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const int sum = __reduce_add_sync(0xffffffff, in[i]), least = __reduce_min_sync(0xffffffff, in[i]);
	const unsigned int any = __reduce_or_sync(0xffffffff, (unsigned int)in[i] & 0xff00);
	const unsigned int odd = __reduce_xor_sync(0xffffffff, (unsigned int)in[i]);

	out[i] = sum ^ least ^ (int)any ^ (int)(odd >> 1);
}

/* The last block that ends adds the sums of all blocks. */
extern "C" __global__ void reduce_last_block(const int *in, int *sums, unsigned int *done, int *total)
{
	__shared__ int shared[64];
	__shared__ bool last;
	const int t = threadIdx.x;

	shared[t] = in[blockIdx.x * 64 + t];
	for (int n = 32; n > 0; n /= 2) {
		__syncthreads();
		if (t < n)
			shared[t] += shared[t + n];
	}
	if (t == 0) {
		sums[blockIdx.x] = shared[0];
		__threadfence();
		last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && t == 0) {
		volatile int *all = sums;
		int sum = 0;

		for (unsigned int i = 0; i < gridDim.x; i++)
			sum += all[i];
		*total = sum;
	}
}
