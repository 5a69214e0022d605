/* SPDX-License-Identifier: MIT */
/*
 * test_states.c - every state that two nodes of two workers each can come to with one page and two locks: breadth
 * first, over the protocol's own functions. In each state every message that is under way is offered, in any order,
 * and every worker does all that its program leaves it to choose.
 *
 *	test-states [SCOPE ...]		which programs; without: all
 *	test-states but SCOPE ...	all others
 *
 * A lock guards a byte of the page, which its holder counts up. Each worker has a byte of its own, which the others
 * read after a barrier. In a relay, workers count a byte up in turns: each waits for a flag of its own, clears it, and
 * sets the flag of the next worker. Prints the numbers of states and of transitions. For an invalid state it prints
 * the name of the invariant, and the path to the state. States are identified by 64 bits of hash.
 */
static void say_way(void);
#define FAIL(...) do { \
	printf("%s:%d: ", __FILE__, __LINE__); \
	printf(__VA_ARGS__); \
	printf("\n"); \
	say_way(); \
	exit(1); \
} while (0)
#define NODES 3
#define WORKERS 2
#define PAGES 1
#define PAGE_SIZE 8
#define LOCKS 2
#define FLAGS 4
#define PACKETS 32
#include "world.h"

#define ALL (2 * WORKERS)
#define OWN_BYTE(i) (LOCKS + (i))
#define RELAYED_BYTE OWN_BYTE(ALL)

#define INVARIANT(name, condition, ...) do { \
	if (!(condition)) \
		FAIL(name ": " __VA_ARGS__); \
} while (0)

/* ---- the workers' programs */

struct scope {
	const char *name;
	uint8_t sections[ALL];		/* that each worker passes */
	uint8_t phases;			/* with a barrier behind */
	uint8_t overflows, evictions;	/* that come at any moment */
	bool apart;			/* the manager is on a third node, without workers */
	uint32_t locality;
	bool paper;			/* locks do not stay on a node where no worker waits */
	bool nested;			/* the second lock may be taken with the first */
	bool looks;			/* a section may only look */
	bool reads;			/* a byte may be read first, and written to then */
	uint8_t relay[8];		/* the workers in their turns, + 1 */
};

static const struct scope scopes[] = {
	{ .name = "locks", .sections = { 1, 1, 1, 1 }, .locality = 4 },
	{ .name = "apart", .sections = { 1, 1, 1, 0 }, .locality = 4, .apart = true },
	{ .name = "no-locality", .sections = { 1, 1, 1, 0 }, .locality = 0, .reads = true },
	{ .name = "nested", .sections = { 2, 0, 1, 1 }, .locality = 4, .nested = true },
	{ .name = "nested-apart", .sections = { 2, 0, 1, 0 }, .locality = 4, .nested = true, .apart = true },
	{ .name = "looks", .sections = { 1, 1, 1, 0 }, .locality = 4, .looks = true },
	{ .name = "overflow", .sections = { 1, 0, 1, 1 }, .locality = 4, .overflows = 1 },
	{ .name = "frames", .sections = { 1, 0, 1, 0 }, .locality = 4, .overflows = 1, .evictions = 1, .apart = true },
	{ .name = "barrier", .phases = 1, .locality = 4, .reads = true },
	{ .name = "locks-apart", .sections = { 1, 1, 1, 1 }, .locality = 4, .apart = true },
	{ .name = "locks-reads", .sections = { 1, 1, 1, 1 }, .locality = 4, .reads = true },
	{ .name = "no-locality-reads", .sections = { 1, 1, 1, 1 }, .reads = true },
	{ .name = "again", .sections = { 2, 1, 1, 0 }, .locality = 1, .reads = true },
	{ .name = "again-apart", .sections = { 2, 0, 2, 0 }, .locality = 1, .reads = true, .apart = true },
	{ .name = "nested-looks", .sections = { 2, 0, 2, 0 }, .locality = 4, .nested = true, .looks = true,
	  .apart = true },
	{ .name = "frames-apart", .sections = { 1, 0, 1, 1 }, .locality = 4, .overflows = 1, .evictions = 1,
	  .apart = true },
	{ .name = "mixed", .sections = { 1, 0, 1, 0 }, .phases = 1, .locality = 4 },
	{ .name = "paper", .sections = { 1, 1, 1, 0 }, .locality = 4, .paper = true },
	{ .name = "paper-nested", .sections = { 2, 0, 1, 0 }, .locality = 4, .nested = true, .apart = true,
	  .paper = true },
	{ .name = "paper-again", .sections = { 2, 1, 1, 0 }, .locality = 1, .reads = true, .paper = true },
	{ .name = "relay", .relay = { 1, 3, 1, 3, 4 }, .sections = { 0, 1, 0, 0 }, .locality = 4 },
	{ .name = "relay-apart", .relay = { 1, 2, 3, 1, 4, 2 }, .locality = 4, .apart = true, .reads = true },
	{ .name = "relay-frames", .relay = { 1, 3, 2, 1, 3 }, .locality = 4, .overflows = 1, .evictions = 1,
	  .apart = true },
	{ .name = "relay-locks", .relay = { 1, 3 }, .sections = { 0, 1, 0, 1 }, .locality = 4, .apart = true },
	{ .name = NULL },
};

