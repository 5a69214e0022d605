/* SPDX-License-Identifier: MIT */
/* sim.c - simulated objects: they repeat accesses, copies and calls on blocks of their own. */
#include "observe/sim.h"

#include <stdlib.h>

#include "core/block.h"

#define BLOCKS_MAX ((size_t)1 << 20)	/* beside the blocks of a program; adsm-replay has the library's own limit */

/* ---- life */

static enum adsm_permit first_view(const struct adsm_sim_shape *shape, const struct adsm_protocol *protocol)
{
	if (!adsm_protocol_detects(protocol))
		return ADSM_PERMIT_WRITE;
	return shape->populated ? ADSM_PERMIT_READ : ADSM_PERMIT_NONE;
}

struct adsm_sim *adsm_sim_make(const struct adsm_sim_shape *shape, const struct adsm_protocol *protocol,
			       size_t block_size, struct adsm_sim_home *home)
{
	size_t span = adsm_whole_pages(shape->size), size = protocol->whole_object ? span : block_size, n;
	unsigned shift = 64 - (unsigned)__builtin_clzl(size - 1);
	struct adsm_sim *sim;

	n = (span + ((size_t)1 << shift) - 1) >> shift;
	sim = n <= (home ? UINT32_MAX : BLOCKS_MAX) ? calloc(1, sizeof(*sim)) : NULL;
	if (!sim)
		return NULL;
	sim->blocks.at = calloc(n, sizeof(*sim->blocks.at));
	if (!sim->blocks.at) {
		free(sim);
		return NULL;
	}
	sim->unified = shape->unified;
	sim->home = home;
	sim->blocks.n = (uint32_t)n;
	sim->blocks.shift = shift;
	sim->blocks.last_size = shape->size - ((n - 1) << shift);
	adsm_blocks_init(&sim->blocks, protocol, first_view(shape, protocol));
	if (home)
		adsm_blocks_join(&sim->blocks, adsm_policy_of(&home->policies, protocol), &home->sends);
	else
		adsm_blocks_join(&sim->blocks, sim->policy, &sim->sends);
	return sim;
}

void adsm_sim_forget(struct adsm_sim *sim)
{
	if (sim->home && sim->blocks.at)
		adsm_blocks_leave(&sim->blocks);
	free(sim->blocks.at);
	sim->blocks.at = NULL;
	sim->known = NULL;
}

void adsm_sim_end(struct adsm_sim *sim)
{
	if (sim)
		adsm_sim_forget(sim);
	free(sim);
}

size_t adsm_sim_dirty_bytes(const struct adsm_sim *sim)
{
	const struct adsm_blocks *blocks = &sim->blocks;
	uint32_t n = adsm_blocks_n_unsent(blocks), last = n && adsm_blocks_unsent(blocks, blocks->n - 1);

	return ((size_t)(n - last) << blocks->shift) + (last ? blocks->last_size : 0);
}

/* ---- accesses */

static size_t block_end(const struct adsm_blocks *blocks, size_t at)
{
	return (at | (((size_t)1 << blocks->shift) - 1)) + 1;
}

static void count_fetch(struct adsm_sim *sim, size_t size)
{
	sim->stats.d2h_bytes += size;
	sim->stats.d2h_transfers += size > 0;
}

/* ---- early sends */

static void count_send(struct adsm_sim *sim, uint32_t first, uint32_t n)
{
	size_t at = (size_t)first << sim->blocks.shift, size = adsm_blocks_size(&sim->blocks, first, n);

	sim->stats.h2d_bytes += size;
	sim->stats.h2d_transfers++;
	for (size_t page = at / ADSM_PAGE_SIZE; sim->known && page * ADSM_PAGE_SIZE < at + size; page++)
		atomic_store_explicit(&sim->known[page], 1, memory_order_relaxed);
}

static struct adsm_sim *sim_of(const struct adsm_block *block)
{
	return (struct adsm_sim *)((char *)block->owner - offsetof(struct adsm_sim, blocks));
}

