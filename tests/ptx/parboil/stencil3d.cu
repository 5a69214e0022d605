// SPDX-License-Identifier: MIT
// stencil3d.cu - parboil/stencil3d/kernels.c in CUDA C.
#define HALO 4
#define C0 (-205.0f / 72.0f)
#define C1 (8.0f / 5.0f)
#define C2 (-1.0f / 5.0f)
#define C3 (8.0f / 315.0f)
#define C4 (-1.0f / 560.0f)

__device__ float around(const float *u, int x, int y, int z)
{
	return u[-x] + u[x] + u[-y] + u[y] + u[-z] + u[z];
}

extern "C" __global__ void Stencil(const float *u, const float *v, float *next, int n)
{
	const int row = n + 2 * HALO, slice = row * row;
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	int z = blockIdx.z * blockDim.z + threadIdx.z;
	int at = (z + HALO) * slice + (y + HALO) * row + x + HALO;
	const float *cell = u + at;
	float laplacian = 3 * C0 * cell[0] + C1 * around(cell, 1, row, slice) + C2 * around(cell, 2, 2 * row, 2 * slice) +
		C3 * around(cell, 3, 3 * row, 3 * slice) + C4 * around(cell, 4, 4 * row, 4 * slice);

	next[at] = 2 * cell[0] - next[at] + v[(z * n + y) * n + x] * laplacian;
}