enum step { IN_PHASE, AT_BARRIER, AFTER_BARRIER, OVER };

enum turn_step { TO_WAIT, TO_CLEAR, TO_WORK, TO_SET };

struct program {
	uint8_t sections, phase, step;
	uint8_t held, worked;		/* sets of locks */
	uint8_t wants;			/* the lock that it waits for, + 1 */
	uint8_t wrote;			/* its own byte, in this phase */
	uint8_t turn, turn_step;	/* of the relay: those before are over; enum turn_step */
};

static struct {				/* changes, too */
	struct program programs[ALL];
	uint8_t counted[LOCKS];		/* by all holders of the lock: the value to be found */
	uint8_t overflows, evictions;	/* that are left */
	uint8_t relayed;		/* turns that are over */
} run;

static const struct scope *scope;

static uint32_t node_of(uint32_t who)
{
	return who / WORKERS + scope->apart;
}

static struct cache *cache_of(uint32_t who)
{
	return &world.caches[node_of(who)][who % WORKERS];
}

/* ---- what can happen: an action is a kind, and a worker or a message */

enum kind { DELIVER = 1, WAKE, ACQUIRE, LOOK, READ, WRITE, RELEASE, BARRIER, CHECK_OTHERS, END, OVERFLOW, EVICT,
	    AWAIT_FLAG, CLEAR_FLAG, SET_FLAG };

static uint16_t actions[256];
static uint32_t n_actions;

static void may(enum kind kind, uint32_t who, uint32_t what)
{
	actions[n_actions++] = (uint16_t)(kind << 8 | who << 4 | what);
}

/* With the page at hand or not: on the way to a byte that is to be written, or looked at. */
static void list_access(uint32_t who, uint32_t what, bool write)
{
	const struct line *line = &cache_of(who)->lines[0];

	if (!line->has && (!write || scope->reads))
		may(READ, who, what);
	if (write && !line->dirty)
		may(WRITE, who, what);
	if (write ? line->dirty : line->has)
		may(LOOK, who, what);
}

/* The next turn of this worker; the length of the relay if there is none. */
static uint32_t next_turn(uint32_t who)
{
	uint32_t turn = run.programs[who].turn;

	while (turn < sizeof(scope->relay) && scope->relay[turn] && scope->relay[turn] != who + 1)
		turn++;
	return turn < sizeof(scope->relay) && scope->relay[turn] ? turn : sizeof(scope->relay);
}

