/* SPDX-License-Identifier: MIT */
/* sharing.c - see sharing.h. */
#include "sharing.h"

#include "base/log.h"

#include <stdbool.h>
#include <string.h>

#define FEW 4096			/* fewer bytes are ignored */
/* Advise if at least one of this number of given-up pages was given up in vain. */
#define FALSE_SHARE 4
#define SMALLER_SHARE 4			/* advise if at least one of this number of moved bytes would be saved */

/* ---- for the device */

static struct adsm_sharing *find_or_add(struct adsm_sharings *sharings, const char *task, uint64_t page)
{
	const uint32_t n = atomic_load(&sharings->n);
	uint32_t i = 0;

	while (i < n && strcmp(sharings->of[i].task, task))
		i++;
	if (i == ADSM_SHARING_TASKS)
		return NULL;
	if (i == n) {
		sharings->of[i].page = page;
		adsm_format(sharings->of[i].task, sizeof(sharings->of[i].task), "%s", task);
		atomic_store(&sharings->n, n + 1);
	}
	return &sharings->of[i];
}

/* Find the argument that most likely points to the page's object. */
static void find_argument(struct adsm_sharing *sharing, const struct adsm_sharing_call *call)
{
	const uint64_t address = call->worst.address;
	uint64_t nearest = 0;

	sharing->arg = -1;
	/* Memory that a task has allocated itself belongs to no argument. */
	for (uint32_t i = 0; i < call->n_args; i++) {
		uint64_t p;

		memcpy(&p, call->args[i], sizeof(p));
		if (address - call->base >= call->size || p - call->base >= call->size ||
		    p >= address + call->page || p < nearest)
			continue;
		nearest = p;
		sharing->arg = (int32_t)i;
		sharing->offset = p < address ? address - p : 0;
	}
}

void adsm_sharing_add(struct adsm_sharings *sharings, const struct adsm_sharing_call *call)
{
	struct adsm_sharing *sharing = find_or_add(sharings, call->task, call->page);

	if (!sharing)
		return;
	for (int i = 0; i < ADSM_SCRATCHPAD_PAGE_SIZES; i++)
		atomic_fetch_add(&sharing->moved[i], call->moved[i]);
	if (call->worst.n <= sharing->worst.n)
		return;
	sharing->worst = call->worst;
	find_argument(sharing, call);
}

/* ---- for the library */

static void advise_pages(const struct adsm_sharing *sharing, const struct adsm_sharing_counts *counts, char *text,
			 size_t size)
{
	const struct adsm_sharing_worst *worst = &sharing->worst;

	if (!worst->n || counts->falsely < counts->workers || counts->falsely < counts->given_up / FALSE_SHARE)
		return;
	adsm_append(text, size, "%s%lu of %lu pages that workers gave up had changed only in parts that they had not "
		    "accessed: most often, %lu times in a call, the page at 0x%lx", *text ? "; " : "", counts->falsely,
		    counts->given_up, worst->n, worst->address);
	if (sharing->arg >= 0)
		adsm_append(text, size, ", byte %lu of argument %d,", sharing->offset, sharing->arg + 1);
	adsm_append(text, size, " was given up by worker %u because of %s; let each worker write to pages of its own",
		    worst->worker, worst->because);
}

static void advise_size(const struct adsm_sharing *sharing, char *text, size_t size)
{
	uint64_t least = UINT64_MAX;
	unsigned now = 0, best = 0;

	while ((uint64_t)ADSM_SCRATCHPAD_MIN_PAGE << now < sharing->page)
		now++;
	for (unsigned i = 0; i < now; i++) {
		const uint64_t moved = atomic_load(&sharing->moved[i]);

		/* A smaller page needs more transfers: it must save at least an eighth. */
		if (least == UINT64_MAX || moved < least - least / 8) {
			best = i;
			least = moved;
		}
	}
	if (!now || sharing->moved[now] < FEW || least > sharing->moved[now] - sharing->moved[now] / SMALLER_SHARE)
		return;
	adsm_append(text, size, "%sits workers moved %lu KiB in pages of %lu KiB; with ADSM_TASK_PAGE=%uK they would "
		    "move at most %lu KiB", *text ? "; " : "", sharing->moved[now] >> 10, sharing->page >> 10,
		    (ADSM_SCRATCHPAD_MIN_PAGE << best) >> 10, least >> 10);
}

void adsm_sharing_advise(const struct adsm_sharings *sharings, const char *task,
			 const struct adsm_sharing_counts *counts, char *text, size_t size)
{
	const uint32_t n = atomic_load(&sharings->n);
	uint32_t i = 0;

	while (i < n && strcmp(sharings->of[i].task, task))
		i++;
	if (i == n)
		return;
	advise_pages(&sharings->of[i], counts, text, size);
	advise_size(&sharings->of[i], text, size);
}
