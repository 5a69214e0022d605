/* SPDX-License-Identifier: MIT */
/*
 * hcrc_sync.c - the locks that a node holds or requests, the barrier, and the end of workers. Also the list of locks
 * and of operations on flags (hcrc_flags.c) that leave the node.
 *
 * A lock leaves the node together with all changes of the node's workers so far: as diffs, or in the list of changed
 * pages. Until then a release only concerns the workers of the node, which share its copies of pages.
 *
 * Early diffs must be in their pages before a lock leaves: otherwise the next holder might not see them. They are
 * counted by epochs. A lock waits for the diffs of the epoch when it was released, and earlier. It begins a new epoch
 * as soon as possible: otherwise it might wait forever, if more early diffs are sent all the time.
 */
#include "hcrc.h"

#include <errno.h>
#include <string.h>

void adsm_hcrc_go(struct adsm_hcrc *hcrc, uint32_t worker)
{
	hcrc->workers[worker].waits = ADSM_HCRC_RUNS;
	hcrc->config.go(hcrc->config.arg, worker);
}

static void send(struct adsm_hcrc *hcrc, struct adsm_hcrc_message message, const struct adsm_hcrc_list *list)
{
	message.size = list ? list->n * (uint32_t)sizeof(*list->at) : 0;
	adsm_hcrc_send(hcrc, ADSM_HCRC_MANAGER, message, list ? list->at : NULL);
}

/* ---- early diffs */

static uint32_t *n_early(const struct adsm_hcrc *hcrc, uint32_t epoch)
{
	return &hcrc->now->n_early[epoch % 2];
}

/* Are all early diffs of this epoch and earlier in their pages? @epoch is the current one, the previous one, or
 * older. */
static bool are_in(const struct adsm_hcrc *hcrc, uint32_t epoch)
{
	const uint32_t now = hcrc->now->epoch;

	if (epoch == now)
		return !*n_early(hcrc, now) && !*n_early(hcrc, now - 1);
	return epoch != now - 1 || !*n_early(hcrc, epoch);
}

/* ---- locks */

static struct adsm_hcrc_lock *lock_of(const struct adsm_hcrc *hcrc, uint32_t number)
{
	return number < hcrc->config.n_locks ? &hcrc->locks[number] : NULL;
}

static void put_last(struct adsm_hcrc *hcrc, struct adsm_hcrc_lock *lock, uint32_t worker)
{
	*(lock->last ? &hcrc->workers[lock->last - 1].next : &lock->first) = (uint8_t)(worker + 1);
	lock->last = (uint8_t)(worker + 1);
}

/* Give a lock that is on this node to the worker that has waited longest. */
static void hand_over(struct adsm_hcrc *hcrc, struct adsm_hcrc_lock *lock)
{
	struct adsm_hcrc_worker *worker = &hcrc->workers[lock->first - 1];

	lock->owner = lock->first;
	lock->first = worker->next;
	worker->next = 0;
	if (!lock->first)
		lock->last = 0;
	lock->n_grants += lock->n_grants < UINT32_MAX;
	worker->n_locks++;
	hcrc->counts.locks++;
	adsm_hcrc_go(hcrc, lock->owner - 1u);
}

static void request_lock(struct adsm_hcrc *hcrc, uint32_t number)
{
	hcrc->locks[number].n_asked++;
	hcrc->counts.global_locks++;
	send(hcrc, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_LOCK, .lock = number }, NULL);
}

int adsm_hcrc_acquire(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t number)
{
	struct adsm_hcrc_lock *lock = lock_of(hcrc, number);

	if (!lock)
		return -EINVAL;
	if (lock->owner == worker + 1)
		return -EDEADLK;
	hcrc->workers[worker].waits = ADSM_HCRC_FOR_LOCK;
	put_last(hcrc, lock, worker);
	if (lock->here && !lock->owner && !lock->wanted)
		hand_over(hcrc, lock);
	/* If locks are handed over on the node, one request is enough. */
	else if (!hcrc->config.locality || (!lock->here && !lock->n_asked))
		request_lock(hcrc, number);
	return 0;
}

