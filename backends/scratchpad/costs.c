/* SPDX-License-Identifier: MIT */
/* costs.c - the costs of launches that a scratchpad device recorded (shared.h), and advice. */
#include "costs.h"

#include "base/log.h"
#include "process/costs.h"
#include "process/open.h"
#include "shared.h"

#include <errno.h>
#include <string.h>

static const struct adsm_scratchpad_shared *shared_of(struct adsm_device *device)
{
	return (const struct adsm_scratchpad_shared *)((struct adsm_process_device *)device)->shared->extra;
}

static const struct adsm_scratchpad_costs *costs_of(struct adsm_device *device, struct adsm_device_event event)
{
	const struct adsm_scratchpad_costs *costs = &shared_of(device)->costs[(event.seq - 1) % ADSM_PROCESS_SLOTS];

	return event.seq && costs->seq == event.seq ? costs : NULL;
}

static int of_launch(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_values,
		     uint64_t *ret_start_ns)
{
	const struct adsm_scratchpad_costs *costs = costs_of(device, event);
	struct adsm_span span;

	if (!costs)
		return -EINVAL;
	for (int i = 0; i < ADSM_SCRATCHPAD_N_COUNTS; i++)
		ret_values[i] = atomic_load(&costs->values[i]);
	*ret_start_ns = costs->start_ns;
	/* Check after reading that the slot still belongs to the launch. */
	return adsm_process_event_times(device, event, &span);
}

static int of_part(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		   struct adsm_part_times *ret_times)
{
	const struct adsm_scratchpad_costs *costs = costs_of(device, event);

	if (!costs || i >= shared_of(device)->n_cores)
		return -EINVAL;
	*ret_times = (struct adsm_part_times){
		.work = costs->cores[i].work, .after = costs->cores[i].flush,
	};
	return 0;
}

/* The parts are the cores, then the misses of each core, then the code of each core. */
static int of_moves(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		    struct adsm_part_moves *ret_moves)
{
	const struct adsm_scratchpad_costs *costs = costs_of(device, event);
	const struct adsm_scratchpad_moves *moves = costs ? &costs->moves[i] : NULL;

	if (!costs || i >= atomic_load(&costs->n_moves))
		return -EINVAL;
	*ret_moves = (struct adsm_part_moves){
		.part = shared_of(device)->n_cores * (1 + moves->code) + moves->core, .code = moves->code,
		.span = moves->span, .count = moves->count, .bytes = moves->bytes,
	};
	return 0;
}

static bool part_name(struct adsm_device *device, unsigned i, char ret_name[ADSM_PART_NAME])
{
	static const char *const kinds[] = { "", ": misses", ": code" };
	const unsigned n = shared_of(device)->n_cores;

	if (!n || i / n >= sizeof(kinds) / sizeof(kinds[0]))
		return false;
	adsm_format(ret_name, ADSM_PART_NAME, "core %u%s", i % n, kinds[i / n]);
	return true;
}

/* ---- advice on caches: what other caches of the same size would have moved */

/* Is the difference at least 64 KiB and a tenth? */
static bool matters(uint64_t now, uint64_t less)
{
	return now - less >= (uint64_t)64 << 10 && now - less >= now / 10;
}

static const struct adsm_scratchpad_replayed *find_replayed(struct adsm_device *device, const char *kernel)
{
	const struct adsm_scratchpad_shared *shared = shared_of(device);
	const uint32_t n = atomic_load(&shared->n_replayed);
	uint32_t i = 0;

	while (i < n && strcmp(shared->replayed[i].kernel, kernel))
		i++;
	return i < n ? &shared->replayed[i] : NULL;
}

static void advise_cache(struct adsm_device *device, const struct adsm_scratchpad_replayed *replayed, char *text,
			 size_t size)
{
	const uint64_t now = atomic_load(&replayed->now);
	const bool exact = !atomic_load(&replayed->unsure) && replayed->cores == replayed->calls;
	const struct adsm_scratchpad_geometry *own = &shared_of(device)->geometry;
	struct adsm_scratchpad_geometry other;
	uint64_t least = now;
	unsigned best = 0;

	for (unsigned i = 0; i < ADSM_SCRATCHPAD_OTHERS - 1; i++) {
		const uint64_t moved = atomic_load(&replayed->moved[i]);

		if (!(replayed->missing >> i & 1) && moved < least) {
			best = i;
			least = moved;
		}
	}
	if (!matters(now, least) || !adsm_scratchpad_other(own, best, &other))
		return;
	adsm_append(text, size, "%scores moved %lu bytes through their caches; with ADSM_SCRATCHPAD_CACHE=%ux%ux%u",
		    *text ? "; " : "", now, other.sets, other.ways, other.line);
	if (other.prefetch != own->prefetch)
		adsm_append(text, size, " and ADSM_SCRATCHPAD_PREFETCH=off");
	if (other.dirty != own->dirty)
		adsm_append(text, size, " and ADSM_SCRATCHPAD_DIRTY=%u", other.dirty);
	adsm_append(text, size, " they would move %s %lu", exact ? "exactly" : "about", least);
}

/* ---- advice on code in partitions: what other settings would have loaded */

