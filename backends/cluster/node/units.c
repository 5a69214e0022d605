/* SPDX-License-Identifier: MIT */
/*
 * node/units.c - units of write-once objects on several nodes. A letter is a sequence of entries, in the order of the
 * events on the sender: before a node reports that a thread waits, or has ended, it has reported all that this thread
 * has set. So node 0 never detects a deadlock while a unit that ends it is on its way.
 */
#include "node.h"

#include "base/log.h"
#include "base/os.h"
#include "process/device/once.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define LETTER_SIZE ((size_t)1 << 20)	/* maximum size of a letter with more than one entry */
/* Maximum number of bytes of units that are sent together before they are requested. */
#define AHEAD_MAX ((size_t)64 << 10)
#define N_STREAMS 32

enum kind {
	/* To node 0: */
	SET,				/* a unit is set; its bytes follow */
	WANT,				/* a thread waits for a unit */
	CREW,				/* .number: threads that run blocks now */
	FAILED,				/* the sender will set no more units of the object */
	ENDED,				/* this node's part has failed; a text follows */
	/* From node 0: */
	UNIT,				/* a unit is set; its bytes follow. .number: 1 if it was requested */
	VERDICT,			/* the wait has to end with .error */
};

struct entry {
	uint32_t kind;
	int32_t error;
	uint32_t slot, number;		/* identify a wait in the table of the node that waits */
	int32_t thread, reserved;
	uint64_t address, unit, block;
	uint64_t size;			/* bytes that follow */
};

/* An event on this node that node 0 does not know yet. */
struct news {
	const struct adsm_kernel_once *once;
	uint64_t unit, block;
	int error;			/* 0: the unit is set; else no more units of the object will be set */
};

/* Node 0: a thread of another node that waits. */
struct remote_wait {
	struct adsm_once_wait wait;
	const struct adsm_kernel_once *once;
	int node;
	uint32_t slot, number;
	bool brought;			/* the node has the unit, or its entry is packed */
};

static struct {
	struct adsm_process_shared *shared;	/* only on node 0 */
	void (*name_place)(char *place, size_t size, int node);
	/* Other nodes: */
	uint32_t reported[ADSM_ONCE_SLOTS];	/* for each slot, the last wait that was reported to node 0 */
	uint32_t crew;			/* the number that was last reported to node 0 */
	/* Of the current launch: */
	const struct adsm_pool_launch *launch;	/* this node's part; NULL: no part that uses units */
	int error;			/* its result on this node; on node 0: its first error on any node */
	char failure[ADSM_PROCESS_TEXT];
	/* Node 0: */
	const char *kernel;
	uint32_t *crews;		/* one for each node */
	struct remote_wait *remotes;
	size_t n_remotes, room;
	uint32_t last_doorbell;		/* the value of the table's `doorbell` at the last check */
	bool listens;
	struct adsm_pack *packs;	/* one for each node: entries that are to be sent */
	struct stream { uint64_t address, next; int node; size_t bytes; } streams[N_STREAMS];
	unsigned oldest;
} units;

static struct {
	pthread_mutex_t lock;		/* held by threads of kernels, too */
	struct news *v;
	size_t n, room;
} news = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct adsm_pack out;

static void send(struct adsm_pack *pack, int node)
{
	if (pack->n)
		adsm_comm_send(node, ADSM_TAG_ONCE, pack->data, pack->n);
	pack->n = 0;
}

/* A unit may be nearly as large as a letter: if necessary, send the packed entries first. */
static void put_entry(struct adsm_pack *pack, int node, const struct entry *entry, const void *bytes)
{
	if (pack->n + sizeof(*entry) + entry->size > LETTER_SIZE)
		send(pack, node);
	adsm_pack_put(pack, entry, sizeof(*entry), 8);
	adsm_pack_put(pack, bytes, entry->size, 8);
}

static const char *bytes_of(const struct adsm_kernel_once *once, uint64_t unit)
{
	return (const char *)once->data + unit * once->size;
}

/* ---- other nodes: events of their kernels' threads */

