/* SPDX-License-Identifier: MIT */
/* indices.cu - indices that wrap around, and limits of threads. */

/* The first indices of a row are near 2^32, the others begin at 0. */
extern "C" __global__ void index_wraps(unsigned *out, unsigned base, unsigned n)
{
	const unsigned i = base + blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] += i + 1;
}

/* The same of signed numbers: the greatest ones come first, then the least ones. */
extern "C" __global__ void index_wraps_signed(int *out, unsigned base, int n)
{
	const int i = (int)(base + blockIdx.x * blockDim.x + threadIdx.x);
	const long long at = (long long)i + 0x80000000ll;

	if (at >= 0 && at < n)
		out[at] += (int)at;
}

/* Before element 0, where only threads after the first ones may write. */
extern "C" __global__ void index_before(unsigned *out, const unsigned *in, unsigned n)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i] + (i > 0 ? in[i - 1] : 7) + (i + 1 < n ? in[i + 1] : 9);
}

extern "C" __global__ void index_backwards(int *out, const int *in, int n)
{
	const int i = n - 1 - (int)(blockIdx.x * blockDim.x + threadIdx.x);

	if (i >= 0)
		out[i] = in[n - 1 - i] * 3;
}

extern "C" __global__ void index_strided(int *out, int step, int offset, int n)
{
	const int i = ((int)(blockIdx.x * blockDim.x + threadIdx.x) - 5) * step + offset;

	if (i < n && i >= 0)
		out[i] += i + step;
}

/* Bits that are apart from each other, and, in blocks of more than 32 threads, bits that are not. */
extern "C" __global__ void index_or(int *out, int shift, int n)
{
	const int i = blockIdx.x << shift | threadIdx.x, j = threadIdx.x * 4 | 3;

	if (i < n)
		out[i] = i;
	out[n + j] = j;
}

/* A window in a plane: limits of both indices, combined in several ways. */
extern "C" __global__ void index_window(int *out, int width, int height, int left, int right)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (!(x >= left && x < right) || y >= height || (y & 3) == 2)
		return;
	if (x > 2 * y + 40)
		return;
	out[y * width + x] += x - y;
}

/* A thread without work does something before it ends. */
extern "C" __global__ void index_else(int *out, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n) {
		out[i] = -1;
		return;
	}
	out[i] = i;
}

extern "C" __global__ void index_cube(short *out, int nx, int ny, int nz)
{
	const int x = threadIdx.x, y = threadIdx.y + blockIdx.y * blockDim.y, z = threadIdx.z + blockIdx.z * blockDim.z;

	if (x < nx && y < ny && z < nz)
		out[(z * ny + y) * nx + x] = (short)(x + 10 * y + 100 * z);
}

/* An index that grows in a loop with barriers, by steps that a condition chooses. */
extern "C" __global__ void index_steps(int *out, const int *in, int turns, int n)
{
	__shared__ int tile[64];
	int at = 0, sum = 0;

	for (int k = 0; k < turns; k++) {
		tile[threadIdx.x] = in[(blockIdx.x * 64 + threadIdx.x + at) % n];
		if (k % 3 == 1)
			at += 5;
		__syncthreads();
		sum += tile[63 - threadIdx.x] + at;
		at += k;
		__syncthreads();
		out[at + threadIdx.x + blockIdx.x * n] = sum;
		at++;
	}
}

/* The number of turns is the same in all threads, what is added is not. */
extern "C" __global__ void index_tiles(float *out, const float *in, int n)
{
	__shared__ float tile[32];
	float sum = 0;

	for (int k = 0; k < n; k += 32) {
		tile[threadIdx.x] = in[blockIdx.x * n + k + threadIdx.x];
		__syncthreads();
		if (tile[0] > 2)
			break;
		for (int i = 0; i < 32; i += threadIdx.x % 3 + 1)
			sum += tile[i];
		__syncthreads();
	}
	out[blockIdx.x * 32 + threadIdx.x] = sum;
}

/* Threads leave a loop at different turns, before a barrier that all of them reach. */
extern "C" __global__ void index_apart(int *out, const int *in)
{
	__shared__ int tile[96];
	int k = 0, base = 0;

	while (in[blockIdx.x * 96 + threadIdx.x] > k * 100000000)
		k++;
	base = k;
	for (int turn = 0; turn < 3; turn++) {
		tile[threadIdx.x] = base + turn;
		__syncthreads();
		base += tile[(threadIdx.x + 1) % 96];
		__syncthreads();
	}
	out[blockIdx.x * 96 + threadIdx.x] = base;
}

/* In each turn of a loop with barriers one more thread has something to do. */
extern "C" __global__ void index_stairs(int *out, const int *in, int turns)
{
	__shared__ int tile[40];
	int sum = 0;

	for (int k = 0; k < turns; k++) {
		tile[threadIdx.x] = in[blockIdx.x * 40 + threadIdx.x] + k;
		__syncthreads();
		if ((int)threadIdx.x <= k)
			sum += tile[39 - threadIdx.x];
		out[(k * gridDim.x + blockIdx.x) * 40 + threadIdx.x] = sum;
		__syncthreads();
	}
}
