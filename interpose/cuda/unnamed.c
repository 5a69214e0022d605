/* SPDX-License-Identifier: MIT */
/*
 * unnamed.c - commands that the driver gets as they are: graphs, launches of old CUDA versions, one kernel on several
 * devices, batches of copies or decompressions. Each is an unnamed call: it may use every object of its stream's
 * context, so all of them are released. A batch may also use objects of other contexts, and the kernel on several
 * devices runs in several contexts.
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

/* What the driver gets, with these parameters. */
#define ENQUEUE(n, name)				\
	ADSM_CU(name, PARAMS_##n);			\
	static int enqueue_##name(void *arg)		\
	{						\
		const word *w = arg;			\
							\
		return real_cu(name)(VALUES_##n);	\
	}

/* A row: how many parameters the function has, and which of them (a, b, …) is its stream. */
#define COMMAND(n, name, stream, per_thread)									\
	ENQUEUE(n, name)											\
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

/* ---- commands that may use objects of several contexts */

/* @add: adds the homes to the list, by the words of the command. */
#define WIDE_COMMAND(n_words, name, stream_, per_thread, add)				\
	ENQUEUE(n_words, name)								\
	ADSM_WRAPPER CUresult name PARAMS_##n_words					\
	{										\
		CUstream stream = adsm_cuda_stream((CUstream)(stream_), per_thread);	\
		struct adsm_home *own = adsm_cuda_concerned_by(stream);			\
		struct adsm_cuda_others others = { .n = 0 };				\
		word words[] = { WORDS_##n_words };					\
											\
		if (adsm_driver_active() && !(own && adsm_n_homes == 1))		\
			add(&others, own, stream, words);				\
		return adsm_cuda_unnamed_with(&others, stream, enqueue_##name, words);	\
	}
#define WIDE_COMMANDS(n, name, stream, add)			\
	WIDE_COMMAND(n, name, stream, false, add)		\
	WIDE_COMMAND(n, name##_ptsz, stream, true, add)

/* CUDA_LAUNCH_PARAMS. */
struct launch {
	CUfunction function;
	unsigned grid[3], block[3], shared;
	CUstream stream;
	void **params;
};

/* The first launch's stream stands for the command. */
static CUstream first_stream(word list, word n)
{
	return list && (unsigned)n ? ((const struct launch *)list)->stream : NULL;
}

static void add_launches(struct adsm_cuda_others *others, struct adsm_home *own, CUstream stream, const word *w)
{
	const struct launch *list = (const struct launch *)w[0];

	(void)stream;
	for (unsigned i = 1; list && i < (unsigned)w[1]; i++)
		adsm_cuda_other(others, own, adsm_cuda_concerned_by(list[i].stream), list[i].stream);
}

WIDE_COMMAND(3, cuLaunchCooperativeKernelMultiDevice, first_stream(a, b), false, add_launches)

/* An address that a batch names. */
static void add_address(struct adsm_cuda_others *others, struct adsm_home *own, CUstream stream, CUdeviceptr p)
{
	struct adsm_driver_place place;

	if (adsm_driver_find((void *)(uintptr_t)p, &place))
		adsm_cuda_other(others, own, place.home, stream);
}

static void add_copies(struct adsm_cuda_others *others, struct adsm_home *own, CUstream stream, const word *w)
{
	const CUdeviceptr *dsts = (const CUdeviceptr *)w[0], *srcs = (const CUdeviceptr *)w[1];

	for (size_t i = 0; dsts && srcs && i < w[3]; i++) {
		add_address(others, own, stream, dsts[i]);
		add_address(others, own, stream, srcs[i]);
	}
}

WIDE_COMMANDS(9, cuMemcpyBatchAsync, i, add_copies)
WIDE_COMMANDS(8, cuMemcpyBatchAsync_v2, h, add_copies)

/* CUDA_MEMCPY3D_BATCH_OP. */
struct box_copy {
	struct { int type; CUdeviceptr p; uint64_t rest[3]; } src, dst;	/* type 1: p is an address */
	size_t extent[3];
	int order;
	unsigned flags;
};

static void add_boxes(struct adsm_cuda_others *others, struct adsm_home *own, CUstream stream, const word *w)
{
	const struct box_copy *list = (const struct box_copy *)w[1];

	for (size_t i = 0; list && i < w[0]; i++) {
		if (list[i].dst.type == 1)
			add_address(others, own, stream, list[i].dst.p);
		if (list[i].src.type == 1)
			add_address(others, own, stream, list[i].src.p);
	}
}

WIDE_COMMANDS(5, cuMemcpy3DBatchAsync, e, add_boxes)
WIDE_COMMANDS(4, cuMemcpy3DBatchAsync_v2, d, add_boxes)

/* CUmemDecompressParams. */
struct decompression {
	size_t src_size, dst_size;
	uint32_t *written;
	const void *src;
	void *dst;
	int algorithm;
	char padding[20];
};

static void add_decompressions(struct adsm_cuda_others *others, struct adsm_home *own, CUstream stream, const word *w)
{
	const struct decompression *list = (const struct decompression *)w[0];

	for (size_t i = 0; list && i < w[1]; i++) {
		add_address(others, own, stream, (uintptr_t)list[i].dst);
		add_address(others, own, stream, (uintptr_t)list[i].src);
		add_address(others, own, stream, (uintptr_t)list[i].written);
	}
}

WIDE_COMMANDS(5, cuMemBatchDecompressAsync, e, add_decompressions)
