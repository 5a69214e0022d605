/* SPDX-License-Identifier: MIT */
/*
 * traces.h - the calls in the tests of the partition manager (OPELL, Table 2), and the number of DMA transfers that
 * they cause. For a function in partition k + 1: the callees, in order, and the number of repetitions of all of them.
 * The first caller is in no partition.
 */
#ifndef TEST_TRACES_H
#define TEST_TRACES_H

#include <stddef.h>
#include <stdint.h>

#include "overlays.h"

/* The columns: sub-buffers, policy, victim entry; with one sub-buffer the policies do the same. */
enum { TRACE_COLUMNS = 10 };

struct trace {
	const char *name;
	const struct trace_node *root;	/* in no partition: its calls count */
	uint64_t calls;
	uint32_t loads[TRACE_COLUMNS];
};

#define LEAF(k) { .who = (k), .times = 1 }
static const struct trace_node leaf0 = LEAF(0), leaf1 = LEAF(1), leaf2 = LEAF(2), leaf3 = LEAF(3), leaf4 = LEAF(4),
	leaf5 = LEAF(5);

#define NODE(name, k, repeat, ...) \
	static const struct trace_node *const name##_calls[] = { __VA_ARGS__ }; \
	static const struct trace_node name = { (k), (repeat), sizeof(name##_calls) / sizeof(name##_calls[0]), \
						 name##_calls }

NODE(mb1_2, 0, 100, &leaf0, &leaf1);
NODE(mb1_3, 0, 100, &leaf0, &leaf1, &leaf2);
NODE(mb1_5, 0, 100, &leaf0, &leaf1, &leaf2, &leaf3, &leaf4);
NODE(chain4_2, 2, 1, &leaf3);
NODE(chain4_1, 1, 1, &chain4_2);
NODE(chain4_0, 0, 1, &chain4_1);
NODE(mb2, 0, 1, &chain4_0);
NODE(mb3_0, 0, 1, &leaf1);
NODE(mb3, 0, 10, &mb3_0);
NODE(mb5_4, 4, 1, &leaf5);
NODE(mb5_3, 3, 1, &mb5_4);
NODE(mb5_2, 2, 1, &mb5_3);
NODE(mb5_1, 1, 1, &mb5_2);
NODE(mb5_0, 0, 1, &mb5_1);
NODE(mb5, 0, 10, &mb5_0);
NODE(mb6_7, 7, 10, &leaf1, &leaf2);
NODE(mb6_6, 6, 1, &mb6_7);
NODE(mb6_5, 5, 1, &mb6_6);
NODE(mb6_4, 4, 1, &mb6_5);
NODE(mb6_3, 3, 1, &mb6_4);
NODE(mb6_2, 2, 1, &mb6_3);
NODE(mb6_1, 1, 1, &mb6_2);
NODE(mb6_0, 0, 1, &mb6_1);
NODE(mb6, 0, 10, &mb6_0);
NODE(mb7_2, 2, 1, &leaf3);
NODE(mb7_1, 1, 10, &mb7_2);
NODE(mb7_0, 0, 1, &mb7_1);
NODE(mb7, 0, 10, &mb7_0);
NODE(mb8_3, 3, 88, &leaf0, &leaf1);
NODE(mb8_2, 2, 1, &mb8_3);
NODE(mb8_1, 1, 1, &mb8_2);
NODE(mb8_0, 0, 1, &mb8_1);
NODE(mb8, 0, 1, &mb8_0);
NODE(mb8_350_3, 3, 350, &leaf0, &leaf1);
NODE(mb8_350_2, 2, 1, &mb8_350_3);
NODE(mb8_350_1, 1, 1, &mb8_350_2);
NODE(mb8_350_0, 0, 1, &mb8_350_1);
NODE(mb8_350, 0, 1, &mb8_350_0);
NODE(ping_0, 0, 100, &leaf1);
NODE(ping, 0, 1, &ping_0);

static const struct {
	uint32_t n_buffers;
	int lru, victim;
} trace_columns[TRACE_COLUMNS] = {
	{ 1, 0, 0 }, { 1, 0, 1 }, { 2, 0, 0 }, { 2, 0, 1 }, { 2, 1, 0 }, { 2, 1, 1 }, { 4, 0, 0 }, { 4, 0, 1 },
	{ 4, 1, 0 }, { 4, 1, 1 },
};

static const struct trace traces[] = {
	/*                                  1   1v   2m  2mv   2l  2lv   4m  4mv   4l  4lv */
	{ "MB1", &mb1_2, 200,           { 200, 200,   2,   2,   2,   2,   2,   2,   2,   2 } },
	{ "MB1 k=3", &mb1_3, 300,       { 300, 300, 300, 300, 300, 300,   3,   3,   3,   3 } },
	{ "MB1 k=5", &mb1_5, 500,       { 500, 500, 500, 500, 500, 500, 500, 500, 500, 500 } },
	{ "MB2", &mb2, 4,               {   7,   6,   6,   5,   6,   5,   4,   4,   4,   4 } },
	{ "MB3", &mb3, 20,              {  21,  11,   2,   2,   2,   2,   2,   2,   2,   2 } },
	{ "MB5", &mb5, 60,              { 101,  91,  82,  72,  82,  72,  44,  34,  44,  34 } },
	{ "MB6", &mb6, 280,             { 541, 331, 342, 142, 332, 142, 124,  99, 124, 104 } },
	{ "MB7", &mb7, 220,             { 421, 321, 231, 140, 222, 122,   4,   4,   4,   4 } },
	{ "MB8", &mb8, 180,             { 359, 182, 184,   8, 183,   8,   4,   4,   4,   4 } },
	{ "MB8 K=350", &mb8_350, 704,   { 1407, 706, 707,  8, 707,   8,   4,   4,   4,   4 } },
	{ "PingPong", &ping, 101,       { 201, 101,   2,   2,   2,   2,   2,   2,   2,   2 } },
};

#define N_TRACES (sizeof(traces) / sizeof(traces[0]))

/* What such calls must give back, worked out by ordinary calls. */
static inline uint64_t trace_value(const struct trace_node *node, uint64_t value)
{
	value = trace_mix(value, node->who + 1);
	for (uint32_t i = 0; i < node->times; i++)
		for (uint32_t j = 0; j < node->n; j++)
			value = trace_mix(value, trace_value(node->calls[j], value));
	return value;
}

#endif
