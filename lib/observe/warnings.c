/* SPDX-License-Identifier: MIT */
/* warnings.c - which cases are extreme, and the warnings about them. They are also logged in the fault handler, so the
 * log's own formatter is used. */
#include "observe/warnings.h"

#include <stddef.h>

#include "core/object.h"
#include "base/log.h"
#include "core/observe.h"
#include "base/os.h"
#include "observe/text.h"

#define LONG_NS ((uint64_t)1000000000)	/* shorter times do not matter, whatever their share */
#define LARGE_BLOCK ((size_t)256 << 10)	/* blocks of this size or more are worth a division */
#define OBJECT_TEXT_SIZE (ADSM_NAME_SIZE + 80)

/* ---- texts */

static struct adsm_number size_text(uint64_t size)
{
	return adsm_size_text(size, false);
}

static struct adsm_number seconds_text(uint64_t ns)
{
	return adsm_tenths_text(ns / 100000000, "");
}

/* "object 'a' (16.0 MiB, rolling)" */
static const char *object_text(char text[OBJECT_TEXT_SIZE], const struct adsm_object *object)
{
	char address[24];

	adsm_format(address, sizeof(address), "at %p", (void *)object->start);
	adsm_format(text, OBJECT_TEXT_SIZE, "object %s%s%s (%s, %s)", *object->name ? "'" : "",
		    *object->name ? object->name : address, *object->name ? "'" : "", size_text(object->size).text,
		    object->blocks.protocol->name);
	return text;
}

/* ---- blocks sent early, and written again */

/* The number of blocks that would have to be Dirty at the same time so that no block in use is sent. */
static size_t blocks_in_use(const struct adsm_home *home)
{
	size_t n = 0;

	for (const struct adsm_object *object = home->open; object; object = object->open_next) {
		const struct adsm_blocks *blocks = &object->blocks;

		for (uint32_t b = blocks->open_first; b < blocks->open_end && !blocks->protocol->whole_object; b++)
			n += adsm_blocks_unsent(blocks, b) || (blocks->at[b].flags & ADSM_BLOCK_EARLY);
	}
	return n;
}

/* Data that is made in several steps is written again, too, a part of it once or twice; early sends take this risk. But
 * this should not happen to three of four blocks that are sent. */
static void judge_again(struct adsm_object *object)
{
	struct adsm_habits *habits = &object->habits;
	char text[OBJECT_TEXT_SIZE], now[12];
	size_t needed, size = 1;

	/* With ADSM_PAPER=1 the paper's exact behaviour is intended. */
	if (adsm_paper || habits->again * 4 < habits->early * 3)
		return;
	habits->told_again = true;
	if (!adsm_may_advise())
		return;
	needed = blocks_in_use(object->home);
	while (size < needed)
		size *= 2;
	adsm_format(now, sizeof(now), "%u", adsm_protocol_options.rolling_size);
	adsm_warn("%s: %lu blocks were sent early and written again before a call used them: ADSM_ROLLING_SIZE=%zu or "
		  "more (now %s) avoids this; `adsmrun --advise` shows how much it saves", object_text(text, object),
		  habits->again, size, adsm_protocol_options.rolling_size == ADSM_ROLLING_AUTO ? "auto" : now);
}

/* ---- blocks fetched repeatedly, in large blocks */

static void judge_fetches(struct adsm_object *object)
{
	struct adsm_habits *habits = &object->habits;
	uint64_t faults = atomic_load_explicit(&object->counters.signals, memory_order_relaxed);
	bool whole = object->blocks.n == 1;
	size_t block = whole ? object->size : adsm_block_size(object);
	char text[OBJECT_TEXT_SIZE];

	if (habits->told_fetches || !object->blocks.detects || block < LARGE_BLOCK)
		return;
	/* The fetches serve single accesses, move the same bytes many times, and take most of the time so far. */
	if (faults < habits->fetches / 2 || habits->fetched_bytes / 8 < object->size)
		return;
	if (habits->fetch_ns < LONG_NS || habits->fetch_ns < (adsm_os_now_ns() - adsm_start_ns) / 2)
		return;
	habits->told_fetches = true;
	if (!adsm_may_advise())
		return;
	adsm_warn("%s was fetched %s%s %lu times (%s, %s s): if the CPU uses little of it, smaller blocks "
		  "(%sADSM_BLOCK_SIZE=64K) move less; `adsmrun --advise` shows what the CPU uses",
		  object_text(text, object), whole ? "whole" : "in blocks of ", whole ? "" : size_text(block).text,
		  habits->fetches, size_text(habits->fetched_bytes).text, seconds_text(habits->fetch_ns).text,
		  object->blocks.protocol->whole_object ? "ADSM_PROTOCOL=rolling " : "");
}

void adsm_judge(struct adsm_object *object, enum adsm_habit habit)
{
	if (habit == ADSM_HABIT_SENT_AGAIN)
		judge_again(object);
	else
		judge_fetches(object);
}

/* ---- at the end */

void adsm_warn_at_end(void)
{
	uint64_t all = adsm_os_now_ns() - adsm_start_ns, spent = atomic_load(&adsm_most_spent_ns);
	static bool told;

	/* The report has this, and more. */
	if (told || adsm_observes(ADSM_OBSERVE_REPORT | ADSM_OBSERVE_PAGES))
		return;
	if (spent < LONG_NS || spent <= all / 2)
		return;
	told = true;
	if (adsm_may_advise())
		adsm_warn("moving data took %s of %s s (%lu %%): `adsmrun --advise -- PROGRAM` shows what would help",
			  seconds_text(spent).text, seconds_text(all).text, spent * 100 / all);
}
