/* SPDX-License-Identifier: MIT */
/* scans.cu - prefix sums of a block. */

extern "C" __global__ void scan_steps(const int *in, int *out)
{
	__shared__ int shared[2][256];
	const int t = threadIdx.x, i = blockIdx.x * 256 + t;
	int now = 0;

	shared[0][t] = in[i];
	__syncthreads();
	for (int step = 1; step < 256; step *= 2) {
		shared[1 - now][t] = shared[now][t] + (t >= step ? shared[now][t - step] : 0);
		now = 1 - now;
		__syncthreads();
	}
	out[i] = shared[now][t];
}

/* Up and down a tree: exclusive. Each thread has two elements. */
extern "C" __global__ void scan_tree(const int *in, int *out)
{
	extern __shared__ int tree[];
	const int n = 2 * blockDim.x, t = threadIdx.x, base = blockIdx.x * n;

	tree[2 * t] = in[base + 2 * t];
	tree[2 * t + 1] = in[base + 2 * t + 1];
	for (int d = n / 2, step = 1; d > 0; d /= 2, step *= 2) {
		__syncthreads();
		if (t < d)
			tree[step * (2 * t + 2) - 1] += tree[step * (2 * t + 1) - 1];
	}
	if (t == 0)
		tree[n - 1] = 0;
	for (int d = 1, step = n / 2; d < n; d *= 2, step /= 2) {
		__syncthreads();
		if (t < d) {
			const int left = tree[step * (2 * t + 1) - 1];

			tree[step * (2 * t + 1) - 1] = tree[step * (2 * t + 2) - 1];
			tree[step * (2 * t + 2) - 1] += left;
		}
	}
	__syncthreads();
	out[base + 2 * t] = tree[2 * t];
	out[base + 2 * t + 1] = tree[2 * t + 1];
}

/* Warps by shuffles, then the sums of the warps. */
extern "C" __global__ void scan_warps(const int *in, int *out)
{
	__shared__ int sums[8];
	const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * 256 + t;
	int sum = in[i];

	for (int step = 1; step < 32; step *= 2) {
		const int other = __shfl_up_sync(0xffffffff, sum, step);

		if (lane >= step)
			sum += other;
	}
	if (lane == 31)
		sums[warp] = sum;
	__syncthreads();
	if (warp == 0) {
		int total = lane < 8 ? sums[lane] : 0;

		for (int step = 1; step < 8; step *= 2) {
			const int other = __shfl_up_sync(0xffffffff, total, step, 8);

			if (lane % 8 >= step)
				total += other;
		}
		if (lane < 8)
			sums[lane] = total;
	}
	__syncthreads();
	out[i] = sum + (warp ? sums[warp - 1] : 0);
}

/* Which elements are kept, close to each other: the ranks of a warp by votes. */
extern "C" __global__ void scan_compact(const int *in, int *out, int *counts)
{
	__shared__ int sums[4];
	const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * 128 + t;
	const bool kept = in[i] % 3 == 0;
	const unsigned int votes = __ballot_sync(0xffffffff, kept);
	int before = 0;

	if (lane == 0)
		sums[warp] = __popc(votes);
	__syncthreads();
	for (int k = 0; k < warp; k++)
		before += sums[k];
	if (kept)
		out[blockIdx.x * 128 + before + __popc(votes & ((1u << lane) - 1))] = in[i];
	if (t == 0)
		counts[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}
