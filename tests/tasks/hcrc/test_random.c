/* SPDX-License-Identifier: MIT */
/*
 * test_random.c - random programs of workers that synchronise their shared variables, over a network that keeps no
 * order, against memory where all accesses happen in one order.
 *
 *	test-random programs [N [SEED]]		N programs; default 10000, with TEST_FULL=1 300000
 *	test-random hand-over			a worker that waits for a contended lock gets it
 *
 * Variables of 1 to 8 bytes lie side by side in a few pages. Each is shared in a random way: by a lock, or by phases
 * between barriers. In a phase it has one writer, or any number of readers; or it is passed on by flags, along a chain
 * of workers, and in the end all may read it.
 */
#include <stdint.h>
static uint64_t said_seed;
#define FAIL(...) do { \
	printf("%s:%d: program %lu: ", __FILE__, __LINE__, (unsigned long)said_seed); \
	printf(__VA_ARGS__); \
	printf("\n"); \
	exit(1); \
} while (0)
#define NODES 3				/* one of them perhaps the manager's alone */
#define WORKERS 3
#define PAGES 12
#define PAGE_SIZE 16
#define LOCKS 4
#define FLAGS 40
#define PARTS 2
#define PACKETS 256
#include "world.h"

#define ALL (2 * WORKERS)
#define N_VARIABLES (PAGES * PAGE_SIZE / 4)
#define MOST_STEPS 512
#define MOST_LINES 3			/* that a worker's cache has */

static uint64_t seed;

static uint64_t draw(void)
{
	uint64_t z = seed += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(draw() % n);
}

/* ---- programs */

struct variable {
	uint16_t at;
	uint8_t size;
	uint8_t lock;			/* LOCKS: it is shared by phases */
};

enum what { READ, WRITE, LOCK, UNLOCK, BARRIER, END, SET, AWAIT, CLEAR };

#define CHAINED (ALL + 1)		/* instead of a writer: the chain has it */

struct step { uint8_t what; uint8_t which; };	/* a variable, a lock, or a flag */

static struct variable variables[N_VARIABLES];
static uint32_t n_variables;
static struct step programs[ALL][MOST_STEPS];
static uint32_t n_steps[ALL];

static void make_variables(void)
{
	const uint32_t part = PAGE_SIZE / n_parts;
	uint32_t at = below(8);

	for (n_variables = 0; n_variables < N_VARIABLES; n_variables++) {
		const uint32_t size = 1 + below(8);

		/* Within a part. */
		if (at / part != (at + size - 1) / part)
			at = (at / part + 1) * part;
		if (at + size > PAGES * PAGE_SIZE)
			break;
		variables[n_variables] = (struct variable){ (uint16_t)at, (uint8_t)size, (uint8_t)below(LOCKS + 1) };
		at += size + below(2) * below(6);
	}
}

static void add(uint32_t who, enum what what, uint32_t which)
{
	CHECK(n_steps[who] < MOST_STEPS);
	programs[who][n_steps[who]++] = (struct step){ (uint8_t)what, (uint8_t)which };
}

/* Some of the variables that are shared by that lock. */
static void add_uses(uint32_t who, uint32_t lock)
{
	const uint32_t n = below(4);

	for (uint32_t i = 0, which = below(n_variables); i < n * 8; i++, which = (which + 1) % n_variables)
		if (variables[which].lock == lock && !below(4))
			add(who, below(2) ? WRITE : READ, which);
}

/* One section of a lock, or of two at a time, in the order of their numbers, so that no circle can be. */
static void add_section(uint32_t who)
{
	const uint32_t lock = below(LOCKS), inner = lock + 1 + below(LOCKS);
	const bool crossed = below(2);

	add(who, LOCK, lock);
	add_uses(who, lock);
	if (inner < LOCKS) {
		add(who, LOCK, inner);
		add_uses(who, inner);
		add(who, UNLOCK, crossed ? lock : inner);
		add_uses(who, crossed ? inner : lock);
		add(who, UNLOCK, crossed ? inner : lock);
	} else {
		add(who, UNLOCK, lock);
	}
}

/* @writers: of each variable in this phase, ALL: any may read it. */
static void add_phase(uint32_t who, const uint8_t *writers)
{
	for (uint32_t n = below(8); n > 0; n--) {
		const uint32_t which = below(n_variables);

		if (below(2))
			add_section(who);
		else if (variables[which].lock == LOCKS && (writers[which] == who || writers[which] == ALL))
			add(who, writers[which] == who && below(2) ? WRITE : READ, which);
	}
}

