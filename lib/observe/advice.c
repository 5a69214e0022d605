/* SPDX-License-Identifier: MIT */
/* advice.c - what would make the program faster: compares the simulated objects, and puts the result in words. */
#include "observe/advice.h"

#include <string.h>

#include "base/log.h"
#include "observe/paged.h"
#include "observe/record.h"
#include "observe/use.h"

#define SEEN_MIN 3			/* calls followed by a fetch that are necessary to know what kernels do */
#define MATTERS_BYTES ((uint64_t)64 << 10)
#define MATTERS_FAULTS 16
#define COST_OF_EACH ((uint64_t)16 << 10)	/* a fault or a transfer takes about as
						   long as to move this number of bytes */

struct choice {
	const struct adsm_record *record;
	const struct adsm_usage *use;
	adsmStats now;			/* of the object */
	adsmStats as_is;		/* as simulated with the present settings */
	bool exact;
	struct adsm_advice_item items[ADSM_N_ADVICE_KINDS];
	uint64_t costs[ADSM_N_ADVICE_KINDS];	/* the cost with this advice, by kind; 0: no such advice */
};

#define PROMISED(X) X(h2d_bytes) X(d2h_bytes) X(h2d_transfers) X(d2h_transfers) X(read_faults) X(write_faults) \
	X(signals) X(ahead_blocks) X(evictions)

static adsmStats stats_of(const struct choice *choice, int sim)
{
	adsmStats stats = choice->use->sims[sim]->stats;

	if (choice->use->sims[sim]->unified)
		stats.h2d_bytes = stats.d2h_bytes = stats.h2d_transfers = stats.d2h_transfers = 0;
	return stats;
}

/* Concurrent accesses of threads are not simulated. They mostly change signals, so these are not compared. */
static bool agree(const adsmStats *a, const adsmStats *b)
{
	return a->h2d_bytes == b->h2d_bytes && a->d2h_bytes == b->d2h_bytes && a->h2d_transfers == b->h2d_transfers &&
		a->d2h_transfers == b->d2h_transfers && a->read_faults == b->read_faults &&
		a->write_faults == b->write_faults && a->evictions == b->evictions;
}

/* The counters as they would be: the simulated ones if exact; otherwise the real ones, plus the simulated
 * difference. */
static adsmStats promise(const struct choice *choice, int sim)
{
	adsmStats then = stats_of(choice, sim);

#define SHIFT(field) do {									\
	uint64_t more = then.field + choice->now.field;						\
	then.field = more > choice->as_is.field ? more - choice->as_is.field : 0;		\
} while (0);
	if (!choice->exact) {
		PROMISED(SHIFT)
	}
#undef SHIFT
	return then;
}

uint64_t adsm_advice_cost(const adsmStats *stats)
{
	return adsm_traffic(stats) + COST_OF_EACH * (stats->signals + stats->h2d_transfers + stats->d2h_transfers);
}

static bool matters(const adsmStats *now, const adsmStats *then)
{
	uint64_t bytes = adsm_traffic(now), fewer = adsm_traffic(then);
	bool moves_less = bytes >= fewer + MATTERS_BYTES && bytes - fewer >= bytes / 10;
	bool faults_less = now->signals >= then->signals + MATTERS_FAULTS && then->signals <= now->signals / 2 &&
		fewer <= bytes + bytes / 50;

	return (moves_less || faults_less) &&
		adsm_advice_cost(then) <= adsm_advice_cost(now) - adsm_advice_cost(now) / 10;
}

/* Offer the advice whose effect a simulated object shows. It is taken if the difference matters, and if it is the best
 * of its kind. */
static struct adsm_advice_item *offer(struct choice *choice, enum adsm_advice_kind kind, int sim)
{
	struct adsm_advice_item *item = &choice->items[kind];
	adsmStats then;

	if (!choice->use->sims[sim])
		return NULL;
	then = promise(choice, sim);
	if (!matters(&choice->now, &then) || (choice->costs[kind] && choice->costs[kind] <= adsm_advice_cost(&then)))
		return NULL;
	choice->costs[kind] = adsm_advice_cost(&then);
	*item = (struct adsm_advice_item){ .kind = kind, .now = choice->now, .then = then };
	/* The moments when the evictor sends blocks early depend on chance. */
	item->exact = choice->exact && adsm_use_exact(choice->record, sim) &&
		(!then.evictions || adsm_protocol_options.evict_batch == 1);
	return item;
}

