/* SPDX-License-Identifier: MIT */
/* adsm_split.h - one call whose grid is split over several devices. */
#ifndef ADSM_SPLIT_H
#define ADSM_SPLIT_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Splitting a grid
 *
 * One call runs on several devices, and each device runs a part of the grid. The conventions of adsm.h hold.
 * docs/howto-split.md has examples, and the equivalents in CUDA, SYCL and StarPU.
 *
 *	// Block y of the grid writes 16 rows of the matrix c.
 *	adsmSplitRows rows = { c, 16 * n * sizeof(float) };
 *	adsmSplit split = ADSM_SPLIT_INIT;
 *
 *	split.rows = &rows;
 *	split.n_rows = 1;
 *	adsmCallSplit(multiply, adsmDim3(n / 16, n / 16, 1), adsmDim3(16, 16, 1), &split,
 *		      adsmIn(a), adsmIn(b), adsmOut(c), adsmVal(n));
 */

/**
 * Which bytes the blocks of the grid write. The index i of a block is its coordinate along the split dimension. This is
 * the first of z, y and x where the grid has more than one block; if there is none, x. All blocks with this index
 * together write at most the bytes from address + i * size to address + (i + 1) * size - 1. Bytes of this range beyond
 * the end of the object are ignored.
 */
typedef struct adsmSplitRows {
	void *address;			/* in an object that the kernel writes: the first byte for index 0 */
	size_t size;			/* bytes for one index, more than 0 */
} adsmSplitRows;

/** How a call is split. Initialize it with ADSM_SPLIT_INIT. */
typedef struct adsmSplit {
	size_t struct_size;		/* sizeof(adsmSplit) */
	const adsmSplitRows *rows;	/* one or more for each object that the kernel writes */
	size_t n_rows;			/* number of elements of rows: 1 to ADSM_SPLIT_ROWS_MAX */
	const int *devices;		/* the devices of the parts, in their order: indices or ADSM_DEVICE_CURRENT;
					   NULL: all devices */
	size_t n_devices;		/* number of elements of devices */
} adsmSplit;

#define ADSM_SPLIT_INIT { sizeof(adsmSplit), NULL, 0, NULL, 0 }
#define ADSM_SPLIT_ROWS_MAX 64

/**
 * Call a kernel with its grid split over devices, and wait until it has ended.
 *
 * The grid is split along the split dimension (adsmSplitRows). Each device runs one contiguous part. The numbers of
 * indices in two parts differ by at most one. The kernel sees the whole grid.
 *
 * The objects that the kernel writes move to the first device of the list. Without a list, the first device is the one
 * where the object of rows[0] is. Each other device gets copies of the objects that the kernel reads, and memory for
 * the objects that the kernel writes. The copies stay for later calls. When the kernel has ended, the library copies
 * the rows that the other devices have written to the first device. The objects are then as after adsmCallArgs() on the
 * first device. With the protocol batch call adsmSync() before the CPU reads them.
 *
 * If the kernel reads and writes an object, a block may read only the rows of its own part. Until the function returns,
 * no other thread may use the objects that the kernel writes.
 *
 * @kernel, @grid, @block, @args, @n: as for adsmCallArgs(). The access of each pointer must be known, by adsmIn(),
 *                                    adsmOut(), adsmInOut() or the kernel's declaration.
 * @split: the rows and the devices. The library does not change it, and does not use it after the function has
 *         returned.
 *
 * Returns 0, an error of adsmCallArgs(), or:
 *   -EINVAL   the rows are missing for an object that the kernel writes, or are not in such an object; a device does
 *             not exist or appears twice; the call is unnamed; or an object can neither be copied nor move
 *   -ENOTSUP  the kernel is a task, calls services, takes write-once objects, writes variables of its module, or may
 *             have atomic operations on objects; or the call has several parts, and a device is not of the backend
 *             cpu
 *   -ENOMEM   a device has no room for a copy of an object
 *   -ENODEV   a device was lost
 * If a part fails, the contents of the objects that the kernel writes are undefined. adsmSync() returns the error, too.
 */
ADSM_API int adsmCallSplitArgs(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmSplit *split,
			       const adsmArg *args, size_t n);

#ifdef __cplusplus
}

/** Call a kernel with its grid split, as the macro adsmCallSplit() of C does. */
template<typename... Args>
inline int adsmCallSplit(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmSplit *split, const Args &...args)
{
	const adsmArg list[] = { adsmArgMake_(ADSM_ARG_NONE, 0, NULL, 0), args... };

	return adsmCallSplitArgs(kernel, grid, block, split, list, sizeof(list) / sizeof(list[0]));
}
#else
/** Call adsmCallSplitArgs() with arguments like those of adsmCall(). */
#define adsmCallSplit(kernel, grid, block, split, ...) adsmCallSplitArgs(kernel, grid, block, split, \
	(const adsmArg[]){ { 0, 0, NULL, 0 }, __VA_ARGS__ }, \
	sizeof((const adsmArg[]){ { 0, 0, NULL, 0 }, __VA_ARGS__ }) / sizeof(adsmArg))
#endif

#endif
