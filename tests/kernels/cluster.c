/* SPDX-License-Identifier: MIT */
/* cluster.c - kernels for tests of clusters' nodes: native code, which alone can do that. */
#include <adsm_kernel.h>

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
extern int access(const char *, int), creat(const char *, unsigned), close(int), gettid(void);
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

/* One block stores somewhere. */
ADSM_KERNEL(store, ADSM_IN(unsigned, p), ADSM_VAL(long, bytes), ADSM_VAL(int, block))
{
	ADSM_THREADS {
		if (ADSM_BLOCK_X == block)
			*(volatile unsigned *)((unsigned long)p + (unsigned long)bytes) = 1;
	}
}
#endif
