/* SPDX-License-Identifier: MIT */
/* vector.h - arrays that grow while the parser reads a list. */
#pragma once

#include <stddef.h>

struct adsm_ptx_vector {
	char *items;			/* of malloc() */
	size_t n, room;
};

/* Add a zeroed item. All items of a vector have the same size. NULL: there is no memory. */
void *adsm_ptx_vector_add(struct adsm_ptx_vector *vector, size_t size);
void adsm_ptx_vector_finish(struct adsm_ptx_vector *vector);
