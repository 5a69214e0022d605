/* SPDX-License-Identifier: MIT */
/* vector.c - see vector.h. */
#include "vector.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *adsm_ptx_vector_add(struct adsm_ptx_vector *vector, size_t size)
{
	char *item;

	if (vector->n == vector->room) {
		const size_t room = vector->room + vector->room / 2 + 8;
		char *items;

		if (room > SIZE_MAX / 2 / size)
			return NULL;
		items = realloc(vector->items, room * size);
		if (!items)
			return NULL;
		vector->items = items;
		vector->room = room;
	}
	item = vector->items + vector->n++ * size;
	return memset(item, 0, size);
}

void adsm_ptx_vector_finish(struct adsm_ptx_vector *vector)
{
	free(vector->items);
	*vector = (struct adsm_ptx_vector){ 0 };
}
