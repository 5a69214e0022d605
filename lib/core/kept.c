/* SPDX-License-Identifier: MIT */
/* kept.c - the table of kept memory, oldest first. */
#include <string.h>

#include "core/kept.h"
#include "core/options.h"

#define MAX_KEPT 1024

static struct adsm_kept table[MAX_KEPT];
static size_t n_table;
static _Atomic size_t sizes[ADSM_MAX_DEVICES];

size_t adsm_kept_size(const struct adsm_home *home)
{
	return atomic_load_explicit(&sizes[home->index], memory_order_relaxed);
}

bool adsm_kept_put(const struct adsm_kept *kept)
{
	if (n_table == MAX_KEPT || kept->span > adsm_core_options.keep ||
	    adsm_kept_size(kept->home) > adsm_core_options.keep - kept->span)
		return false;
	table[n_table++] = *kept;
	sizes[kept->home->index] += kept->span;
	return true;
}

static void take_at(size_t i, struct adsm_kept *ret_kept)
{
	*ret_kept = table[i];
	n_table--;
	memmove(&table[i], &table[i + 1], (n_table - i) * sizeof(*table));
	sizes[ret_kept->home->index] -= ret_kept->span;
}

bool adsm_kept_take(const struct adsm_home *home, size_t span, bool device_only, bool own, struct adsm_kept *ret_kept)
{
	for (size_t i = n_table; i-- > 0; ) {
		const struct adsm_kept *kept = &table[i];

		if (kept->span != span || kept->home != home || kept->device_only != device_only ||
		    !kept->driver_free != own)
			continue;
		take_at(i, ret_kept);
		return true;
	}
	return false;
}

bool adsm_kept_take_oldest(const struct adsm_home *home, struct adsm_kept *ret_kept)
{
	for (size_t i = 0; i < n_table; i++) {
		if (home && table[i].home != home)
			continue;
		take_at(i, ret_kept);
		return true;
	}
	return false;
}

const struct adsm_kept *adsm_kept_at(size_t i)
{
	return i < n_table ? &table[i] : NULL;
}
