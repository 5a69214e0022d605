/* SPDX-License-Identifier: MIT */
/*
 * test_blocks.c - the automaton of blocks, explored breadth-first to the last state that it can reach: an object of
 * three blocks under every protocol, with every change, its commit and its abort, and all that may happen in between.
 *
 * After each transition the invariants are checked, and also which side has the newest bytes of each block, which the
 * automaton does not know. Planted faults, one for each invariant, show that the invariants find errors:
 *	test-blocks			explores all protocols, then searches each of the faults
 *	test-blocks FAULT		explores until it finds that one, and prints what it broke
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/blocks.h"
#include "protocols/list.h"
#include "protocols/states.h"

#define N 3
#define PENDING_MAX 2
#define BLOCK ((size_t)4096)

#define CHECK(x) do { \
	if (!(x)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
		exit(1); \
	} \
} while (0)

/* All there is, at one address: so pointers are the same in every copy, and states are compared as bytes. */
static struct world {
	struct adsm_blocks blocks;
	struct adsm_block at[N];
	struct adsm_sends sends;
	_Alignas(16) unsigned char policy[ADSM_POLICY_SIZE];
	struct adsm_change pending[PENDING_MAX];	/* begun; all zeroes: none */
	/* whose bytes are the newest; written while a send took them; bytes of an input in progress are in it */
	uint8_t host[N], device[N], torn[N], input[N];
	uint8_t listed[N];		/* the policy has been told that it is to be sent */
	uint8_t dirty_objects;
} w;

static struct adsm_protocol protocol;
static const struct adsm_protocol *original;

/* ---- what the policy learns */

static void object_dirty(void *policy, int change)
{
	w.dirty_objects = (uint8_t)(w.dirty_objects + change);
	original->object_dirty(policy, change);
}

static void dirtied(void *policy, struct adsm_block *block, size_t size)
{
	w.listed[block - w.at]++;
	original->dirtied(policy, block, size);
}

static void cleaned(void *policy, struct adsm_block *block, size_t size)
{
	w.listed[block - w.at]--;
	original->cleaned(policy, block, size);
}

/* ---- planted faults: what is left undone, or done too often */

enum fault {
	NONE, COUNTS, BUSY_COUNT, SENDING_COUNT, MARKS, QUEUE, TWICE, VIEWS, OPEN_RANGE, HOLES, OLD_READ, LOST, POLICY,
	KERNEL, UNSEEN, N_FAULTS
};

static const struct {
	const char *name, *found;
} faults[N_FAULTS] = {
	[COUNTS] = { "counts", "the counts of blocks in each state are wrong" },
	[BUSY_COUNT] = { "busy-count", "changes that are begun are not counted exactly" },
	[SENDING_COUNT] = { "sending-count", "blocks that are sent or queued are not counted" },
	[MARKS] = { "marks", "a block is marked for a change that is not going on" },
	[QUEUE] = { "queue", "the queue of sends has other blocks than those that are QUEUED" },
	[TWICE] = { "twice", "two changes that exclude each other go on" },
	[VIEWS] = { "views", "a view permits more than the block's state" },
	[OPEN_RANGE] = { "open-range", "a block outside of the open range is open" },
	[HOLES] = { "holes", "a block has holes, but lacks its bytes" },
	[OLD_READ] = { "old-read", "the CPU has old bytes, and does not know" },
	[LOST] = { "lost", "the device has old bytes, and does not know" },
	[POLICY] = { "policy", "the policy knows other blocks than those that are to be sent" },
	[KERNEL] = { "kernel", "a kernel gets old bytes" },
	[UNSEEN] = { "unseen", "the device has old bytes, and does not know" },
};

static enum fault planted;
static const char *wrong;	/* what a transition itself found */

/* ---- invariants */

static const char *marks_broken(uint32_t b)
{
	unsigned marks = 0, flags = w.at[b].flags & (ADSM_BLOCK_BUSY | ADSM_BLOCK_SENDING), n_queued = 0;

	for (int i = 0; i < PENDING_MAX; i++) {
		const struct adsm_change *c = &w.pending[i];

		if (b < c->first || b >= c->first + c->n)
			continue;
		/* A fetch or a fill runs alone; a send permits other operations, but no other send. */
		if ((marks & c->marks) || ((marks | c->marks) & ADSM_BLOCK_BUSY && marks))
			return "two changes that exclude each other go on";
		marks |= c->marks;
	}
	if (marks != flags)
		return "a block is marked for a change that is not going on";
	for (const struct adsm_block *block = w.sends.queued.oldest; block; block = block->newer)
		n_queued += block == &w.at[b];
	if (n_queued != ((w.at[b].flags & ADSM_BLOCK_QUEUED) != 0))
		return "the queue of sends has other blocks than those that are QUEUED";
	return NULL;
}

