/* SPDX-License-Identifier: MIT */
/* use.c - passes what happens to objects on to the simulated ones. */
#include "observe/use.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/input.h"
#include "observe/paged.h"
#include "observe/record.h"

struct adsm_use_sums adsm_use_sums[ADSM_MAX_DEVICES];

static unsigned n_uses;
_Thread_local struct adsm_use_copying adsm_use_copying;

_Static_assert(ADSM_N_SIMS <= 16, "adsm_use_copying.done has a bit for each");

/* ---- all simulated objects */

#define FOR_EACH_SIM(use, i) for (int i = 0; i < ADSM_N_SIMS; i++) if ((use)->sims[i])

/* Update the sums: blocks have become Dirty, or were sent. */
static void sum_up(struct adsm_usage *use)
{
	struct adsm_use_sums *sums = &adsm_use_sums[use->home->index];
	const struct adsm_blocks *unevicted = &use->sims[ADSM_UNEVICTED]->blocks;
	/* A whole object does not count for a rolling size. */
	uint32_t n_dirty = unevicted->protocol->whole_object ? 0 : adsm_blocks_n_unsent(unevicted);

	sums->n_dirty += n_dirty - (size_t)use->n_dirty;
	use->n_dirty = n_dirty;
	if (sums->n_dirty > sums->peak)
		sums->peak = sums->n_dirty;
	FOR_EACH_SIM(use, i) {
		struct adsm_sim *sim = use->sims[i];
		uint32_t n = adsm_blocks_n_unsent(&sim->blocks);
		size_t bytes = adsm_sim_dirty_bytes(sim);

		if (n > sim->peak) {
			sums->peaks[i] += n - sim->peak;
			sim->peak = n;
		}
		if (bytes > sim->peak_bytes) {
			sums->peak_bytes[i] += bytes - sim->peak_bytes;
			sim->peak_bytes = bytes;
		}
	}
}

/* Is the present event part of a copy that the simulated object has done already? */
static bool is_done(const struct adsm_object *object, int sim)
{
	return adsm_use_copying.object == object && adsm_use_copying.done & 1u << sim;
}

void adsm_use_touch(const struct adsm_object *object)
{
	const struct adsm_touch *touched = adsm_paged_touched();
	struct adsm_usage *use = object->record->use;

	FOR_EACH_SIM(use, i)
		if (!is_done(object, i))
			adsm_sim_touch(use->sims[i], touched->page * ADSM_PAGE_SIZE, touched->write);
	sum_up(use);
}

/* ---- life */

static void forget(struct adsm_usage *use)
{
	FOR_EACH_SIM(use, i)
		adsm_sim_forget(use->sims[i]);
	free((void *)use->known);
	use->known = NULL;
}

void adsm_use_end(struct adsm_usage *use)
{
	if (!use)
		return;
	forget(use);
	for (int i = 0; i < ADSM_N_SIMS; i++)
		adsm_sim_end(use->sims[i]);
	free(use);
	if (--n_uses == 0)
		memset(adsm_use_sums, 0, sizeof(adsm_use_sums));
}

static void make_sims(struct adsm_usage *use, const struct adsm_object *object)
{
	const struct adsm_protocol *protocol = object->blocks.protocol;
	const struct adsm_sim_shape shape = {
		.size = object->size, .unified = object->home->device->caps.unified,
		.populated = object->blocks.at[0].view == ADSM_PERMIT_READ,
	};
	size_t block = adsm_block_size(object);

	for (int i = 0; i < ADSM_LAZY; i++) {
		use->sims[i] = adsm_sim_make(&shape, protocol, block, NULL);
		if (use->sims[i] && i <= ADSM_INPUT)
			protocol->init(use->sims[i]->policy);	/* the limits that the options set */
	}
	if (!protocol->whole_object)
		use->sims[ADSM_LAZY] = adsm_sim_make(&shape, &adsm_protocol_lazy, block, NULL);
	for (int i = ADSM_ROLLING; i < ADSM_N_SIMS; i++) {
		size_t size = adsm_sim_block_size(i);

		if (size < object->span && (protocol->whole_object || size != block))
			use->sims[i] = adsm_sim_make(&shape, &adsm_protocol_rolling, size, NULL);
	}
	if (use->sims[ADSM_AS_IS])
		use->sims[ADSM_AS_IS]->known = use->known;
}

