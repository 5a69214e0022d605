/* SPDX-License-Identifier: MIT */
/*
 * hcrc_pages.c - the pages of a node, and the copies that its workers have of their parts. A part may be a whole page.
 *
 * The bytes of a page are those of its home, plus what this node's workers have put since: these are the differences to
 * the node's twin. A worker that writes has a twin of its own, a copy of the part as it was given to the worker: two
 * workers that write to a part at the same time have different twins.
 */
#include "hcrc.h"

#include "process/device/diff.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static bool is_home(const struct adsm_hcrc *hcrc, const struct adsm_hcrc_page *page)
{
	return page->home == hcrc->config.self + 1;
}

/* ---- twins */

static uint8_t *twin_bytes(const struct adsm_hcrc *hcrc, uint32_t twin)
{
	return hcrc->twin_bytes + (size_t)twin * hcrc->config.page_size;
}

static uint32_t page_of(const struct adsm_hcrc *hcrc, uint32_t part)
{
	return part / adsm_hcrc_n_parts(&hcrc->config);
}

/* The place that contains the number of the twin: @whose is worker + 1, or 0 for the node. It contains 0 if there is
 * none. @part: of a worker's twin. */
static uint32_t *find_twin(const struct adsm_hcrc *hcrc, struct adsm_hcrc_page *page, uint32_t whose, uint32_t part)
{
	uint32_t *at = &page->twin;

	while (*at && (hcrc->twins[*at - 1].worker != whose || (whose && hcrc->twins[*at - 1].part != part)))
		at = &hcrc->twins[*at - 1].next;
	return at;
}

/* @bytes, @size: what the twin is a copy of. */
static void make_twin(struct adsm_hcrc *hcrc, uint32_t number, uint32_t whose, uint32_t part, const uint8_t *bytes,
		      size_t size)
{
	struct adsm_hcrc_page *page = &hcrc->pages[number];
	const uint32_t twin = hcrc->now->free_twin;

	assert(twin && !*find_twin(hcrc, page, whose, part));
	hcrc->now->free_twin = hcrc->twins[twin - 1].next;
	hcrc->twins[twin - 1] = (struct adsm_hcrc_twin){ page->twin, whose, part };
	page->twin = twin;
	memcpy(twin_bytes(hcrc, twin - 1), bytes, size);
}

static void free_twin(struct adsm_hcrc *hcrc, uint32_t *at)
{
	const uint32_t twin = *at;

	*at = hcrc->twins[twin - 1].next;
	hcrc->twins[twin - 1] = (struct adsm_hcrc_twin){ hcrc->now->free_twin, 0, 0 };
	hcrc->now->free_twin = twin;
}

/* ---- what the workers and the homes must be told */

static void note_changed(struct adsm_hcrc *hcrc, uint32_t number)
{
	if (!hcrc->pages[number].changed)
		adsm_hcrc_push(hcrc->changed, number);
	hcrc->pages[number].changed = true;
}

/* The copies of these workers are old. */
static void notice(struct adsm_hcrc *hcrc, uint32_t number, uint64_t workers)
{
	struct adsm_hcrc_part *part = &hcrc->parts[number];
	uint64_t new = workers & ~part->listed;

	part->noticed |= workers;
	part->listed |= new;
	while (new)
		adsm_hcrc_push(&hcrc->notices[adsm_hcrc_pop(&new)], number);
}

/* All copies of a page's parts are old. */
static void notice_page(struct adsm_hcrc *hcrc, uint32_t page)
{
	const uint32_t n = adsm_hcrc_n_parts(&hcrc->config);

	for (uint32_t part = page * n; part < (page + 1) * n; part++)
		notice(hcrc, part, hcrc->parts[part].readers);
}

/* Send the diff of @size bytes in hcrc->diff to the page's home before a release. The manager acknowledges it after it
 * is in the page and others have been noted for it: until then this node releases no lock. */
static void send_early(struct adsm_hcrc *hcrc, uint32_t number, size_t size)
{
	const struct adsm_hcrc_message message = { .kind = ADSM_HCRC_DIFF, .page = number, .lock = ADSM_HCRC_EARLY,
						   .count = hcrc->now->epoch, .size = (uint32_t)size };

	hcrc->now->n_early[hcrc->now->epoch % 2]++;
	hcrc->counts.early_diffs++;
	adsm_hcrc_send(hcrc, hcrc->pages[number].home - 1u, message, hcrc->diff);
}

/* Make the diff of what the node has and the page's home lacks. */
static size_t take_diff(struct adsm_hcrc *hcrc, uint32_t number)
{
	uint32_t *twin = find_twin(hcrc, &hcrc->pages[number], 0, 0);
	size_t size;

	if (!*twin)
		return 0;
	size = adsm_diff(adsm_hcrc_bytes(hcrc, number), twin_bytes(hcrc, *twin - 1), hcrc->config.page_size,
			 hcrc->diff);
	free_twin(hcrc, twin);
	return size;
}

