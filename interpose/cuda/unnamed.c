/* SPDX-License-Identifier: MIT */
/*
 * unnamed.c - commands that the driver gets as they are: graphs, launches of old CUDA versions, one kernel on several
 * devices, batches of copies. Each is an unnamed call: it may use every object of the current context, so all of them
 * are released.
 */
#include "command.h"
#include "home.h"
#include "words.h"

#define VALUES_1 w[0]
#define VALUES_2 VALUES_1, w[1]
#define VALUES_3 VALUES_2, w[2]
#define VALUES_4 VALUES_3, w[3]
#define VALUES_5 VALUES_4, w[4]
#define VALUES_8 VALUES_5, w[5], w[6], w[7]
#define VALUES_9 VALUES_8, w[8]

/* A row: how many parameters the function has, and which of them (a, b, …) is its stream. */
#define COMMAND(n, name, stream, per_thread)									\
	ADSM_CU(name, PARAMS_##n);										\
	static int enqueue_##name(void *arg)									\
	{													\
		const word *w = arg;										\
														\
		return real_cu(name)(VALUES_##n);								\
	}													\
	ADSM_WRAPPER CUresult name PARAMS_##n									\
	{													\
		word words[] = { WORDS_##n };									\
														\
		return adsm_cuda_unnamed(adsm_cuda_stream((CUstream)(stream), per_thread), enqueue_##name, words); \
	}
#define COMMANDS(n, name, stream)	\
	COMMAND(n, name, stream, false)	\
	COMMAND(n, name##_ptsz, stream, true)

COMMANDS(2, cuGraphLaunch, b)

/* Of these, only cuLaunchGridAsync() has a stream. */
COMMAND(1, cuLaunch, NULL, false)
COMMAND(3, cuLaunchGrid, NULL, false)
COMMAND(4, cuLaunchGridAsync, d, false)
COMMAND(3, cuLaunchCooperativeKernelMultiDevice, NULL, false)

COMMANDS(9, cuMemcpyBatchAsync, i)
COMMANDS(8, cuMemcpyBatchAsync_v2, h)
COMMANDS(5, cuMemcpy3DBatchAsync, e)
COMMANDS(4, cuMemcpy3DBatchAsync_v2, d)