static const char *bytes_broken(uint32_t b)
{
	bool lacks = adsm_blocks_lack(&w.blocks, b), unsent = adsm_blocks_unsent(&w.blocks, b);
	bool on_its_way = w.at[b].flags & (ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING | ADSM_BLOCK_BUSY);

	if (!lacks && !w.host[b])
		return "the CPU has old bytes, and does not know";
	if (!unsent && !on_its_way && !w.device[b])
		return "the device has old bytes, and does not know";
	if ((w.at[b].flags & ADSM_BLOCK_HOLED) && !w.input[b])
		return "a block has holes without an input";
	if (w.listed[b] != unsent)
		return "the policy knows other blocks than those that are to be sent";
	return NULL;
}

static const char *broken(void)
{
	uint32_t n_busy = 0, n_sending = (uint32_t)w.sends.queued.n;
	const char *found = wrong;

	for (uint32_t b = 0; b < N && !found; b++)
		found = marks_broken(b);
	found = found ? found : adsm_blocks_broken(&w.blocks);
	for (uint32_t b = 0; b < N && !found; b++)
		found = bytes_broken(b);
	for (int i = 0; i < PENDING_MAX; i++) {
		n_busy += (w.pending[i].marks & ADSM_BLOCK_BUSY) != 0;
		n_sending += (w.pending[i].marks & ADSM_BLOCK_SENDING) != 0;
	}
	if (!found && n_busy != w.blocks.n_busy)
		found = "changes that are begun are not counted exactly";
	if (!found && n_sending != w.blocks.n_sending)
		found = "sends that are begun or queued are not counted exactly";
	if (!found && w.dirty_objects != (adsm_blocks_n_unsent(&w.blocks) > 0))
		found = "the policy knows other objects than those that have blocks to send";
	return found;
}

/* ---- the states that have been seen */

static struct world *visited;
static size_t n_visited, visited_room, *table, table_size, n_transitions;