/* Returns whether the worker has a turn. The first turn begins without a flag. */
static bool list_turn(uint32_t who)
{
	const uint32_t turn = next_turn(who);

	if (turn == sizeof(scope->relay))
		return false;
	switch (run.programs[who].turn_step) {
	case TO_WAIT:
		may(turn ? AWAIT_FLAG : CLEAR_FLAG, who, who);
		break;
	case TO_CLEAR:
		may(CLEAR_FLAG, who, who);
		break;
	case TO_WORK:
		list_access(who, RELAYED_BYTE, true);
		break;
	default:
		may(SET_FLAG, who, turn);
	}
	return true;
}

static void list_worker(uint32_t who)
{
	const struct program *program = &run.programs[who];
	const struct cache *cache = cache_of(who);
	uint32_t lock;

	if (cache->waits == WOKEN)
		may(WAKE, who, 0);
	if (cache->waits != RUNS || program->step == OVER)
		return;
	if (run.overflows && cache->lines[0].has)
		may(OVERFLOW, who, 0);
	for (lock = 0; lock < LOCKS; lock++)
		if ((program->held & ~program->worked) >> lock & 1) {
			list_access(who, lock, true);
			if (scope->looks)
				list_access(who, lock, false);
			return;
		}
	for (lock = 0; lock < LOCKS; lock++)
		if (program->held >> lock & 1)
			may(RELEASE, who, lock);
	if (program->sections)
		for (lock = 0; lock < LOCKS; lock++)
			if (!program->held || (scope->nested && program->held == 1 && lock == 1))
				may(ACQUIRE, who, lock);
	if (program->held || list_turn(who) || program->sections)
		return;
	if (program->step == AFTER_BARRIER)
		may(cache->lines[0].has ? CHECK_OTHERS : READ, who, OWN_BYTE(who));
	else if (program->phase == scope->phases)
		may(END, who, 0);
	else if (!program->wrote)
		list_access(who, OWN_BYTE(who), true);
	else
		may(BARRIER, who, 0);
}

static void list_actions(void)
{
	n_actions = 0;
	for (uint32_t i = 0; i < world.n_packets; i++)
		may(DELIVER, i >> 4, i & 15);
	for (uint32_t who = 0; who < ALL; who++)
		list_worker(who);
	for (uint32_t node = 0; run.evictions && node < n_nodes; node++) {
		const struct adsm_hcrc_page *page = &nodes[node]->pages[0];

		if (page->valid && !page->asked && page->home != node + 1)
			may(EVICT, node, 0);
	}
}

/* The byte is used by its owner: a lock's holder, or the worker. It is counted up, if the page is writable. */
static void use_byte(uint32_t who, uint32_t byte)
{
	struct program *program = &run.programs[who];
	struct line *line = &cache_of(who)->lines[0];

	if (byte < LOCKS) {
		INVARIANT("a reader sees what was released before", line->bytes[byte] >= run.counted[byte],
			  "worker %u sees %u of %u under lock %u", who, line->bytes[byte], run.counted[byte], byte);
		INVARIANT("no lost update", line->bytes[byte] == run.counted[byte], "%u of %u", line->bytes[byte],
			  run.counted[byte]);
		program->worked |= (uint8_t)(1 << byte);
		if (line->dirty)
			run.counted[byte] = ++line->bytes[byte];
	} else if (byte == RELAYED_BYTE) {
		INVARIANT("a reader sees what was released before", line->bytes[byte] == run.relayed,
			  "worker %u sees %u of %u in its turn", who, line->bytes[byte], run.relayed);
		line->bytes[byte]++;
		program->turn_step = TO_SET;
	} else {
		line->bytes[byte] = (uint8_t)(program->phase + 1);
		program->wrote = 1;
	}
}

