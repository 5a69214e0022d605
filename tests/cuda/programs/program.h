/* SPDX-License-Identifier: MIT */
/* program.h - what the programs' files share: values, checks, a sum of results; and the modes. */
#ifndef TEST_CUDA_PROGRAM_H
#define TEST_CUDA_PROGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../check.h"
#include "api.h"

#define BLOCK 256
#define GRID(n) (((unsigned)(n) + BLOCK - 1) / BLOCK)
#define SPINS 20000000ul
#define N(array) (sizeof(array) / sizeof((array)[0]))

static inline unsigned value(size_t i)
{
	return (unsigned)i * 2654435761u + 12345u;
}

void add_to_sum(const void *p, size_t size);
void *host(size_t size);
unsigned *host_values(size_t n);
void increment(unsigned *p, unsigned n, stream stream);
void late_increment(unsigned *p, unsigned n, stream stream);
/* Each of @n values at @p is what it was made with, and @more. */
void check_values(const unsigned *p, size_t n, unsigned more, const char *what);

void do_copies(void), do_redundant(void), do_readback(void), do_pipeline(void), do_callbacks(void),
	do_pool(void), do_neighbours(void), do_pitch(void), do_memsets(void), do_launches(void), do_graphs(void),
	do_ipc(void), do_graph_copies(void), do_reset(void), do_leave(void), do_touch(void), do_touch_redundant(void),
	do_touch_files(void), do_touch_memory(void), do_touch_threads(void), do_touch_pipeline(void),
	do_touch_events(void), do_touch_at_once(void), do_touch_callbacks(void), do_touch_pool(void),
	do_touch_neighbours(void), do_touch_reuse(void), do_touch_pitch(void), do_touch_memsets(void),
	do_touch_sides(void), do_touch_launches(void), do_touch_parameters(void), do_touch_graphs(void),
	do_touch_graph_copies(void), do_touch_leave(void), do_touch_many(void);

/* A mode that copies, and one that touches. */
#define BOTH(name) \
	void do_##name(void) { name(false); } \
	void do_touch_##name(void) { name(true); }

#endif
