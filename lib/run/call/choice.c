/* SPDX-License-Identifier: MIT */
/* choice.c - see choice.h. */
#include "run/call/choice.h"

#include "core/block.h"
#include "core/resident.h"
#include "run/wait/enter.h"
#include "run/call/moves.h"
#include "run/call/replicate.h"
#include "run/call/residency.h"
#include "run/wait/pending.h"
#include "run/wait/wait.h"

#define NEEDS_MAX 64			/* objects that the choice looks at */
#define RECENT 16			/* calls whose mean time is expected of those that have not ended */

/* What an object of the call costs. */
struct need {
	struct adsm_home *home;
	uint64_t fetched;		/* bytes to the host, before the object leaves its home */
	uint64_t span;			/* its device memory */
	uint64_t sent_here, sent_there;	/* bytes to the device, if the call runs at its home; elsewhere */
	bool used;			/* a call uses it: it leaves its home after that */
	bool stays;			/* it cannot move */
	bool absent;			/* it has no device memory */
	bool reads;			/* the call only reads it: it is copied, and need not leave its home */
	unsigned copies;		/* the homes that have its bytes in a copy, by bits */
};

/* ---- what is known of a device */

/* How long the calls that have not ended will run: as long as the calls before them, on the average. */
static uint64_t backlog_ns(struct adsm_home *home)
{
	const struct adsm_outcome *outcomes = adsm_pending_of(home)->outcomes;
	uint64_t n = 0, n_known = 0, known_ns = 0, first;
	struct adsm_sigset old;

	adsm_home_lock(home, &old);
	adsm_retire(home);
	first = adsm_ended_next(&home->ended);
	for (uint64_t seq = first; seq <= home->last_seq; seq++)
		n += !adsm_call_ended(home, seq);
	for (uint64_t seq = first; seq-- > 1 && seq + RECENT >= first; ) {
		const struct adsm_outcome *outcome = &outcomes[seq % ADSM_OUTCOMES];
		const bool known = outcome->seq == seq && !outcome->status && outcome->span.start_ns;

		n_known += known;
		known_ns += known ? outcome->span.ns : 0;
	}
	adsm_home_unlock(home, &old);
	return n_known ? n * known_ns / n_known : n;
}

/* How long a transfer takes, at the rate of all transfers so far. Before the first one: 1 GB/s. */
static uint64_t transfer_ns(const struct adsm_home *home, enum adsm_direction direction, uint64_t bytes)
{
	const struct adsm_rate *rate = &home->rates[direction];
	const uint64_t moved = atomic_load(&rate->bytes);

	return moved ? (uint64_t)((double)bytes * (double)atomic_load(&rate->ns) / (double)moved) : bytes;
}

/* ---- the objects of the call */

/* The bytes of @n blocks, at most those of the object. */
static uint64_t bytes_of(const struct adsm_object *object, uint64_t n)
{
	const uint64_t size = n << object->blocks.shift;

	return size < object->size ? size : object->size;
}

static struct need need_of(const struct adsm_bound *bound, const struct adsm_object *object, unsigned access)
{
	const struct adsm_blocks *blocks = &object->blocks;
	struct need need = { .home = object->home, .span = object->span,
			     .reads = adsm_moves_only_reads(bound, object) };

	need.used = need.reads ? adsm_object_writer(object) : adsm_object_user(object);
	need.stays = adsm_object_why_fixed(object, object->home) || object->inputs;
	need.absent = !object->memory;
	if (object->device_only)
		return need;
	need.fetched = bytes_of(object, adsm_blocks_n_lacking(blocks));
	if (access != ADSM_ACCESS_OUT) {
		need.sent_here = bytes_of(object, adsm_blocks_n_unsent(blocks));
		need.sent_there = object->memory ? object->size : need.sent_here;
	}
	return need;
}

/* The homes that have a copy with the object's bytes. */
static unsigned copies_of(struct adsm_object *object)
{
	unsigned copies = 0;

	for (int i = 0; i < adsm_n_homes; i++)
		copies |= (unsigned)adsm_replicate_has(&adsm_homes[i], object) << i;
	return copies;
}

/* Find out what the pointers cost. The module's variables, which come last, are on each device. */
static size_t get_needs(const struct adsm_bound *bound, struct need *ret_needs)
{
	const struct adsm_launch_arg *variables = bound->args + bound->kernel->info->n_params;
	size_t n = 0;

	for (size_t i = 0; i < bound->n_pointers && n < NEEDS_MAX; i++) {
		const struct adsm_named_pointer *pointer = &bound->pointers[i];
		struct adsm_sigset old;
		struct adsm_object *object;
		bool again = false;

		for (size_t k = 0; k < i && !again; k++)
			again = bound->pointers[k].p == pointer->p;
		if (again || (pointer->arg >= variables && bound->kernel->info->n_variables))
			continue;
		object = adsm_object_enter(pointer->p, &old);
		if (!object)
			continue;
		ret_needs[n] = need_of(bound, object, pointer->access);
		adsm_home_unlock(ret_needs[n].home, &old);
		ret_needs[n].copies = ret_needs[n].reads ? copies_of(object) : 0;
		n++;
	}
	return n;
}

/* When the call could begin on @home, in ns from now; UINT64_MAX: it cannot run there. */
static uint64_t begins_ns(const struct adsm_bound *bound, struct adsm_home *home, const struct need *needs, size_t n,
			  const uint64_t *backlogs)
{
	const struct adsm_home *only = bound->kernel->module->only;
	uint64_t ns = 0, after = backlogs[home->index], size = 0;
	bool absent = false;

	if (home->device->backend->status(home->device) || (only && only != home))
		return UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		const struct need *need = &needs[i];

		if (need->copies >> home->index & 1) {
			size += need->span;	/* the memory of copies counts as free */
			continue;
		}
		if (need->home == home) {
			ns += transfer_ns(home, ADSM_TO_DEVICE, need->sent_here);
			absent |= need->absent;
			continue;
		}
		if (need->stays || !home->residents.on)
			return UINT64_MAX;
		size += need->span;
		ns += transfer_ns(need->home, ADSM_TO_HOST, need->fetched) +
			transfer_ns(home, ADSM_TO_DEVICE, need->sent_there);
		if (need->used && backlogs[need->home->index] > after)
			after = backlogs[need->home->index];
	}
	return (size || absent) && !adsm_residency_could_fit(bound, home, size, false) ? UINT64_MAX : ns + after;
}

struct adsm_home *adsm_choose(const struct adsm_bound *bound)
{
	uint64_t backlogs[ADSM_MAX_DEVICES], best_ns;
	struct adsm_home *best = bound->home;
	struct need needs[NEEDS_MAX];
	bool moves = false;
	size_t n;

	/* An unnamed call uses all objects of its device. */
	if (!bound->named || bound->n_pointers > NEEDS_MAX)
		return NULL;
	n = get_needs(bound, needs);
	for (int i = 0; i < adsm_n_homes; i++)
		backlogs[i] = backlog_ns(&adsm_homes[i]);
	best_ns = begins_ns(bound, best, needs, n, backlogs);
	for (int i = 0; i < adsm_n_homes; i++) {
		const uint64_t ns = &adsm_homes[i] == bound->home ? best_ns :
			begins_ns(bound, &adsm_homes[i], needs, n, backlogs);

		if (ns < best_ns) {
			best = &adsm_homes[i];
			best_ns = ns;
		}
	}
	for (size_t i = 0; i < n; i++)
		moves |= needs[i].home != best;
	return moves || best != bound->home ? best : NULL;
}
