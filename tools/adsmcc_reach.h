/* SPDX-License-Identifier: MIT */
/* adsmcc_reach.h - finds the sections of an object that an image needs, and the references between them. */
#ifndef ADSMCC_REACH_H
#define ADSMCC_REACH_H

#include "adsmcc_machine.h"

struct link {
	struct object object;
	bool *reached;			/* by section: an exported function needs it */
	uint32_t *partition;		/* by section: the partition of its code, if it is reached */
	uint32_t n_partitions;
};

/* Set reached. Report an error for everything that cannot be in an image. */
void find_reached(struct link *link);
/* What a relocation of @section refers to. Returns the kind. *ret_section: the target's section, 0 if the target is not
 * in the object; *ret_offset: its offset in the section. */
enum reference_kind link_reference(const struct link *link, uint32_t section,
				   const struct object_relocation *relocation, uint32_t *ret_section,
				   int64_t *ret_offset);
void link_error(const struct link *link, uint32_t section, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
