/* SPDX-License-Identifier: MIT */
/* cluster.c - kernels for tests of clusters' nodes: native code, which alone can do that. */
#include <adsm_kernel.h>

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
extern int access(const char *, int), creat(const char *, unsigned), close(int), getpid(void), gettid(void);
extern int snprintf(char *, unsigned long, const char *, ...);

/*
 * Each block makes the file there-B in a folder, waits until there is go-B, says touches-B-THREAD, and then adds one to
 * its page's first word.
 */
ADSM_KERNEL(meet, ADSM_CONST(char, folder), ADSM_INOUT(unsigned, pages))
{
	ADSM_THREADS {
		char path[300];

		snprintf(path, sizeof(path), "%s/there-%d", folder, ADSM_BLOCK_X);
		close(creat(path, 0600));
		snprintf(path, sizeof(path), "%s/go-%d", folder, ADSM_BLOCK_X);
		while (access(path, 0))
			;
		snprintf(path, sizeof(path), "%s/touches-%d-%d", folder, ADSM_BLOCK_X, gettid());
		close(creat(path, 0600));
		pages[1024 * ADSM_BLOCK_X]++;
	}
}

/* One block stores somewhere, relative to the second object of those that it reads. */
ADSM_KERNEL(store, ADSM_IN(unsigned, before), ADSM_IN(unsigned, p), ADSM_IN(unsigned, again), ADSM_VAL(long, bytes),
	    ADSM_VAL(int, block))
{
	ADSM_THREADS {
		if (ADSM_BLOCK_X == block)
			*(volatile unsigned *)((unsigned long)p + (unsigned long)bytes) = 1;
	}
}

/* The process that runs each block, and the number of runs of each block. */
ADSM_KERNEL(where, ADSM_OUT(int, processes), ADSM_INOUT(unsigned, runs))
{
	ADSM_THREADS {
		processes[ADSM_BLOCK_X] = getpid();
		if (runs)
			runs[ADSM_BLOCK_X]++;
	}
}

/* The threads of all blocks, and where they ran. */
ADSM_KERNEL(count, ADSM_INOUT(unsigned, sum), ADSM_OUT(int, processes))
{
	ADSM_THREADS {
		ADSM_ATOMIC_ADD(sum, 1);
		processes[ADSM_BLOCK_X] = getpid();
	}
}

/* One value for each block. */
ADSM_KERNEL(copy_sum, ADSM_IN(unsigned, sum), ADSM_OUT(unsigned, to))
{
	ADSM_THREADS {
		to[ADSM_BLOCK_X] = *sum;
	}
}

/* Block b of B adds one to elements b, b + B, … of n. @stride is the distance of elements in bytes. */
ADSM_KERNEL(add_bytes, ADSM_INOUT(unsigned char, p), ADSM_VAL(unsigned, n), ADSM_VAL(unsigned, stride))
{
	ADSM_THREADS {
		for (unsigned i = ADSM_BLOCK_X; i < n; i += ADSM_GRID_DIM_X)
			p[(unsigned long)i * stride]++;
	}
}

ADSM_KERNEL(add_words, ADSM_INOUT(unsigned, p), ADSM_VAL(unsigned, n), ADSM_VAL(unsigned, stride))
{
	ADSM_THREADS {
		for (unsigned i = ADSM_BLOCK_X; i < n; i += ADSM_GRID_DIM_X)
			p[(unsigned long)i * (stride / 4)]++;
	}
}
#endif
