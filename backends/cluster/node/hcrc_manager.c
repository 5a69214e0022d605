/* SPDX-License-Identifier: MIT */
/*
 * hcrc_manager.c - see hcrc_manager.h.
 *
 * Whose copies are old is settled when a home says that a diff is in its page: before that it has said who has got
 * copies without it. What a node has changed of its own pages it says when it gives a lock back. A lock is granted
 * again when that is settled for all that its last owner has given back before: releases of a node stand in a line.
 */
#include "hcrc_manager.h"

#include <errno.h>
#include <string.h>

static void reply(struct adsm_hcrc *hcrc, uint32_t to, struct adsm_hcrc_message message, const void *bytes)
{
	adsm_hcrc_send(hcrc, to, message, bytes);
}

/* All hear of it; of the first one only. */
static void fail(struct adsm_hcrc *hcrc, uint32_t error)
{
	for (uint32_t i = 0; i < hcrc->config.n_nodes && !hcrc->now->failed; i++)
		reply(hcrc, i, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_FAILED, .count = error }, NULL);
	hcrc->now->failed = true;
}

/* ---- pages */

/* @writer has changed it: all others that may have a copy are to hear of it, but for its home. */
static void notice(struct adsm_hcrc *hcrc, uint32_t page, uint32_t writer)
{
	struct adsm_hcrc_entry *entry = &hcrc->entries[page];
	uint64_t new = entry->readers & ~entry->noticed & ~adsm_hcrc_bit(writer) & ~adsm_hcrc_bit(entry->home - 1u);

	entry->noticed |= new;
	while (new)
		adsm_hcrc_push(&hcrc->old[adsm_hcrc_pop(&new)], page);
}

/* What @node is to hear goes with @message: it has none of these pages then. */
static void send_with_notices(struct adsm_hcrc *hcrc, uint32_t node, struct adsm_hcrc_message message)
{
	struct adsm_hcrc_list *old = &hcrc->old[node];

	for (uint32_t i = 0; i < old->n; i++) {
		struct adsm_hcrc_entry *entry = &hcrc->entries[old->at[i]];

		entry->readers &= ~adsm_hcrc_bit(node);
		entry->noticed &= ~adsm_hcrc_bit(node);
	}
	message.size = old->n * (uint32_t)sizeof(*old->at);
	reply(hcrc, node, message, old->at);
	old->n = 0;
}

static int on_ask(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message)
{
	struct adsm_hcrc_entry *entry = &hcrc->entries[message->page];
	struct adsm_hcrc_message answer = { .kind = ADSM_HCRC_HOME, .page = message->page,
					    .size = message->has ? 0 : hcrc->config.page_size };

	if (entry->moving) {
		entry->waiting |= adsm_hcrc_bit(message->from);
		return 0;
	}
	if (entry->home) {
		answer.node = (uint8_t)(entry->home - 1);
		answer.size = 0;
	} else {
		entry->readers |= adsm_hcrc_bit(message->from);
		if (message->kind == ADSM_HCRC_ASK_READ) {
			answer.kind = ADSM_HCRC_PAGE;
		} else {
			/* Who asks before it has it must not get there first. */
			entry->moving = true;
			entry->home = (uint8_t)(message->from + 1);
			answer.node = message->from;
		}
	}
	if (answer.size && hcrc->config.fill)
		hcrc->config.fill(hcrc->config.arg, message->page);
	reply(hcrc, message->from, answer, answer.size ? adsm_hcrc_bytes(hcrc, message->page) : NULL);
	return 0;
}

static int on_taken(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message)
{
	struct adsm_hcrc_entry *entry = &hcrc->entries[message->page];

	if (!entry->moving || entry->home != message->from + 1)
		return -EPROTO;
	entry->moving = false;
	while (entry->waiting)
		reply(hcrc, adsm_hcrc_pop(&entry->waiting), (struct adsm_hcrc_message){ .kind = ADSM_HCRC_HOME,
				.page = message->page, .node = message->from }, NULL);
	return 0;
}

static int on_copy(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message)
{
	struct adsm_hcrc_entry *entry = &hcrc->entries[message->page];

	if (entry->home != message->from + 1)
		return -EPROTO;
	entry->readers |= adsm_hcrc_bit(message->node);
	return 0;
}