static void check_others(uint32_t who)
{
	struct program *program = &run.programs[who];

	for (uint32_t other = 0; other < ALL; other++)
		INVARIANT("a reader sees what was released before",
			  cache_of(who)->lines[0].bytes[OWN_BYTE(other)] == program->phase,
			  "worker %u sees %u of worker %u after barrier %u", who,
			  cache_of(who)->lines[0].bytes[OWN_BYTE(other)], other, program->phase);
	/* Its own next byte would race with those that look: a second barrier is behind. */
	program->step = IN_PHASE;
	if (program->phase < scope->phases)
		program->wrote = 0;
}

static void wake(uint32_t who)
{
	struct program *program = &run.programs[who];

	take_notices(node_of(who), who % WORKERS);
	if (program->step == AT_BARRIER) {
		program->step = AFTER_BARRIER;
		program->phase++;
		return;
	}
	if (!program->wants) {
		INVARIANT("a flag is set before a worker passes", run.relayed == next_turn(who),
			  "worker %u passes after %u turns, not %u", who, run.relayed, next_turn(who));
		program->turn_step = TO_CLEAR;
		return;
	}
	for (uint32_t other = 0; other < ALL; other++)
		INVARIANT("mutual exclusion", !(run.programs[other].held >> (program->wants - 1) & 1),
			  "workers %u and %u have lock %u", who, other, program->wants - 1);
	program->held |= (uint8_t)(1 << (program->wants - 1));
	program->wants = 0;
}

static void give_up(uint32_t who, uint32_t lock)
{
	struct program *program = &run.programs[who];

	program->held &= (uint8_t)~(1 << lock);
	program->worked &= (uint8_t)~(1 << lock);
	release(node_of(who), who % WORKERS, lock);
}

static void set_flag(uint32_t who, uint32_t turn)
{
	struct program *program = &run.programs[who];
	const uint8_t next = turn + 1 < sizeof(scope->relay) ? scope->relay[turn + 1] : 0;

	program->turn = (uint8_t)(turn + 1);
	program->turn_step = TO_WAIT;
	run.relayed++;
	/* After the last turn: a flag that is cleared and set in any order. */
	use_flag(node_of(who), who % WORKERS, ADSM_HCRC_FLAG_SET, next ? next - 1u : who);
}

static void act_worker(uint32_t kind, uint32_t who, uint32_t what)
{
	struct program *program = &run.programs[who];

	switch (kind) {
	case WAKE:
		wake(who);
		break;
	case ACQUIRE:
		program->sections--;
		program->wants = (uint8_t)(what + 1);
		acquire(node_of(who), who % WORKERS, what);
		break;
	case LOOK:
		use_byte(who, what);
		break;
	case READ:
		ask_read(node_of(who), who % WORKERS, 0);
		break;
	case WRITE:
		ask_write(node_of(who), who % WORKERS, 0);
		break;
	case RELEASE:
		give_up(who, what);
		break;
	case BARRIER:
		program->step = AT_BARRIER;
		barrier(node_of(who), who % WORKERS);
		break;
	case CHECK_OTHERS:
		check_others(who);
		break;
	case AWAIT_FLAG:
		use_flag(node_of(who), who % WORKERS, ADSM_HCRC_FLAG_AWAIT, what);
		break;
	case CLEAR_FLAG:
		program->turn_step = TO_WORK;
		use_flag(node_of(who), who % WORKERS, ADSM_HCRC_FLAG_CLEAR, what);
		break;
	case SET_FLAG:
		set_flag(who, what);
		break;
	case END:
		program->step = OVER;
		end(node_of(who), who % WORKERS);
		break;
	default:
		run.overflows--;
		put(node_of(who), who % WORKERS, 0, false);
	}
}

/* Returns whether anything has changed. */
static bool act(uint16_t action)
{
	const uint32_t kind = action >> 8, who = action >> 4 & 15, what = action & 15;
	int ret = 0;

	if (kind == DELIVER) {
		ret = world_deliver(who << 4 | what);
		INVARIANT("messages fit", !ret || ret == -EAGAIN, "refused: %d", ret);
	} else if (kind == EVICT) {
		run.evictions--;
		adsm_hcrc_evict(nodes[who], 0);
	} else {
		act_worker(kind, who, what);
	}
	return !ret;
}