static void add_news(const struct news *one)
{
	bool first;

	pthread_mutex_lock(&news.lock);
	news.v = adsm_node_grow(news.v, news.n, &news.room, sizeof(*news.v));
	first = !news.n;
	news.v[news.n++] = *one;
	pthread_mutex_unlock(&news.lock);
	if (first)
		adsm_comm_wake();
}

static void on_set(const struct adsm_kernel_once *once, uint64_t unit)
{
	add_news(&(struct news){ once, unit, adsm_pool_block.number, 0 });
}

static void on_failed(const struct adsm_kernel_once *once, int error)
{
	add_news(&(struct news){ once, 0, adsm_pool_block.number, error });
}

static const struct adsm_device_once_hooks hooks = {
	.set = on_set, .waits = adsm_comm_wake, .failed = on_failed, .refused = adsm_crashes_refuse,
};

/* ---- other nodes: reports to node 0 */

static void put_news(const struct news *one)
{
	struct entry entry = { .kind = one->error ? FAILED : SET, .error = one->error, .block = one->block,
			       .address = (uintptr_t)one->once->data, .unit = one->unit,
			       .size = one->error ? 0 : one->once->size };

	put_entry(&out, 0, &entry, bytes_of(one->once, one->unit));
}

static void put_all_news(void)
{
	static struct news *taken;
	static size_t room;
	struct news *v;
	size_t n, r;

	pthread_mutex_lock(&news.lock);
	v = news.v;
	n = news.n;
	r = news.room;
	news.v = taken;
	news.room = room;
	news.n = 0;
	pthread_mutex_unlock(&news.lock);
	taken = v;
	room = r;
	for (size_t i = 0; i < n; i++)
		put_news(&v[i]);
}

/* Find waits that were not reported to node 0. Returns their number. */
static size_t find_waits(struct adsm_once_table *table, struct entry *ret_entries)
{
	struct adsm_once_note note;
	size_t n = 0;

	for (uint32_t i = 0; i < ADSM_ONCE_SLOTS && i < atomic_load(&table->high); i++) {
		if (!adsm_once_note_new(table, i, &units.reported[i], &note))
			continue;
		ret_entries[n++] = (struct entry){ .kind = WANT, .slot = i, .number = units.reported[i],
						   .thread = note.thread, .address = note.address, .unit = note.unit,
						   .block = note.where };
	}
	return n;
}

static void report_events(void)
{
	static struct entry waits[ADSM_ONCE_SLOTS];
	struct adsm_once_table *table = adsm_device_once_table();
	uint32_t crew;
	size_t n;

	if (!table)
		return;
	/* The order is important: what a thread set is reported before its wait or its end. */
	crew = atomic_load(&table->running[adsm_device_once_number()]);
	n = find_waits(table, waits);
	put_all_news();
	for (size_t i = 0; i < n; i++)
		put_entry(&out, 0, &waits[i], NULL);
	if (crew != units.crew)
		put_entry(&out, 0, &(struct entry){ .kind = CREW, .number = crew }, NULL);
	units.crew = crew;
	send(&out, 0);
}

/* ---- other nodes: entries from node 0 */

static void receive_unit(const struct entry *entry, const void *bytes)
{
	const struct adsm_kernel_once *once = adsm_device_once_find(entry->address);
	struct adsm_once_shared *shared;

	if (entry->unit >= once->count || entry->size != once->size)
		adsm_comm_fail("node 0 sent an invalid unit of a write-once object");
	shared = adsm_device_once_shared(once);
	/* It was not requested, and a kernel on this node writes it, too: that is detected when the kernel sets it. */
	if (!entry->number && atomic_load(&shared->flags[entry->unit]) != ADSM_ONCE_EMPTY)
		return;
	if (adsm_once_fresh(shared, entry->unit))
		return;
	memcpy((char *)once->data + entry->unit * once->size, bytes, once->size);
	adsm_once_set(adsm_device_once_table(), shared, entry->address, entry->unit);
}

static void receive_verdict(const struct entry *entry)
{
	struct adsm_once_note note;
	uint32_t number = 0;
	struct adsm_once_table *table = adsm_device_once_table();

	if (adsm_once_note_new(table, entry->slot % ADSM_ONCE_SLOTS, &number, &note) && number == entry->number)
		adsm_once_judge(table, entry->slot % ADSM_ONCE_SLOTS, &note, entry->error);
}

