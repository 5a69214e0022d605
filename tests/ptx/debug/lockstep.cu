// SPDX-License-Identifier: MIT
// lockstep.cu - kernels that count on the lockstep of a warp. A wrong result ends them by a trap.
__device__ void expect(int got, int wanted)
{
	if (got != wanted)
		__trap();
}

/* As programs before Volta had it: 64 threads, and the last steps without barriers. */
__global__ void reduce(void)
{
	__shared__ int memory[64];
	volatile int *s = memory;
	const int t = threadIdx.x;

	s[t] = t;
	__syncthreads();
	if (t < 32) {
		s[t] += s[t + 32];
		s[t] += s[t + 16];
		s[t] += s[t + 8];
		s[t] += s[t + 4];
		s[t] += s[t + 2];
		s[t] += s[t + 1];
	}
	__syncthreads();
	expect(memory[0], 2016);
}

/* Threads read what threads before them write, and some leave a branch out. */
__global__ void scan(void)
{
	__shared__ int memory[32];
	volatile int *s = memory;
	const int t = threadIdx.x;

	s[t] = 1;
	for (int n = 1; n < 32; n *= 2)
		if (t >= n)
			s[t] += s[t - n];
	expect(s[t], t + 1);
}

/* The same in global memory, which is not volatile: only --lockstep helps. */
__global__ void pass(int *p)
{
	const int t = threadIdx.x;

	p[t] = t;
	p[t] += p[(t + 1) % 32];
	p[t] += p[(t + 1) % 32];
	expect(p[t], t + 2 * ((t + 1) % 32) + (t + 2) % 32);
}

/* Threads that loop longer meet the others behind the loop. */
__global__ void meet(int *p)
{
	const int t = threadIdx.x;

	for (int i = 0; i <= t; i++)
		p[t] += i;
	p[t] += p[31 - t];
	expect(p[t], t * (t + 1) / 2 + (31 - t) * (32 - t) / 2);
}
