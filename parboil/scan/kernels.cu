/* SPDX-License-Identifier: MIT */
/* kernels.cu - scan in CUDA C: the kernels of kernels.c. */

#define THREADS 256			/* of each block */
#define SEGMENT (2 * THREADS)

extern "C" __global__ void __launch_bounds__(THREADS) Scan(const unsigned *in, unsigned *out, unsigned *sums, int n,
							   unsigned factor)
{
	__shared__ unsigned tree[SEGMENT];
	const int t = threadIdx.x, i = blockIdx.x * SEGMENT + t, j = i + THREADS;

	tree[t] = i < n ? factor * in[i] : 0;
	tree[t + THREADS] = j < n ? factor * in[j] : 0;
	for (int width = 1; width < SEGMENT; width *= 2) {
		const int last = 2 * width * (t + 1) - 1;

		__syncthreads();
		if (last < SEGMENT)
			tree[last] += tree[last - width];
	}
	__syncthreads();
	if (t == 0) {
		if (sums)
			sums[blockIdx.x] = tree[SEGMENT - 1];
		tree[SEGMENT - 1] = 0;
	}
	for (int width = SEGMENT / 2; width > 0; width /= 2) {
		const int last = 2 * width * (t + 1) - 1;

		__syncthreads();
		if (last < SEGMENT) {
			const unsigned left = tree[last - width];

			tree[last - width] = tree[last];
			tree[last] += left;
		}
	}
	__syncthreads();
	if (i < n)
		out[i] = tree[t];
	if (j < n)
		out[j] = tree[t + THREADS];
}

/* To each segment what all segments before it came to. */
extern "C" __global__ void __launch_bounds__(THREADS) AddSums(unsigned *out, const unsigned *sums, int n)
{
	const int i = blockIdx.x * SEGMENT + threadIdx.x, j = i + THREADS;

	if (i < n)
		out[i] += sums[blockIdx.x];
	if (j < n)
		out[j] += sums[blockIdx.x];
}
