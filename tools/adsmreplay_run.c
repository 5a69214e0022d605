/* SPDX-License-Identifier: MIT */
/* adsmreplay_run.c - replays a recording on simulated objects, whose blocks are those of the library. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "adsmreplay.h"
#include "observe/sim.h"

#define DEVICES_MAX 8
#define EXPECTED_BYTES ((size_t)64 << 10)	/* of blocks that a sync may fetch because the CPU reads them next */

/* A simulated object. */
struct replica {
	struct adsm_sim *sim;		/* NULL: not simulated, or freed */
	uint64_t last_use;		/* the last call that used it */
	bool assigned;
	/* Pages that the CPU may write in the recorded run without another event; all of them are in
	 * [first_open, end_open). */
	uint8_t *open;
	size_t first_open, end_open;
};

/* The bulk copy of a thread. */
struct copying {
	uint32_t object;		/* 0: none */
	bool done;			/* the copy was simulated already */
	size_t offset, size;
	size_t device_min, step;
};

struct run {
	const struct recording *recording;
	const struct setting *setting;
	struct adsm_sim_home homes[DEVICES_MAX];
	struct replica *replicas;	/* by the object's id */
	struct copying *copying;	/* by the thread's number */
	struct result *result;
};

__attribute__((format(printf, 2, 3)))
static void is_about(struct run *run, const char *format, ...)
{
	va_list list;

	if (*run->result->about)
		return;
	va_start(list, format);
	vsnprintf(run->result->about, sizeof(run->result->about), format, list);
	va_end(list);
}

/* ---- pages that are open in the recorded run */

static void note_open(struct replica *replica, size_t page)
{
	bool none = replica->first_open == replica->end_open;

	replica->open[page] = true;
	if (none || page < replica->first_open)
		replica->first_open = page;
	if (none || page >= replica->end_open)
		replica->end_open = page + 1;
}

static void note_closed(struct replica *replica, size_t first, size_t end)
{
	first = first < replica->first_open ? replica->first_open : first;
	end = end > replica->end_open ? replica->end_open : end;
	if (first < end)
		memset(replica->open + first, 0, end - first);
}

static void note_all_closed(struct replica *replica)
{
	note_closed(replica, 0, SIZE_MAX);
	replica->first_open = replica->end_open = 0;
}

/* Blocks of a simulated object were sent early and closed. The next write to a page is not in the recording if the page
 * was open in the recorded run. */
static void evicted(void *arg, const struct adsm_blocks *blocks, uint32_t first, uint32_t n)
{
	struct run *run = arg;
	const struct adsm_sim *sim = (const void *)((const char *)blocks - offsetof(struct adsm_sim, blocks));
	const struct replica *replica = &run->replicas[sim->id];
	size_t at = (size_t)first << blocks->shift, end = at + adsm_blocks_size(blocks, first, n);

	/* Windows leave out blocks that are queued, and these are sent at any time. */
	if (run->setting->options.evict_batch != 1 || run->setting->options.fault_ahead >> blocks->shift > 1)
		is_about(run, "early sends depend on time (not with --evict-batch 1 --fault-ahead 0)");
	for (size_t page = at / ADSM_PAGE_SIZE; page * ADSM_PAGE_SIZE < end; page++)
		if (replica->open[page])
			is_about(run, "blocks are sent early, and the recording lacks later writes to them");
}

/* ---- the life of an object */

static bool make(struct run *run, const struct adsm_recording_event *event)
{
	const struct recorded_object *object = &run->recording->objects[event->object];
	const struct adsm_sim_shape shape = {
		.size = object->size, .unified = object->flags & ADSM_REC_MADE_UNIFIED,
		.populated = object->flags & ADSM_REC_MADE_POPULATED,
	};
	const struct adsm_protocol *protocol = run->setting->protocol;
	struct replica *replica = &run->replicas[event->object];
	size_t block_size = run->setting->options.block_size;

	if (object->flags & (ADSM_REC_MADE_DEVICE_ONLY | ADSM_REC_MADE_UNDETECTED)) {
		if (object->flags & ADSM_REC_MADE_UNDETECTED)
			is_about(run, "accesses to object %u were not recorded: record with lazy or rolling",
				 event->object);
		return true;
	}
	if (object->own) {
		protocol = adsm_protocol_find(run->recording->header->protocols[object->protocol]);
		block_size = (size_t)1 << object->block_shift;
	}
	if (!protocol) {
		complain("protocol %u of the recording is unknown", object->protocol);
		return false;
	}
	replica->sim = adsm_sim_make(&shape, protocol, block_size, &run->homes[object->device]);
	replica->open = calloc(adsm_whole_pages(object->size) / ADSM_PAGE_SIZE, 1);
	if (!replica->sim || !replica->open) {
		complain("object %u, of %zu bytes, needs too much memory with blocks of %zu bytes", event->object,
			 object->size, protocol->whole_object ? object->size : block_size);
		return false;
	}
	replica->sim->id = event->object;
	if (object->flags & ADSM_REC_MADE_SERVICE && replica->sim->blocks.detects &&
	    run->setting->options.fault_ahead && (size_t)1 << replica->sim->blocks.shift <= EXPECTED_BYTES)
		is_about(run, "after a sync the library fetches blocks that it expects the CPU to read next");
	return true;
}