/* A size as text for people. */
static const char *amount(uint64_t size, char ret_text[24])
{
	bool large = size >= (uint64_t)10 << 20, small = size < 10 << 10 && size % (1 << 10);

	adsm_format(ret_text, 24, "%lu %s", small ? size : size >> (large ? 20 : 10),
		    small ? "bytes" : large ? "MiB" : "KiB");
	return ret_text;
}

/* A size as options write it. */
static const char *size_word(size_t size, char ret_text[24])
{
	bool large = !(size % (1 << 20));

	adsm_format(ret_text, 24, "%zu%s", size >> (large ? 20 : 10), large ? "M" : "K");
	return ret_text;
}

/* A rolling size with which no block is sent early, if @n blocks are Dirty at the same time. It is also large enough
 * for the fault-ahead windows. */
static size_t rolling_size(size_t n, size_t block_size)
{
	size_t window = adsm_protocol_options.fault_ahead / block_size;

	return window >= 2 && n < 2 * window ? 2 * window : n ? n : 1;
}

/* The setting for another block size. It includes the rolling size if blocks could otherwise be sent early. */
static void set_blocks(const struct choice *choice, struct adsm_advice_item *item, int sim)
{
	const struct adsm_sim *s = choice->use->sims[sim];
	const struct adsm_use_sums *sums = &adsm_use_sums[choice->use->home->index];
	size_t batch = adsm_protocol_options.evict_batch, n = sums->peaks[ADSM_UNEVICTED] + s->peak;
	size_t bytes = sums->peak_bytes[ADSM_UNEVICTED] + s->peak_bytes, at = 0;
	char *text = item->setting, size[24];

	if (n < sums->peaks[sim])
		n = sums->peaks[sim];
	if (bytes < sums->peak_bytes[sim])
		bytes = sums->peak_bytes[sim];
	if (strcmp(choice->record->protocol, "rolling"))
		at = (size_t)adsm_format(text, sizeof(item->setting), "ADSM_PROTOCOL=rolling ");
	at += (size_t)adsm_format(text + at, sizeof(item->setting) - at, "ADSM_BLOCK_SIZE=%s",
				  size_word((size_t)1 << s->blocks.shift, size));
	if (adsm_protocol_options.rolling_size != ADSM_ROLLING_AUTO ||
	    (n > 2 && bytes >= (batch == 1 ? 0 : batch + adsm_protocol_options.fault_ahead)))
		adsm_format(text + at, sizeof(item->setting) - at, " ADSM_ROLLING_SIZE=%zu",
			    rolling_size(n, (size_t)1 << s->blocks.shift));
}

static void offer_blocks(struct choice *choice)
{
	char all[24], used[24], size[24];
	struct adsm_advice_item *item;
	const struct adsm_sim *smallest = NULL;

	for (int i = ADSM_ROLLING; i < ADSM_N_SIMS; i++) {
		size_t block_size = adsm_sim_block_size(i);

		smallest = smallest ? smallest : choice->use->sims[i];
		item = block_size < choice->record->block_size ? offer(choice, ADSM_ADVICE_BLOCKS, i) : NULL;
		if (!item)
			continue;
		set_blocks(choice, item, i);
		if (item->now.d2h_bytes + item->then.h2d_bytes < item->then.d2h_bytes + item->now.h2d_bytes)
			adsm_format(item->text, sizeof(item->text), "%s were sent to the device, but the CPU had "
				    "written only %s: blocks of %s send less (adsmAllocOptions.block_size)",
				    amount(item->now.h2d_bytes, all), amount(smallest->stats.h2d_bytes, used),
				    size_word(block_size, size));
		else
			adsm_format(item->text, sizeof(item->text), "fetched %lu times, %s in total, but the CPU used "
				    "only %s: blocks of %s fetch less (adsmAllocOptions.block_size)",
				    item->now.d2h_transfers, amount(item->now.d2h_bytes, all),
				    amount(smallest->stats.d2h_bytes, used), size_word(block_size, size));
	}
}

