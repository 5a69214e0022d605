/* SPDX-License-Identifier: MIT */
/* transfer.c - transfers. */
#include "core/transfer.h"

#include "core/copier.h"
#include "core/observe.h"

struct transfer {
	struct adsm_object *object;
	enum adsm_direction direction;
	size_t offset, size;
	const struct adsm_cause *cause;
};

static int transfer_now(void *arg)
{
	const struct transfer *transfer = arg;
	struct adsm_object *object = transfer->object;
	enum adsm_direction direction = transfer->direction;
	size_t offset = transfer->offset, size = transfer->size;
	const struct adsm_backend *backend = object->home->device->backend;
	void *before = NULL;
	uint64_t start, ns;
	int error;

	/* The copier does it for another thread. */
	if (adsm_observes(~0u) && transfer->cause != &adsm_cause)
		adsm_cause = *transfer->cause;
	if (direction == ADSM_TO_HOST && adsm_advises(object))
		before = adsm_advice_before_fetch(object, offset, size);
	start = adsm_os_now_ns();
	if (direction == ADSM_TO_HOST)
		error = backend->to_host(object->alias + offset, object->memory, offset, size, NULL);
	else
		error = backend->to_device(object->memory, offset, object->alias + offset, size, NULL);
	if (before)
		adsm_advice_after_fetch(object, before, offset, size, !error);
	if (error)
		return error;
	ns = adsm_os_now_ns() - start;
	adsm_spent.moved_ns += ns;
	adsm_note_transfer(object, direction, offset, size, start, ns);
	return 0;
}

int adsm_transfer(struct adsm_object *object, enum adsm_direction direction, size_t offset, size_t size)
{
	struct transfer transfer = { object, direction, offset, size, &adsm_cause };

	/* The bytes are there already: nothing moves, nothing is counted. */
	if (object->home->device->caps.unified)
		return 0;
	return adsm_backend_run(object->home, transfer_now, &transfer);
}