static uint64_t hash_of(const struct world *world)
{
	uint64_t hash = 0, words[sizeof(*world) / 8];

	memcpy(words, world, sizeof(words));
	for (size_t i = 0; i < sizeof(*world) / 8; i++)
		hash = ((hash << 23 | hash >> 41) ^ words[i]) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

static void grow(void)
{
	visited_room = visited_room ? 2 * visited_room : 4096;
	visited = realloc(visited, visited_room * sizeof(*visited));
	table_size = 2 * visited_room;
	table = realloc(table, table_size * sizeof(*table));
	CHECK(visited && table);
	memset(table, 0xff, table_size * sizeof(*table));
	for (size_t i = 0; i < n_visited; i++) {
		size_t at = hash_of(&visited[i]) % table_size;

		while (table[at] != SIZE_MAX)
			at = (at + 1) % table_size;
		table[at] = i;
	}
}

/* Give equal states one form: simultaneous changes in one order; the CPU has written all that it may write; only
 * sends in progress can be torn. */
static void canonize(void)
{
	for (uint32_t b = 0; b < N; b++) {
		if (w.at[b].view == ADSM_PERMIT_WRITE && adsm_blocks_unsent(&w.blocks, b)) {
			w.device[b] = 0;
			w.torn[b] = 1;
		}
		w.torn[b] &= (w.at[b].flags & ADSM_BLOCK_SENDING) != 0;
	}
	if (memcmp(&w.pending[0], &w.pending[1], sizeof(w.pending[0])) < 0) {
		struct adsm_change change = w.pending[0];

		w.pending[0] = w.pending[1];
		w.pending[1] = change;
	}
}

/* A transition has been made: is it a new state? True: an invariant is broken. */
static bool arrive(void)
{
	const char *found = broken();
	size_t at;

	n_transitions++;
	if (found) {
		wrong = found;
		return true;
	}
	canonize();
	if (n_visited == visited_room)
		grow();
	at = hash_of(&w) % table_size;
	while (table[at] != SIZE_MAX && memcmp(&visited[table[at]], &w, sizeof(w)))
		at = (at + 1) % table_size;
	if (table[at] == SIZE_MAX) {
		memcpy(&visited[n_visited], &w, sizeof(w));
		table[at] = n_visited++;
	}
	return false;
}

/* ---- transitions; each returns whether it was possible */

static struct adsm_change *slot(void)
{
	for (int i = 0; i < PENDING_MAX; i++)
		if (!w.pending[i].n)
			return &w.pending[i];
	return NULL;
}

static bool all(uint32_t first, uint32_t n, unsigned no_flags)
{
	for (uint32_t b = first; b < first + n; b++)
		if ((w.at[b].flags & no_flags) || w.at[b].state != w.at[first].state ||
		    w.at[b].view != w.at[first].view)
			return false;
	return true;
}

/* Bytes of a change have moved, or only its states change. */
static void moved(const struct adsm_change *c)
{
	for (uint32_t b = c->first; b < c->first + c->n; b++) {
		if (c->event == ADSM_EVENT_SEND)
			w.device[b] |= w.host[b] && !w.torn[b];
		else if (c->event == ADSM_EVENT_CALL_OUT)
			w.device[b] = 1, w.host[b] = 0;
		else if (c->step.transfer == ADSM_TO_HOST)
			w.host[b] = w.device[b];
		if (c->event == ADSM_EVENT_WRITE || c->event == ADSM_EVENT_OVERWRITE)
			w.host[b] = 1, w.device[b] = 0, w.torn[b] = 1;
		if (c->step.transfer == ADSM_TO_HOST && w.input[b])
			w.at[b].flags |= ADSM_BLOCK_HOLED;
	}
}

static void commit(struct adsm_change *c)
{
	const struct world before = w;

	adsm_blocks_commit(&w.blocks, c);
	if (planted == COUNTS)
		memcpy(w.blocks.n_in, before.blocks.n_in, sizeof(w.blocks.n_in));
	if (planted == BUSY_COUNT)
		w.blocks.n_busy = before.blocks.n_busy;
	if (planted == SENDING_COUNT)
		w.blocks.n_sending = before.blocks.n_sending;
	if (planted == MARKS)
		w.at[c->first].flags |= c->marks;
	if (planted == OPEN_RANGE)
		w.blocks.open_first = before.blocks.open_first, w.blocks.open_end = before.blocks.open_end;
	if (planted == POLICY && adsm_blocks_unsent(&w.blocks, c->first))
		protocol.cleaned(w.policy, &w.at[c->first], BLOCK);
	memset(c, 0, sizeof(*c));
}

static bool access(uint32_t first, uint32_t n, enum adsm_block_event event, bool open)
{
	struct adsm_change c, *pending = slot();

	if (!all(first, n, ADSM_BLOCK_BUSY | (n > 1 ? ADSM_BLOCK_QUEUED : 0)) || adsm_blocks_at_work(&w.blocks, first))
		return false;
	c = adsm_blocks_plan(&w.blocks, first, n, event);
	if (c.step.result == ADSM_RESULT_REFUSE || (c.dirties && (w.at[first].flags & ADSM_BLOCK_QUEUED)))
		return false;
	if (c.step.transfer == ADSM_TO_HOST) {
		if (!pending)
			return false;
		adsm_blocks_begin(&w.blocks, &c);
		*pending = c;
		return true;
	}
	moved(&c);
	if (open && w.at[first].view < c.view)
		adsm_blocks_set_views(&w.blocks, first, n, c.view);
	commit(&c);
	return true;
}

static void lower(const struct adsm_change *c)
{
	if (w.at[c->first].view > c->view && planted != VIEWS)
		adsm_blocks_set_views(&w.blocks, c->first, c->n, c->view);
}

static bool begin_send(struct adsm_change c, bool may_close)
{
	struct adsm_change *pending = slot();

	if (!pending || !c.n)
		return false;
	adsm_blocks_begin(&w.blocks, &c);
	for (uint32_t b = c.first; b < c.first + c.n; b++)
		w.torn[b] = 0;
	if (may_close) {
		lower(&c);
		*pending = c;
	} else {
		adsm_blocks_abort(&w.blocks, &c);
	}
	return true;
}

static bool send(uint32_t first, uint32_t most, bool may_close)
{
	if (!adsm_blocks_unsent(&w.blocks, first))
		return false;
	if (planted == TWICE)
		w.at[first].flags &= ~ADSM_BLOCK_SENDING;
	return begin_send(adsm_blocks_plan_send(&w.blocks, first, most), may_close);
}

static bool queue(uint32_t b)
{
	struct adsm_change c = adsm_blocks_plan(&w.blocks, b, 1, ADSM_EVENT_SEND);

	if (!adsm_blocks_unsent(&w.blocks, b) || (w.at[b].flags & ADSM_BLOCK_BUSY) || w.at[b].holds ||
	    !w.blocks.detects)
		return false;
	lower(&c);
	adsm_blocks_queue(&w.blocks, &c);
	if (planted == QUEUE)
		w.at[b].flags &= ~ADSM_BLOCK_QUEUED;
	return true;
}

static bool take_queued(uint32_t b, bool alone)
{
	if (!(w.at[b].flags & ADSM_BLOCK_QUEUED) || (w.at[b].flags & (ADSM_BLOCK_SENDING | ADSM_BLOCK_BUSY)))
		return false;
	return begin_send(adsm_blocks_plan_queued(&w.blocks, b, alone), true);
}

static bool evict(bool started)
{
	struct adsm_block *block = protocol.victim(w.policy, started);
	struct adsm_change c, *pending = slot();

	if (!block || !pending || (block->flags & ADSM_BLOCK_SENDING))
		return false;
	c = adsm_blocks_plan(&w.blocks, (uint32_t)(block - w.at), 1, ADSM_EVENT_SEND);
	adsm_blocks_begin(&w.blocks, &c);
	while (adsm_blocks_extend(&w.blocks, &c))
		;
	for (uint32_t b = c.first; b < c.first + c.n; b++)
		w.torn[b] = 0;
	lower(&c);
	*pending = c;
	return true;
}

static bool device_write(uint32_t first, uint32_t n)
{
	struct adsm_change c, *pending = slot();

	for (uint32_t b = first; b < first + n; b++)
		if (w.at[b].holds ||
		    (w.at[b].flags & (ADSM_BLOCK_BUSY | ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING)))
			return false;
	if (!pending || !w.blocks.detects)
		return false;
	adsm_blocks_set_views(&w.blocks, first, n, ADSM_PERMIT_NONE);
	c = adsm_blocks_plan(&w.blocks, first, n, ADSM_EVENT_CALL_OUT);
	adsm_blocks_begin(&w.blocks, &c);
	*pending = c;
	return true;
}

/* What of a hole has not come is fetched. */
static bool fill_hole(uint32_t b)
{
	struct adsm_change *pending = slot();

	if (!pending || !(w.at[b].flags & ADSM_BLOCK_HOLED) || (w.at[b].flags & ADSM_BLOCK_BUSY))
		return false;
	/* Sends in progress have begun without it: they are waited for before bytes come. */
	if (w.at[b].flags & ADSM_BLOCK_SENDING)
		return false;
	*pending = adsm_blocks_plan_none(&w.blocks, b);
	adsm_blocks_begin(&w.blocks, pending);
	return true;
}

static bool end_change(int i, bool arrived, bool open)
{
	struct adsm_change *c = &w.pending[i], copy = *c;
	bool sends = c->event == ADSM_EVENT_SEND;

	if (!c->n)
		return false;
	for (uint32_t b = c->first; b < c->first + c->n && c->event == ADSM_EVENT_CALL_OUT; b++)
		w.device[b] &= !w.host[b];	/* whatever it wrote there */
	if (arrived) {
		moved(c);
		if (open && w.at[c->first].view < c->view && !sends)
			adsm_blocks_set_views(&w.blocks, c->first, c->n, c->view);
	}
	/* A failed fetch, or send, that is taken for one that did not fail. */
	if (arrived || (planted == OLD_READ && c->step.transfer == ADSM_TO_HOST) || (planted == LOST && sends)) {
		commit(c);
	} else {
		adsm_blocks_abort(&w.blocks, c);
		memset(c, 0, sizeof(*c));
	}
	if (copy.event == ADSM_EVENT_NONE) {
		w.at[copy.first].flags &= ~ADSM_BLOCK_HOLED;
		w.input[copy.first] = 0;
	}
	return true;
}

static bool called(enum adsm_block_event event)
{
	bool sends = adsm_blocks_sends(&w.blocks, event);

	if (w.blocks.n_busy || w.blocks.n_sending || w.blocks.n_holds)
		return false;
	if (sends && adsm_blocks_n_unsent(&w.blocks) && planted != KERNEL)
		return false;
	for (uint32_t b = 0; b < N && event != ADSM_EVENT_CALL_OUT; b++)
		if (!w.device[b])
			wrong = "a kernel gets old bytes";
	if (event != ADSM_EVENT_CALL_IN && w.blocks.detects)
		adsm_blocks_set_views(&w.blocks, 0, N, ADSM_PERMIT_NONE);
	adsm_blocks_called(&w.blocks, event);
	for (uint32_t b = 0; b < N && event != ADSM_EVENT_CALL_IN; b++) {
		w.host[b] = 0;
		w.device[b] = 1;
		if (planted == HOLES && w.input[b])
			w.at[b].flags |= ADSM_BLOCK_HOLED;
	}
	return true;
}

static bool begin_input(uint32_t b)
{
	if (w.input[b] || (w.at[b].flags & ADSM_BLOCK_BUSY))
		return false;
	w.input[b] = 1;
	return true;
}

static bool end_input(uint32_t b)
{
	if (!w.input[b] || (w.at[b].flags & ADSM_BLOCK_BUSY))
		return false;
	w.input[b] = 0;
	w.at[b].flags &= ~ADSM_BLOCK_HOLED;
	return true;
}

static bool hold(uint32_t b, int change)
{
	if (w.at[b].holds + change < 0 || w.at[b].holds + change > 1 || adsm_blocks_at_work(&w.blocks, b))
		return false;
	w.at[b].holds = (uint16_t)(w.at[b].holds + change);
	w.blocks.n_holds += (uint32_t)change;
	return true;
}

static bool close_all(void)
{
	if (!w.blocks.detects || w.blocks.n_holds)
		return false;
	adsm_blocks_set_views(&w.blocks, 0, N, ADSM_PERMIT_NONE);
	return true;
}

static bool may_be_written(void)
{
	if (w.blocks.detects || w.blocks.n_busy || w.blocks.n_sending)
		return false;
	adsm_blocks_may_be_written(&w.blocks, 0, N);
	return true;
}

/* A write to what may only be read, which no fault tells of: the engine does, later. */
static bool collect(uint32_t b)
{
	if (w.at[b].view != ADSM_PERMIT_READ || adsm_blocks_lack(&w.blocks, b) || adsm_blocks_unsent(&w.blocks, b))
		return false;
	w.device[b] = 0;
	w.torn[b] = 1;
	if (planted != UNSEEN)
		adsm_blocks_may_be_written(&w.blocks, b, 1);
	return true;
}

/* What the bytes of a run were does not matter any more, so each side has the newest. */
static bool discard(uint32_t first, uint32_t n)
{
	for (uint32_t b = first; b < first + n; b++)
		if (w.input[b] || w.at[b].holds || (w.at[b].flags & (ADSM_BLOCK_BUSY | ADSM_BLOCK_SENDING)))
			return false;
	if (w.blocks.unsent >> protocol.initial & 1)
		return false;
	for (uint32_t b = first; b < first + n; b++) {
		if (w.at[b].view == ADSM_PERMIT_WRITE)
			adsm_blocks_set_views(&w.blocks, b, 1, ADSM_PERMIT_NONE);
		w.host[b] = w.device[b] = 1;
	}
	adsm_blocks_discard(&w.blocks, first, n);
	return true;
}

static bool of_block(int op, uint32_t b)
{
	switch (op) {
	case 0: return send(b, 1, true);
	case 1: return send(b, N, true);
	case 2: return send(b, N, false);
	case 3: return queue(b);
	case 4: return take_queued(b, false);
	case 5: return take_queued(b, true);
	case 6: return b == 0 && hold(b, 1);
	case 7: return b == 0 && hold(b, -1);
	case 8: return b == 1 && begin_input(b);
	case 9: return b == 1 && end_input(b);
	case 10: return b == 1 && fill_hole(b);
	case 11: return collect(b);
	default: return access(b, 1, ADSM_EVENT_SYNC, false);
	}
}

static bool of_run(int op, uint32_t first, uint32_t n)
{
	switch (op) {
	case 6: return device_write(first, n);
	case 7: return discard(first, n);
	default: return access(first, n, (enum adsm_block_event)(op / 2), op % 2);
	}
}

static bool of_object(int op)
{
	switch (op) {
	case 0: return called(ADSM_EVENT_CALL_IN);
	case 1: return called(ADSM_EVENT_CALL_INOUT);
	case 2: return called(ADSM_EVENT_CALL_OUT);
	case 3: return close_all();
	case 4: return may_be_written();
	case 5: return evict(false);
	case 6: return evict(true);
	default: return end_change((op - 7) / 3, (op - 7) % 3, (op - 7) % 3 == 2);
	}
}

/* All transitions from one state; true: an invariant is broken. */
static bool go_on(size_t from)
{
#define GO(transition) do { \
	memcpy(&w, &visited[from], sizeof(w)); \
	if ((transition) && arrive()) \
		return true; \
} while (0)
	for (uint32_t b = 0; b < N; b++)
		for (int op = 0; op <= 12; op++)
			GO(of_block(op, b));
	for (uint32_t first = 0; first < N; first++)
		for (uint32_t n = 1; first + n <= N; n++)
			for (int op = 0; op <= 7; op++)
				GO(of_run(op, first, n));
	for (int op = 0; op < 7 + 3 * PENDING_MAX; op++)
		GO(of_object(op));
	return false;
}