/* ---- node 0: entries to other nodes */

/* Send units that follow a requested one, twice as many bytes each time while requests are in order. */
static void put_ahead(const struct remote_wait *remote)
{
	const struct adsm_kernel_once *once = remote->once;
	const uint64_t address = (uintptr_t)once->data;
	struct stream *s = units.streams;
	uint64_t unit = remote->wait.unit + 1;

	while (s < units.streams + N_STREAMS && (s->node != remote->node || s->address != address ||
						  unit - 1 - s->next >= 2))
		s++;
	if (s == units.streams + N_STREAMS) {
		s = &units.streams[units.oldest++ % N_STREAMS];
		*s = (struct stream){ .address = address, .node = remote->node };
	} else {
		s->bytes = s->bytes ? 2 * s->bytes : 2 * once->size;
		s->bytes = s->bytes < AHEAD_MAX ? s->bytes : AHEAD_MAX;
	}
	for (size_t left = s->bytes; unit < once->count && left >= once->size; left -= once->size, unit++) {
		if (!adsm_once_is_set(adsm_device_once_shared(once), unit))
			break;
		put_entry(&units.packs[remote->node], remote->node, &(struct entry){ .kind = UNIT, .address = address,
				.unit = unit, .size = once->size }, bytes_of(once, unit));
	}
	s->next = unit;
}

/* Do these threads of one node wait for the same unit? */
static bool are_alike(const struct remote_wait *a, const struct remote_wait *b)
{
	return a->node == b->node && a->once == b->once && a->wait.unit == b->wait.unit;
}

/*
 * @first: the first of the answers that are about to be sent. One of these may already contain the unit for that node.
 */
static void answer(const struct remote_wait *first, struct remote_wait *remote, int error)
{
	struct entry entry = { .kind = error ? VERDICT : UNIT, .error = error, .slot = remote->slot,
			       .number = error ? remote->number : 1, .address = (uintptr_t)remote->once->data,
			       .unit = remote->wait.unit, .size = error ? 0 : remote->once->size };

	for (; !error && !remote->brought && first < remote; first++)
		remote->brought = first->brought && are_alike(first, remote);
	if (!error && remote->brought)
		return;
	remote->brought = !error;
	put_entry(&units.packs[remote->node], remote->node, &entry, bytes_of(remote->once, remote->wait.unit));
	if (!error)
		put_ahead(remote);
}

static int no_sleep(_Atomic uint32_t *word, uint32_t value, bool far)
{
	return 0;
}

static void check_remotes(struct adsm_once_table *table)
{
	size_t n = 0, n_ended = 0;

	/* Waits that have ended are moved to the front. */
	units.last_doorbell = atomic_load(&table->doorbell);
	for (size_t i = 0; i < units.n_remotes; i++) {
		struct remote_wait remote = units.remotes[i];
		int error = adsm_once_wait_once(&remote.wait, no_sleep);

		/* If a launch has failed on one node, its waits end on all nodes. */
		error = error == -EAGAIN && units.error ? units.error : error;
		if (error == -EAGAIN)
			continue;
		adsm_once_wait_end(&remote.wait);
		units.remotes[i] = units.remotes[n_ended];
		units.remotes[n_ended] = remote;
		answer(units.remotes, &units.remotes[n_ended], error);
		n_ended++;
	}
	for (size_t i = n_ended; i < units.n_remotes; i++)
		units.remotes[n++] = units.remotes[i];
	units.n_remotes = n;
	if (!n)
		atomic_store(&table->n_listeners, 0);
	for (int r = 1; n_ended && r < adsm_comm.n; r++)
		send(&units.packs[r], r);
}

/* ---- node 0: entries from other nodes */

/* Wakes this node when any thread sets a unit, while a thread of another node waits. */
static void *listen(void *arg)
{
	struct adsm_once_table *table = adsm_device_once_table();

	for (;;) {
		uint32_t rings = atomic_load(&table->doorbell);

		adsm_comm_wake();
		adsm_os_wait(&table->doorbell, rings, 0, true);
	}
	return NULL;
}