static void add(adsmStats *sum, const adsmStats *stats, bool unified)
{
	if (!unified) {
		sum->h2d_bytes += stats->h2d_bytes;
		sum->d2h_bytes += stats->d2h_bytes;
		sum->h2d_transfers += stats->h2d_transfers;
		sum->d2h_transfers += stats->d2h_transfers;
	}
	sum->read_faults += stats->read_faults;
	sum->write_faults += stats->write_faults;
	sum->signals += stats->signals;
	sum->ahead_blocks += stats->ahead_blocks;
	sum->evictions += stats->evictions;
}

static void end(struct run *run, struct replica *replica)
{
	if (replica->sim)
		add(&run->result->stats, &replica->sim->stats, replica->sim->unified);
	adsm_sim_end(replica->sim);
	free(replica->open);
	replica->sim = NULL;
	replica->open = NULL;
}

/* ---- what happens to an object */

static void begin_bulk(struct run *run, const struct adsm_recording_event *event, struct copying *copying)
{
	struct adsm_sim *sim = run->replicas[event->object].sim;
	struct adsm_bulk bulk = {
		.offset = event->a, .size = event->b, .input = event->detail & ADSM_REC_BULK_INPUT,
		.fill = event->detail & ADSM_REC_BULK_FILL, .strict = event->detail & ADSM_REC_BULK_STRICT,
		.device_min = copying->device_min, .step = copying->step ? copying->step : event->b,
	};
	bool open, libc = adsm_bulk_for_libc(&sim->blocks, &bulk, &open);

	if (copying->object == event->object)
		is_about(run, "a bulk copy of object %u was interrupted by another one", event->object);
	copying->object = event->object;
	copying->offset = event->a;
	copying->size = event->b;
	copying->done = !libc || !(event->detail & ADSM_REC_BULK_LIBC);
	/* If both leave the copy to the C library, its touches follow. */
	if (copying->done && libc)
		adsm_sim_touch_all(sim, &bulk);
	else if (copying->done)
		adsm_sim_copy(sim, &bulk);
}

/* The library has closed the pages. */
static void end_bulk(struct replica *replica, struct copying *copying, uint32_t object)
{
	if (copying->object == object)
		note_closed(replica, copying->offset / ADSM_PAGE_SIZE,
			    (copying->offset + copying->size + ADSM_PAGE_SIZE - 1) / ADSM_PAGE_SIZE);
	copying->object = 0;
}

static void touch(struct replica *replica, const struct adsm_recording_event *event, bool done)
{
	if (event->detail)
		note_open(replica, event->a / ADSM_PAGE_SIZE);
	if (!done)
		adsm_sim_touch(replica->sim, event->a, event->detail);
}

static void call(struct replica *replica, enum adsm_block_event event, uint64_t seq)
{
	note_all_closed(replica);
	adsm_sim_call(replica->sim, event);
	replica->last_use = seq;
}

static void with_object(struct run *run, const struct adsm_recording_event *event)
{
	struct replica *replica = &run->replicas[event->object];
	struct copying *copying = &run->copying[event->thread];
	bool done = copying->object == event->object && copying->done;

	switch (event->kind) {
	case ADSM_REC_TOUCH:
		touch(replica, event, done);
		break;
	case ADSM_REC_ACCESS:
		is_about(run, "object %u was held, mapped or prefetched", event->object);
		adsm_sim_access(replica->sim, event->a, event->b, event->detail);
		break;
	case ADSM_REC_INPUT:
	case ADSM_REC_OUTPUT:
		if (event->detail)
			is_about(run, "object %u was read or written by several threads at the same time",
				 event->object);
		if (!done && event->a < event->b)
			adsm_sim_range(replica->sim, event->kind == ADSM_REC_INPUT, event->a, event->b);
		break;
	case ADSM_REC_BULK_LIMITS:
		copying->device_min = event->a;
		copying->step = event->b;
		break;
	case ADSM_REC_BULK:
		begin_bulk(run, event, copying);
		break;
	case ADSM_REC_BULK_END:
		end_bulk(replica, copying, event->object);
		break;
	case ADSM_REC_DEVICE_WROTE:
		if (copying->object != event->object)
			is_about(run, "the device has copied to object %u", event->object);
		if (!done)
			adsm_sim_device_write(replica->sim, event->a, event->b);
		note_closed(replica, event->a / ADSM_PAGE_SIZE, (event->b + ADSM_PAGE_SIZE - 1) / ADSM_PAGE_SIZE);
		break;
	case ADSM_REC_INEXACT:
		is_about(run, "object %u was used in a way that depends on its blocks", event->object);
		break;
	case ADSM_REC_CALLED:
		call(replica, event->detail, event->b);
		break;
	case ADSM_REC_EVICTED:
		note_closed(replica, event->a / ADSM_PAGE_SIZE, (event->b + ADSM_PAGE_SIZE - 1) / ADSM_PAGE_SIZE);
		break;
	case ADSM_REC_ASSIGNED:
		replica->assigned = event->detail;
		break;
	}
}

