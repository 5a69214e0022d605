/* SPDX-License-Identifier: MIT */
/* kernels.cu - tpacf in CUDA C: the kernel of kernels.c, which says how it works. */

#define N_BINS 20
#define THREADS 256		/* of a block, no more and no less; and points of a tile */
#define N_ROWS (N_BINS + 2)	/* pairs too near for the first bin, the bins, pairs too far for the last */

__constant__ float boundaries[N_BINS + 1];

extern "C" __global__ void __launch_bounds__(THREADS) Histograms(const float *points, unsigned long long *histograms,
								 int n_points, int room, int n_random)
{
	__shared__ float tile_x[THREADS], tile_y[THREADS], tile_z[THREADS];
	__shared__ unsigned counts[N_ROWS * THREADS];
	const int t = threadIdx.x, inside = (int)blockIdx.x <= n_random;
	const int set = inside ? blockIdx.x : blockIdx.x - n_random;
	const long stride = (long)room * (n_random + 1);
	const float *theirs = points + (long)room * set, *mine = inside ? theirs : points;

	for (int i = 0; i < N_ROWS; i++)
		counts[i * THREADS + t] = 0;
	for (int i0 = 0; i0 < n_points; i0 += THREADS) {
		const int i = i0 + t;
		float x = 0, y = 0, z = 0;

		if (i < n_points) {
			x = mine[i];
			y = mine[i + stride];
			z = mine[i + 2 * stride];
		}
		for (int j0 = inside ? i0 : 0; j0 < n_points; j0 += THREADS) {
			const int n = n_points - j0 < THREADS ? n_points - j0 : THREADS;

			__syncthreads();
			if (t < n) {
				tile_x[t] = theirs[j0 + t];
				tile_y[t] = theirs[j0 + t + stride];
				tile_z[t] = theirs[j0 + t + 2 * stride];
			}
			__syncthreads();
			for (int j = 0; j < n; j++) {
				/* Inside a set each pair counts once. */
				const int end = inside ? j0 + j : n_points;
				const float dx = x - tile_x[j], dy = y - tile_y[j], dz = z - tile_z[j];
				const float chord2 = dx * dx + dy * dy + dz * dz;
				int below = 0;

				for (int k = 0; k <= N_BINS; k++)
					below += boundaries[k] < chord2;
				counts[(i < end ? below : 0) * THREADS + t]++;
			}
		}
	}
	for (int width = THREADS / 2; width; width /= 2) {
		__syncthreads();
		for (int i = THREADS; t < width && i <= N_BINS * THREADS; i += THREADS)
			counts[i + t] += counts[i + t + width];
	}
	__syncthreads();
	if (t < N_BINS)
		histograms[blockIdx.x * N_BINS + t] = counts[(t + 1) * THREADS];
}