struct adsm_usage *adsm_use_make(const struct adsm_object *object)
{
	struct adsm_usage *use = object->blocks.detects ? calloc(1, sizeof(*use)) : NULL;
	struct adsm_use_sums *sums = &adsm_use_sums[object->home->index];
	struct adsm_sigset old;

	if (!use)
		return NULL;
	n_uses++;
	use->home = object->home;
	use->known = calloc(object->span / ADSM_PAGE_SIZE, 1);
	make_sims(use, object);
	if (!use->known || !use->sims[ADSM_AS_IS] || !use->sims[ADSM_UNEVICTED]) {
		adsm_use_end(use);
		return NULL;
	}
	/* An object that is no larger than the block has one block. */
	adsm_home_lock(object->home, &old);
	for (int i = ADSM_LAZY; i < ADSM_N_SIMS; i++)
		if (!use->sims[i]) {
			sums->peaks[i] += i == ADSM_LAZY ? 1 : (object->span - 1) / adsm_sim_block_size(i) + 1;
			sums->peak_bytes[i] += object->span;
		}
	adsm_home_unlock(object->home, &old);
	return use;
}

void adsm_use_freed(struct adsm_usage *use)
{
	struct adsm_sigset old;

	adsm_home_lock(use->home, &old);
	adsm_use_sums[use->home->index].n_dirty -= use->n_dirty;
	adsm_home_unlock(use->home, &old);
	forget(use);
}

void adsm_use_reset(struct adsm_usage *use)
{
	struct adsm_sigset old;

	adsm_home_lock(use->home, &old);
	FOR_EACH_SIM(use, i)
		memset(&use->sims[i]->stats, 0, sizeof(use->sims[i]->stats));
	adsm_home_unlock(use->home, &old);
}

bool adsm_use_exact(const struct adsm_record *record, int sim)
{
	return !(atomic_load(&record->use->inexact) & 1u << sim) && !atomic_load(&record->pages->unseen);
}

/* ---- accesses and calls */

static void all_inexact(const struct adsm_act *act)
{
	atomic_store(&act->object->record->use->inexact, ~0u);
}

static void access(const struct adsm_act *act)
{
	struct adsm_usage *use = act->object->record->use;

	all_inexact(act);
	FOR_EACH_SIM(use, i)
		adsm_sim_access(use->sims[i], act->at, act->end, act->event);
}

static void range(const struct adsm_act *act)
{
	const struct adsm_object *object = act->object;
	bool input = act->kind == ADSM_ACT_INPUT;
	struct adsm_usage *use = object->record->use;

	if (object->inputs && (!input || object->inputs->next))
		all_inexact(act);
	FOR_EACH_SIM(use, i)
		if (!is_done(object, i))
			adsm_sim_range(use->sims[i], input, act->at, act->end);
}

static void bulk(const struct adsm_act *act)
{
	const struct adsm_object *object = act->object;
	struct adsm_usage *use = object->record->use;
	bool open, real = adsm_bulk_for_libc(&object->blocks, act->bulk, &open);

	/* It may be a signal handler's copy that interrupts another one, or another one was left by a jump. */
	if (object->blocks.n_holds || adsm_use_copying.nested)
		all_inexact(act);
	FOR_EACH_SIM(use, i) {
		struct adsm_sim *sim = use->sims[i];
		bool libc;

		/* AS_IS follows the real object. The others do so, too, if both leave the copy to libc. */
		if (i == ADSM_AS_IS)
			continue;
		libc = adsm_bulk_for_libc(&sim->blocks, act->bulk, &open);
		if (libc && real)
			continue;
		if (libc)
			adsm_sim_touch_all(sim, act->bulk);
		else
			adsm_sim_copy(sim, act->bulk);
		adsm_use_copying.done |= (uint16_t)(1u << i);
		adsm_use_copying.differs |= real || act->bulk->fill;
	}
}

