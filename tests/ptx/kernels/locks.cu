/* SPDX-License-Identifier: MIT */
/* locks.cu - locks that threads wait for in a loop: of blocks, and of the lanes of a warp. */

/* One thread of each block. The sums are of the blocks in some order, and the number of blocks is right. */
extern "C" __global__ void lock_blocks(int *lock, int *data, const int *in)
{
	__shared__ int shared[64];
	const int t = threadIdx.x;

	shared[t] = in[blockIdx.x * 64 + t];
	__syncthreads();
	if (t == 0) {
		int sum = 0;

		for (int i = 0; i < 64; i++)
			sum += shared[i];
		while (atomicCAS(lock, 0, 1) != 0)
			;
		__threadfence();
		((volatile int *)data)[0] = ((volatile int *)data)[0] + sum;
		((volatile int *)data)[1] = ((volatile int *)data)[1] + 1;
		__threadfence();
		atomicExch(lock, 0);
	}
}

/* All threads, also those of a warp: the lock is given back in the same turn of the loop. */
extern "C" __global__ void lock_lanes(int *locks, int *data, const int *in)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, slot = (in[i] & 0x7fffffff) % 5;
	bool done = false;

	while (!done) {
		if (atomicCAS(&locks[slot], 0, 1) == 0) {
			volatile int *p = &data[2 * slot];

			__threadfence();
			p[0] = p[0] + in[i];
			p[1] = p[1] + 1;
			__threadfence();
			atomicExch(&locks[slot], 0);
			done = true;
		}
	}
}

/* A warp whose lanes wait for each other without giving the lock back first: needs threads that make progress alone. */
extern "C" __global__ void lock_wait(int *lock, int *data)
{
	while (atomicCAS(lock, 0, 1) != 0)
		;
	*(volatile int *)data = *(volatile int *)data + 1;
	__threadfence();
	atomicExch(lock, 0);
}

/* Blocks take turns in the order of their tickets. */
extern "C" __global__ void lock_tickets(unsigned int *tickets, unsigned int *order)
{
	if (threadIdx.x == 0) {
		const unsigned int mine = atomicAdd(&tickets[0], 1u);

		while (*(volatile unsigned int *)&tickets[1] != mine)
			;
		__threadfence();
		*(volatile unsigned int *)order = *(volatile unsigned int *)order * 3 + mine;
		__threadfence();
		*(volatile unsigned int *)&tickets[1] = mine + 1;
	}
}

/* Each block waits for the sum of the blocks before it. */
extern "C" __global__ void lock_chain(const int *in, int *out, int *flags, int *sums)
{
	__shared__ int before;
	const int t = threadIdx.x, b = blockIdx.x;
	const int x = in[b * 32 + t] & 1023;
	int sum = x;

	for (int step = 1; step < 32; step *= 2) {
		const int other = __shfl_up_sync(0xffffffff, sum, step);

		if (t >= step)
			sum += other;
	}
	if (t == 31) {
		before = 0;
		if (b > 0) {
			while (atomicAdd(&flags[b - 1], 0) == 0)
				;
			__threadfence();
			before = *(volatile int *)&sums[b - 1];
		}
		*(volatile int *)&sums[b] = before + sum;
		__threadfence();
		atomicExch(&flags[b], 1);
	}
	__syncthreads();
	out[b * 32 + t] = before + sum;
}
