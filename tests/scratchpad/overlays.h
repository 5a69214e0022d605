/* SPDX-License-Identifier: MIT */
/* overlays.h - what overlays.c and the tests that run it agree on. The former knows no header of the system. */
#ifndef TEST_OVERLAYS_H
#define TEST_OVERLAYS_H

#define TRACE_PARTITIONS 8

/* Of a function in partition who + 1: whom it calls, in order, and how often it does all of that. */
struct trace_node {
	unsigned who, times, n;
	const struct trace_node *const *calls;
};

/* What it gives back is made of what it is, what it was given, and what it got. */
static inline __attribute__((always_inline)) unsigned long trace_mix(unsigned long value, unsigned long other)
{
	return (value ^ other) * 0x9e3779b97f4a7c15u + (value >> 7);
}

struct pair {
	double one, other;
};

struct large {
	long word[9];
};

/* Written to by resident functions of the test. */
struct seen {
	const char *text;
	const int *table;
	long (*function)(long);
};

#endif
