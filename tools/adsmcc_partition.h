/* SPDX-License-Identifier: MIT */
/* adsmcc_partition.h - decides which function is in which partition. */
#ifndef ADSMCC_PARTITION_H
#define ADSMCC_PARTITION_H

#include "adsmcc_reach.h"

/* A section with this prefix and a number has functions of the partition with that number. */
#define PARTITION_SECTION ".adsm.partition."

struct partition_options {
	bool automatic;			/* functions without ADSM_PARTITION get partitions, too */
	uint32_t limit;			/* bytes of such a partition, at most */
	bool map;			/* print what each partition contains */
	const char *roots;		/* only functions with this prefix stay exported; NULL: all */
	const char *outside;		/* the section of this name is not loaded with the code; NULL: all are loaded */
};

/* Set partition and n_partitions: as the source says and, if options->automatic, by calls and sizes. */
void assign_partitions(struct link *link, const struct partition_options *options);

#endif
