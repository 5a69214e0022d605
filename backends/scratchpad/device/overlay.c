/* SPDX-License-Identifier: MIT */
/* overlay.c - see overlay.h. */
#include "overlay.h"

#include "base/log.h"
#include "partition.h"
#include "process/device/code.h"
#include "scratchpad/shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BUFFERS ADSM_POLICY_MAX_BUFFERS

struct adsm_overlay {
	void *bytes;			/* of the image */
	struct adsm_image image;
	uint64_t number;		/* of all that there have been; 0 is none's */
	uint32_t module;
	bool ready;
	struct adsm_partitions *managers[ADSM_SCRATCHPAD_MAX_CORES];
};

static struct adsm_process_shared *served;
static struct adsm_scratchpad_overlays how;
static uint64_t code_size;		/* of a core's code buffer */
static unsigned n_cores;
static uint64_t owners[ADSM_SCRATCHPAD_MAX_CORES];	/* whose code is in the buffer; each is its core's own */

void adsm_overlay_start(struct adsm_process_shared *shared, const struct adsm_scratchpad_overlays *its_how,
			const struct adsm_scratchpad_layout *layout, unsigned n)
{
	served = shared;
	how = *its_how;
	code_size = layout->code;
	n_cores = n;
}

int adsm_overlay_create(const void *image, size_t size, struct adsm_overlay **ret_overlay,
			char ret_text[ADSM_PROCESS_TEXT])
{
	static uint64_t n_created;
	struct adsm_overlay *overlay = calloc(1, sizeof(*overlay));
	int ret = -ENOMEM;

	if (!overlay)
		return ret;
	overlay->bytes = malloc(size);
	if (!overlay->bytes)
		goto destroy;
	memcpy(overlay->bytes, image, size);
	ret = adsm_image_check(overlay->bytes, size, &overlay->image, ret_text, ADSM_PROCESS_TEXT);
	if (ret)
		goto destroy;
	overlay->number = ++n_created;
	*ret_overlay = overlay;
	return 0;

destroy:
	adsm_overlay_destroy(overlay);
	return ret;
}

static void destroy_managers(struct adsm_overlay *overlay)
{
	for (unsigned i = 0; i < ADSM_SCRATCHPAD_MAX_CORES; i++) {
		adsm_partition_destroy(overlay->managers[i]);
		overlay->managers[i] = NULL;
	}
}

void adsm_overlay_destroy(struct adsm_overlay *overlay)
{
	if (!overlay)
		return;
	/* The application has seen the end of all that used it; this makes it so among the threads here, too. */
	if (overlay->ready)
		atomic_load(&served->queue.done);
	destroy_managers(overlay);
	free(overlay->bytes);
	free(overlay);
}

/* What code in one piece calls or looks at is where the loader has put that. */
static void *resolve(void *context, const char *name)
{
	const struct adsm_overlay *overlay = context;

	return adsm_code_find(overlay->module, name);
}

/* A core that cannot go on ends the device; the application has the sentence, and knows which kernel ran. */
static void fail(void *context, const char *text)
{
	adsm_process_say_end(served, text);
	_exit(1);
}

static int create_managers(struct adsm_overlay *overlay, const struct adsm_partition_config *config, char *text)
{
	int ret = 0;

	for (unsigned i = 0; i < n_cores && !ret; i++)
		ret = adsm_partition_create(config, &overlay->managers[i], text);
	if (ret)
		destroy_managers(overlay);
	return ret;
}

static bool has_room(const struct adsm_partition_config *config)
{
	const uint64_t beside = adsm_partition_beside(config);

	return beside < code_size && adsm_partition_needs(config) <= code_size - beside;
}

int adsm_overlay_ready(struct adsm_overlay *overlay, uint32_t module, char ret_text[ADSM_PROCESS_TEXT])
{
	struct adsm_partition_config config = {
		.image = &overlay->image, .n_buffers = how.buffers ? how.buffers : MAX_BUFFERS,
		.policy = (enum adsm_policy_kind)how.policy, .victim = how.victim,
		.context = overlay, .resolve = resolve, .fail = fail,
	};
	uint64_t beside;
	int ret;

	if (overlay->ready)
		return 0;
	while (!how.buffers && config.n_buffers > 1 && !has_room(&config))
		config.n_buffers /= 2;
	beside = adsm_partition_beside(&config);
	if (beside >= code_size) {
		adsm_format(ret_text, ADSM_PROCESS_TEXT, "%lu bytes of partition stack, tables and victim entry are "
			    "more than it has", beside);
		return -ENOSPC;
	}
	config.buffer_size = code_size - beside;
	overlay->module = module;
	ret = create_managers(overlay, &config, ret_text);
	overlay->ready = !ret;
	return ret;
}

adsm_kernel_run *adsm_overlay_enter(struct adsm_overlay *overlay, unsigned core, const char *kernel)
{
	char name[ADSM_PROCESS_NAME + 16];
	struct adsm_partitions *manager;

	if (!overlay) {
		owners[core] = 0;
		return NULL;
	}
	manager = overlay->managers[core];
	if (owners[core] != overlay->number)
		adsm_partition_empty(manager);
	else
		adsm_partition_count(manager);
	owners[core] = overlay->number;
	adsm_format(name, sizeof(name), "adsm_run_%s", kernel);
	return (adsm_kernel_run *)(uintptr_t)adsm_partition_function(manager, name);
}

void adsm_overlay_watch(struct adsm_overlay *overlay, unsigned core, struct adsm_spans *spans)
{
	adsm_partition_watch(overlay->managers[core], spans);
}

struct adsm_partition_counters adsm_overlay_counters(const struct adsm_overlay *overlay, unsigned core)
{
	return adsm_partition_counters(overlay->managers[core]);
}
