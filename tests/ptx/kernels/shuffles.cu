/* SPDX-License-Identifier: MIT */
/* shuffles.cu - exchanges inside a warp, also of lanes that are not neighbours. */

extern "C" __global__ void shuffle_kinds(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i], lane = threadIdx.x & 31;
	int r = __shfl_sync(0xffffffff, x, lane * 7 + 3);

	r = r * 3 + __shfl_up_sync(0xffffffff, x, 5);
	r = r * 3 + __shfl_down_sync(0xffffffff, x, 9);
	r = r * 3 + __shfl_xor_sync(0xffffffff, x, 21);
	out[i] = r;
}

extern "C" __global__ void shuffle_widths(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i], lane = threadIdx.x & 31;
	int r = __shfl_sync(0xffffffff, x, lane + 5, 8);

	r = r * 3 + __shfl_up_sync(0xffffffff, x, 3, 4);
	r = r * 3 + __shfl_down_sync(0xffffffff, x, 7, 16);
	r = r * 3 + __shfl_xor_sync(0xffffffff, x, 6, 8);
	out[i] = r;
}

/* Only the odd lanes, and each group with a mask of its own. */
extern "C" __global__ void shuffle_odd(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
	int x = in[i];

	if (lane & 1) {
		x += __shfl_sync(0xaaaaaaaa, x, (lane + 2) & 31);
		x ^= __shfl_xor_sync(0xaaaaaaaa, x, 8);
	} else if (lane & 2) {
		x -= __shfl_sync(0x44444444, x, 30 - (lane & 28));
	} else {
		x *= 2;
	}
	out[i] = x;
}

extern "C" __global__ void shuffle_types(const double *in, double *out, long long *words)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const double x = __shfl_xor_sync(0xffffffff, in[i], 13);
	const float y = __shfl_down_sync(0xffffffff, (float)in[i], 1);

	out[i] = x * 2 + y;
	words[i] = __shfl_up_sync(0xffffffff, words[i], 4) + __shfl_sync(0xffffffff, (unsigned long long)i << 33, 17);
}

extern "C" __global__ void shuffle_votes(const int *in, unsigned int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i];
	unsigned int r = __ballot_sync(0xffffffff, x & 1);
	const unsigned int here = __ballot_sync(0xffffffff, x & 2);

	if (x & 2) {
		r ^= __ballot_sync(here, x & 4) * 3;
		r += __any_sync(here, (x & 0xf0) == 0x70) ? 1000 : 0;
	} else {
		r ^= __all_sync(~here, (x & 0xf0) != 0x80) ? 1 << 20 : 0;
	}
	out[i] = r;
}

extern "C" __global__ void shuffle_match(const int *in, unsigned int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	int same = 0;
	const unsigned int any = __match_any_sync(0xffffffff, in[i] & 3);
	const unsigned int all = __match_all_sync(0xffffffff, (long long)(in[i] & blockIdx.x), &same);

	out[i] = any ^ (all << 1) ^ (same ? 5 : 0);
}

/* The lanes leave the loop one by one. Those that are left add up what they have. */
extern "C" __global__ void shuffle_leaving(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
	int x = in[i] & 1023;

	for (int n = 32; lane < n; n -= 3) {
		const unsigned int here = n < 32 ? (1u << n) - 1 : 0xffffffff;
		const int first = __shfl_sync(here, x, n - 1);

		x = (x + first) & 0xffff;
	}
	out[i] = x;
}

/* A bitonic sort of the warp. */
extern "C" __global__ void shuffle_sort(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
	int x = in[i];

	for (int n = 2; n <= 32; n *= 2) {
		for (int with = n / 2; with > 0; with /= 2) {
			const int other = __shfl_xor_sync(0xffffffff, x, with);
			const bool up = !(lane & n), lower = !(lane & with);

			x = up == lower ? min(x, other) : max(x, other);
		}
	}
	out[i] = x;
}
