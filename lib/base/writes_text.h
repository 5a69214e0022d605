/* SPDX-License-Identifier: MIT */
/*
 * writes_text.h - the section adsm_writes of a module: which bytes its kernels certainly write.
 *
 * The section adsm_writes has a line for each store: the kernel's name in adsm_kernels, the parameter's index, the
 * bytes that a thread writes, the distance from the parameter's address, conditions. All threads of the launch for
 * which the conditions hold do the store. Each part is separated by a blank from the one before.
 *
 * A distance is a sum of products, such as +4*bx*sx+4*tx-8. Their factors:
 *	tx, bx, sx, gx	threadIdx.x, blockIdx.x, blockDim.x, gridDim.x; the same for y and z
 *	k0 to k3	the number of a loop's turn, from 0
 *	p3.0.4		the signed integer of 4 bytes at offset 0 of parameter 3
 *
 * A condition is a letter and a sum. g: the sum is at least 0. e: it is 0. n: it is not 0. s, u, S, U: the sum must be
 * in the range of int32_t, uint32_t, int64_t, uint64_t for all threads that are counted, and in all turns of their
 * loops up to those that are counted; otherwise nothing is known of the store. A digit after g or n: the loop with this
 * number has a turn only if this is true in the turn and in all before it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A launch. value() gets a signed integer of a parameter; false: it is not known. */
struct adsm_writes_launch {
	const uint32_t *grid, *block;
	bool (*value)(const void *arg, uint32_t param, uint32_t offset, uint32_t size, int64_t *ret_value);
	const void *arg;
};

#define ADSM_WRITES_VARIABLES 10	/* threadIdx, blockIdx, k0 to k3 */
#define ADSM_WRITES_LOOPS 6		/* the first loop's */
#define ADSM_WRITES_LIMIT ((int64_t)1 << 61)	/* of all numbers: sums of them do not overflow */

/* A sum with the numbers of a launch: a constant, and multiples of variables. */
struct adsm_writes_sum {
	int64_t constant, factors[ADSM_WRITES_VARIABLES];
};

struct adsm_writes_condition {
	char kind;			/* a letter of writes.h */
	int loop;			/* the variable that counts its turns; -1: it is not one of turns */
	struct adsm_writes_sum sum;
};

static inline bool adsm_writes_is_small(__int128 value)
{
	return value <= ADSM_WRITES_LIMIT && value >= -ADSM_WRITES_LIMIT;
}

/* Is it a text of such lines? */
bool adsm_writes_are_valid(const char *text);
/* The first line of the text for a parameter of a kernel; NULL: it has none. */
const char *adsm_writes_find(const char *text, const char *kernel, uint32_t param);

/*
 * Each function reads a part of a line, and advances *at to what follows. Returns false: the line is damaged, or a
 * number is not known or too large. @launch: NULL: only the form matters.
 */
/* Skip the kernel's name, and read the parameter's index and the number of bytes. */
bool adsm_writes_read_head(const char **at, int64_t *ret_param, int64_t *ret_size);
bool adsm_writes_read_sum(const char **at, const struct adsm_writes_launch *launch, struct adsm_writes_sum *ret_sum);
/* A condition: a letter, perhaps a digit, a sum. */
bool adsm_writes_read_condition(const char **at, const struct adsm_writes_launch *launch,
				struct adsm_writes_condition *ret);
