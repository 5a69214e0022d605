/* SPDX-License-Identifier: MIT */
/* hcrc.c - see hcrc.h. */
#include "hcrc.h"

#include "process/device/diff.h"

#include <errno.h>
#include <string.h>

#define LARGEST_PAGE 32768

static uint32_t n_all_workers(const struct adsm_hcrc_config *config)
{
	return adsm_hcrc_first_worker(config, config->n_nodes);
}

/* Numbers of releases are smaller: locks, arrivals at the barrier, operations on flags. */
static uint32_t n_releases(const struct adsm_hcrc_config *config)
{
	return adsm_hcrc_flag_release(config, config->n_nodes, 0);
}

static bool is_valid(const struct adsm_hcrc_config *config)
{
	if (!config->n_nodes || config->n_nodes > ADSM_HCRC_NODES_MAX || config->self >= config->n_nodes)
		return false;
	for (uint32_t i = 0; i < config->n_nodes; i++)
		if (config->workers[i] > ADSM_HCRC_WORKERS_MAX)
			return false;
	return n_all_workers(config) && config->part_size && config->part_size % 8 == 0 && config->page_size &&
		config->page_size % config->part_size == 0 && config->page_size <= LARGEST_PAGE &&
		config->n_frames >= config->workers[config->self] &&
		config->n_locks < ADSM_HCRC_NONE / 2 && config->n_flags < ADSM_HCRC_NONE &&
		config->n_pages < ADSM_HCRC_NONE / adsm_hcrc_n_parts(config);
}

/* ---- memory */

struct room { uint8_t *at; size_t used; };

/* Take the next n * size bytes of the room. If it has no memory, they are only counted. */
static void *carve(struct room *room, size_t n, size_t size)
{
	void *at = room->at ? room->at + room->used : NULL;

	room->used = (room->used + n * size + 7) & ~(size_t)7;
	return at;
}

static uint32_t n_twins(const struct adsm_hcrc_config *config)
{
	return config->n_frames + config->workers[config->self] * config->n_open;
}

static size_t n_all_parts(const struct adsm_hcrc_config *config)
{
	return (size_t)config->n_pages * adsm_hcrc_n_parts(config);
}

/* Place the lists of pages. */
static void lay_out_lists(struct room *room, struct adsm_hcrc *hcrc)
{
	const struct adsm_hcrc_config *config = &hcrc->config;
	const uint32_t n_workers = adsm_hcrc_n_workers(hcrc);
	const uint32_t n_nodes = config->self == ADSM_HCRC_MANAGER ? config->n_nodes : 0;
	const uint32_t n = 3 + n_workers + n_nodes;
	struct adsm_hcrc_list *lists = carve(room, n, sizeof(*lists));

	for (uint32_t i = 0; i < n; i++) {
		/* Those of workers contain parts. */
		const bool parts = i >= 3 && i < 3 + n_workers;
		uint32_t *at = carve(room, parts ? n_all_parts(config) : config->n_pages, sizeof(*at));

		if (lists)
			lists[i].at = at;
	}
	hcrc->list = lists;
	hcrc->changed = lists ? lists + 1 : NULL;
	hcrc->own = lists ? lists + 2 : NULL;
	hcrc->notices = lists ? lists + 3 : NULL;
	hcrc->old = lists ? lists + 3 + n_workers : NULL;
}

static void lay_out_manager(struct room *room, struct adsm_hcrc *hcrc)
{
	const struct adsm_hcrc_config *config = &hcrc->config;

	hcrc->entries = carve(room, config->n_pages, sizeof(*hcrc->entries));
	hcrc->global_locks = carve(room, n_releases(config), sizeof(*hcrc->global_locks));
	hcrc->waiters = carve(room, n_all_workers(config), sizeof(*hcrc->waiters));
	hcrc->flags = carve(room, config->n_flags, sizeof(*hcrc->flags));
	hcrc->flag_ops = carve(room, n_all_workers(config), sizeof(*hcrc->flag_ops));
	hcrc->first_release = carve(room, config->n_nodes, sizeof(*hcrc->first_release));
	hcrc->last_release = carve(room, config->n_nodes, sizeof(*hcrc->last_release));
}

