/* SPDX-License-Identifier: MIT */
/*
 * test_bank.c - the bank of ../bank.h on two nodes with two workers each, over a network that keeps no order: how many
 * messages its locks and its page take by the paper's rule, and if locks stay on a node.
 *
 *	test-bank [N]		N transfers; default 100000
 */
#define NODES 2
#define WORKERS 2
#define PAGES 1
#define PAGE_SIZE 512			/* all accounts */
#define LOCKS BANK_ACCOUNTS
#define PACKETS 256
#include "../bank.h"
#include "world.h"

#define ALL (NODES * WORKERS)
#define START 1000000

_Static_assert(BANK_ACCOUNTS * sizeof(long) == PAGE_SIZE, "the accounts fill the page");

enum step { FIRST_LOCK, SECOND_LOCK, TAKE, GIVE, UNLOCK_FROM, UNLOCK_TO, N_STEPS };

static struct teller {
	unsigned seed;
	int n;				/* transfers that are done */
	struct transfer transfer;
	enum step step;
} tellers[ALL];

static long want[BANK_ACCOUNTS];
static uint64_t random_state;

static uint32_t below(uint32_t n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random_state >> 33) % n;
}

static struct cache *cache_of(uint32_t who)
{
	return &world.caches[who / WORKERS][who % WORKERS];
}

/* Whether the account is changed; else its page is asked for, as a load and a store would. */
static bool add(uint32_t who, int account, int amount)
{
	struct line *line = &cache_of(who)->lines[0];
	long balance;

	if (!line->has)
		ask_read(who / WORKERS, who % WORKERS, 0);
	else if (!line->dirty)
		ask_write(who / WORKERS, who % WORKERS, 0);
	if (cache_of(who)->waits != RUNS || !line->dirty)
		return false;
	memcpy(&balance, line->bytes + (size_t)account * sizeof(balance), sizeof(balance));
	balance += amount;
	memcpy(line->bytes + (size_t)account * sizeof(balance), &balance, sizeof(balance));
	return true;
}

static void run_step(uint32_t who, int n, int abroad)
{
	struct teller *teller = &tellers[who];
	const struct transfer *transfer = &teller->transfer;
	const int from = transfer->from, to = transfer->to;
	bool done = true;

	switch (teller->step) {
	case FIRST_LOCK:
		if (teller->n == n) {
			end(who / WORKERS, who % WORKERS);
			return;
		}
		teller->transfer = bank_next(&teller->seed, (int)who, ALL, teller->n % abroad == 0);
		acquire(who / WORKERS, who % WORKERS, (uint32_t)(transfer->from < transfer->to ? transfer->from :
								 transfer->to));
		break;
	case SECOND_LOCK:
		acquire(who / WORKERS, who % WORKERS, (uint32_t)(from < to ? to : from));
		break;
	case TAKE:
		done = add(who, from, -transfer->amount);
		break;
	case GIVE:
		done = add(who, to, transfer->amount);
		break;
	case UNLOCK_FROM:
		release(who / WORKERS, who % WORKERS, (uint32_t)from);
		break;
	default:
		release(who / WORKERS, who % WORKERS, (uint32_t)to);
		want[from] -= transfer->amount;
		want[to] += transfer->amount;
		teller->n++;
	}
	if (done)
		teller->step = (teller->step + 1) % N_STEPS;
}

/* A packet, any of them, or a worker that can continue. False: nothing is left to do. */
static bool do_something(int n, int abroad)
{
	uint32_t ready[ALL], n_ready = 0, what;

	for (uint32_t who = 0; who < ALL; who++)
		if (cache_of(who)->waits == RUNS || cache_of(who)->waits == WOKEN)
			ready[n_ready++] = who;
	if (!n_ready && !world.n_packets)
		return false;
	what = below(n_ready + world.n_packets);
	if (what >= n_ready) {
		const int ret = world_deliver(what - n_ready);

		CHECK(!ret || ret == -EAGAIN);
	} else if (cache_of(ready[what])->waits == WOKEN) {
		take_notices(ready[what] / WORKERS, ready[what] % WORKERS);
	} else {
		run_step(ready[what], n, abroad);
	}
	return true;
}

/* Messages of a transfer. */
static double transfers(int n, int abroad, bool stay)
{
	static const uint8_t workers[NODES] = { WORKERS, WORKERS };
	long accounts[BANK_ACCOUNTS];
	uint64_t n_messages = 0, n_asked = 0;

	for (int i = 0; i < BANK_ACCOUNTS; i++)
		accounts[i] = want[i] = START;
	locks_stay = stay;
	random_state = 42;
	world_begin(NODES, workers, WORKERS, 1, 4, (const uint8_t *)accounts);
	for (uint32_t who = 0; who < ALL; who++)
		tellers[who] = (struct teller){ .seed = bank_seed((int)who) };
	while (do_something(n / ALL, abroad))
		;
	CHECK_EQ(world.n_ended, NODES);
	CHECK_EQ(world.status, 0);
	CHECK(!memcmp(world.memory[0], want, sizeof(want)));
	for (uint32_t i = 0; i < ADSM_HCRC_N_KINDS; i++)
		n_messages += n_sent[i];
	for (uint32_t i = 0; i < NODES; i++)
		n_asked += nodes[i]->counts.global_locks;
	printf("%d transfers, each %dth to any account, %s: %d locks, %lu requests of nodes, %lu messages\n", n, abroad,
	       stay ? "locks stay" : "as in the paper", 2 * n, (unsigned long)n_asked, (unsigned long)n_messages);
	return (double)n_messages / n;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 100000;
	double paper, stay;

	paper = transfers(n, 50, false);
	stay = transfers(n, 50, true);
	CHECKF(stay <= paper / 10, "%.3f messages a transfer, by the paper %.3f", stay, paper);
	transfers(n, 1, false);
	transfers(n, 1, true);
	world_end();
	return 0;
}