/* Like adsm_evict_now() and adsm_evict_batch(). */
static void evict(struct adsm_sim_home *home)
{
	const bool single = adsm_protocol_options.evict_batch == 1;
	struct adsm_block *block;

	for (bool started = false; (block = adsm_policy_victim(&home->policies, started)); started = !single) {
		struct adsm_sim *sim = sim_of(block);
		struct adsm_blocks *blocks = &sim->blocks;
		uint32_t b = (uint32_t)(block - blocks->at);
		struct adsm_change change = adsm_blocks_plan(blocks, b, 1, ADSM_EVENT_SEND);
		size_t most = (adsm_protocol_options.evict_batch + ((size_t)1 << blocks->shift) - 1) >> blocks->shift;

		adsm_blocks_begin(blocks, &change);
		while (change.n < most && change.first + change.n < blocks->n &&
		       adsm_policy_victim(&home->policies, true) == block + change.n &&
		       adsm_blocks_extend(blocks, &change))
			;
		if (block->view > change.view)
			adsm_blocks_set_views(blocks, change.first, change.n, change.view);
		adsm_blocks_commit(blocks, &change);
		sim->stats.evictions += change.n;
		count_send(sim, change.first, change.n);
		if (home->evicted)
			home->evicted(home->arg, blocks, change.first, change.n);
	}
}

/* Blocks have become Dirty. The access needs these, so others are sent. */
static void evict_others(struct adsm_sim *sim, uint32_t first, uint32_t n)
{
	for (uint32_t b = first; b < first + n; b++)
		sim->blocks.at[b].holds++;
	evict(sim->home);
	for (uint32_t b = first; b < first + n; b++)
		sim->blocks.at[b].holds--;
}

/* ---- accesses of blocks */

/* Like adsm_blocks_access(). A fetch leaves out the bytes from @hole to @hole_end, which an input brings. */
static void access_blocks(struct adsm_sim *sim, uint32_t first, uint32_t n, enum adsm_block_event event, bool open,
			  size_t hole, size_t hole_end)
{
	struct adsm_blocks *blocks = &sim->blocks;
	struct adsm_change change = adsm_blocks_plan(blocks, first, n, event);
	size_t start = (size_t)first << blocks->shift, end = start + adsm_blocks_size(blocks, first, n);

	if (hole >= hole_end)
		hole = hole_end = end;
	if (change.step.transfer == ADSM_TO_HOST) {
		count_fetch(sim, hole - start);
		count_fetch(sim, hole_end < end ? end - hole_end : 0);
	}
	if (open && blocks->at[first].view < change.view)
		adsm_blocks_set_views(blocks, first, n, change.view);
	if (change.dirties && event != ADSM_EVENT_SYNC && blocks->detects)
		sim->stats.write_faults += n;
	if (adsm_blocks_lack(blocks, first) && event == ADSM_EVENT_READ && blocks->detects)
		sim->stats.read_faults += n;
	adsm_blocks_commit(blocks, &change);
	if (change.dirties && sim->home)
		evict_others(sim, first, n);
}

void adsm_sim_touch(struct adsm_sim *sim, size_t offset, bool write)
{
	enum adsm_block_event event = write ? ADSM_EVENT_WRITE : ADSM_EVENT_READ;
	struct adsm_blocks *blocks = &sim->blocks;
	uint32_t b = (uint32_t)(offset >> blocks->shift), n;

	if (blocks->at[b].view >= (unsigned)(write ? ADSM_PERMIT_WRITE : ADSM_PERMIT_READ))
		return;
	n = adsm_blocks_window(blocks, b, event, adsm_protocol_options.fault_ahead);
	sim->stats.signals++;
	sim->stats.ahead_blocks += n - 1;
	access_blocks(sim, b, n, event, true, 0, 0);
	b += n;
	n = write || sim->unified ? 0 : adsm_blocks_ahead(blocks, b, adsm_protocol_options.fault_ahead);
	if (n)
		access_blocks(sim, b, n, event, false, 0, 0);
}

void adsm_sim_access(struct adsm_sim *sim, size_t at, size_t end, enum adsm_block_event event)
{
	uint32_t last = (uint32_t)((end - 1) >> sim->blocks.shift);

	for (uint32_t b = (uint32_t)(at >> sim->blocks.shift); b <= last; b++)
		access_blocks(sim, b, 1, event, true, 0, 0);
}

/* Like access_range() in io.c. */
void adsm_sim_range(struct adsm_sim *sim, bool input, size_t at, size_t end)
{
	while (at < end) {
		uint32_t first = (uint32_t)(at >> sim->blocks.shift);
		enum adsm_block_event event;
		uint32_t n = adsm_range_step(&sim->blocks, input, at, end, &event);

		if (n)
			access_blocks(sim, first, n, event, false, at, event == ADSM_EVENT_WRITE ? end : at);
		at = (size_t)(first + (n ? n : 1)) << sim->blocks.shift;
	}
}

