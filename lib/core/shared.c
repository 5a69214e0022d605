/* SPDX-License-Identifier: MIT */
/* shared.c - the range that contains all shared memory. */
#include "core/shared.h"

#include "base/os.h"
#include "core/index.h"
#include "core/object.h"

struct adsm_shared_range adsm_shared_range;

void adsm_shared_widen(uintptr_t start, size_t size)
{
	static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_RANGE);
	uintptr_t end = start + size, was;

	adsm_mutex_lock(&mutex);
	was = atomic_load(&adsm_shared_range.start);
	if (end < was + atomic_load(&adsm_shared_range.size))
		end = was + atomic_load(&adsm_shared_range.size);
	if (start > was)
		start = was;
	atomic_store(&adsm_shared_range.size, end - start);
	atomic_store(&adsm_shared_range.start, start);
	adsm_mutex_unlock(&mutex);
}

bool adsm_range_is_near(uintptr_t start, size_t size)
{
	return adsm_index_next(start, size) - start < size;
}

bool adsm_is_shared(const void *p)
{
	const struct adsm_object *object = adsm_index_find((uintptr_t)p);

	return object && (object->once || (object->live && !object->device_only));
}
