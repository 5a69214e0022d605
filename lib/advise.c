/* SPDX-License-Identifier: MIT */
/* advise.c - what would make the program faster. */
#include "advise.h"

struct adsm_advice *adsm_advice_make(const struct adsm_object *object)
{
	return NULL;
}

void adsm_advice_end(struct adsm_advice *advice)
{
}

int adsm_advice_view(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot view)
{
	return 0;
}

bool adsm_advice_touch(struct adsm_object *object, uintptr_t address, bool write)
{
	return false;
}

void adsm_advice_access(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_block_event event)
{
}

void adsm_advice_called(struct adsm_object *object, enum adsm_block_event event)
{
}

void *adsm_advice_before_fetch(struct adsm_object *object, size_t offset, size_t size)
{
	return NULL;
}

void adsm_advice_after_fetch(struct adsm_object *object, void *before, size_t offset, size_t size, bool arrived)
{
}

void adsm_advice_evicted(struct adsm_object *object, uint32_t first, uint32_t n)
{
}

unsigned adsm_advice_list(const struct adsm_record *record, struct adsm_advice_item *ret_items, unsigned n)
{
	return 0;
}