static void add_chained_uses(uint32_t who, const uint8_t *writers, bool writes)
{
	for (uint32_t i = 0; i < n_variables; i++)
		if (writers[i] == CHAINED && variables[i].lock == LOCKS && below(2))
			add(who, writes && below(2) ? WRITE : READ, i);
}

/* Workers in turn use the variables of the chain. Each waits for a flag, clears it, and sets the next one. At the end
 * one flag, which stays set, is for all. @flag: the first of those that are clear. */
static void add_chain(const uint8_t *writers, uint32_t flag, uint32_t for_all)
{
	uint32_t who = below(ALL);

	for (uint32_t n = 1 + below(6), i = 0; i < n; i++) {
		if (i) {
			add(who, AWAIT, (flag + i) % (FLAGS / 2));
			add(who, CLEAR, (flag + i) % (FLAGS / 2));
		}
		add_chained_uses(who, writers, true);
		if (!below(4))
			add_section(who);
		add(who, SET, i + 1 < n ? (flag + i + 1) % (FLAGS / 2) : for_all);
		if (!below(4))
			add(who, SET, for_all + 1);
		who = i + 1 < n ? below(ALL) : who;
	}
	for (who = 0; who < ALL; who++) {
		if (below(3))
			continue;
		add(who, AWAIT, for_all);
		add_chained_uses(who, writers, false);
	}
}

static void make_programs(void)
{
	const uint32_t n_phases = 1 + below(4);
	uint8_t writers[N_VARIABLES];

	memset(n_steps, 0, sizeof(n_steps));
	for (uint32_t phase = 0; phase < n_phases; phase++) {
		for (uint32_t i = 0; i < n_variables; i++)
			writers[i] = (uint8_t)below(ALL + 2) < ALL ? (uint8_t)below(ALL) : (uint8_t)(ALL + below(2));
		for (uint32_t who = 0; who < ALL; who++)
			add_phase(who, writers);
		if (below(2))
			add_chain(writers, below(FLAGS / 2), FLAGS / 2 + 2 * phase);
		for (uint32_t who = 0; who < ALL; who++) {
			add_phase(who, writers);
			add(who, phase + 1 < n_phases ? BARRIER : END, 0);
		}
	}
}

/* ---- they run */

static uint8_t expected[PAGES * PAGE_SIZE];	/* as if all workers saw each store immediately */
static uint32_t next_step[ALL];
static uint32_t owners[LOCKS];			/* + 1 */
static uint64_t n_accesses, n_acquires, n_flags, n_messages, n_evicted, n_handed_over;

static uint32_t node_of(uint32_t who)
{
	return who / WORKERS + n_nodes - 2;
}

static struct cache *cache_of(uint32_t who)
{
	return &world.caches[node_of(who)][who % WORKERS];
}

static void begin(bool apart, uint32_t n_frames, uint32_t n_open, uint32_t locality, const uint8_t *first)
{
	static const uint8_t workers[] = { 0, WORKERS, WORKERS };

	world_begin(apart ? 3 : 2, workers + !apart, n_frames, n_open, locality, first);
}

/* The cache has room for a few pages: one of the others goes, whatever is in it. */
static void make_room(uint32_t who, uint32_t page)
{
	uint32_t lines[PAGES * PARTS], n = 0;

	for (uint32_t i = 0; i < PAGES * n_parts; i++)
		if (i != page && cache_of(who)->lines[i].has)
			lines[n++] = i;
	if (n >= MOST_LINES || (n && !below(32)))
		put(node_of(who), who % WORKERS, lines[below(n)], false);
}

/* Whether the access is done; else its page is asked for. */
static bool use(uint32_t who, bool write, const struct variable *variable)
{
	const uint32_t part = PAGE_SIZE / n_parts, page = variable->at / part, at = variable->at % part;
	struct line *line = &cache_of(who)->lines[page];

	if (!line->has || (write && !line->dirty)) {
		make_room(who, page);
		if (write && below(3))
			ask_write(node_of(who), who % WORKERS, page);
		else if (line->has)
			ask_write(node_of(who), who % WORKERS, page);
		else
			ask_read(node_of(who), who % WORKERS, page);
		return false;
	}
	n_accesses++;
	for (uint32_t i = 0; i < variable->size; i++) {
		if (line->bytes[at + i] != expected[variable->at + i])
			FAIL("a store is not seen: worker %u has %u in byte %u, not %u, at its step %u", who,
			     line->bytes[at + i], variable->at + i, expected[variable->at + i], next_step[who]);
		/* Often the same byte again: it is in no diff. */
		if (write)
			line->bytes[at + i] = expected[variable->at + i] = (uint8_t)below(4);
	}
	return true;
}