/* From a fresh object on. Returns what was broken, or NULL. */
static const char *explore(const struct adsm_protocol *of, enum fault fault)
{
	original = of;
	protocol = *of;
	protocol.object_dirty = object_dirty;
	protocol.dirtied = dirtied;
	protocol.cleaned = cleaned;
	planted = fault;
	wrong = NULL;
	n_visited = n_transitions = visited_room = 0;
	memset(&w, 0, sizeof(w));
	w.blocks.at = w.at;
	w.blocks.n = N;
	w.blocks.shift = 12;
	w.blocks.last_size = BLOCK;
	adsm_blocks_init(&w.blocks, &protocol, adsm_protocol_detects(of) ? ADSM_PERMIT_NONE : ADSM_PERMIT_WRITE);
	adsm_blocks_join(&w.blocks, w.policy, &w.sends);
	for (uint32_t b = 0; b < N; b++) {
		w.host[b] = 1;
		w.device[b] = !adsm_blocks_unsent(&w.blocks, b);
	}
	n_transitions--;
	if (arrive())
		return wrong;
	for (size_t i = 0; i < n_visited; i++)
		if (go_on(i))
			return wrong;
	return NULL;
}

static void look_for(enum fault fault)
{
	const char *found = explore(&adsm_protocol_rolling, fault);

	printf("%s: %s, after %zu transitions\n", faults[fault].name, found ? found : "not found", n_transitions);
	CHECK(found && !strcmp(found, faults[fault].found));
}

