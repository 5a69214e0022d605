/* SPDX-License-Identifier: MIT */
/* exits.cu - threads that end before others. */

extern "C" __global__ void exit_guard(float *data, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	data[i] = data[i] * 2 + 1;
}

extern "C" __global__ void exit_in_loop(const int *in, int *out, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int k = 0; k < n; k++) {
		if (in[k] % 1000 == i) {
			out[i] = k;
			return;
		}
		if (in[k] % 777 == i && k > 100)
			return;
	}
	out[i] = -2;
}

/* Half of the warps have ended when the others come to the barrier. */
extern "C" __global__ void exit_before_barrier(const int *in, int *out)
{
	__shared__ int shared[128];
	const int t = threadIdx.x, i = blockIdx.x * 128 + t;

	shared[t] = in[i];
	if (t / 32 % 2) {
		out[i] = -1;
		return;
	}
	for (int round = 0; round < 3; round++) {
		__syncthreads();
		const int next = shared[(t + 64) % 128];

		__syncthreads();
		shared[t] = next + round;
	}
	out[i] = shared[t];
}

/* A loop that each thread leaves at another time. */
extern "C" __global__ void exit_collatz(const unsigned int *in, unsigned int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int x = in[i] % 1000 + 1, steps = 0;

	while (x != 1) {
		x = x & 1 ? 3 * x + 1 : x / 2;
		if (++steps == 150)
			break;
	}
	out[i] = steps;
}

extern "C" __global__ void exit_switch(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	int x = in[i];

	switch (x & 7) {
	case 0:
		return;
	case 1:
		x += 3;
	case 2:
		x *= 7;
		break;
	case 3:
		for (int k = 0; k < (x >> 3 & 15); k++)
			x ^= x << 1;
		break;
	case 5:
		x = -x;
		break;
	case 6:
		x >>= 2;
		break;
	default:
		x = ~x;
	}
	out[i] = x;
}