static void run_step(uint32_t who)
{
	const struct step *step = &programs[who][next_step[who]];

	switch (step->what) {
	case READ:
	case WRITE:
		if (!use(who, step->what == WRITE, &variables[step->which]))
			return;
		break;
	case LOCK:
		acquire(node_of(who), who % WORKERS, step->which);
		n_acquires++;
		break;
	case UNLOCK:
		CHECK_EQ(owners[step->which], who + 1);
		owners[step->which] = 0;
		release(node_of(who), who % WORKERS, step->which);
		break;
	case SET:
	case AWAIT:
	case CLEAR:
		use_flag(node_of(who), who % WORKERS, step->what == SET ? ADSM_HCRC_FLAG_SET :
			 step->what == AWAIT ? ADSM_HCRC_FLAG_AWAIT : ADSM_HCRC_FLAG_CLEAR, step->which);
		n_flags++;
		break;
	case BARRIER:
		barrier(node_of(who), who % WORKERS);
		break;
	default:
		end(node_of(who), who % WORKERS);
	}
	next_step[who]++;
}

static void wake(uint32_t who)
{
	const struct step *step = &programs[who][next_step[who] - 1];

	take_notices(node_of(who), who % WORKERS);
	if (step->what != LOCK)
		return;
	CHECK_EQ(owners[step->which], 0);
	owners[step->which] = who + 1;
}

/* A packet, any of them, or a worker that can go on. False: nothing is left to do. */
static bool do_something(void)
{
	uint32_t ready[ALL], n = 0, what;

	for (uint32_t who = 0; who < ALL; who++)
		if (cache_of(who)->waits == RUNS || cache_of(who)->waits == WOKEN)
			ready[n++] = who;
	if (!n && !world.n_packets)
		return false;
	if (!below(16))
		adsm_hcrc_probe(nodes[ADSM_HCRC_MANAGER]);
	what = below(n + world.n_packets);
	if (what < n && cache_of(ready[what])->waits == WOKEN) {
		wake(ready[what]);
	} else if (what < n) {
		run_step(ready[what]);
	} else {
		const int ret = world_deliver(what - n);

		CHECK(!ret || ret == -EAGAIN);
	}
	return true;
}

/* Nodes have counted the messages between them. */
static void check_messages(void)
{
	uint64_t counted = 0, sent = 0;

	for (uint32_t i = 0; i < ADSM_HCRC_N_KINDS; i++)
		sent += i == ADSM_HCRC_PROBE || i == ADSM_HCRC_STATE ? 0 : n_sent[i];
	for (uint32_t i = 0; i < n_nodes; i++)
		counted += nodes[i]->counts.messages;
	CHECK_EQ(counted, sent);
	n_messages += sent;
}

static void test_program(uint64_t number)
{
	said_seed = number;
	seed = number * 1000003;
	n_parts = 1 + number % PARTS;
	make_variables();
	make_programs();
	for (uint32_t i = 0; i < sizeof(expected); i++)
		expected[i] = (uint8_t)below(4);
	memset(next_step, 0, sizeof(next_step));
	memset(owners, 0, sizeof(owners));
	locks_stay = below(3);
	begin(below(2), WORKERS + below(2), MOST_LINES + 1, below(3) ? 1 + below(2) * 3 : 0, expected);
	while (do_something())
		;
	for (uint32_t who = 0; who < ALL; who++)
		CHECKF(cache_of(who)->waits == HAS_ENDED, "worker %u waits at its step %u of %u", who,
		       next_step[who] - 1, n_steps[who]);
	CHECK_EQ(world.n_ended, n_nodes);
	CHECK_EQ(world.status, 0);
	for (uint32_t i = 0; i < sizeof(expected); i++)
		if (world.memory[0][i] != expected[i])
			FAIL("a store is lost: %u in byte %u, not %u, at the end", world.memory[0][i], i, expected[i]);
	check_messages();
	for (uint32_t i = 0; i < n_nodes; i++) {
		n_evicted += nodes[i]->counts.evicted;
		n_handed_over += nodes[i]->counts.locks - nodes[i]->counts.global_locks;
	}
}

static void test_programs(uint64_t n, uint64_t first)
{
	for (uint64_t i = 0; i < n; i++)
		test_program(first + i);
	printf("%lu programs: %lu accesses, %lu locks, %lu of them handed over on a node, %lu uses of flags, "
	       "%lu frames given up, %lu messages\n", (unsigned long)n, (unsigned long)n_accesses,
	       (unsigned long)n_acquires, (unsigned long)n_handed_over, (unsigned long)n_flags,
	       (unsigned long)n_evicted, (unsigned long)n_messages);
	CHECK(n < 100 || (n_handed_over && n_evicted && n_flags));
}

