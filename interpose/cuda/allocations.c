/* SPDX-License-Identifier: MIT */
/* allocations.c - the table of the program's device memory that the library has made objects of, sorted by address.
 * The lock need not block signals, because signal handlers may not use the driver. No other lock is taken under it. */
#include "allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"

static struct adsm_mutex table_lock = ADSM_MUTEX_INIT(ADSM_RANK_TABLE);
static struct adsm_cuda_allocation *table;
static size_t table_room;
static _Atomic size_t n_table;

/* The index of the first allocation that begins after @p. */
static size_t table_above(CUdeviceptr p)
{
	size_t low = 0, high = n_table;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table[middle].given <= p)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int adsm_cuda_allocation_put(const struct adsm_cuda_allocation *allocation)
{
	int error = 0;
	size_t i;

	adsm_mutex_lock(&table_lock);
	if (n_table == table_room) {
		size_t room = table_room ? 2 * table_room : 64;
		struct adsm_cuda_allocation *larger = realloc(table, room * sizeof(*larger));

		if (larger) {
			table = larger;
			table_room = room;
		} else {
			error = adsm_fail(-ENOMEM, "no memory for the table of allocations");
		}
	}
	if (!error) {
		i = table_above(allocation->given);
		memmove(table + i + 1, table + i, (n_table - i) * sizeof(*table));
		table[i] = *allocation;
		n_table++;
	}
	adsm_mutex_unlock(&table_lock);
	return error;
}

bool adsm_cuda_allocation_none(void)
{
	return !atomic_load_explicit(&n_table, memory_order_acquire);
}

/* The allocation that begins at @p, freed or not. The caller holds the lock. */
static struct adsm_cuda_allocation *table_at(CUdeviceptr p)
{
	size_t i = table_above(p);

	return i && table[i - 1].given == p ? &table[i - 1] : NULL;
}

static void remove_locked(size_t i)
{
	n_table--;
	memmove(table + i, table + i + 1, (n_table - i) * sizeof(*table));
}

bool adsm_cuda_allocation_take(CUdeviceptr p, struct adsm_cuda_allocation *ret_allocation)
{
	struct adsm_cuda_allocation *found;

	adsm_mutex_lock(&table_lock);
	found = table_at(p);
	if (found) {
		*ret_allocation = *found;
		remove_locked((size_t)(found - table));
	}
	adsm_mutex_unlock(&table_lock);
	return found;
}

bool adsm_cuda_allocation_take_of(CUcontext context, struct adsm_cuda_allocation *ret_allocation)
{
	bool found = false;

	if (adsm_cuda_allocation_none())
		return false;
	adsm_mutex_lock(&table_lock);
	for (size_t i = n_table; i-- && !found; )
		if (table[i].context == context) {
			*ret_allocation = table[i];
			remove_locked(i);
			found = true;
		}
	adsm_mutex_unlock(&table_lock);
	return found;
}

bool adsm_cuda_allocation_free(CUdeviceptr p, struct adsm_cuda_allocation *ret_allocation)
{
	struct adsm_cuda_allocation *found;

	if (adsm_cuda_allocation_none())
		return false;
	adsm_mutex_lock(&table_lock);
	found = table_at(p);
	if (found) {
		*ret_allocation = *found;
		found->freed = true;
	}
	adsm_mutex_unlock(&table_lock);
	return found;
}

void adsm_cuda_allocation_hand_out(CUdeviceptr p, size_t size)
{
	struct adsm_cuda_allocation *found;

	adsm_mutex_lock(&table_lock);
	found = table_at(p);
	if (found) {
		found->size = size;
		found->freed = false;
	}
	adsm_mutex_unlock(&table_lock);
}

bool adsm_cuda_allocation_find(CUdeviceptr p, struct adsm_cuda_allocation *ret_allocation)
{
	bool found = false;
	size_t i;

	if (adsm_cuda_allocation_none())
		return false;
	adsm_mutex_lock(&table_lock);
	i = table_above(p);
	if (i && p - table[i - 1].given < table[i - 1].size && !table[i - 1].freed) {
		*ret_allocation = table[i - 1];
		found = true;
	}
	adsm_mutex_unlock(&table_lock);
	return found;
}

bool adsm_cuda_allocation_next(CUdeviceptr p, struct adsm_cuda_allocation *ret_allocation)
{
	bool found;
	size_t i;

	if (adsm_cuda_allocation_none())
		return false;
	adsm_mutex_lock(&table_lock);
	i = table_above(p);
	found = i < n_table;
	if (found)
		*ret_allocation = table[i];
	adsm_mutex_unlock(&table_lock);
	return found;
}
