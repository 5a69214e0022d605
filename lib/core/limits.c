/* SPDX-License-Identifier: MIT */
/* limits.c - the table of limits: one byte for each page, 0 if the program permits everything. */
#include "core/limits.h"

#include <errno.h>

static enum adsm_prot lesser(enum adsm_prot a, enum adsm_prot b)
{
	return a < b ? a : b;
}

static size_t table_size(const struct adsm_object *object)
{
	return adsm_whole_pages(object->span / ADSM_PAGE_SIZE);
}

size_t adsm_limits_run(const struct adsm_object *object, size_t offset, size_t end, enum adsm_prot *ret_limit)
{
	size_t at = offset;

	*ret_limit = adsm_limit_at(object, offset);
	if (!adsm_is_limited(object))
		return end - offset;
	do
		at = (at | (ADSM_PAGE_SIZE - 1)) + 1;
	while (at < end && adsm_limit_at(object, at) == *ret_limit);
	return (at < end ? at : end) - offset;
}

size_t adsm_limits_allow(const struct adsm_object *object, size_t offset, size_t size, enum adsm_prot needed)
{
	size_t end = offset + size, at = offset;
	enum adsm_prot limit;

	if (!adsm_is_limited(object))
		return size;
	while (at < end) {
		size_t n = adsm_limits_run(object, at, end, &limit);

		if (limit < needed)
			break;
		at += n;
	}
	return at - offset;
}

/* Change the view of a run of pages with one limit, from what @was lets it permit to what @now does. If pages are
 * opened one by one, some pages may permit less than @was. So the call is made even if both are the same. */
static int permit_run(const struct adsm_object *object, size_t offset, size_t size, enum adsm_prot limit,
		      enum adsm_prot was, enum adsm_prot now)
{
	enum adsm_prot from = lesser(was, limit), to = lesser(now, limit);

	return !from && !to ? 0 : object->engine->permit((char *)object->start + offset, size, from, to);
}

int adsm_limits_permit(const struct adsm_object *object, size_t offset, size_t size, enum adsm_prot was,
		       enum adsm_prot now)
{
	size_t end = offset + size, at, n;
	enum adsm_prot limit;
	int error = 0;

	for (at = offset; at < end; at += n) {
		n = adsm_limits_run(object, at, end, &limit);
		error = permit_run(object, at, n, limit, was, now);
		if (error)
			break;
	}
	/* If this fails, nothing has changed: each run goes back, and becomes one mapping with its neighbour again. */
	for (size_t undo = offset, upto = at; error && undo < upto; undo += n) {
		n = adsm_limits_run(object, undo, upto, &limit);
		permit_run(object, undo, n, limit, now, was);
	}
	return error;
}

int adsm_limits_make(struct adsm_object *object)
{
	_Atomic uint8_t *table, *none = NULL;

	if (adsm_is_limited(object))
		return 0;
	table = adsm_os_table(table_size(object));
	if (!table)
		return -ENOMEM;
	if (!atomic_compare_exchange_strong(&object->limits, &none, table))
		adsm_os_unmap((void *)table, table_size(object));
	return 0;
}

void adsm_limits_set(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot limit)
{
	_Atomic uint8_t *limits = atomic_load(&object->limits);
	size_t first = offset / ADSM_PAGE_SIZE, end = first + size / ADSM_PAGE_SIZE;

	for (size_t page = first; page < end; page++)
		atomic_store(&limits[page], (uint8_t)(ADSM_PROT_RW - limit));
}

void adsm_limits_tidy(struct adsm_object *object)
{
	enum adsm_prot limit;

	if (adsm_is_limited(object) && adsm_limits_run(object, 0, object->span, &limit) == object->span &&
	    limit == ADSM_PROT_RW)
		adsm_limits_drop(object);
}

void adsm_limits_drop(struct adsm_object *object)
{
	_Atomic uint8_t *limits = atomic_exchange(&object->limits, NULL);

	if (limits)
		adsm_os_unmap((void *)limits, table_size(object));
}
