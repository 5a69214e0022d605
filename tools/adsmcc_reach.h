/* SPDX-License-Identifier: MIT */
/* adsmcc_reach.h - what is being linked into an image, and what of an object refers to what. */
#ifndef ADSMCC_REACH_H
#define ADSMCC_REACH_H

#include "adsmcc_machine.h"

struct link {
	struct object object;
	bool *reached;			/* by section: something exported needs it */
	uint32_t *partition;		/* by section, of code that is reached */
	uint32_t n_partitions;
};

/* Mark what exported functions need. What no image can have is an error. */
void find_reached(struct link *link);
/* The section that a relocation of @section refers to, 0 where that is not in the object; where in it; and how. */
enum reference_kind link_reference(const struct link *link, uint32_t section,
				   const struct object_relocation *relocation, uint32_t *ret_section,
				   int64_t *ret_offset);
void link_error(const struct link *link, uint32_t section, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