static void lay_out(struct room *room, struct adsm_hcrc *hcrc)
{
	const struct adsm_hcrc_config *config = &hcrc->config;
	const size_t begin = room->used;

	hcrc->now = carve(room, 1, sizeof(*hcrc->now));
	hcrc->state = (uint8_t *)hcrc->now;
	hcrc->sent = carve(room, config->n_nodes, sizeof(*hcrc->sent));
	hcrc->taken = carve(room, config->n_nodes, sizeof(*hcrc->taken));
	hcrc->pages = carve(room, config->n_pages, sizeof(*hcrc->pages));
	hcrc->parts = carve(room, n_all_parts(config), sizeof(*hcrc->parts));
	hcrc->twins = carve(room, n_twins(config), sizeof(*hcrc->twins));
	hcrc->twin_bytes = carve(room, n_twins(config), config->page_size);
	hcrc->locks = carve(room, config->n_locks + adsm_hcrc_n_workers(hcrc), sizeof(*hcrc->locks));
	hcrc->workers = carve(room, adsm_hcrc_n_workers(hcrc), sizeof(*hcrc->workers));
	lay_out_lists(room, hcrc);
	if (config->self == ADSM_HCRC_MANAGER)
		lay_out_manager(room, hcrc);
	hcrc->state_size = room->used - begin;
	hcrc->diff = carve(room, ADSM_DIFF_MAX(config->page_size), 1);
}

size_t adsm_hcrc_size(const struct adsm_hcrc_config *config)
{
	struct adsm_hcrc hcrc = { .config = *config };
	struct room room = { NULL, 0 };

	if (!is_valid(config))
		return 0;
	carve(&room, 1, sizeof(hcrc));
	lay_out(&room, &hcrc);
	return (room.used + 63) & ~(size_t)63;
}

struct adsm_hcrc *adsm_hcrc_init(void *memory, const struct adsm_hcrc_config *config)
{
	struct room room = { memory, 0 };
	struct adsm_hcrc *hcrc = carve(&room, 1, sizeof(*hcrc));

	hcrc->config = *config;
	lay_out(&room, hcrc);
	for (uint32_t i = 0; i < n_twins(config); i++)
		hcrc->twins[i].next = i + 1 < n_twins(config) ? i + 2 : 0;
	hcrc->now->free_twin = n_twins(config) != 0;
	if (config->self != ADSM_HCRC_MANAGER)
		return hcrc;
	for (uint32_t i = 0; i < n_all_workers(config); i++)
		hcrc->waiters[i].next = i + 1 < n_all_workers(config) ? i + 2 : 0;
	hcrc->now->free_waiter = 1;
	return hcrc;
}

/* ---- messages */

/* What a message of each kind must contain. */
enum { NOTHING = 0, PAGE = 1, LOCK = 2, TAG = 4, LIST = 8, FROM_MANAGER = 16, MAYBE_BYTES = 32, BYTES = 64,
       DIFF = 128, FLAG = 256 };

