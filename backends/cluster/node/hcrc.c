/* SPDX-License-Identifier: MIT */
/* hcrc.c - see hcrc.h. */
#include "hcrc.h"

#include "hcrc_manager.h"
#include "hcrc_pages.h"
#include "hcrc_sync.h"
#include "process/device/diff.h"

#include <errno.h>

#define LARGEST_PAGE 32768

static uint32_t n_all_workers(const struct adsm_hcrc_config *config)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < config->n_nodes; i++)
		n += config->workers[i];
	return n;
}

static bool is_valid(const struct adsm_hcrc_config *config)
{
	if (!config->n_nodes || config->n_nodes > ADSM_HCRC_NODES_MAX || config->self >= config->n_nodes)
		return false;
	for (uint32_t i = 0; i < config->n_nodes; i++)
		if (config->workers[i] > ADSM_HCRC_WORKERS_MAX)
			return false;
	return n_all_workers(config) && config->page_size && config->page_size % 8 == 0 &&
		config->page_size <= LARGEST_PAGE && config->n_frames >= config->workers[config->self] &&
		config->n_locks < ADSM_HCRC_NONE - ADSM_HCRC_NODES_MAX && config->n_pages < ADSM_HCRC_NONE;
}

/* ---- memory */

struct room { uint8_t *at; size_t used; };

/* The next @size bytes of it; without memory they are only counted. */
static void *take(struct room *room, size_t n, size_t size)
{
	void *at = room->at ? room->at + room->used : NULL;

	room->used = (room->used + n * size + 7) & ~(size_t)7;
	return at;
}

static uint32_t n_twins(const struct adsm_hcrc_config *config)
{
	return config->n_frames + config->workers[config->self] * config->n_open;
}

/* What it has of lists of pages. */
static void lay_out_lists(struct room *room, struct adsm_hcrc *hcrc)
{
	const struct adsm_hcrc_config *config = &hcrc->config;
	const uint32_t n_workers = adsm_hcrc_n_workers(hcrc);
	const uint32_t n_nodes = config->self == ADSM_HCRC_MANAGER ? config->n_nodes : 0;
	const uint32_t n = 3 + n_workers + n_nodes;
	struct adsm_hcrc_list *lists = take(room, n, sizeof(*lists));

	for (uint32_t i = 0; i < n; i++) {
		uint32_t *at = take(room, config->n_pages, sizeof(*at));

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

	hcrc->entries = take(room, config->n_pages, sizeof(*hcrc->entries));
	hcrc->global_locks = take(room, config->n_locks + config->n_nodes, sizeof(*hcrc->global_locks));
	hcrc->waiters = take(room, n_all_workers(config), sizeof(*hcrc->waiters));
	hcrc->first_release = take(room, config->n_nodes, sizeof(*hcrc->first_release));
	hcrc->last_release = take(room, config->n_nodes, sizeof(*hcrc->last_release));
}

static void lay_out(struct room *room, struct adsm_hcrc *hcrc)
{
	const struct adsm_hcrc_config *config = &hcrc->config;
	const size_t begin = room->used;

	hcrc->now = take(room, 1, sizeof(*hcrc->now));
	hcrc->state = (uint8_t *)hcrc->now;
	hcrc->sent = take(room, config->n_nodes, sizeof(*hcrc->sent));
	hcrc->taken = take(room, config->n_nodes, sizeof(*hcrc->taken));
	hcrc->pages = take(room, config->n_pages, sizeof(*hcrc->pages));
	hcrc->twins = take(room, n_twins(config), sizeof(*hcrc->twins));
	hcrc->twin_bytes = take(room, n_twins(config), config->page_size);
	hcrc->locks = take(room, config->n_locks, sizeof(*hcrc->locks));
	hcrc->workers = take(room, adsm_hcrc_n_workers(hcrc), sizeof(*hcrc->workers));
	lay_out_lists(room, hcrc);
	if (config->self == ADSM_HCRC_MANAGER)
		lay_out_manager(room, hcrc);
	hcrc->state_size = room->used - begin;
	hcrc->diff = take(room, ADSM_DIFF_MAX(config->page_size), 1);
}

size_t adsm_hcrc_size(const struct adsm_hcrc_config *config)
{
	struct adsm_hcrc hcrc = { .config = *config };
	struct room room = { NULL, 0 };

	if (!is_valid(config))
		return 0;
	take(&room, 1, sizeof(hcrc));
	lay_out(&room, &hcrc);
	return (room.used + 63) & ~(size_t)63;
}

struct adsm_hcrc *adsm_hcrc_init(void *memory, const struct adsm_hcrc_config *config)
{
	struct room room = { memory, 0 };
	struct adsm_hcrc *hcrc = take(&room, 1, sizeof(*hcrc));

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

/* What a message of each kind has to have. */
enum { NOTHING = 0, PAGE = 1, LOCK = 2, TAG = 4, LIST = 8, FROM_MANAGER = 16, MAYBE_BYTES = 32, BYTES = 64,
       DIFF = 128 };

static const uint8_t needs[ADSM_HCRC_N_KINDS] = {
	[ADSM_HCRC_ASK_READ] = PAGE, [ADSM_HCRC_ASK_WRITE] = PAGE, [ADSM_HCRC_TAKEN] = PAGE,
	[ADSM_HCRC_READ_ACK] = PAGE, [ADSM_HCRC_WRITE_ACK] = PAGE, [ADSM_HCRC_UPDATE_ACK] = PAGE | TAG,
	[ADSM_HCRC_LOCK] = LOCK, [ADSM_HCRC_UNLOCK] = LOCK | LIST, [ADSM_HCRC_ARRIVE] = LIST,
	[ADSM_HCRC_BACK] = PAGE | BYTES, [ADSM_HCRC_DONE] = NOTHING, [ADSM_HCRC_STATE] = NOTHING,
	[ADSM_HCRC_FAIL] = NOTHING, [ADSM_HCRC_PROBE] = FROM_MANAGER,
	[ADSM_HCRC_READ] = PAGE, [ADSM_HCRC_WRITE] = PAGE, [ADSM_HCRC_DIFF] = PAGE | TAG | DIFF,
	[ADSM_HCRC_HOME] = PAGE | MAYBE_BYTES | FROM_MANAGER, [ADSM_HCRC_PAGE] = PAGE | MAYBE_BYTES,
	[ADSM_HCRC_EARLY_ACK] = PAGE | FROM_MANAGER, [ADSM_HCRC_GRANT] = LOCK | LIST | FROM_MANAGER,
	[ADSM_HCRC_DEPART] = LIST | FROM_MANAGER, [ADSM_HCRC_FAILED] = FROM_MANAGER,
};

static bool size_fits(const struct adsm_hcrc *hcrc, uint8_t what, uint32_t size)
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
	uint8_t what;

	if (!message->kind || message->kind >= ADSM_HCRC_N_KINDS || message->from >= config->n_nodes ||
	    message->to != config->self || message->node >= config->n_nodes)
		return false;
	what = needs[message->kind];
	return (!(what & PAGE) || message->page < config->n_pages) &&
		(!(what & LOCK) || message->lock < config->n_locks) &&
		(!(what & TAG) || message->lock < config->n_locks + config->n_nodes ||
		 message->lock == ADSM_HCRC_EARLY) &&
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
