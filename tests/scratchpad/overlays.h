/* SPDX-License-Identifier: MIT */
/* overlays.h - what overlays.c and the tests that run it agree on. The former knows no header of the system. */
#ifndef TEST_OVERLAYS_H
#define TEST_OVERLAYS_H

#define TRACE_PARTITIONS 8

/* A function: the number of its partition less 1; its callees in order; the number of repetitions of all of them. */
struct trace_node {
	unsigned who, times, n;
	const struct trace_node *const *calls;
};

/* What it gives back is made of what it is, what it was given, and what it got. */
static inline __attribute__((always_inline)) unsigned long trace_mix(unsigned long value, unsigned long other)
{
	return (value ^ other) * 0x9e3779b97f4a7c15u + (value >> 7);
}

/* Makes a function some kilobytes larger, and takes its value, of type long, back. */
#define LARGE_FORTH(i) large_ = (large_ ^ large_ >> 33) * 0x9e3779b97f4a7c15u + (i);
#define LARGE_BACK(i) large_ = (large_ - (i)) * 0xf1de83e19937733du; large_ ^= large_ >> 33;
#define LARGE_FOUR(m, i) m(i) m((i) + 1) m((i) + 2) m((i) + 3)
#define LARGE_MANY(m) LARGE_FOUR(m, 0) LARGE_FOUR(m, 4) LARGE_FOUR(m, 8) LARGE_FOUR(m, 12) LARGE_FOUR(m, 16) \
	LARGE_FOUR(m, 20) LARGE_FOUR(m, 24) LARGE_FOUR(m, 28)
#define LARGE_FOUR_BACK(m, i) m((i) + 3) m((i) + 2) m((i) + 1) m(i)
#define LARGE_MANY_BACK(m) LARGE_FOUR_BACK(m, 28) LARGE_FOUR_BACK(m, 24) LARGE_FOUR_BACK(m, 20) \
	LARGE_FOUR_BACK(m, 16) LARGE_FOUR_BACK(m, 12) LARGE_FOUR_BACK(m, 8) LARGE_FOUR_BACK(m, 4) LARGE_FOUR_BACK(m, 0)
#define LARGE_TIMES(x) x x x x
#define LARGE(value) { \
		unsigned long large_ = (unsigned long)(value); \
\
		LARGE_TIMES(LARGE_MANY(LARGE_FORTH)) \
		__asm__("" : "+r"(large_)); \
		LARGE_TIMES(LARGE_MANY_BACK(LARGE_BACK)) \
		(value) = (__typeof__(value))large_; \
	}

struct pair {
	double one, other;
};

struct large {
	long word[9];
};

/* Elsewhere it is no register's, and functions of the compiler's are called for it. */
#ifdef __x86_64__
typedef long double widest;
#else
typedef double widest;
#endif

/* Written to by resident functions of the test. */
struct observed {
	const char *text;
	const int *table;
	long (*function)(long);
};

#endif