/* Rolling with a fourth state: what was sent may not be read before an access is seen again. */
static struct adsm_protocol with_closed(void)
{
	enum { CLOSED = ADSM_N_STATES };
	struct adsm_protocol p = adsm_protocol_rolling;

	p.name = "four states";
	p.n_states = CLOSED + 1;
	p.permits[CLOSED] = ADSM_PERMIT_NONE;
	memcpy(p.steps[CLOSED], p.steps[ADSM_READ_ONLY], sizeof(p.steps[CLOSED]));
	p.steps[CLOSED][ADSM_EVENT_SEND].next = p.steps[CLOSED][ADSM_EVENT_CALL_IN].next = CLOSED;
	p.steps[ADSM_DIRTY][ADSM_EVENT_SEND].next = p.steps[ADSM_DIRTY][ADSM_EVENT_CALL_IN].next = CLOSED;
	return p;
}

static void explore_all(const struct adsm_protocol *of)
{
	const char *found = explore(of, NONE);

	printf("%s: %zu states, %zu transitions\n", of->name, n_visited, n_transitions);
	if (found || adsm_protocol_broken(of))
		fprintf(stderr, "%s: %s\n", of->name, found ? found : adsm_protocol_broken(of));
	CHECK(!found && !adsm_protocol_broken(of));
}

int main(int argc, char **argv)
{
	static const struct adsm_protocol *const all_protocols[] = { ADSM_PROTOCOLS };
	const struct adsm_protocol four = with_closed();

	for (size_t i = 0; i < sizeof(all_protocols) / sizeof(all_protocols[0]) && argc < 2; i++)
		explore_all(all_protocols[i]);
	if (argc < 2) {
		explore_all(adsm_protocol_find("toy"));
		explore_all(&four);
	}
	for (int fault = NONE + 1; fault < N_FAULTS; fault++)
		if (argc < 2 || !strcmp(argv[1], faults[fault].name))
			look_for((enum fault)fault);
	return 0;
}