/* ---- what must hold in each state */

static void check_state(void)
{
	uint32_t n_homes = 0, home = 0;
	bool changed = false;

	for (uint32_t node = 0; node < n_nodes; node++)
		if (nodes[node]->pages[0].home == node + 1) {
			n_homes++;
			home = node;
		}
	INVARIANT("one home", n_homes <= 1, "both nodes are");
	INVARIANT("one home", !n_homes || nodes[0]->entries[0].home == home + 1, "the manager knows of another one");
	for (uint32_t lock = 0; lock < LOCKS; lock++)
		INVARIANT("mutual exclusion",
			  nodes[n_nodes - 2]->locks[lock].here + nodes[n_nodes - 1]->locks[lock].here <= 1,
			  "both nodes have lock %u", lock);
	if (n_actions)
		return;
	INVARIANT("no deadlock", world.n_ended == n_nodes && !world.status, "nothing can happen any more");
	for (uint32_t lock = 0; lock < LOCKS; lock++)
		INVARIANT("no lost update", world.memory[0][lock] == run.counted[lock], "%u of %u at the end",
			  world.memory[0][lock], run.counted[lock]);
	INVARIANT("no lost update", world.memory[0][RELAYED_BYTE] == run.relayed, "%u of %u turns at the end",
		  world.memory[0][RELAYED_BYTE], run.relayed);
	for (uint32_t who = 0; who < ALL; who++)
		changed |= scope->phases && world.memory[0][OWN_BYTE(who)] != scope->phases;
	INVARIANT("no lost update", !changed, "of a worker's own byte");
}

/* ---- states as they are kept: what differs from the first one */

#define LARGEST 16384

static struct { uint8_t *at; size_t size; } parts[2 + NODES];
static size_t n_pieces;
static uint8_t first_image[LARGEST], image[LARGEST];
static size_t image_size;

static size_t gather(uint8_t *to)
{
	size_t size = 0;

	for (size_t i = 0; i < n_pieces; i++) {
		memcpy(to + size, parts[i].at, parts[i].size);
		size += parts[i].size;
	}
	return size;
}

static void lay_out(void)
{
	parts[0].at = (uint8_t *)&world;
	parts[0].size = sizeof(world);
	parts[1].at = (uint8_t *)&run;
	parts[1].size = sizeof(run);
	for (uint32_t i = 0; i < n_nodes; i++) {
		parts[2 + i].at = nodes[i]->state;
		parts[2 + i].size = nodes[i]->state_size;
	}
	n_pieces = 2 + n_nodes;
	image_size = gather(first_image);
	CHECK(image_size <= LARGEST);
}

/* Runs of bytes: how many are as in the first one, how many are not, these. */
static size_t pack(uint8_t *to)
{
	size_t size = 0, at = 0, begin, end;
	uint16_t head[2];

	gather(image);
	while (at < image_size) {
		for (begin = at; begin < image_size && image[begin] == first_image[begin]; )
			begin++;
		for (end = begin; end < image_size && image[end] != first_image[end]; )
			end++;
		head[0] = (uint16_t)(begin - at);
		head[1] = (uint16_t)(end - begin);
		memcpy(to + size, head, sizeof(head));
		memcpy(to + size + sizeof(head), image + begin, end - begin);
		size += sizeof(head) + end - begin;
		at = end;
	}
	return size;
}

static void unpack(const uint8_t *from, size_t size)
{
	size_t at = 0;
	uint16_t head[2];

	memcpy(image, first_image, image_size);
	for (const uint8_t *end = from + size; from < end; from += sizeof(head) + head[1]) {
		memcpy(head, from, sizeof(head));
		at += head[0];
		memcpy(image + at, from + sizeof(head), head[1]);
		at += head[1];
	}
	at = 0;
	for (size_t i = 0; i < n_pieces; i++) {
		memcpy(parts[i].at, image + at, parts[i].size);
		at += parts[i].size;
	}
}