static const struct adsm_kernel_once *find_unit(int from, const struct entry *entry)
{
	const struct adsm_kernel_once *once = adsm_device_once_find(entry->address);

	if (entry->unit >= once->count || (entry->kind == SET && entry->size != once->size))
		adsm_comm_fail("node %d reported an invalid unit of a write-once object", from);
	return once;
}

static void receive_set(int from, const struct entry *entry, const void *bytes)
{
	const struct adsm_kernel_once *once = find_unit(from, entry);
	struct adsm_once_shared *shared = adsm_device_once_shared(once);
	char text[ADSM_PROCESS_TEXT], place[96];
	int ret = adsm_once_fresh(shared, entry->unit);

	if (!ret) {
		memcpy((char *)once->data + entry->unit * once->size, bytes, once->size);
		ret = adsm_once_set(adsm_device_once_table(), shared, entry->address, entry->unit);
	}
	for (size_t i = 0; i < units.n_remotes; i++)
		units.remotes[i].brought |= units.remotes[i].node == from && units.remotes[i].once == once &&
					  units.remotes[i].wait.unit == entry->unit;
	if (!ret)
		return;
	units.name_place(place, sizeof(place), from);
	adsm_format(text, sizeof(text), "kernel '%s', block %lu%s, sets a unit that is already set: unit %lu of the "
		    "write-once object at %p (%lu units)", units.kernel, (unsigned long)entry->block, place,
		    (unsigned long)entry->unit, once->data, (unsigned long)once->count);
	adsm_process_say_end(units.shared, text);
	_exit(1);
}

static void receive_wait(int from, const struct entry *entry)
{
	const struct adsm_kernel_once *once = find_unit(from, entry);
	struct adsm_once_note note = { .address = entry->address, .unit = entry->unit, .where = entry->block,
				       .thread = entry->thread, .node = (uint64_t)from + 1,
				       .device = adsm_device_once_number() };
	struct adsm_once_table *table = adsm_device_once_table();
	struct remote_wait *remote;

	units.remotes = adsm_node_grow(units.remotes, units.n_remotes, &units.room, sizeof(*units.remotes));
	if (!units.listens && adsm_pool_thread(listen))
		adsm_comm_fail("the thread that waits for units cannot be started");
	units.listens = true;
	/* Before the wait is counted: a thread that sets the unit after that rings. */
	atomic_store(&table->n_listeners, 1);
	adsm_format(note.kernel, sizeof(note.kernel), "%s", units.kernel);
	remote = &units.remotes[units.n_remotes++];
	*remote = (struct remote_wait){ .once = once, .node = from, .slot = entry->slot, .number = entry->number };
	adsm_once_wait_begin(&remote->wait, table, adsm_device_once_shared(once), &note);
}

static void note_failure(int error, const void *text, size_t size)
{
	if (units.error)
		return;
	units.error = error;
	adsm_format(units.failure, sizeof(units.failure), "%.*s", (int)size, (const char *)text);
}

static void receive_crew(int from, uint32_t crew)
{
	struct adsm_once_table *table = adsm_device_once_table();

	if (table)
		atomic_fetch_add(&table->elsewhere[adsm_device_once_number()], crew - units.crews[from]);
	units.crews[from] = crew;
}

static void receive_failed(int from, const struct entry *entry)
{
	adsm_once_fail(adsm_device_once_shared(find_unit(from, entry)), adsm_device_once_number(), entry->error);
	adsm_once_wake_all(adsm_device_once_table());
}

/* ---- letters */

static bool receive_entry(int from, const struct entry *entry, const void *bytes)
{
	if (adsm_comm.rank ? entry->kind < UNIT : entry->kind >= UNIT)
		return false;
	switch (entry->kind) {
	case SET:
		receive_set(from, entry, bytes);
		return true;
	case WANT:
		receive_wait(from, entry);
		return true;
	case CREW:
		receive_crew(from, entry->number);
		return true;
	case FAILED:
		receive_failed(from, entry);
		return true;
	case ENDED:
		note_failure(entry->error, bytes, entry->size);
		return true;
	case UNIT:
		receive_unit(entry, bytes);
		return true;
	case VERDICT:
		receive_verdict(entry);
		return true;
	default:
		return false;
	}
}

