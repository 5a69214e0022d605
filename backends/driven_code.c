/* SPDX-License-Identifier: MIT */
/* driven_code.c - modules that a vendor's driver has loaded, and their kernels. */
#include "driven_code.h"

#include <errno.h>
#include <stdlib.h>

#include "cache.h"

struct adsm_driven_code *adsm_driven_code_create(struct adsm_device *device, size_t size)
{
	struct adsm_driven_code *code = calloc(1, size);

	if (code) {
		code->base.device = device;
		adsm_mutex_init(&code->lock, ADSM_RANK_CODE);
	}
	return code;
}

void adsm_driven_code_destroy(struct adsm_driven_code *code)
{
	struct adsm_driven_entry *next;

	for (struct adsm_driven_entry *entry = code->entries; entry; entry = next) {
		next = entry->next;
		free(entry);
	}
	adsm_mutex_destroy(&code->lock);
	free(code);
}

/* The arguments of a compiling thread. */
struct order {
	int (*load)(struct adsm_driven_code *code, const struct adsm_image *image);
	struct adsm_driven_code *code;
	const struct adsm_image *image;
};

static int run_order(void *arg)
{
	struct order *order = arg;

	return order->load(order->code, order->image);
}

int adsm_driven_module_load(struct adsm_device *device, const struct adsm_image *image, size_t size,
			    int (*load)(struct adsm_driven_code *code, const struct adsm_image *image),
			    struct adsm_code **ret_code)
{
	struct order order = { load, NULL, image };
	int ret = adsm_driven_status(device);

	if (ret)
		return ret;
	order.code = adsm_driven_code_create(device, size);
	if (!order.code)
		return -ENOMEM;
	order.code->dialect = image->kind == ADSM_IMAGE_MODULE;
	ret = adsm_compile_aside(run_order, &order);
	if (ret)
		adsm_driven_code_destroy(order.code);
	else
		*ret_code = &order.code->base;
	return ret;
}

int adsm_driven_kernel_get(struct adsm_code *base, const char *name, size_t size,
			   int (*get)(struct adsm_driven_entry *entry, const char *name),
			   struct adsm_entry **ret_entry)
{
	struct adsm_driven_code *code = (struct adsm_driven_code *)base;
	struct adsm_driven_entry *entry;
	struct adsm_sigset old;
	int ret = adsm_driven_status(base->device);

	if (ret)
		return ret;
	entry = calloc(1, size);
	if (!entry)
		return -ENOMEM;
	entry->base.code = base;
	entry->dialect = code->dialect;
	entry->max_threads = ((struct adsm_driven *)base->device)->max_threads;
	adsm_os_signals_block(&old);
	ret = get(entry, name);
	adsm_os_signals_restore(&old);
	if (ret) {
		free(entry);
		return ret;
	}
	adsm_mutex_lock(&code->lock);
	entry->next = code->entries;
	code->entries = entry;
	adsm_mutex_unlock(&code->lock);
	*ret_entry = &entry->base;
	return 0;
}
