/* SPDX-License-Identifier: MIT */
/* tiles.cu - tiles of shared memory in two and three dimensions. */

extern "C" __global__ void tile_transpose(const float *in, float *out, int width, int height)
{
	__shared__ float tile[16][17];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;

	if (x < width && y < height)
		tile[threadIdx.y][threadIdx.x] = in[y * width + x];
	__syncthreads();
	x = blockIdx.y * 16 + threadIdx.x;
	y = blockIdx.x * 16 + threadIdx.y;
	if (x < height && y < width)
		out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void tile_matmul(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[8][8], bs[8][8];
	const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 8 + ty, column = blockIdx.x * 8 + tx;
	float sum = 0;

	for (int k = 0; k < n; k += 8) {
		as[ty][tx] = a[row * n + k + tx];
		bs[ty][tx] = b[(k + ty) * n + column];
		__syncthreads();
		for (int i = 0; i < 8; i++)
			sum += as[ty][i] * bs[i][tx];
		__syncthreads();
	}
	c[row * n + column] = sum;
}

/* The mean of a cell and its six neighbours, with a border around the block's cells. */
extern "C" __global__ void tile_stencil(const float *in, float *out, int nx, int ny, int nz)
{
	__shared__ float tile[6][6][10];
	const int tx = threadIdx.x + 1, ty = threadIdx.y + 1, tz = threadIdx.z + 1;
	const int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z * 4 + threadIdx.z;
	const int i = (z * ny + y) * nx + x;

	tile[tz][ty][tx] = in[i];
	if (tx == 1)
		tile[tz][ty][0] = x > 0 ? in[i - 1] : 0;
	if (tx == 8)
		tile[tz][ty][9] = x < nx - 1 ? in[i + 1] : 0;
	if (ty == 1)
		tile[tz][0][tx] = y > 0 ? in[i - nx] : 0;
	if (ty == 4)
		tile[tz][5][tx] = y < ny - 1 ? in[i + nx] : 0;
	if (tz == 1)
		tile[0][ty][tx] = z > 0 ? in[i - nx * ny] : 0;
	if (tz == 4)
		tile[5][ty][tx] = z < nz - 1 ? in[i + nx * ny] : 0;
	__syncthreads();
	out[i] = (tile[tz][ty][tx] + tile[tz][ty][tx - 1] + tile[tz][ty][tx + 1] + tile[tz][ty - 1][tx] +
		  tile[tz][ty + 1][tx] + tile[tz - 1][ty][tx] + tile[tz + 1][ty][tx]) / 7;
}

/* Two arrays of different types in the memory that the launch asks for. */
extern "C" __global__ void tile_dynamic(const float *in, float *out, int n)
{
	extern __shared__ double memory[];
	double *sums = memory;
	short *places = (short *)(memory + n);
	const int t = threadIdx.x;

	sums[t] = in[blockIdx.x * n + t];
	places[t] = (short)((t * 5 + 3) % n);
	__syncthreads();
	out[blockIdx.x * n + t] = (float)(sums[places[t]] * 2 + sums[t]);
}
