/* SPDX-License-Identifier: MIT */
/*
 * graphs.h - functions in ten partitions of different sizes; each calls the functions that its node lists. The image of
 * graphs.c has them in partitions. test_graphs.c includes this file, too, and runs the same functions by ordinary
 * calls.
 */
#ifndef TEST_GRAPHS_H
#define TEST_GRAPHS_H

#include "overlays.h"

#define GRAPH_PARTITIONS 10

#ifndef GRAPH_FUNCTION
#define GRAPH_FUNCTION(k) ADSM_PARTITION(k) __attribute__((visibility("default")))
#endif

#define GRAPH_ALL(m) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9) m(10)
#define GRAPH_DECLARE(k) unsigned long graph_##k(const struct trace_node *node, unsigned long value);
GRAPH_ALL(GRAPH_DECLARE)

/* Instructions that all run, and that differ from each other: the compiler cannot make a loop of them. */
#define GRAPH_STEP(k, i) value = (value ^ value >> 29) * 0x9e3779b97f4a7c15u + (k) * 1000003ul + (i);
#define GRAPH_4(k, i) GRAPH_STEP(k, i) GRAPH_STEP(k, (i) + 1) GRAPH_STEP(k, (i) + 2) GRAPH_STEP(k, (i) + 3)
#define GRAPH_16(k, i) GRAPH_4(k, i) GRAPH_4(k, (i) + 4) GRAPH_4(k, (i) + 8) GRAPH_4(k, (i) + 12)
#define GRAPH_64(k, i) GRAPH_16(k, i) GRAPH_16(k, (i) + 16) GRAPH_16(k, (i) + 32) GRAPH_16(k, (i) + 48)

#define GRAPH_CASE(k) case k: got = graph_##k(next, value); break;

/* One call after the other in the text: each partition has a stub for all others. */
#define GRAPH_CALLS \
	for (unsigned i = 0; i < node->times; i++) \
		for (unsigned j = 0; j < node->n; j++) { \
			const struct trace_node *next = node->calls[j]; \
			unsigned long got = 0; \
\
			switch (next->who) { \
			GRAPH_ALL(GRAPH_CASE) \
			} \
			value = trace_mix(value, got); \
		}

/* @before and @after the calls: a partition that is returned to has to be there as a whole. */
#define GRAPH(k, before, after) \
	GRAPH_FUNCTION(k) unsigned long graph_##k(const struct trace_node *node, unsigned long value) \
	{ \
		before \
		GRAPH_CALLS \
		after \
		return value; \
	}

GRAPH(1, GRAPH_STEP(1, 0), GRAPH_STEP(1, 1))
GRAPH(2, GRAPH_64(2, 0), GRAPH_STEP(2, 64))
GRAPH(3, GRAPH_STEP(3, 0), GRAPH_64(3, 1))
GRAPH(4, GRAPH_16(4, 0), GRAPH_4(4, 16))
GRAPH(5, GRAPH_64(5, 0) GRAPH_64(5, 64) GRAPH_64(5, 128), GRAPH_64(5, 192) GRAPH_64(5, 256))
GRAPH(6, GRAPH_4(6, 0), GRAPH_16(6, 4))
GRAPH(7, GRAPH_4(7, 0), GRAPH_64(7, 4) GRAPH_64(7, 68) GRAPH_64(7, 132))
GRAPH(8, GRAPH_STEP(8, 0), GRAPH_STEP(8, 1))
GRAPH(9, GRAPH_64(9, 0) GRAPH_64(9, 64), GRAPH_16(9, 128))
GRAPH(10, GRAPH_16(10, 0) GRAPH_16(10, 16), GRAPH_16(10, 32) GRAPH_16(10, 48))

#endif