/* ---- the hash of a state, without what says the same in other words: numbers, and orders of what is free */

static uint64_t hash;

static void mix(uint64_t value)
{
	hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
	hash ^= hash >> 29;
	hash *= 0xBF58476D1CE4E5B9u;
	hash ^= hash >> 32;
}

static void mix_bytes(const void *bytes, size_t size)
{
	uint64_t word = 0;

	for (size_t at = 0; at < size; at += sizeof(word)) {
		word = 0;
		memcpy(&word, (const uint8_t *)bytes + at, size - at < sizeof(word) ? size - at : sizeof(word));
		mix(word);
	}
}

static void mix_node(uint32_t i)
{
	const struct adsm_hcrc *node = nodes[i];
	const struct adsm_hcrc_now *now = node->now;
	struct adsm_hcrc_page page = node->pages[0];

	for (uint32_t twin = page.twin; twin; twin = node->twins[twin - 1].next) {
		mix(node->twins[twin - 1].worker + 1);
		mix_bytes(node->twin_bytes + (twin - 1) * PAGE_SIZE, PAGE_SIZE);
	}
	page.twin = 0;
	mix_bytes(&page, sizeof(page));
	mix_bytes(&node->parts[0], sizeof(node->parts[0]));
	mix(page.valid || !i ? 1 : 0);
	if (page.valid || !i)
		mix_bytes(world.memory[i], sizeof(world.memory[i]));
	mix(now->at_barrier | now->n_ended << 8 | (uint64_t)now->arrived << 16 | now->n_kept << 24);
	mix(now->n_early[now->epoch % 2] | (uint64_t)now->n_early[(now->epoch + 1) % 2] << 32);
	for (uint32_t worker = 0; worker < adsm_hcrc_n_workers(node); worker++) {
		struct adsm_hcrc_worker state = node->workers[worker];

		if (state.waits != ADSM_HCRC_FOR_PAGE)
			state.has = 0;
		state.part = 0;
		state.flag = state.flag_kind ? state.flag : 0;
		state.next_flag = state.next_flag_kind ? state.next_flag : 0;
		mix_bytes(&state, sizeof(state));
		mix(node->notices[worker].n);
	}
	for (uint32_t lock = 0; lock < LOCKS; lock++) {
		const struct adsm_hcrc_lock *state = &node->locks[lock];
		const bool leaves = state->here && state->wanted && !state->owner;

		mix((state->here ? state->n_grants : 0) | (uint64_t)state->owner << 32 | (uint64_t)state->first << 40 |
		    (uint64_t)state->last << 48 | (uint64_t)state->n_asked << 56);
		mix(state->here | state->wanted << 1 | state->next << 2 |
		    (uint64_t)(leaves ? now->epoch - state->epoch : 0) << 32);
	}
	for (uint32_t at = now->leaving; at; at = node->locks[at - 1].next)
		mix(at | (uint64_t)(now->epoch - node->locks[at - 1].epoch) << 32);
	mix(node->changed->n);
}

static void mix_manager(void)
{
	const struct adsm_hcrc *node = nodes[0];

	mix_bytes(node->entries, sizeof(*node->entries));
	for (uint32_t lock = 0; lock < LOCKS + n_nodes + ALL; lock++) {
		const struct adsm_hcrc_global_lock *state = &node->global_locks[lock];

		for (uint32_t at = state->first; at; at = node->waiters[at - 1].next)
			mix(node->waiters[at - 1].node + 1);
		mix((uint32_t)state->n_acks | (uint64_t)state->next << 32 | (uint64_t)state->owner << 40 |
		    (uint64_t)state->last_owner << 48 | (uint64_t)(state->releasing | state->recalled << 1) << 56);
	}
	for (uint32_t i = 0; i < FLAGS; i++)
		mix(node->flags[i].first | (uint64_t)node->flags[i].set << 32);
	for (uint32_t i = 0; i < ALL; i++)
		mix(node->flag_ops[i].kind ? node->flag_ops[i].kind | node->flag_ops[i].flag << 8 : 0);
	for (uint32_t i = 0; i < n_nodes; i++)
		mix(node->old[i].n | node->first_release[i] << 8 | node->last_release[i] << 16);
	mix(node->now->n_arrived | node->now->n_all_ended << 8 | node->now->n_done << 16);
}

