/* SPDX-License-Identifier: MIT */
/* trace_kernels.c - the traces of traces.h as kernels: walk_0 to walk_7, in partitions 1 to 8, call the functions that
 * their nodes list. A core has no room for all of their code. */
#include <adsm_kernel.h>

#include "overlays.h"

/* A node is words: the first three fields of struct trace_node, and the place of each of its calls. */

typedef const ADSM_SPACE_GLOBAL unsigned *nodes_t;

unsigned long walk_0(nodes_t nodes, unsigned at, unsigned long value);
unsigned long walk_1(nodes_t nodes, unsigned at, unsigned long value);
unsigned long walk_2(nodes_t nodes, unsigned at, unsigned long value);
unsigned long walk_3(nodes_t nodes, unsigned at, unsigned long value);
unsigned long walk_4(nodes_t nodes, unsigned at, unsigned long value);
unsigned long walk_5(nodes_t nodes, unsigned at, unsigned long value);
unsigned long walk_6(nodes_t nodes, unsigned at, unsigned long value);
unsigned long walk_7(nodes_t nodes, unsigned at, unsigned long value);

/* Stays, and calls what is loaded: some 150 bytes. */
__attribute__((noinline)) static unsigned long call_one(nodes_t nodes, unsigned at, unsigned who, unsigned long value)
{
	return who == 0 ? walk_0(nodes, at, value) : who == 1 ? walk_1(nodes, at, value) :
		who == 2 ? walk_2(nodes, at, value) : who == 3 ? walk_3(nodes, at, value) :
		who == 4 ? walk_4(nodes, at, value) : who == 5 ? walk_5(nodes, at, value) :
		who == 6 ? walk_6(nodes, at, value) : walk_7(nodes, at, value);
}

/* Plain calls, one after the other in the text: each partition has stubs for all others. */
#define WALK_CALLS(nodes, at, value, who, one) \
	for (unsigned i = 0; i < nodes[at + 1]; i++) { \
		for (unsigned j = 0; j < nodes[at + 2]; j++) { \
			const unsigned next = nodes[at + 3 + j], who = nodes[next]; \
\
			value = trace_mix(value, one); \
		} \
	}
#define CALL_ONE (who == 0 ? walk_0(nodes, next, value) : who == 1 ? walk_1(nodes, next, value) : \
		  who == 2 ? walk_2(nodes, next, value) : who == 3 ? walk_3(nodes, next, value) : \
		  who == 4 ? walk_4(nodes, next, value) : who == 5 ? walk_5(nodes, next, value) : \
		  who == 6 ? walk_6(nodes, next, value) : walk_7(nodes, next, value))

#define WALK(k, partition) \
	ADSM_PARTITION(partition) unsigned long walk_##k(nodes_t nodes, unsigned at, unsigned long value) \
	{ \
		LARGE(value) \
		value = trace_mix(value, k + 1); \
		WALK_CALLS(nodes, at, value, who, CALL_ONE) \
		return value; \
	}
WALK(0, 1)
WALK(1, 2)
WALK(2, 3)
WALK(3, 4)
WALK(4, 5)
WALK(5, 6)
WALK(6, 7)
WALK(7, 8)

__attribute__((noinline)) static unsigned long root(nodes_t nodes)
{
	unsigned long value = trace_mix(1, nodes[0] + 1);

	WALK_CALLS(nodes, 0, value, who, call_one(nodes, next, who, value))
	return value;
}

/* Kernels of their own, since costs are counted by kernel. */
#define ONE ADSM_THREADS { *value = root(nodes); }
ADSM_KERNEL(mb1, ADSM_IN(unsigned, nodes), ADSM_OUT(unsigned long, value)) { ONE }
ADSM_KERNEL(mb1_3, ADSM_IN(unsigned, nodes), ADSM_OUT(unsigned long, value)) { ONE }
ADSM_KERNEL(mb1_5, ADSM_IN(unsigned, nodes), ADSM_OUT(unsigned long, value)) { ONE }
ADSM_KERNEL(mb2, ADSM_IN(unsigned, nodes), ADSM_OUT(unsigned long, value)) { ONE }
ADSM_KERNEL(mb3, ADSM_IN(unsigned, nodes), ADSM_OUT(unsigned long, value)) { ONE }
ADSM_KERNEL(mb5, ADSM_IN(unsigned, nodes), ADSM_OUT(unsigned long, value)) { ONE }
ADSM_KERNEL(mb6, ADSM_IN(unsigned, nodes), ADSM_OUT(unsigned long, value)) { ONE }
ADSM_KERNEL(mb7, ADSM_IN(unsigned, nodes), ADSM_OUT(unsigned long, value)) { ONE }
ADSM_KERNEL(mb8, ADSM_IN(unsigned, nodes), ADSM_OUT(unsigned long, value)) { ONE }
ADSM_KERNEL(mb8_350, ADSM_IN(unsigned, nodes), ADSM_OUT(unsigned long, value)) { ONE }
ADSM_KERNEL(ping, ADSM_IN(unsigned, nodes), ADSM_OUT(unsigned long, value)) { ONE }

/* Fits, so nothing is left of the others' code when it has run. */
ADSM_KERNEL(fits, ADSM_INOUT(unsigned long, value))
{
	ADSM_THREADS {
		value[ADSM_BLOCK_X]++;
	}
}