static void send_diff_early(struct adsm_hcrc *hcrc, uint32_t number)
{
	const size_t size = take_diff(hcrc, number);

	if (size)
		send_early(hcrc, number, size);
}

/* ---- frames: places for pages of other homes, in use or reserved */

static void take_out(struct adsm_hcrc *hcrc, struct adsm_hcrc_page *page)
{
	struct adsm_hcrc_now *now = hcrc->now;

	*(page->newer ? &hcrc->pages[page->newer - 1].older : &now->newest) = page->older;
	*(page->older ? &hcrc->pages[page->older - 1].newer : &now->oldest) = page->newer;
	page->newer = page->older = 0;
}

static void put_first(struct adsm_hcrc *hcrc, struct adsm_hcrc_page *page)
{
	struct adsm_hcrc_now *now = hcrc->now;
	const uint32_t number = (uint32_t)(page - hcrc->pages);

	page->older = now->newest;
	*(now->newest ? &hcrc->pages[now->newest - 1].newer : &now->oldest) = number + 1;
	now->newest = number + 1;
}

static void touch(struct adsm_hcrc *hcrc, struct adsm_hcrc_page *page)
{
	if (is_home(hcrc, page) || hcrc->now->newest == page - hcrc->pages + 1)
		return;
	take_out(hcrc, page);
	put_first(hcrc, page);
}

/* The page's frame becomes free. */
static void give_up(struct adsm_hcrc *hcrc, uint32_t number)
{
	struct adsm_hcrc_page *page = &hcrc->pages[number];

	send_diff_early(hcrc, number);
	take_out(hcrc, page);
	page->valid = false;
	page->right = ADSM_HCRC_NO_RIGHT;
	if (!page->asked)
		hcrc->now->n_kept--;
}

void adsm_hcrc_evict(struct adsm_hcrc *hcrc, uint32_t number)
{
	assert(hcrc->pages[number].valid && !hcrc->pages[number].asked);
	assert(!is_home(hcrc, &hcrc->pages[number]));
	give_up(hcrc, number);
	hcrc->counts.evicted++;
}

/* Each worker waits for at most one page, and there are at least as many frames as workers: so one is not requested. */
static void make_room(struct adsm_hcrc *hcrc)
{
	uint32_t at = hcrc->now->oldest;

	if (hcrc->now->n_kept < hcrc->config.n_frames)
		return;
	while (hcrc->pages[at - 1].asked)
		at = hcrc->pages[at - 1].newer;
	adsm_hcrc_evict(hcrc, at - 1);
}

void adsm_hcrc_invalidate(struct adsm_hcrc *hcrc, uint32_t number)
{
	struct adsm_hcrc_page *page = &hcrc->pages[number];

	if (is_home(hcrc, page))
		return;
	notice_page(hcrc, number);
	if (page->asked)
		page->stale = true;
	if (page->valid)
		give_up(hcrc, number);
}

/* ---- workers */

/* Give the worker the part that it has waited for. @has: the worker reports that it has the bytes. */
static void give_part(struct adsm_hcrc *hcrc, uint32_t worker, bool has)
{
	const uint32_t number = hcrc->workers[worker].part;
	struct adsm_hcrc_part *part = &hcrc->parts[number];
	const uint64_t bit = adsm_hcrc_bit(worker);

	/* Old bytes of the worker would not match the twin. */
	has = has && (part->readers & bit) && !(part->noticed & bit);
	part->readers |= bit;
	part->noticed &= ~bit;
	touch(hcrc, &hcrc->pages[page_of(hcrc, number)]);
	hcrc->workers[worker].waits = ADSM_HCRC_RUNS;
	hcrc->config.page(hcrc->config.arg, worker, number, has ? NULL : adsm_hcrc_part_bytes(hcrc, number));
}

static void request_page(struct adsm_hcrc *hcrc, uint32_t number)
{
	struct adsm_hcrc_page *page = &hcrc->pages[number];
	struct adsm_hcrc_message message = { .page = number, .has = page->valid };
	const bool write = page->want_write;

	if (!page->valid) {
		make_room(hcrc);
		hcrc->now->n_kept++;
	}
	page->asked = write ? ADSM_HCRC_MAY_WRITE : ADSM_HCRC_MAY_READ;
	if (page->home)
		message.kind = write ? ADSM_HCRC_WRITE : ADSM_HCRC_READ;
	else
		message.kind = write ? ADSM_HCRC_ASK_WRITE : ADSM_HCRC_ASK_READ;
	adsm_hcrc_send(hcrc, page->home ? page->home - 1u : ADSM_HCRC_MANAGER, message, NULL);
}

