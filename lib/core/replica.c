/* SPDX-License-Identifier: MIT */
/* replica.c - see replica.h. */
#include "core/replica.h"

#include <stdlib.h>
#include <string.h>

/* Count the memory of a replica, unless a call that is about to begin uses it. */
static void count(struct adsm_home *home, const struct adsm_replica *replica, int change)
{
	if (replica->memory && !replica->wanted)
		atomic_fetch_add_explicit(&home->replicas_size, change < 0 ? -(uint64_t)replica->span : replica->span,
					  memory_order_relaxed);
}

static void set_wanted(struct adsm_home *home, struct adsm_replica *replica, bool wanted)
{
	count(home, replica, -1);
	replica->wanted = wanted;
	count(home, replica, 1);
}

static void unlink_from(struct adsm_home *home, const struct adsm_replica *replica)
{
	struct adsm_replica **at = &home->replicas;

	while (*at != replica)
		at = &(*at)->next;
	*at = replica->next;
}

struct adsm_replica *adsm_replica_find(struct adsm_home *home, const struct adsm_object *object)
{
	struct adsm_replica *replica = home->replicas;

	while (replica && (replica->object != object || replica->ending)) {
		if (replica->object != object) {
			replica = replica->next;
			continue;
		}
		adsm_home_wait(home);
		replica = home->replicas;
	}
	return replica;
}

const struct adsm_replica *adsm_replica_at(const struct adsm_home *home, uintptr_t address)
{
	const struct adsm_replica *replica = home->replicas;

	while (replica && !(replica->wanted && replica->memory && address - replica->start < replica->span))
		replica = replica->next;
	return replica;
}

void adsm_replica_add(struct adsm_home *home, struct adsm_replica *replica)
{
	struct adsm_replica **last = &home->replicas;

	while (*last)
		last = &(*last)->next;
	replica->next = NULL;
	*last = replica;
}

void adsm_replica_want(struct adsm_home *home, struct adsm_replica *replica)
{
	set_wanted(home, replica, true);
	unlink_from(home, replica);
	adsm_replica_add(home, replica);
}

void adsm_replica_set_memory(struct adsm_home *home, struct adsm_replica *replica, struct adsm_memory *memory)
{
	replica->memory = memory;
	count(home, replica, 1);
}

uint64_t adsm_replica_user(struct adsm_home *home, const struct adsm_replica *replica)
{
	for (unsigned i = 0; i < home->n_lanes; i++)
		if (!adsm_call_ended(home, replica->use_seq[i]))
			return replica->use_seq[i];
	return 0;
}

uint64_t adsm_replicas_user(struct adsm_home *home)
{
	uint64_t seq = 0;

	for (const struct adsm_replica *replica = home->replicas; replica && !seq; replica = replica->next)
		seq = replica->wanted ? 0 : adsm_replica_user(home, replica);
	return seq;
}

uint64_t adsm_replicas_wanted(const struct adsm_home *home)
{
	uint64_t size = 0;

	for (const struct adsm_replica *replica = home->replicas; replica; replica = replica->next)
		size += replica->wanted && replica->memory ? replica->span : 0;
	return size;
}

void adsm_replicas_use(struct adsm_home *home, unsigned lane, uint64_t seq)
{
	for (struct adsm_replica *replica = home->replicas; replica; replica = replica->next)
		if (replica->wanted)
			replica->use_seq[lane] = seq;
}

void adsm_replica_end(struct adsm_home *home, struct adsm_replica *replica)
{
	set_wanted(home, replica, false);
	count(home, replica, -1);
	replica->ending = true;
	if (replica->memory) {
		adsm_unlock(&home->lock);
		home->device->backend->free(replica->memory);
		adsm_lock(&home->lock);
	}
	unlink_from(home, replica);
	adsm_home_notify(home);
	adsm_unlock(&home->lock);
	free(replica);		/* never with the lock: a handler that interrupted malloc() may wait for it */
	adsm_lock(&home->lock);
}

void adsm_replicas_unwant(struct adsm_home *home)
{
	struct adsm_sigset old;

	adsm_home_lock(home, &old);
	for (struct adsm_replica *replica = home->replicas; replica; replica = replica->next)
		set_wanted(home, replica, false);
	adsm_home_notify(home);
	adsm_home_unlock(home, &old);
}

bool adsm_replicas_give_up_oldest(struct adsm_home *home)
{
	struct adsm_replica *replica;
	struct adsm_sigset old;
	bool any;

	if (!adsm_replicas_size(home))
		return false;
	adsm_home_lock(home, &old);
	replica = home->replicas;
	while (replica && (replica->wanted || replica->ending || !replica->memory || adsm_replica_user(home, replica)))
		replica = replica->next;
	any = replica;
	if (any)
		adsm_replica_end(home, replica);
	adsm_home_unlock(home, &old);
	return any;
}
