/* SPDX-License-Identifier: MIT */
/* scratch.h - what tests of streams and requests work with: text in one state, rows of sizes, a file, a pipe. */
#ifndef INTERPOSE_SCRATCH_H
#define INTERPOSE_SCRATCH_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../sanitizers.h"
#include "conform.h"
#include "pair.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static unsigned *other;			/* an object that only kernels read or write */

static inline void set_up(void)
{
	start();
	other = words(1000, 0);
}

enum state { DIRTY, READ_ONLY, INVALID };
static const char *const state_names[] = { "Dirty", "ReadOnly", "Invalid" };

static inline void run_kernel(void)
{
	for (int i = 0; i < 2; i++)
		CALL("increment_bytes", size_of_one, adsmPtr(shared + (size_t)i * size_of_one),
		     adsmVal((unsigned)size_of_one));
	SETTLE();
}

/* A call that may use every object: none stays open. */
static inline void close_all(void)
{
	CALL("increment_any", 1000, adsmPtr(other), adsmVal(1000u));
	SETTLE();
}

static size_t string_end = SIZE_MAX;

/* Text with a line end here and there. */
static inline unsigned char text(size_t i)
{
	if (i == string_end)
		return 0;
	return i % 83 == 82 ? '\n' : (unsigned char)('!' + i * 31 % 90);
}

static inline void bring(enum state state)
{
	for (size_t i = 0; i < SIZE; i++) {
		plain[i] = text(i);
		shared[i] = (unsigned char)(text(i) - (state != DIRTY));
	}
	if (state != DIRTY)
		run_kernel();
	for (size_t i = 0; i < SIZE && state == READ_ONLY; i += PAGE)
		(void)*(volatile unsigned char *)(shared + i);
}

/* Every byte is what it is in ordinary memory; after a kernel, one more: so the device had them too. */
static inline void compare(bool after_kernel)
{
	if (after_kernel)
		run_kernel();
	for (size_t i = 0; i < SIZE; i++)
		if (shared[i] != (unsigned char)(plain[i] + after_kernel))
			FAIL("%s: byte %zu of %zu is %d, not %d%s", doing, i, SIZE, shared[i],
			     (unsigned char)(plain[i] + after_kernel), after_kernel ? ", after a kernel" : "");
}

/* How much, from some offset: the last row ends in the second object. */
static inline size_t row_size(int row, size_t offset)
{
	const size_t sizes[] = { 0, 1, 100, block - 1, block, block + 1, size_of_one - offset, SIZE - offset - 7 };

	return row < (int)COUNT(sizes) ? sizes[row] : SIZE_MAX;
}

#define FOR_ROWS(row, offset) for (int row = 0; row_size(row, offset) != SIZE_MAX; row++)
#define FOR_STATES(state) for (enum state state = DIRTY; state <= INVALID; state++)

/* ---- files */

static const struct buffering {
	const char *name;
	int mode;
	size_t size;
} bufferings[] = {
	{ "full", _IOFBF, 0 }, { "line", _IOLBF, 0 }, { "no", _IONBF, 0 }, { "a large", _IOFBF, (size_t)2 << 20 },
	{ "a tiny", _IOFBF, 64 },
};

#define FOR_BUFFERINGS(b) for (const struct buffering *b = bufferings; b < bufferings + COUNT(bufferings); b++)

static FILE *scratch;

static inline FILE *open_scratch(const char *mode, const struct buffering *b)
{
	static char buffer[(size_t)2 << 20];
	char path[64];
	FILE *file;

	if (!scratch)
		scratch = tmpfile();
	CHECK(scratch);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(scratch));
	file = fopen(path, mode);
	CHECK(file);
	if (b && (b->mode != _IOFBF || b->size))
		CHECK(!setvbuf(file, b->size ? buffer : NULL, b->mode, b->size));
	return file;
}

static inline unsigned char file_byte(size_t i)
{
	return (unsigned char)(i * 13 + i / 256);
}

static inline void make_file(size_t size)
{
	FILE *file = open_scratch("w", NULL);

	for (size_t i = 0; i < size; i++)
		CHECK(putc(file_byte(i), file) != EOF);
	CHECK(!fclose(file));
}

static inline FILE *open_pipe(int *ret_writer, const struct buffering *b)
{
	int ends[2];
	FILE *file;

	CHECK(!pipe(ends));
	file = fdopen(ends[0], "r");
	CHECK(file);
	if (b->mode != _IOFBF)
		CHECK(!setvbuf(file, NULL, b->mode, 0));
	*ret_writer = ends[1];
	return file;
}

#endif