/* Give parts of the page to all workers that can get them now; request the page for the others. */
static void serve(struct adsm_hcrc *hcrc, uint32_t number)
{
	struct adsm_hcrc_page *page = &hcrc->pages[number];

	while (page->valid && page->want_read)
		give_part(hcrc, adsm_hcrc_pop(&page->want_read), false);
	while (page->right == ADSM_HCRC_MAY_WRITE && page->want_write) {
		const uint32_t worker = adsm_hcrc_pop(&page->want_write);

		make_twin(hcrc, number, worker + 1, hcrc->workers[worker].part,
			  adsm_hcrc_part_bytes(hcrc, hcrc->workers[worker].part), hcrc->config.part_size);
		give_part(hcrc, worker, hcrc->workers[worker].has);
	}
	if ((page->want_read || page->want_write) && !page->asked)
		request_page(hcrc, number);
}

void adsm_hcrc_read(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t part)
{
	const uint32_t number = page_of(hcrc, part);
	struct adsm_hcrc_page *page = &hcrc->pages[number];

	hcrc->workers[worker].waits = ADSM_HCRC_FOR_PAGE;
	hcrc->workers[worker].part = part;
	if (!page->valid)
		hcrc->counts.read_misses++;
	page->want_read |= adsm_hcrc_bit(worker);
	serve(hcrc, number);
}

void adsm_hcrc_write(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t part, bool has)
{
	const uint32_t number = page_of(hcrc, part);
	struct adsm_hcrc_page *page = &hcrc->pages[number];

	hcrc->workers[worker].waits = ADSM_HCRC_FOR_PAGE;
	hcrc->workers[worker].part = part;
	hcrc->workers[worker].has = has;
	if (!page->valid)
		hcrc->counts.write_misses++;
	else if (page->right != ADSM_HCRC_MAY_WRITE)
		hcrc->counts.upgrades++;
	page->want_write |= adsm_hcrc_bit(worker);
	serve(hcrc, number);
}

void adsm_hcrc_put(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t part, const uint8_t *bytes, bool keep)
{
	const uint32_t number = page_of(hcrc, part), part_size = hcrc->config.part_size;
	struct adsm_hcrc_page *page = &hcrc->pages[number];
	uint32_t *twin = find_twin(hcrc, page, worker + 1, part);
	size_t size;

	assert(*twin);
	size = adsm_diff(bytes, twin_bytes(hcrc, *twin - 1), part_size, hcrc->diff);
	adsm_diff_shift(hcrc->diff, size, (size_t)(part % adsm_hcrc_n_parts(&hcrc->config)) * part_size);
	free_twin(hcrc, twin);
	if (size && page->valid) {
		if (!is_home(hcrc, page) && !*find_twin(hcrc, page, 0, 0))
			make_twin(hcrc, number, 0, 0, adsm_hcrc_bytes(hcrc, number), hcrc->config.page_size);
		adsm_diff_patch(adsm_hcrc_bytes(hcrc, number), hcrc->diff, size);
		note_changed(hcrc, number);
	} else if (size) {
		send_early(hcrc, number, size);
		/* The home may answer the request before it gets the diff: then the other workers here would not see
		 * the diff. */
		page->stale = page->asked;
	}
	if (size)
		notice(hcrc, part, hcrc->parts[part].readers & ~adsm_hcrc_bit(worker));
	if (!keep)
		adsm_hcrc_drop(hcrc, worker, part);
}

void adsm_hcrc_drop(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t part)
{
	hcrc->parts[part].readers &= ~adsm_hcrc_bit(worker);
	hcrc->parts[part].noticed &= ~adsm_hcrc_bit(worker);
}

uint32_t adsm_hcrc_notice(struct adsm_hcrc *hcrc, uint32_t worker)
{
	const uint64_t bit = adsm_hcrc_bit(worker);

	while (hcrc->notices[worker].n) {
		const uint32_t number = hcrc->notices[worker].at[--hcrc->notices[worker].n];
		struct adsm_hcrc_part *part = &hcrc->parts[number];

		part->listed &= ~bit;
		if (part->noticed & bit) {
			adsm_hcrc_drop(hcrc, worker, number);
			return number;
		}
	}
	return ADSM_HCRC_NONE;
}

void adsm_hcrc_flush(struct adsm_hcrc *hcrc, uint32_t lock)
{
	hcrc->list->n = 0;
	while (hcrc->changed->n) {
		const uint32_t number = hcrc->changed->at[--hcrc->changed->n];
		struct adsm_hcrc_page *page = &hcrc->pages[number];
		const size_t size = take_diff(hcrc, number);

		page->changed = false;
		if (size) {
			const struct adsm_hcrc_message message = { .kind = ADSM_HCRC_DIFF, .page = number,
								   .lock = lock, .size = (uint32_t)size };

			hcrc->counts.diffs++;
			adsm_hcrc_send(hcrc, page->home - 1u, message, hcrc->diff);
		}
		if (size || is_home(hcrc, page))
			adsm_hcrc_push(hcrc->list, number);
	}
}