/* All early diffs that the lock waited for are in their pages: give it back to the manager. */
static void give_back_lock(struct adsm_hcrc *hcrc, uint32_t number)
{
	struct adsm_hcrc_lock *lock = &hcrc->locks[number];

	adsm_hcrc_flush(hcrc, number);
	send(hcrc, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_UNLOCK, .lock = number }, hcrc->list);
	lock->here = lock->wanted = false;
	if (lock->first && !lock->n_asked)
		request_lock(hcrc, number);
}

static void arrive(struct adsm_hcrc *hcrc)
{
	struct adsm_hcrc_now *now = hcrc->now;

	if (now->arrived || now->at_barrier + now->n_ended != adsm_hcrc_n_workers(hcrc) ||
	    !are_in(hcrc, now->epoch))
		return;
	now->arrived = true;
	adsm_hcrc_flush(hcrc, hcrc->config.n_locks + hcrc->config.self);
	send(hcrc, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_ARRIVE, .count = now->n_ended }, hcrc->list);
}

/* Continue what no longer needs to wait for early diffs: what leaves, in its order, and the barrier. */
static void go_on(struct adsm_hcrc *hcrc)
{
	struct adsm_hcrc_now *now = hcrc->now;
	uint32_t number;

	/* If the first one must wait, all others must: their epochs are not older. */
	while (now->leaving && are_in(hcrc, hcrc->locks[now->leaving - 1].epoch)) {
		number = now->leaving - 1;
		now->leaving = hcrc->locks[number].next;
		now->last_leaving = now->leaving ? now->last_leaving : 0;
		hcrc->locks[number].next = 0;
		if (number < hcrc->config.n_locks)
			give_back_lock(hcrc, number);
		else
			adsm_hcrc_send_flag(hcrc, number - hcrc->config.n_locks);
	}
	arrive(hcrc);
	if (now->leaving && hcrc->locks[now->last_leaving - 1].epoch == now->epoch &&
	    !*n_early(hcrc, now->epoch - 1))
		now->epoch++;
}

void adsm_hcrc_leave(struct adsm_hcrc *hcrc, uint32_t number, bool changes)
{
	struct adsm_hcrc_now *now = hcrc->now;
	struct adsm_hcrc_lock *lock = &hcrc->locks[number];

	lock->epoch = now->epoch;
	*(now->leaving ? &hcrc->locks[now->last_leaving - 1].next : &now->leaving) = number + 1;
	now->last_leaving = number + 1;
	/* While the lock waits, a page with changes may become old, or its frame may be needed: send its diffs
	 * now. */
	if (changes && !are_in(hcrc, lock->epoch))
		adsm_hcrc_flush_early(hcrc);
	go_on(hcrc);
}

int adsm_hcrc_release(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t number)
{
	struct adsm_hcrc_lock *lock = lock_of(hcrc, number);

	if (!lock)
		return -EINVAL;
	if (lock->owner != worker + 1)
		return -EPERM;
	hcrc->workers[worker].n_locks--;
	lock->owner = 0;
	adsm_hcrc_go(hcrc, worker);
	if (lock->first && (!lock->wanted || lock->n_grants < hcrc->config.locality * adsm_hcrc_n_workers(hcrc)))
		hand_over(hcrc, lock);
	else if (lock->wanted)
		adsm_hcrc_leave(hcrc, number, true);
	return 0;
}

/* ---- the barrier, and the end */

void adsm_hcrc_barrier(struct adsm_hcrc *hcrc, uint32_t worker)
{
	hcrc->workers[worker].waits = ADSM_HCRC_AT_BARRIER;
	hcrc->now->at_barrier++;
	arrive(hcrc);
}

