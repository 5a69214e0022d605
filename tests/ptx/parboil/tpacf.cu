// SPDX-License-Identifier: MIT
// tpacf.cu - parboil/tpacf/kernels.c in CUDA C.
#define N_BINS 20
#define THREADS 256
#define N_ROWS (N_BINS + 2)

extern "C" __global__ void __launch_bounds__(THREADS) Histograms(const float *points, unsigned long *histograms,
	const float *boundaries, int n_points, int room, int n_random)
{
	__shared__ float tile_x[THREADS], tile_y[THREADS], tile_z[THREADS];
	__shared__ unsigned counts[N_ROWS * THREADS];
	const int t = threadIdx.x;
	bool inside = (int)blockIdx.x <= n_random;
	int set = inside ? blockIdx.x : blockIdx.x - n_random;
	long stride = (long)room * (n_random + 1);
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
			int n = n_points - j0 < THREADS ? n_points - j0 : THREADS;

			__syncthreads();
			if (t < n) {
				tile_x[t] = theirs[j0 + t];
				tile_y[t] = theirs[j0 + t + stride];
				tile_z[t] = theirs[j0 + t + 2 * stride];
			}
			__syncthreads();
			for (int j = 0; j < n; j++) {
				int end = inside ? j0 + j : n_points, below = 0;
				float dx = x - tile_x[j], dy = y - tile_y[j], dz = z - tile_z[j];
				float chord2 = dx * dx + dy * dy + dz * dz;

				for (int k = 0; k <= N_BINS; k++)
					below += boundaries[k] < chord2;
				counts[(i < end ? below : 0) * THREADS + t]++;
			}
		}
	}
	for (int width = THREADS / 2; width; width /= 2) {
		__syncthreads();
		for (int i = THREADS; i <= N_BINS * THREADS && t < width; i += THREADS)
			counts[i + t] += counts[i + t + width];
	}
	__syncthreads();
	if (t < N_BINS)
		histograms[blockIdx.x * N_BINS + t] = counts[(t + 1) * THREADS];
}