/* ---- locks */

/* The longest waiting one of the next node that wants it, round about, has it. */
static void grant(struct adsm_hcrc *hcrc, uint32_t number)
{
	struct adsm_hcrc_global_lock *lock = &hcrc->global_locks[number];
	const uint32_t n = hcrc->config.n_nodes;
	uint32_t nearest = n, before = 0, found = 0, node;

	if (lock->owner)
		return;
	for (uint32_t at = lock->first, last = 0; at; last = at, at = hcrc->waiters[at - 1].next) {
		const uint32_t distance = (hcrc->waiters[at - 1].node + n - 1 - lock->last_owner) % n;

		if (distance < nearest) {
			nearest = distance;
			found = at;
			before = last;
		}
	}
	if (!found)
		return;
	node = hcrc->waiters[found - 1].node;
	*(before ? &hcrc->waiters[before - 1].next : &lock->first) = hcrc->waiters[found - 1].next;
	if (lock->last == found)
		lock->last = before;
	hcrc->waiters[found - 1] = (struct adsm_hcrc_waiter){ hcrc->now->free_waiter, 0 };
	hcrc->now->free_waiter = found;
	lock->owner = (uint8_t)(node + 1);
	send_with_notices(hcrc, node, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_GRANT, .lock = number });
}

static int on_lock(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message)
{
	struct adsm_hcrc_global_lock *lock = &hcrc->global_locks[message->lock];
	const uint32_t waiter = hcrc->now->free_waiter;

	if (!waiter)
		return -EPROTO;
	hcrc->now->free_waiter = hcrc->waiters[waiter - 1].next;
	hcrc->waiters[waiter - 1] = (struct adsm_hcrc_waiter){ 0, message->from };
	*(lock->last ? &hcrc->waiters[lock->last - 1].next : &lock->first) = waiter;
	lock->last = waiter;
	grant(hcrc, message->lock);
	return 0;
}

/* All nodes are at the barrier, with their diffs. */
static void all_arrived(struct adsm_hcrc *hcrc)
{
	struct adsm_hcrc_now *now = hcrc->now;
	uint32_t n_workers = 0;

	for (uint32_t i = 0; i < hcrc->config.n_nodes; i++)
		n_workers += hcrc->config.workers[i];
	if (now->n_all_ended && now->n_all_ended != n_workers) {
		/* Those that wait would do so for ever. */
		fail(hcrc, EDEADLK);
		return;
	}
	for (uint32_t i = 0; i < hcrc->config.n_nodes; i++)
		if (hcrc->config.workers[i] || now->n_all_ended)
			send_with_notices(hcrc, i, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_DEPART,
					.count = now->n_all_ended != 0 });
	now->n_arrived = now->n_all_ended = 0;
}

static uint32_t n_nodes_with_workers(const struct adsm_hcrc *hcrc)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < hcrc->config.n_nodes; i++)
		n += hcrc->config.workers[i] != 0;
	return n;
}

/* What a node has given back goes on, as far as the diffs of it, and of all before it, are in their pages. */
static void complete(struct adsm_hcrc *hcrc, uint32_t node)
{
	uint32_t number;

	while ((number = hcrc->first_release[node])) {
		struct adsm_hcrc_global_lock *lock = &hcrc->global_locks[--number];

		if (lock->n_acks)
			return;
		hcrc->first_release[node] = lock->next;
		if (!lock->next)
			hcrc->last_release[node] = 0;
		lock->next = 0;
		lock->releasing = false;
		lock->last_owner = (uint8_t)node;
		lock->owner = 0;
		if (number < hcrc->config.n_locks)
			grant(hcrc, number);
		else if (++hcrc->now->n_arrived == n_nodes_with_workers(hcrc))
			all_arrived(hcrc);
	}
}

static int on_update(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message)
{
	if (hcrc->entries[message->page].home != message->from + 1)
		return -EPROTO;
	notice(hcrc, message->page, message->node);
	if (message->lock == ADSM_HCRC_EARLY) {
		reply(hcrc, message->node, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_EARLY_ACK,
				.page = message->page, .count = message->count }, NULL);
		return 0;
	}
	hcrc->global_locks[message->lock].n_acks--;
	complete(hcrc, message->node);
	return 0;
}