/* Like adsm_blocks_device_write(). */
void adsm_sim_device_write(struct adsm_sim *sim, size_t at, size_t end)
{
	uint32_t first = (uint32_t)(at >> sim->blocks.shift);
	uint32_t n = (uint32_t)((end - 1) >> sim->blocks.shift) + 1 - first;
	struct adsm_change change = adsm_blocks_plan(&sim->blocks, first, n, ADSM_EVENT_CALL_OUT);

	adsm_blocks_set_views(&sim->blocks, first, n, ADSM_PERMIT_NONE);
	adsm_blocks_commit(&sim->blocks, &change);
}

/* ---- bulk copies, as copy.c does them */

bool adsm_bulk_for_libc(const struct adsm_blocks *blocks, const struct adsm_bulk *bulk, bool *ret_open)
{
	size_t mask = ((size_t)1 << blocks->shift) - 1, end = bulk->offset + bulk->size;
	size_t first = (bulk->offset + mask) & ~mask;
	bool whole = first < end && (end == adsm_blocks_size(blocks, 0, blocks->n) || end - first > mask);
	bool device = bulk->fill;

	*ret_open = true;
	for (size_t at = bulk->offset; at < end; at = block_end(blocks, at))
		if (blocks->at[at >> blocks->shift].view <
		    (unsigned)(bulk->input ? ADSM_PERMIT_WRITE : ADSM_PERMIT_READ))
			*ret_open = false;
	if (*ret_open && bulk->size < bulk->device_min)
		device = false;
	return !bulk->strict && (!whole || !blocks->detects || (*ret_open && !device));
}

void adsm_sim_touch_all(struct adsm_sim *sim, const struct adsm_bulk *bulk)
{
	for (size_t at = bulk->offset; at < bulk->offset + bulk->size; at = block_end(&sim->blocks, at))
		adsm_sim_touch(sim, at, bulk->input);
}

void adsm_sim_copy(struct adsm_sim *sim, const struct adsm_bulk *bulk)
{
	const struct adsm_blocks *blocks = &sim->blocks;
	size_t mask = ((size_t)1 << blocks->shift) - 1, at = bulk->offset, end = at + bulk->size;
	size_t first = (at + mask) & ~mask;
	size_t last = end == adsm_blocks_size(blocks, 0, blocks->n) ? end : end & ~mask;

	for (; !bulk->input && at < end; at += bulk->step)
		adsm_sim_range(sim, false, at, end - at < bulk->step ? end : at + bulk->step);
	if (bulk->fill && blocks->detects && first < last) {
		adsm_sim_range(sim, true, at, first);
		adsm_sim_device_write(sim, first, last);
		at = last;
	}
	if (bulk->input)
		adsm_sim_range(sim, true, at, end);
}

/* ---- calls and syncs */

void adsm_sim_send(struct adsm_sim *sim, uint32_t first, uint32_t n)
{
	struct adsm_blocks *blocks = &sim->blocks;

	for (uint32_t end = first + n; first < end && adsm_blocks_n_unsent(blocks); ) {
		uint32_t most = adsm_protocol_options.evict_batch == 1 ? 1 : end - first;
		struct adsm_change change = adsm_blocks_plan_send(blocks, first, most);

		first += change.n ? change.n : 1;
		if (!change.n)
			continue;
		count_send(sim, change.first, change.n);
		if (blocks->at[change.first].view > change.view)
			adsm_blocks_set_views(blocks, change.first, change.n, change.view);
		adsm_blocks_begin(blocks, &change);
		adsm_blocks_commit(blocks, &change);
	}
}

void adsm_sim_call(struct adsm_sim *sim, enum adsm_block_event event)
{
	struct adsm_blocks *blocks = &sim->blocks;
	uint32_t first = blocks->open_first, n = blocks->open_end - first;

	if (event != ADSM_EVENT_CALL_IN && blocks->detects)
		adsm_blocks_set_views(blocks, first, n, ADSM_PERMIT_NONE);
	if (adsm_blocks_sends(blocks, event))
		adsm_sim_send(sim, first, n);
	adsm_blocks_called(blocks, event);
}

/* Like adsm_object_sync(). */
void adsm_sim_sync(struct adsm_sim *sim)
{
	struct adsm_blocks *blocks = &sim->blocks;

	for (uint32_t b = blocks->open_first; blocks->syncs && b < blocks->open_end; b++) {
		if (adsm_blocks_step(blocks, b, ADSM_EVENT_SYNC).next != blocks->at[b].state)
			access_blocks(sim, b, 1, ADSM_EVENT_SYNC, false, 0, 0);
	}
}