static uint64_t hash_state(void)
{
	hash = 42;
	for (uint32_t i = 0; i < n_nodes; i++)
		mix_node(i);
	mix_manager();
	for (uint32_t i = 0; i < world.n_packets; i++) {
		struct adsm_hcrc_message message = world.packets[i].message;

		message.number = 0;
		if (message.lock == ADSM_HCRC_EARLY)
			message.count -= nodes[message.kind == ADSM_HCRC_DIFF ? message.from :
					       message.node]->now->epoch;
		else if (message.kind == ADSM_HCRC_EARLY_ACK)
			message.count -= nodes[message.to]->now->epoch;
		mix_bytes(&message, sizeof(message));
		mix_bytes(world.packets[i].bytes, message.size);
	}
	mix(world.n_packets | world.n_ended << 8);
	for (uint32_t who = 0; who < ALL; who++) {
		const struct cache *cache = cache_of(who);

		mix(cache->waits);
		mix_bytes(cache->lines, sizeof(cache->lines));
	}
	mix_bytes(&run, sizeof(run));
	return hash ? hash : 1;
}

/* ---- all of them */

static uint64_t *visited;		/* a table by hash */
static size_t visited_size, n_states;
static uint64_t n_transitions;
static struct from { uint32_t state; uint16_t action; } *ways;	/* how each was found first */
static uint32_t at_state;
static uint16_t at_action;

struct queue { uint8_t *at; size_t size, room; };

static void *grow(void *memory, size_t size)
{
	memory = realloc(memory, size);
	CHECK(memory);
	return memory;
}

static void push(struct queue *queue, uint32_t state)
{
	uint32_t head[2] = { state, 0 };

	if (queue->room - queue->size < 4 * LARGEST) {
		queue->room = queue->room * 2 + 16 * LARGEST;
		queue->at = grow(queue->at, queue->room);
	}
	head[1] = (uint32_t)pack(queue->at + queue->size + sizeof(head));
	memcpy(queue->at + queue->size, head, sizeof(head));
	queue->size += sizeof(head) + head[1];
}

static bool is_new(uint64_t value)
{
	size_t i = value & (visited_size - 1);

	while (visited[i] && visited[i] != value)
		i = (i + 1) & (visited_size - 1);
	if (visited[i])
		return false;
	visited[i] = value;
	return true;
}

static void note_state(struct queue *queue)
{
	if (n_states * 2 >= visited_size) {
		uint64_t *old = visited;
		const size_t old_size = visited_size;

		visited_size = visited_size ? visited_size * 4 : 1 << 16;
		visited = calloc(visited_size, sizeof(*visited));
		CHECK(visited);
		for (size_t i = 0; i < old_size; i++)
			if (old[i])
				is_new(old[i]);
		free(old);
		ways = grow(ways, visited_size * sizeof(*ways));
	}
	if (!is_new(hash_state()))
		return;
	ways[n_states] = (struct from){ at_state, at_action };
	push(queue, (uint32_t)n_states++);
}

static void begin(void)
{
	static const uint8_t workers[NODES] = { 0, WORKERS, WORKERS };

	locks_stay = !scope->paper;
	world_begin(scope->apart ? 3 : 2, workers + !scope->apart, WORKERS, 1, scope->locality, NULL);
	memset(&run, 0, sizeof(run));
	for (uint32_t who = 0; who < ALL; who++)
		run.programs[who].sections = scope->sections[who];
	run.overflows = scope->overflows;
	run.evictions = scope->evictions;
	lay_out();
}