/* ---- one lock that all want, again and again */

static struct {
	uint64_t asked;			/* at the manager, in that order; 0: not asked */
	uint32_t passed;		/* grants to other nodes since */
} asks[NODES][WORKERS];

/* What the manager takes and grants, in its order. */
static void watch(const struct adsm_hcrc_message *message, uint32_t *ret_most)
{
	static uint64_t n;
	uint32_t first = 0;

	if (message->kind == ADSM_HCRC_LOCK) {
		for (uint32_t i = 0; i < WORKERS; i++)
			if (!asks[message->from][i].asked) {
				asks[message->from][i].asked = ++n;
				asks[message->from][i].passed = 0;
				return;
			}
		CHECK(!"more requests than workers");
	}
	for (uint32_t i = 1; i < WORKERS; i++)
		if (asks[message->to][i].asked &&
		    (!asks[message->to][first].asked || asks[message->to][i].asked < asks[message->to][first].asked))
			first = i;
	CHECK(asks[message->to][first].asked);
	if (asks[message->to][first].passed > *ret_most)
		*ret_most = asks[message->to][first].passed;
	asks[message->to][first].asked = 0;
	for (uint32_t i = 0; i < WORKERS; i++) {
		asks[message->to][i].passed = 0;
		for (uint32_t node = 0; node < NODES; node++)
			asks[node][i].passed += node != message->to && asks[node][i].asked;
	}
}

/* Whether it can be delivered, and is; what the manager has granted then, if it has. */
static void watch_packet(uint32_t i, uint32_t *ret_most)
{
	const struct adsm_hcrc_message message = world.packets[i].message;

	if (world_deliver(i))
		return;
	if (message.kind == ADSM_HCRC_LOCK)
		watch(&message, ret_most);
	for (i = 0; i < world.n_packets; i++) {
		struct adsm_hcrc_message *grant = &world.packets[i].message;

		if (grant->kind == ADSM_HCRC_GRANT && !grant->unused[0])
			watch(grant, ret_most);
		grant->unused[0] = 1;	/* has been looked at */
	}
}

static void test_hand_over(bool apart, uint32_t locality, bool stay)
{
	const uint32_t n = 100000;
	uint32_t longest_turn = 0, passed = 0, asked[ALL] = { 0 }, longest_wait = 0, turns[NODES] = { 0 };

	seed = said_seed = locality;
	locks_stay = stay;
	memset(asks, 0, sizeof(asks));
	owners[0] = 0;
	begin(apart, WORKERS, 1, locality, NULL);
	for (uint32_t acquires = 0; acquires < n; ) {
		const uint32_t who = below(ALL + world.n_packets), node = node_of(who);

		if (who >= ALL) {
			watch_packet(who - ALL, &passed);
		} else if (cache_of(who)->waits == RUNS && owners[0] == who + 1) {
			owners[0] = 0;
			release(node, who % WORKERS, 0);
		} else if (cache_of(who)->waits == RUNS) {
			acquire(node, who % WORKERS, 0);
			asked[who] = acquires;
		} else if (cache_of(who)->waits == WOKEN) {
			take_notices(node, who % WORKERS);
			CHECK_EQ(owners[0], 0);
			owners[0] = who + 1;
			acquires++;
			if (acquires - asked[who] > longest_wait)
				longest_wait = acquires - asked[who];
			/* In a row, since this node knows that another one waits. */
			turns[node] = nodes[node]->locks[0].n_grants > 1 ? turns[node] : 0;
			turns[node] += nodes[node]->locks[0].wanted;
			if (turns[node] > longest_turn)
				longest_turn = turns[node];
		}
	}
	printf("locality %u, %s: %u acquires, %u in a row on a node at most while another one waits, %u by other nodes "
	       "before one that has asked, the longest wait %u\n", locality, stay ? "locks stay" : "as in the paper",
	       n, longest_turn, passed, longest_wait);
	CHECK(longest_turn <= (locality ? locality * WORKERS : 1));
	CHECK(passed < 2);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "hand-over")) {
		for (uint32_t locality = 0; locality < 5; locality += 1 + (locality > 0))
			for (uint32_t i = 0; i < 4; i++)
				test_hand_over(i % 2, locality, i / 2);
	} else {
		test_programs(argc > 2 ? strtoul(argv[2], NULL, 10) : getenv("TEST_FULL") ? 300000 : 10000,
			      argc > 3 ? strtoul(argv[3], NULL, 10) : 1);
	}
	world_end();
	return 0;
}