/* Which settings change. A different victim entry also changes an automatic number of sub-buffers. */
struct changes { bool buffers, policy, victim; };

static struct changes changes_to(const struct adsm_scratchpad_overlays *options, uint32_t buffers,
				 const struct adsm_scratchpad_overlays *setting)
{
	const bool victim = setting->victim != options->victim;

	return (struct changes) {
		.buffers = setting->buffers != buffers || (victim && !options->buffers),
		.policy = setting->policy != options->policy,
		.victim = victim,
	};
}

/* Find the setting with the fewest bytes and no more transfers; among equals, the one with the fewest changes. */
static bool find_setting(const struct adsm_scratchpad_shared *shared, const struct adsm_scratchpad_replayed *replayed,
			 unsigned *ret_i)
{
	const uint32_t buffers = atomic_load(&replayed->buffers), no_room = atomic_load(&shared->no_room);
	uint64_t least = atomic_load(&replayed->loads_now.bytes);
	int least_changed = 0;

	for (unsigned i = 0; i < ADSM_SCRATCHPAD_SETTINGS; i++) {
		const struct adsm_scratchpad_overlays setting = adsm_scratchpad_setting(i);
		const struct changes changes = changes_to(&shared->overlays, buffers, &setting);
		const uint64_t bytes = atomic_load(&replayed->loads[i].bytes);
		const int changed = changes.buffers + changes.policy + changes.victim;

		if ((no_room >> i & 1 && (changes.buffers || changes.victim)) ||
		    atomic_load(&replayed->loads[i].n) > atomic_load(&replayed->loads_now.n))
			continue;
		if (bytes < least || (bytes == least && changed < least_changed)) {
			least = bytes;
			least_changed = changed;
			*ret_i = i;
		}
	}
	return matters(atomic_load(&replayed->loads_now.bytes), least);
}

static void advise_code(struct adsm_device *device, const struct adsm_scratchpad_replayed *replayed, char *text,
			size_t size)
{
	const struct adsm_scratchpad_shared *shared = shared_of(device);
	struct adsm_scratchpad_overlays setting;
	const char *and = "";
	struct changes changes;
	unsigned best = 0;

	if (atomic_load(&replayed->unlike) || !find_setting(shared, replayed, &best))
		return;
	setting = adsm_scratchpad_setting(best);
	changes = changes_to(&shared->overlays, atomic_load(&replayed->buffers), &setting);
	adsm_append(text, size, "%scores loaded %lu partitions of code, %lu bytes; with ", *text ? "; " : "",
		    replayed->loads_now.n, replayed->loads_now.bytes);
	if (changes.buffers) {
		adsm_append(text, size, "ADSM_SCRATCHPAD_BUFFERS=%u", setting.buffers);
		and = " and ";
	}
	if (changes.policy) {
		adsm_append(text, size, "%sADSM_SCRATCHPAD_POLICY=%s", and, setting.policy ? "lru" : "modulus");
		and = " and ";
	}
	if (changes.victim)
		adsm_append(text, size, "%sADSM_SCRATCHPAD_VICTIM=%s", and, setting.victim ? "on" : "off");
	/* With several cores, another run may distribute the blocks differently. */
	adsm_append(text, size, " they would load %s %lu, %lu bytes", shared->n_cores == 1 ? "exactly" : "about",
		    replayed->loads[best].n, replayed->loads[best].bytes);
}

static void advise(struct adsm_device *device, const char *kernel, const struct adsm_kernel_costs *costs,
		   char *ret_text, size_t size)
{
	const struct adsm_scratchpad_replayed *replayed = find_replayed(device, kernel);
	const struct adsm_process_locks locks = ADSM_PROCESS_LOCKS(ADSM_SCRATCHPAD, costs->values);
	const struct adsm_sharing_counts sharing = ADSM_SHARING_COUNTS(ADSM_SCRATCHPAD, costs->values);

	*ret_text = '\0';
	adsm_process_advise_locks(device, kernel, &locks, ret_text, size);
	if (replayed)
		advise_cache(device, replayed, ret_text, size);
	if (replayed && atomic_load(&replayed->buffers))
		advise_code(device, replayed, ret_text, size);
	adsm_sharing_advise(&shared_of(device)->sharings, kernel, &sharing, ret_text, size);
}

static const struct adsm_cost counters[] = {
#define ROW(upper, counter, text) \
	ADSM_PROCESS_COST(ADSM_SCRATCHPAD, upper, #counter, text, ADSM_SCRATCHPAD_IS_PEAK(ADSM_SCRATCHPAD_##upper)),
	ADSM_SCRATCHPAD_COUNTS(ROW)
#undef ROW
	{ .name = NULL }
};

_Static_assert(ADSM_SCRATCHPAD_N_COUNTS <= ADSM_COSTS_MAX, "the contract limits the number of counters");

const struct adsm_cost_ops adsm_scratchpad_costs = {
	.counters = counters,
	.of_launch = of_launch,
	.of_part = of_part,
	.of_wait = adsm_process_of_wait,
	.of_moves = of_moves,
	.part_name = part_name,
	.advise = advise,
};