static void explore(void)
{
	struct queue queues[2] = { { NULL, 0, 0 }, { NULL, 0, 0 } };
	uint32_t head[2], depth = 0;

	begin();
	n_states = n_transitions = visited_size = 0;
	free(visited);
	visited = NULL;
	note_state(&queues[0]);
	for (; queues[depth % 2].size; depth++) {
		struct queue *now = &queues[depth % 2];

		queues[(depth + 1) % 2].size = 0;
		for (size_t at = 0; at < now->size; at += sizeof(head) + head[1]) {
			memcpy(head, now->at + at, sizeof(head));
			unpack(now->at + at + sizeof(head), head[1]);
			at_state = head[0];
			at_action = 0;
			list_actions();
			check_state();
			for (uint32_t i = 0, n = n_actions; i < n; i++) {
				const uint16_t action = actions[i];

				at_action = action;
				n_transitions++;
				if (act(action)) {
					note_state(&queues[(depth + 1) % 2]);
					unpack(now->at + at + sizeof(head), head[1]);
				}
			}
		}
	}
	printf("%s: %zu states, %lu transitions, %u steps at most\n", scope->name, n_states,
	       (unsigned long)n_transitions, depth - 1);
	fflush(stdout);
	free(queues[0].at);
	free(queues[1].at);
}

/* ---- the way to a state that must not be */

static void say_action(uint16_t action)
{
	static const char *const kinds[] = { "", "deliver", "wakes", "acquires", "uses", "reads", "writes", "releases",
					     "at barrier", "looks at all", "ends", "gives up its page",
					     "gives up its frame", "waits for flag", "clears flag",
					     "sets the flag of turn" };
	static const char *const messages[] = { "", "ASK_READ", "ASK_WRITE", "TAKEN", "READ_ACK", "WRITE_ACK",
						"UPDATE_ACK", "LOCK", "UNLOCK", "FLAG_SET", "FLAG_AWAIT",
						"FLAG_CLEAR", "ARRIVE", "BACK", "DONE", "STATE", "FAIL",
						"READ", "WRITE", "DIFF", "HOME", "PAGE", "EARLY_ACK", "GRANT",
						"RECALL", "FLAG_DONE", "DEPART", "PROBE", "FAILED" };
	const uint32_t who = action >> 4 & 15, what = action & 15;

	if (action >> 8 == DELIVER) {
		const struct packet *packet = &world.packets[who << 4 | what];

		printf("\t%s %u -> %u, lock %d, %u bytes\n", messages[packet->message.kind], packet->message.from,
		       packet->message.to, (int)packet->message.lock, packet->message.size);
	} else {
		printf("\t%s %u %s %u\n", action >> 8 == EVICT ? "node" : "worker", who, kinds[action >> 8], what);
	}
}

static void say_way(void)
{
	static bool said;
	static uint16_t way[1024];
	uint32_t n = 0;

	if (said)
		return;
	said = true;
	if (at_action)
		way[n++] = at_action;
	for (uint32_t state = at_state; state && n < 1024; state = ways[state].state)
		way[n++] = ways[state].action;
	begin();
	while (n-- > 0) {
		say_action(way[n]);
		if (n)
			act(way[n]);
	}
	fflush(stdout);
}

static bool is_named(const char *name, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

static void check_names(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const struct scope *known = scopes;

		while (known->name && strcmp(known->name, argv[i]))
			known++;
		if (!known->name) {
			printf("there is no program '%s'\n", argv[i]);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	const bool others = argc == 1 || !strcmp(argv[1], "but");
	const int skip = argc > 1 && others ? 2 : 1;

	check_names(argc - skip, argv + skip);
	for (scope = scopes; scope->name; scope++)
		if (is_named(scope->name, argc - skip, argv + skip) != others)
			explore();
	world_end();
	free(visited);
	free(ways);
	return 0;
}