static const uint16_t needs[ADSM_HCRC_N_KINDS] = {
	[ADSM_HCRC_ASK_READ] = PAGE, [ADSM_HCRC_ASK_WRITE] = PAGE, [ADSM_HCRC_TAKEN] = PAGE,
	[ADSM_HCRC_READ_ACK] = PAGE, [ADSM_HCRC_WRITE_ACK] = PAGE, [ADSM_HCRC_UPDATE_ACK] = PAGE | TAG,
	[ADSM_HCRC_LOCK] = LOCK, [ADSM_HCRC_UNLOCK] = LOCK | LIST, [ADSM_HCRC_ARRIVE] = LIST,
	[ADSM_HCRC_FLAG_SET] = FLAG | LIST, [ADSM_HCRC_FLAG_AWAIT] = FLAG, [ADSM_HCRC_FLAG_CLEAR] = FLAG,
	[ADSM_HCRC_BACK] = PAGE | BYTES, [ADSM_HCRC_DONE] = NOTHING, [ADSM_HCRC_STATE] = NOTHING,
	[ADSM_HCRC_FAIL] = NOTHING, [ADSM_HCRC_PROBE] = FROM_MANAGER,
	[ADSM_HCRC_READ] = PAGE, [ADSM_HCRC_WRITE] = PAGE, [ADSM_HCRC_DIFF] = PAGE | TAG | DIFF,
	[ADSM_HCRC_HOME] = PAGE | MAYBE_BYTES | FROM_MANAGER, [ADSM_HCRC_PAGE] = PAGE | MAYBE_BYTES,
	[ADSM_HCRC_EARLY_ACK] = PAGE | FROM_MANAGER, [ADSM_HCRC_GRANT] = LOCK | LIST | FROM_MANAGER,
	[ADSM_HCRC_RECALL] = LOCK | FROM_MANAGER, [ADSM_HCRC_DEPART] = LIST | FROM_MANAGER,
	[ADSM_HCRC_FLAG_DONE] = FLAG | LIST | FROM_MANAGER,
	[ADSM_HCRC_FAILED] = FROM_MANAGER,
};

static bool size_fits(const struct adsm_hcrc *hcrc, uint16_t what, uint32_t size)
{
	if (what & LIST)
		return size % sizeof(uint32_t) == 0 && size / sizeof(uint32_t) <= hcrc->config.n_pages;
	if (what & MAYBE_BYTES)
		return !size || size == hcrc->config.page_size;
	if (what & DIFF)
		return size <= ADSM_DIFF_MAX(hcrc->config.page_size);
	return size == (what & BYTES ? hcrc->config.page_size : 0);
}

static bool fits(const struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message)
{
	const struct adsm_hcrc_config *config = &hcrc->config;
	uint16_t what;

	if (!message->kind || message->kind >= ADSM_HCRC_N_KINDS || message->from >= config->n_nodes ||
	    message->to != config->self || message->node >= config->n_nodes)
		return false;
	what = needs[message->kind];
	return (!(what & PAGE) || message->page < config->n_pages) &&
		(!(what & LOCK) || message->lock < config->n_locks) &&
		(!(what & TAG) || message->lock < n_releases(config) || message->lock == ADSM_HCRC_EARLY) &&
		(!(what & FLAG) || message->page < config->n_flags) &&
		(!(what & FROM_MANAGER) || message->from == ADSM_HCRC_MANAGER) &&
		(message->kind > ADSM_HCRC_FAIL || config->self == ADSM_HCRC_MANAGER) &&
		size_fits(hcrc, what, message->size);
}

static int dispatch(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes)
{
	switch (message->kind) {
	case ADSM_HCRC_READ:
	case ADSM_HCRC_WRITE:
		return adsm_hcrc_on_request(hcrc, message);
	case ADSM_HCRC_DIFF:
		return adsm_hcrc_on_diff(hcrc, message, bytes);
	case ADSM_HCRC_HOME:
		return adsm_hcrc_on_home(hcrc, message, bytes);
	case ADSM_HCRC_PAGE:
		return adsm_hcrc_on_page(hcrc, message, bytes);
	case ADSM_HCRC_EARLY_ACK:
		return adsm_hcrc_on_early_ack(hcrc, message);
	case ADSM_HCRC_GRANT:
		return adsm_hcrc_on_grant(hcrc, message, bytes);
	case ADSM_HCRC_RECALL:
		return adsm_hcrc_on_recall(hcrc, message);
	case ADSM_HCRC_FLAG_DONE:
		return adsm_hcrc_on_flag_done(hcrc, message, bytes);
	case ADSM_HCRC_DEPART:
		return adsm_hcrc_on_depart(hcrc, message, bytes);
	case ADSM_HCRC_PROBE:
		adsm_hcrc_on_probe(hcrc);
		return 0;
	case ADSM_HCRC_FAILED:
		hcrc->config.ended(hcrc->config.arg, -(int)message->count);
		return 0;
	default:
		return adsm_hcrc_on_manager(hcrc, message, bytes);
	}
}

