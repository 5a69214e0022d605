/* SPDX-License-Identifier: MIT */
/* test_live.c - which pages belong to objects: against a simple implementation, for memories of many sizes beside each
 * other. */
#include "../check.h"
#include "process/live.h"

#include <stdlib.h>

#define PAGE ((uint64_t)4096)
#define N 1000				/* pages: the last word of bits is not full */
#define BASE UINT64_C(0x100000000)

static int owner[N];			/* of each page; 0: no object */
static struct adsm_live live;

static void check_run(uint64_t page)
{
	struct adsm_live_range run;
	uint64_t first = page, end = page;

	CHECK_EQ(adsm_live_run(&live, page * PAGE + 5, &run), owner[page] != 0);
	if (!owner[page])
		return;
	while (first && owner[first - 1])
		first--;
	while (end < N && owner[end])
		end++;
	CHECK_EQ(run.offset, first * PAGE);
	CHECK_EQ(run.size, (end - first) * PAGE);
}

/* The nearer neighbour, the one above where both are as far. */
static void check_words(uint64_t page)
{
	const uint64_t at = page * PAGE + 100;
	long below = (long)page, above = (long)page;
	char text[160], wanted[160];
	uint64_t behind, before, first, end;

	adsm_live_say(&live, BASE, BASE + at, text, sizeof(text));
	while (below >= 0 && !owner[below])
		below--;
	while (above < N && !owner[above])
		above++;
	if (owner[page] || (below < 0 && above == N)) {
		CHECK(!*text);
		return;
	}
	behind = below < 0 ? UINT64_MAX : at - (uint64_t)(below + 1) * PAGE;
	before = above == N ? UINT64_MAX : (uint64_t)above * PAGE - at;
	first = end = (uint64_t)(behind < before ? below : above);
	while (first && owner[first - 1] == owner[end])
		first--;
	while (end < N && owner[end] == owner[first])
		end++;
	snprintf(wanted, sizeof(wanted), "%lu bytes %s the %lu bytes of an object at %p",
		 (unsigned long)(behind < before ? behind : before), behind < before ? "behind the end of" : "before",
		 (unsigned long)((end - first) * PAGE), (void *)(BASE + first * PAGE));
	CHECKF(!strcmp(text, wanted), "'%s', not '%s'", text, wanted);
}

static int owner_of(uint64_t at)
{
	return at < N * PAGE ? owner[at / PAGE] : 0;
}

static bool is_owned(int by, uint64_t at, uint64_t size)
{
	for (uint64_t i = at / PAGE; i <= (at + size - 1) / PAGE; i++) {
		if (owner_of(i * PAGE) != by)
			return false;
	}
	return true;
}

/* Ranges around the ends of objects. @of: in the same object, in another one, in none. */
static void check_inside(uint64_t page)
{
	const uint64_t at = page * PAGE + 2 - (uint64_t)rand() % (page ? 5 : 3), size = 1 + (uint64_t)rand() % 3;
	const uint64_t near = page + (uint64_t)(rand() % 5 - 2), of = near * PAGE + (rand() % 2 ? 0 : 20);
	const int its = rand() % 4 ? owner_of(of) : 0, before = owner_of(of - 1);
	bool wanted = its ? is_owned(its, at, size) :
		      at >= N * PAGE || (owner_of(at) && is_owned(owner_of(at), at, size));
	uint64_t start = near;
	char text[160];

	if (its && of % PAGE == 0 && before && before != its)
		wanted |= is_owned(before, at, size);
	CHECK_EQ(adsm_live_inside(&live, BASE, (struct adsm_live_range){ BASE + at, size }, its ? BASE + of : 0, text,
				  sizeof(text)), wanted);
	CHECK_EQ(*text == 0, wanted);
	while (its && start && owner[start - 1] == its)
		start--;
	if (its && !wanted)
		CHECKF(strstr(text, at < start * PAGE ? " bytes before the " : " bytes behind the end of the "), "'%s'",
		       text);
}

int main(void)
{
	void *shared = aligned_alloc(PAGE, adsm_live_bytes(N * PAGE));
	int last = 0;

	CHECK(shared);
	memset(shared, 0, adsm_live_bytes(N * PAGE));
	adsm_live_start(&live, shared, N * PAGE);
	srand(42);
	for (int round = 0; round < 3000; round++) {
		const uint64_t page = (uint64_t)rand() % N, most = 1 + (uint64_t)rand() % (round % 9 ? 40 : 400);
		uint64_t first = page, end = page;

		if (owner[page]) {
			while (first && owner[first - 1] == owner[page])
				first--;
			while (end < N && owner[end] == owner[page])
				end++;
			adsm_live_remove(&live, first * PAGE, (end - first) * PAGE);
			CHECK_EQ(live.shared->freed[(live.shared->n_freed - 1) % ADSM_LIVE_FREED].offset, first * PAGE);
		} else {
			while (end < N && end - page < most && !owner[end])
				end++;
			adsm_live_add(&live, first * PAGE, (end - first) * PAGE);
			last++;
		}
		for (uint64_t i = first; i < end; i++)
			owner[i] = owner[i] ? 0 : last;
		for (uint64_t i = 0; i < N; i++) {
			CHECK_EQ(adsm_live_has(&live, i * PAGE + 4095), owner[i] != 0);
			if (round % 16)
				continue;
			check_run(i);
			check_words(i);
			check_inside(i);
		}
	}
	CHECK(!adsm_live_has(&live, N * PAGE) && !adsm_live_has(&live, UINT64_MAX));
	free(shared);
	return 0;
}