/* A lock, or a node's arrival at the barrier: with the pages that it has changed since it was here last. */
static int on_release(struct adsm_hcrc *hcrc, uint32_t number, const struct adsm_hcrc_message *message,
		      const uint8_t *bytes)
{
	struct adsm_hcrc_global_lock *lock = &hcrc->global_locks[number];
	const uint32_t node = message->from;
	uint32_t page;

	if (lock->releasing || (number < hcrc->config.n_locks && lock->owner != node + 1))
		return -EPROTO;
	for (uint32_t at = 0; at < message->size; at += (uint32_t)sizeof(page)) {
		memcpy(&page, bytes + at, sizeof(page));
		if (page >= hcrc->config.n_pages || !hcrc->entries[page].home)
			return -EPROTO;
		if (hcrc->entries[page].home == node + 1)
			notice(hcrc, page, node);
		else
			lock->n_acks++;
	}
	lock->releasing = true;
	*(hcrc->last_release[node] ? &hcrc->global_locks[hcrc->last_release[node] - 1].next :
	  &hcrc->first_release[node]) = number + 1;
	hcrc->last_release[node] = number + 1;
	complete(hcrc, node);
	return 0;
}

/* ---- the end */

static int on_done(struct adsm_hcrc *hcrc)
{
	if (++hcrc->now->n_done == hcrc->config.n_nodes)
		hcrc->config.ended(hcrc->config.arg, 0);
	return 0;
}

/* ---- does anything go on? */

void adsm_hcrc_probe(struct adsm_hcrc *hcrc)
{
	struct adsm_hcrc_now *now = hcrc->now;

	if (now->n_unknown || now->failed || now->n_done == hcrc->config.n_nodes)
		return;
	now->n_unknown = hcrc->config.n_nodes;
	now->running = now->probed_sent = now->probed_taken = 0;
	for (uint32_t i = 0; i < hcrc->config.n_nodes; i++)
		reply(hcrc, i, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_PROBE }, NULL);
}

/*
 * Nodes answer at different times. But where no worker ran, all that was sent had been taken, and the next probe finds
 * it so again with nothing sent in between, nothing has happened, nor will.
 */
static int on_state(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message)
{
	struct adsm_hcrc_now *now = hcrc->now;
	bool quiet;

	if (!now->n_unknown)
		return -EPROTO;
	now->running += message->count;
	now->probed_sent += message->page;
	now->probed_taken += message->lock;
	if (--now->n_unknown)
		return 0;
	quiet = !now->running && now->probed_sent == now->probed_taken;
	if (quiet && now->was_quiet && now->quiet_sent == now->probed_sent && now->n_done != hcrc->config.n_nodes)
		fail(hcrc, EDEADLK);
	now->was_quiet = quiet;
	now->quiet_sent = now->probed_sent;
	return 0;
}

int adsm_hcrc_on_manager(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes)
{
	switch (message->kind) {
	case ADSM_HCRC_ASK_READ:
	case ADSM_HCRC_ASK_WRITE:
		return on_ask(hcrc, message);
	case ADSM_HCRC_TAKEN:
		return on_taken(hcrc, message);
	case ADSM_HCRC_READ_ACK:
	case ADSM_HCRC_WRITE_ACK:
		return on_copy(hcrc, message);
	case ADSM_HCRC_UPDATE_ACK:
		return on_update(hcrc, message);
	case ADSM_HCRC_LOCK:
		return on_lock(hcrc, message);
	case ADSM_HCRC_UNLOCK:
		return on_release(hcrc, message->lock, message, bytes);
	case ADSM_HCRC_ARRIVE:
		hcrc->now->n_all_ended += message->count;
		return on_release(hcrc, hcrc->config.n_locks + message->from, message, bytes);
	case ADSM_HCRC_BACK:
		memcpy(adsm_hcrc_bytes(hcrc, message->page), bytes, hcrc->config.page_size);
		return 0;
	case ADSM_HCRC_DONE:
		return on_done(hcrc);
	case ADSM_HCRC_STATE:
		return on_state(hcrc, message);
	case ADSM_HCRC_FAIL:
		fail(hcrc, message->count);
		return 0;
	default:
		return -EPROTO;
	}
}