int adsm_hcrc_receive(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const void *bytes)
{
	if (!fits(hcrc, message))
		return -EPROTO;
	if (message->number != hcrc->taken[message->from])
		return -EAGAIN;
	hcrc->taken[message->from]++;
	hcrc->now->n_taken += message->kind != ADSM_HCRC_PROBE && message->kind != ADSM_HCRC_STATE;
	return dispatch(hcrc, message, bytes);
}

/*
 * ---- the manager
 *
 * A page's home sends UPDATE_ACK when a diff is in the page, and before that it has reported all nodes that got copies
 * without it. So the manager then knows whose copies are old. A node reports changes of pages whose home it is when it
 * releases a lock. A lock is granted again after this is known for all earlier releases of its last holder: the
 * releases of each node are in a queue.
 */

/* Tell all nodes. Only the first failure counts. */
static void fail(struct adsm_hcrc *hcrc, uint32_t error)
{
	for (uint32_t i = 0; i < hcrc->config.n_nodes && !hcrc->now->failed; i++)
		adsm_hcrc_send(hcrc, i, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_FAILED, .count = error }, NULL);
	hcrc->now->failed = true;
}

/* ---- pages */

/* @writer has changed the page: all other nodes that may have a copy, except its home, are to be told. */
static void notice(struct adsm_hcrc *hcrc, uint32_t page, uint32_t writer)
{
	struct adsm_hcrc_entry *entry = &hcrc->entries[page];
	uint64_t new = entry->readers & ~entry->noticed & ~adsm_hcrc_bit(writer) & ~adsm_hcrc_bit(entry->home - 1u);

	entry->noticed |= new;
	while (new)
		adsm_hcrc_push(&hcrc->old[adsm_hcrc_pop(&new)], page);
}

void adsm_hcrc_send_with_notices(struct adsm_hcrc *hcrc, uint32_t node, struct adsm_hcrc_message message)
{
	struct adsm_hcrc_list *old = &hcrc->old[node];

	for (uint32_t i = 0; i < old->n; i++) {
		struct adsm_hcrc_entry *entry = &hcrc->entries[old->at[i]];

		entry->readers &= ~adsm_hcrc_bit(node);
		entry->noticed &= ~adsm_hcrc_bit(node);
	}
	message.size = old->n * (uint32_t)sizeof(*old->at);
	adsm_hcrc_send(hcrc, node, message, old->at);
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
			/* Requests of others must wait until the new home has the page. */
			entry->moving = true;
			entry->home = (uint8_t)(message->from + 1);
			answer.node = message->from;
		}
	}
	if (answer.size && hcrc->config.fill)
		hcrc->config.fill(hcrc->config.arg, message->page);
	adsm_hcrc_send(hcrc, message->from, answer, answer.size ? adsm_hcrc_bytes(hcrc, message->page) : NULL);
	return 0;
}