static void offer_protocol(struct choice *choice)
{
	struct adsm_advice_item *item;

	/* Its block is the whole object already. */
	if (!strcmp(choice->record->protocol, "lazy"))
		return;
	for (int i = ADSM_LAZY; i < ADSM_N_SIMS; i++) {
		bool larger = i == ADSM_LAZY || adsm_sim_block_size(i) > choice->record->block_size;

		item = larger ? offer(choice, ADSM_ADVICE_PROTOCOL, i) : NULL;
		if (!item)
			continue;
		if (i == ADSM_LAZY)
			adsm_format(item->setting, sizeof(item->setting), "ADSM_PROTOCOL=lazy");
		else
			set_blocks(choice, item, i);
		adsm_format(item->text, sizeof(item->text), "accesses of the CPU take %lu faults, but %lu with %s "
			    "(adsmAllocOptions.%s)", item->now.signals, item->then.signals,
			    i == ADSM_LAZY ? "one block" : "larger blocks",
			    i == ADSM_LAZY ? "protocol" : "block_size");
	}
}

static void offer_in(struct choice *choice)
{
	const struct adsm_usage *use = choice->use;
	struct adsm_advice_item *item;

	if (atomic_load(&use->n_seen) < SEEN_MIN || atomic_load(&use->changed) || atomic_load(&use->unknown) ||
	    use->n_calls[ADSM_EVENT_CALL_OUT] || adsm_paper)
		return;
	item = offer(choice, ADSM_ADVICE_IN, ADSM_INPUT);
	if (!item)
		return;
	adsm_format(item->setting, sizeof(item->setting), "adsmIn(p)");
	adsm_format(item->text, sizeof(item->text), "fetched %lu times, although no kernel had changed it: name it as "
		    "input, by adsmIn(p) in the calls or ADSM_IN in the kernel's parameters", item->now.d2h_transfers);
}

static void offer_rolling_size(struct choice *choice)
{
	const struct adsm_use_sums *sums = &adsm_use_sums[choice->use->home->index];
	struct adsm_advice_item *item;

	if (!choice->now.evictions)
		return;
	item = offer(choice, ADSM_ADVICE_ROLLING_SIZE, ADSM_UNEVICTED);
	if (!item)
		return;
	adsm_format(item->setting, sizeof(item->setting), "ADSM_ROLLING_SIZE=%zu",
		    rolling_size(sums->peak, choice->record->block_size));
	adsm_format(item->text, sizeof(item->text), "%lu blocks were sent early, and %lu were written again before the "
		    "next call: allow more Dirty blocks", choice->now.evictions,
		    (item->now.write_faults - item->then.write_faults));
}

static unsigned collect(struct choice *choice, struct adsm_advice_item *ret_items, unsigned n)
{
	unsigned found = 0;

	while (found < n) {
		int best = -1;

		for (int kind = 0; kind < ADSM_N_ADVICE_KINDS; kind++)
			if (choice->costs[kind] && (best < 0 || choice->costs[kind] < choice->costs[best]))
				best = kind;
		if (best < 0)
			break;
		ret_items[found++] = choice->items[best];
		choice->costs[best] = 0;
	}
	return found;
}

unsigned adsm_advice_list(const struct adsm_record *record, struct adsm_advice_item *ret_items, unsigned n)
{
	const struct adsm_usage *use = record->use;
	struct choice choice = { .record = record, .use = use };
	struct adsm_sigset old;

	if (!use)
		return 0;
	adsm_home_lock(use->home, &old);
	adsm_record_stats(record, &choice.now);
	choice.as_is = stats_of(&choice, ADSM_AS_IS);
	choice.exact = adsm_use_exact(record, ADSM_AS_IS) && agree(&choice.now, &choice.as_is);
	offer_in(&choice);
	/* Other block sizes can only be judged if the accesses were detected page by page. */
	if (!record->pages->whole) {
		offer_blocks(&choice);
		offer_protocol(&choice);
	}
	offer_rolling_size(&choice);
	adsm_home_unlock(use->home, &old);
	return collect(&choice, ret_items, n);
}
