// SPDX-License-Identifier: MIT
// sad.cu - parboil/sad/kernels.c in CUDA C.
#define RANGE 16
#define SIDE (2 * RANGE + 1)
#define POSITIONS (SIDE * SIDE)
#define VECTOR 1096
#define WORDS (VECTOR / 2)
#define WINDOW (4 + 2 * RANGE)
#define BLOCK 4

__device__ int clamp_to(int i, int n)
{
	return i < 0 ? 0 : i < n ? i : n - 1;
}

__device__ int difference(const unsigned short *window, const unsigned short *block)
{
	int sum = 0;

	for (int y = 0; y < BLOCK; y++) {
		for (int x = 0; x < BLOCK; x++) {
			int d = window[y * WINDOW + x] - block[y * BLOCK + x];

			sum += d < 0 ? -d : d;
		}
	}
	return sum;
}

extern "C" __global__ void __launch_bounds__(61) Search(const unsigned short *reference, const unsigned short *frame,
	unsigned short *sads, int width, int height)
{
	__shared__ unsigned short window[WINDOW * WINDOW], block[BLOCK * BLOCK];
	int first_x = blockIdx.x * BLOCK, first_y = blockIdx.y * BLOCK, t = threadIdx.x;
	long n_macroblocks = (long)(width / 16) * (height / 16);
	long macroblock = (long)(first_y / 16) * (width / 16) + first_x / 16;
	long vector = 25 * n_macroblocks + 16 * macroblock + blockIdx.y % 4 * 4 + blockIdx.x % 4;
	int x = clamp_to(first_x - RANGE + t, width);

	if (t < BLOCK * BLOCK)
		block[t] = frame[(long)(first_y + t / BLOCK) * width + first_x + t % BLOCK];
	for (int y = 0; y < WINDOW && t < WINDOW; y++)
		window[y * WINDOW + t] = reference[(long)clamp_to(first_y - RANGE + y, height) * width + x];
	__syncthreads();
	for (int p = t; p < POSITIONS; p += blockDim.x)
		sads[vector * VECTOR + p] = difference(window + p / SIDE * WINDOW + p % SIDE, block);
}

extern "C" __global__ void __launch_bounds__(128) SumTo8x8(unsigned *sads)
{
	long n_macroblocks = (long)gridDim.x * gridDim.y;
	long macroblock = (long)blockIdx.y * gridDim.x + blockIdx.x;
	unsigned *type4 = sads + (5 * n_macroblocks + 4 * macroblock) * WORDS;
	unsigned *type5 = sads + (9 * n_macroblocks + 8 * macroblock) * WORDS;
	unsigned *type6 = sads + (17 * n_macroblocks + 8 * macroblock) * WORDS;
	const unsigned *type7 = sads + (25 * n_macroblocks + 16 * macroblock) * WORDS;
	int y = threadIdx.y / 2, x = threadIdx.y % 2;

	for (int i = threadIdx.x; i < WORDS; i += blockDim.x) {
		unsigned a = type7[(8 * y + 2 * x) * WORDS + i], b = type7[(8 * y + 2 * x + 1) * WORDS + i];
		unsigned c = type7[(8 * y + 2 * x + 4) * WORDS + i], d = type7[(8 * y + 2 * x + 5) * WORDS + i];

		type6[(4 * y + 2 * x) * WORDS + i] = a + c;
		type6[(4 * y + 2 * x + 1) * WORDS + i] = b + d;
		type5[(4 * y + x) * WORDS + i] = a + b;
		type5[(4 * y + x + 2) * WORDS + i] = c + d;
		type4[(2 * y + x) * WORDS + i] = a + b + c + d;
	}
}

extern "C" __global__ void __launch_bounds__(32) SumTo16x16(unsigned *sads)
{
	long n_macroblocks = (long)gridDim.x * gridDim.y;
	long macroblock = (long)blockIdx.y * gridDim.x + blockIdx.x;
	unsigned *type1 = sads + macroblock * WORDS;
	unsigned *type2 = sads + (n_macroblocks + 2 * macroblock) * WORDS;
	unsigned *type3 = sads + (3 * n_macroblocks + 2 * macroblock) * WORDS;
	const unsigned *type4 = sads + (5 * n_macroblocks + 4 * macroblock) * WORDS;

	for (int i = threadIdx.x; i < WORDS; i += blockDim.x) {
		unsigned a = type4[i], b = type4[WORDS + i], c = type4[2 * WORDS + i], d = type4[3 * WORDS + i];

		type3[i] = a + c;
		type3[WORDS + i] = b + d;
		type2[i] = a + b;
		type2[WORDS + i] = c + d;
		type1[i] = a + b + c + d;
	}
}
