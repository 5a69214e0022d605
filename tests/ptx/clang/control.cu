// SPDX-License-Identifier: MIT
// control.cu - loops, switches, early exits, barriers in loops.
#include "device.h"

__global__ void branches(int *out, const int *in, int n)
{
	int x = in[index], sum = 0;

	switch (x & 15) {
	case 0: sum = 5; break;
	case 1: sum = x * 7; break;
	case 2: sum = x / (n + 1); break;
	case 3: sum = x % (n + 2); // falls through
	case 4: sum += x << n; break;
	case 5: return;
	case 6: out[0] = 1; break;
	case 7: for (int i = 0; i < n; i++) sum ^= in[i] + i; break;
	case 8: while (x > 3) x = x & 1 ? 3 * x + 1 : x >> 1, sum++; break;
	default: sum = -1;
	}
	out[index] = sum;
}

__global__ void reduce(float *out, const float *in, int n)
{
	__shared__ float s[256];

	s[tidx] = index < n ? in[index] : 0;
	for (int half = 128; half; half >>= 1) {
		__syncthreads();
		if (tidx < half)
			s[tidx] += s[tidx + half];
	}
	if (!tidx)
		out[ctaidx] = s[0];
}
