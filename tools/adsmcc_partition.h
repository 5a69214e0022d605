/* SPDX-License-Identifier: MIT */
/* adsmcc_partition.h - which function is in which partition. */
#ifndef ADSMCC_PARTITION_H
#define ADSMCC_PARTITION_H

#include "adsmcc_reach.h"

/* Sections of this name and a number have the functions of that partition. */
#define PARTITION_SECTION ".adsm.partition."

struct partition_options {
	bool automatic;			/* functions that say nothing get partitions, too */
	uint32_t limit;			/* of their size, in bytes */
	bool map;			/* print what is where */
	const char *roots;		/* of exported functions only those whose names begin so are; NULL: all */
	const char *outside;		/* what is in sections of this name is not loaded with the code; NULL: none */
};

/* Fill in partition and n_partitions: what the source says, and where it is asked for what calls and sizes say. */
void assign_partitions(struct link *link, const struct partition_options *options);

#endif