int adsm_hcrc_end(struct adsm_hcrc *hcrc, uint32_t worker)
{
	if (hcrc->workers[worker].n_locks)
		return -EOWNERDEAD;
	hcrc->workers[worker].waits = ADSM_HCRC_ENDED;
	hcrc->now->n_ended++;
	arrive(hcrc);
	return 0;
}

void adsm_hcrc_fail(struct adsm_hcrc *hcrc, uint32_t error)
{
	send(hcrc, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_FAIL, .count = error }, NULL);
}

/* Send the pages whose home is this node to the manager's node. */
static void give_back(struct adsm_hcrc *hcrc)
{
	struct adsm_hcrc_message message = { .kind = ADSM_HCRC_BACK, .size = hcrc->config.page_size };

	for (uint32_t i = 0; hcrc->config.self != ADSM_HCRC_MANAGER && i < hcrc->own->n; i++) {
		message.page = hcrc->own->at[i];
		adsm_hcrc_send(hcrc, ADSM_HCRC_MANAGER, message, adsm_hcrc_bytes(hcrc, message.page));
	}
	send(hcrc, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_DONE }, NULL);
	if (hcrc->config.self != ADSM_HCRC_MANAGER)
		hcrc->config.ended(hcrc->config.arg, 0);
}

/* ---- messages */

int adsm_hcrc_invalidate_all(struct adsm_hcrc *hcrc, uint32_t size, const uint8_t *bytes)
{
	uint32_t page;

	for (uint32_t at = 0; at < size; at += (uint32_t)sizeof(page)) {
		memcpy(&page, bytes + at, sizeof(page));
		if (page >= hcrc->config.n_pages)
			return -EPROTO;
		adsm_hcrc_invalidate(hcrc, page);
	}
	return 0;
}

int adsm_hcrc_on_grant(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes)
{
	struct adsm_hcrc_lock *lock = &hcrc->locks[message->lock];

	if (!lock->n_asked || lock->here || !lock->first ||
	    adsm_hcrc_invalidate_all(hcrc, message->size, bytes))
		return -EPROTO;
	lock->n_asked--;
	lock->here = true;
	lock->wanted = message->count || !adsm_hcrc_locks_stay(hcrc);
	lock->n_grants = 0;
	hand_over(hcrc, lock);
	return 0;
}

int adsm_hcrc_on_recall(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message)
{
	struct adsm_hcrc_lock *lock = &hcrc->locks[message->lock];

	if (!lock->here || lock->wanted)
		return -EPROTO;
	lock->wanted = true;
	if (!lock->owner)
		adsm_hcrc_leave(hcrc, message->lock, true);
	return 0;
}

int adsm_hcrc_on_depart(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes)
{
	struct adsm_hcrc_now *now = hcrc->now;

	if (now->arrived != (adsm_hcrc_n_workers(hcrc) != 0) ||
	    adsm_hcrc_invalidate_all(hcrc, message->size, bytes))
		return -EPROTO;
	if (message->count) {
		give_back(hcrc);
		return 0;
	}
	now->arrived = false;
	now->at_barrier = 0;
	for (uint32_t i = 0; i < adsm_hcrc_n_workers(hcrc); i++)
		if (hcrc->workers[i].waits == ADSM_HCRC_AT_BARRIER)
			adsm_hcrc_go(hcrc, i);
	return 0;
}

int adsm_hcrc_on_early_ack(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message)
{
	uint32_t *n = n_early(hcrc, message->count);

	if (!*n)
		return -EPROTO;
	--*n;
	go_on(hcrc);
	return 0;
}

void adsm_hcrc_on_probe(struct adsm_hcrc *hcrc)
{
	struct adsm_hcrc_message message = { .kind = ADSM_HCRC_STATE, .page = hcrc->now->n_sent,
					     .lock = hcrc->now->n_taken };

	for (uint32_t i = 0; i < adsm_hcrc_n_workers(hcrc); i++)
		message.count += hcrc->workers[i].waits == ADSM_HCRC_RUNS;
	send(hcrc, message, NULL);
}