static int on_taken(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message)
{
	struct adsm_hcrc_entry *entry = &hcrc->entries[message->page];

	if (!entry->moving || entry->home != message->from + 1)
		return -EPROTO;
	entry->moving = false;
	while (entry->waiting)
		adsm_hcrc_send(hcrc, adsm_hcrc_pop(&entry->waiting), (struct adsm_hcrc_message){ .kind = ADSM_HCRC_HOME,
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

/* Grant the lock to the next node, in cyclic order, that requests it; among its requests to the oldest. */
static void grant(struct adsm_hcrc *hcrc, uint32_t number)
{
	struct adsm_hcrc_global_lock *lock = &hcrc->global_locks[number];
	const uint32_t n = hcrc->config.n_nodes;
	uint32_t nearest = n, before = 0, found = 0, node;

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
	lock->recalled = adsm_hcrc_locks_stay(hcrc) && lock->first;
	adsm_hcrc_send_with_notices(hcrc, node, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_GRANT, .lock = number,
			.count = lock->recalled });
}

/* Tell the node that has the lock that another one waits for it. */
static void recall(struct adsm_hcrc *hcrc, uint32_t number)
{
	struct adsm_hcrc_global_lock *lock = &hcrc->global_locks[number];

	if (!adsm_hcrc_locks_stay(hcrc) || lock->recalled)
		return;
	lock->recalled = true;
	adsm_hcrc_send(hcrc, lock->owner - 1u, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_RECALL, .lock = number },
		       NULL);
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
	if (lock->owner)
		recall(hcrc, message->lock);
	else
		grant(hcrc, message->lock);
	return 0;
}

/* All nodes are at the barrier, with their diffs. */
static void all_arrived(struct adsm_hcrc *hcrc)
{
	struct adsm_hcrc_now *now = hcrc->now;

	if (now->n_all_ended && now->n_all_ended != n_all_workers(&hcrc->config)) {
		/* Some workers have ended, so those at the barrier would wait forever. */
		fail(hcrc, EDEADLK);
		return;
	}
	for (uint32_t i = 0; i < hcrc->config.n_nodes; i++)
		if (hcrc->config.workers[i] || now->n_all_ended)
			adsm_hcrc_send_with_notices(hcrc, i, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_DEPART,
					.count = now->n_all_ended != 0 });
	hcrc->counts.barriers += !now->n_all_ended;
	now->n_arrived = now->n_all_ended = 0;
}

static uint32_t n_nodes_with_workers(const struct adsm_hcrc *hcrc)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < hcrc->config.n_nodes; i++)
		n += hcrc->config.workers[i] != 0;
	return n;
}

/* Complete a node's releases in order, as long as all their diffs are in their pages. */
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
		else if (number >= hcrc->config.n_locks + hcrc->config.n_nodes)
			adsm_hcrc_execute_flag(hcrc, number);
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
		adsm_hcrc_send(hcrc, message->node, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_EARLY_ACK,
				.page = message->page, .count = message->count }, NULL);
		return 0;
	}
	hcrc->global_locks[message->lock].n_acks--;
	complete(hcrc, message->node);
	return 0;
}

/* A lock is released, a node arrives at the barrier, or a worker's operation on a flag has come, with a list of pages
 * that the node has changed since its last release. */
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

/* ---- can any worker continue? */

void adsm_hcrc_probe(struct adsm_hcrc *hcrc)
{
	struct adsm_hcrc_now *now = hcrc->now;

	if (now->n_unknown || now->failed || now->n_done == hcrc->config.n_nodes)
		return;
	now->n_unknown = hcrc->config.n_nodes;
	now->running = now->probed_sent = now->probed_taken = 0;
	for (uint32_t i = 0; i < hcrc->config.n_nodes; i++)
		adsm_hcrc_send(hcrc, i, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_PROBE }, NULL);
}

/* Nodes answer at different times. A probe is quiet if no worker ran, and all sent messages had been received. If the
 * next probe is quiet, too, and no message was sent in between, then nothing has happened, and nothing will. */
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
	case ADSM_HCRC_FLAG_SET:
	case ADSM_HCRC_FLAG_AWAIT:
	case ADSM_HCRC_FLAG_CLEAR:
		return adsm_hcrc_on_flag(hcrc, message) ? -EPROTO : on_release(hcrc, message->lock, message, bytes);
	case ADSM_HCRC_ARRIVE:
		hcrc->now->n_all_ended += message->count;
		return on_release(hcrc, hcrc->config.n_locks + message->from, message, bytes);
	case ADSM_HCRC_BACK:
		memcpy(adsm_hcrc_bytes(hcrc, message->page), bytes, hcrc->config.page_size);
		return 0;
	case ADSM_HCRC_DONE:
		if (++hcrc->now->n_done == hcrc->config.n_nodes)
			hcrc->config.ended(hcrc->config.arg, 0);
		return 0;
	case ADSM_HCRC_STATE:
		return on_state(hcrc, message);
	case ADSM_HCRC_FAIL:
		fail(hcrc, message->count);
		return 0;
	default:
		return -EPROTO;
	}
}