/* ---- what happens to all objects */

static void call_all(struct run *run, const struct adsm_recording_event *event)
{
	for (uint32_t i = 1; i < run->recording->n_objects; i++) {
		struct replica *replica = &run->replicas[i];

		if (replica->sim && run->recording->objects[i].device == event->object && !replica->assigned &&
		    replica->last_use != event->b)
			call(replica, ADSM_EVENT_CALL_INOUT, event->b);
	}
}

/* Like acquire() in sync.c. */
static void sync_all(struct run *run, const struct adsm_recording_event *event)
{
	for (uint32_t i = 1; i < run->recording->n_objects; i++) {
		struct replica *replica = &run->replicas[i];
		bool due = replica->sim && replica->sim->blocks.syncs &&
			run->recording->objects[i].device == event->object;

		if (due && event->b)
			due = !replica->sim->blocks.detects && replica->last_use == event->b;
		else if (due)
			due = replica->last_use <= event->a;
		if (due)
			adsm_sim_sync(replica->sim);
	}
}

static void reset(struct run *run)
{
	run->result->stats = (adsmStats){ 0 };
	for (uint32_t i = 1; i < run->recording->n_objects; i++)
		if (run->replicas[i].sim)
			run->replicas[i].sim->stats = (adsmStats){ 0 };
}

static bool repeat(struct run *run, const struct adsm_recording_event *event)
{
	switch (event->kind) {
	case ADSM_REC_MADE:
		return make(run, event);
	case ADSM_REC_FREED:
		end(run, &run->replicas[event->object]);
		break;
	case ADSM_REC_CALLED_ALL:
		call_all(run, event);
		break;
	case ADSM_REC_SYNC:
		sync_all(run, event);
		break;
	case ADSM_REC_RESET:
		reset(run);
		break;
	case ADSM_REC_UNRECORDED:
		is_about(run, "the program has more objects than a recording distinguishes");
		break;
	case ADSM_REC_END:
		break;
	default:
		if (event->object && event->kind < ADSM_REC_N && run->replicas[event->object].sim)
			with_object(run, event);
	}
	return true;
}

/* Objects without blocks have the same counters with each setting. */
static void add_others(struct run *run)
{
	for (uint32_t i = 1; i < run->recording->n_objects; i++) {
		const struct recorded_object *object = &run->recording->objects[i];

		if (object->flags & (ADSM_REC_MADE_DEVICE_ONLY | ADSM_REC_MADE_UNDETECTED))
			add(&run->result->stats, &object->counted, false);
	}
}

bool replay(const struct recording *recording, const struct setting *setting, struct result *ret_result)
{
	struct run run = { .recording = recording, .setting = setting, .result = ret_result };
	bool right;

	*ret_result = (struct result){ .about = "" };
	adsm_protocol_options = setting->options;
	run.replicas = calloc(recording->n_objects, sizeof(*run.replicas));
	run.copying = calloc(recording->n_threads + 1u, sizeof(*run.copying));
	right = run.replicas && run.copying;
	if (!right)
		complain("no memory for a replay");
	for (unsigned i = 0; i < DEVICES_MAX; i++) {
		adsm_policies_init(&run.homes[i].policies);
		run.homes[i].evicted = evicted;
		run.homes[i].arg = &run;
	}
	for (size_t i = 0; right && i < recording->n_events; i++)
		right = repeat(&run, &recording->events[i]);
	for (uint32_t i = 1; run.replicas && i < recording->n_objects; i++)
		end(&run, &run.replicas[i]);
	add_others(&run);
	free(run.replicas);
	free(run.copying);
	return right;
}