void adsm_units_letter(const struct adsm_letter *letter)
{
	size_t at = 0;

	if (!adsm_device_once_table() || (!adsm_comm.rank && !units.kernel))
		adsm_comm_fail("node %d sent a message about units, but no kernel uses write-once objects",
			       letter->from);
	while (at < letter->size) {
		const struct entry *entry = adsm_pack_take(letter, &at, sizeof(*entry), 8);

		if (!receive_entry(letter->from, entry, adsm_pack_take(letter, &at, entry->size, 8)))
			adsm_comm_fail("node %d sent a message about units of unknown kind", letter->from);
	}
	if (!adsm_comm.rank && units.n_remotes)
		check_remotes(adsm_device_once_table());
}

void adsm_units_poll(void)
{
	if (adsm_comm.rank)
		report_events();
	else if (units.n_remotes && atomic_load(&adsm_device_once_table()->doorbell) != units.last_doorbell)
		check_remotes(adsm_device_once_table());
}

/* ---- launches */

void adsm_units_start(const char *place, struct adsm_process_shared *shared,
		      int (*restore)(uint64_t address, size_t size),
		      void (*name_place)(char *place, size_t size, int node))
{
	const struct adsm_device_once_node node = { adsm_comm.n > 1 ? adsm_comm.rank + 1 : 0,
						    adsm_comm.n > 1 ? place : "", restore,
						    adsm_comm.rank ? &hooks : NULL };

	units.shared = shared;
	units.name_place = name_place;
	units.crews = adsm_node_table((size_t)adsm_comm.n * sizeof(*units.crews));
	units.packs = adsm_node_table((size_t)adsm_comm.n * sizeof(*units.packs));
	adsm_device_once_join(&node, shared);
}

void adsm_units_launch(const char *kernel, const uint32_t *crew)
{
	struct adsm_once_table *table = adsm_device_once_table();

	units.kernel = kernel;
	units.error = 0;
	memset(units.streams, 0, sizeof(units.streams));
	if (table)
		atomic_store(&table->elsewhere[adsm_device_once_number()], 0);
	for (int r = 1; r < adsm_comm.n; r++) {
		units.crews[r] = 0;
		receive_crew(r, crew[r]);
	}
}

int adsm_units_end(char ret_failure[ADSM_PROCESS_TEXT])
{
	struct adsm_once_table *table = adsm_device_once_table();

	/* Waits whose threads did not wait for the answer. */
	while (units.n_remotes)
		adsm_once_wait_end(&units.remotes[--units.n_remotes].wait);
	if (table)
		atomic_store(&table->n_listeners, 0);
	units.kernel = NULL;
	if (units.error)
		memcpy(ret_failure, units.failure, ADSM_PROCESS_TEXT);
	return units.error;
}

void adsm_units_begin(const struct adsm_pool_launch *launch, uint32_t crew)
{
	if (adsm_device_once_settle())
		adsm_comm_fail("not enough memory or mappings for a write-once object");
	units.launch = launch;
	/* Node 0 knows this number. */
	units.crew = launch && launch->waits ? crew : 0;
}

void adsm_units_part_ended(void)
{
	const struct adsm_pool_launch *launch = units.launch;
	const int error = launch ? adsm_pool_result() : 0;

	units.launch = NULL;
	if (error && !adsm_comm.rank) {
		note_failure(error, adsm_pool_failure(), strlen(adsm_pool_failure()));
		if (units.n_remotes)
			check_remotes(adsm_device_once_table());
	}
	/* Report all units that were set, and that no thread runs blocks any more. */
	if (adsm_comm.rank)
		report_events();
	if (error && adsm_comm.rank) {
		put_entry(&out, 0, &(struct entry){ .kind = ENDED, .error = error,
						    .size = strlen(adsm_pool_failure()) }, adsm_pool_failure());
		send(&out, 0);
	}
}