static void device_wrote(const struct adsm_act *act)
{
	struct adsm_usage *use = act->object->record->use;

	if (adsm_use_copying.object != act->object)
		all_inexact(act);
	FOR_EACH_SIM(use, i)
		if (!is_done(act->object, i))
			adsm_sim_device_write(use->sims[i], act->at, act->end);
}

static void called(const struct adsm_act *act)
{
	struct adsm_usage *use = act->object->record->use;

	use->n_calls[act->event]++;
	if (act->event != ADSM_EVENT_CALL_IN)
		atomic_fetch_add(&use->n_writing, 1);
	FOR_EACH_SIM(use, i) {
		bool input = i == ADSM_INPUT && act->event == ADSM_EVENT_CALL_INOUT;

		adsm_sim_call(use->sims[i], input ? ADSM_EVENT_CALL_IN : act->event);
	}
}

static void synced(const struct adsm_act *act)
{
	struct adsm_usage *use = act->object->record->use;

	FOR_EACH_SIM(use, i)
		adsm_sim_sync(use->sims[i]);
}

void adsm_use_act(const struct adsm_act *act)
{
	static void (*const acts[ADSM_N_ACTS])(const struct adsm_act *) = {
		[ADSM_ACT_ACCESS] = access, [ADSM_ACT_INPUT] = range, [ADSM_ACT_OUTPUT] = range, [ADSM_ACT_BULK] = bulk,
		[ADSM_ACT_DEVICE_WROTE] = device_wrote,
		[ADSM_ACT_INEXACT] = all_inexact, [ADSM_ACT_CALLED] = called, [ADSM_ACT_SYNCED] = synced,
	};

	if (!acts[act->kind])
		return;
	acts[act->kind](act);
	sum_up(act->object->record->use);
}

void adsm_use_evicted(struct adsm_object *object, uint32_t first, uint32_t n)
{
	struct adsm_usage *use = object->record->use;

	FOR_EACH_SIM(use, i)
		if (i <= ADSM_INPUT) {
			use->sims[i]->stats.evictions += n;
			adsm_sim_send(use->sims[i], first, n);
		}
}

/* ---- what fetches bring */

static void *before_fetch(const struct adsm_object *object, struct adsm_usage *use, size_t offset, size_t size)
{
	void *before = NULL;

	for (size_t page = offset / ADSM_PAGE_SIZE; page * ADSM_PAGE_SIZE < offset + size; page++)
		if (!atomic_load_explicit(&use->known[page], memory_order_relaxed))
			atomic_store(&use->unknown, true);
	/* If changes of kernels are known already, no comparison is necessary. */
	if (!atomic_load(&use->unknown) && !atomic_load(&use->changed))
		before = adsm_os_table(size);
	if (before)
		memcpy(before, object->alias + offset, size);
	else
		atomic_store(&use->unknown, true);
	return before;
}

static void after_fetch(const struct adsm_object *object, struct adsm_usage *use, void *before, size_t offset,
			size_t size, bool arrived)
{
	uint32_t seen = atomic_load(&use->n_writing);

	if (arrived && memcmp(before, object->alias + offset, size))
		atomic_store(&use->changed, true);
	if (arrived && atomic_exchange(&use->last_seen, seen) != seen)
		atomic_fetch_add(&use->n_seen, 1);
	adsm_os_unmap(before, size);
}

void *adsm_use_fetch(struct adsm_object *object, void *before, size_t offset, size_t size, int arrived)
{
	struct adsm_usage *use = object->record->use;

	if (use && arrived < 0)
		return before_fetch(object, use, offset, size);
	if (use)
		after_fetch(object, use, before, offset, size, arrived);
	return NULL;
}