void adsm_hcrc_flush_early(struct adsm_hcrc *hcrc)
{
	for (uint32_t i = 0; i < hcrc->changed->n; i++)
		send_diff_early(hcrc, hcrc->changed->at[i]);
}

/* ---- messages */

/* To the page's home: a node requests it. */
int adsm_hcrc_on_request(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message)
{
	const bool read = message->kind == ADSM_HCRC_READ;
	const uint32_t size = message->has ? 0 : hcrc->config.page_size;

	if (!is_home(hcrc, &hcrc->pages[message->page]) || message->from == hcrc->config.self)
		return -EPROTO;
	adsm_hcrc_send(hcrc, message->from, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_PAGE,
			.page = message->page, .size = size }, adsm_hcrc_bytes(hcrc, message->page));
	adsm_hcrc_send(hcrc, ADSM_HCRC_MANAGER, (struct adsm_hcrc_message){
			.kind = read ? ADSM_HCRC_READ_ACK : ADSM_HCRC_WRITE_ACK, .page = message->page,
			.node = message->from }, NULL);
	return 0;
}

/* To the page's home: a node has changed it. */
int adsm_hcrc_on_diff(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes)
{
	struct adsm_hcrc_page *page = &hcrc->pages[message->page];

	if (!is_home(hcrc, page) || message->from == hcrc->config.self ||
	    !adsm_diff_is_valid(bytes, message->size, hcrc->config.page_size))
		return -EPROTO;
	adsm_diff_patch(adsm_hcrc_bytes(hcrc, message->page), bytes, message->size);
	notice_page(hcrc, message->page);
	adsm_hcrc_send(hcrc, ADSM_HCRC_MANAGER, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_UPDATE_ACK,
			.page = message->page, .node = message->from, .lock = message->lock,
			.count = message->count }, NULL);
	return 0;
}

/* This node is the page's home from now on. */
static void become_home(struct adsm_hcrc *hcrc, uint32_t number, const uint8_t *bytes)
{
	struct adsm_hcrc_page *page = &hcrc->pages[number];

	if (page->valid)
		take_out(hcrc, page);
	/* The manager's node has the bytes already. */
	else if (hcrc->config.self != ADSM_HCRC_MANAGER)
		memcpy(adsm_hcrc_bytes(hcrc, number), bytes, hcrc->config.page_size);
	hcrc->now->n_kept--;
	page->home = (uint8_t)(hcrc->config.self + 1);
	adsm_hcrc_push(hcrc->own, number);
	page->valid = true;
	page->right = ADSM_HCRC_MAY_WRITE;
	adsm_hcrc_send(hcrc, ADSM_HCRC_MANAGER, (struct adsm_hcrc_message){ .kind = ADSM_HCRC_TAKEN,
			.page = number }, NULL);
}

int adsm_hcrc_on_home(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes)
{
	struct adsm_hcrc_page *page = &hcrc->pages[message->page];

	if (!page->asked || page->home || message->node >= hcrc->config.n_nodes)
		return -EPROTO;
	if (message->node == hcrc->config.self) {
		if (!page->valid && message->size != hcrc->config.page_size)
			return -EPROTO;
		become_home(hcrc, message->page, bytes);
	} else {
		page->home = (uint8_t)(message->node + 1);
		if (!page->valid)
			hcrc->now->n_kept--;
	}
	page->asked = ADSM_HCRC_NO_RIGHT;
	page->stale = false;
	serve(hcrc, message->page);
	return 0;
}

int adsm_hcrc_on_page(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes)
{
	struct adsm_hcrc_page *page = &hcrc->pages[message->page];

	if (!page->asked || (message->size && (page->valid || message->size != hcrc->config.page_size)) ||
	    (!message->size && !page->valid && !page->stale))
		return -EPROTO;
	if (page->stale) {
		hcrc->now->n_kept--;
	} else {
		if (message->size) {
			/* memmove(): if the manager sends the page to its own node, both addresses are the same. */
			memmove(adsm_hcrc_bytes(hcrc, message->page), bytes, hcrc->config.page_size);
			page->valid = true;
			put_first(hcrc, page);
			/* The page may be newer than the copies that workers have. */
			notice_page(hcrc, message->page);
		}
		page->right = page->asked;
	}
	page->asked = ADSM_HCRC_NO_RIGHT;
	page->stale = false;
	serve(hcrc, message->page);
	return 0;
}
