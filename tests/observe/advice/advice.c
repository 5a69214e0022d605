/* SPDX-License-Identifier: MIT */
/*
 * advice.c - programs that use memory badly, each an argument, and "fixed" behind it what the advice says to write
 * instead. They tell what their object's counters are, and, where the library advises, what it would advise.
 * Linked with the library's inside: the list of advice is looked at directly.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../unit/core.h"
#include "observe/advice.h"
#include "run/copy/io.h"
#include "core/block.h"
#include "core/life.h"
#include "run/object/alloc.h"
#include "run/call/call.h"
#include "run/wait/coalesced.h"
#include "run/copy/copy.h"
#include "run/wait/enter.h"
#include "run/touch/hold.h"
#include "run/wait/sync.h"
#include "run/wait/wait.h"
#include "start/start.h"
#include "observe/record.h"
#include "observe/use.h"

#define WORDS_PER_PAGE 1024u

static bool fixed;

static volatile unsigned *make(size_t size)
{
	volatile unsigned *p = adsmAlloc(size);

	CHECK(p);
	CHECK(!adsmSetName((void *)p, "it"));
	return p;
}

/* A kernel that adds 1 to the first @n words. */
static void call(adsmArg arg, unsigned n)
{
	/* At least one thread, even if there is no word for it. */
	CHECK(!adsmCall(kernel("increment"), ((adsmDim){ n / 256 + 1, 1, 1 }), ((adsmDim){ 256, 1, 1 }), arg,
			adsmVal(n)));
	CHECK(!adsmSync());
}

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

/* Of all that the kernel writes only a word here and there is looked at. */
static void sparse(volatile unsigned *p, size_t size)
{
	unsigned n = (unsigned)(size / 4), n_pages = n / WORDS_PER_PAGE;
	uint64_t state = 1;

	for (unsigned i = 0; i < n; i++)
		p[i] = i;
	for (unsigned k = 1; k <= 200; k++) {
		unsigned i = (unsigned)(draw(&state) % n_pages) * WORDS_PER_PAGE;

		call(adsmPtr(p), 1);
		CHECK_EQ(p[i], i ? i : k);
	}
}

/* All is written and read, in blocks that are too small. */
static void dense(volatile unsigned *p, size_t size)
{
	unsigned n = (unsigned)(size / 4);

	for (unsigned k = 0; k < 4; k++) {
		for (unsigned i = 0; i < n; i++)
			p[i] = i;
		call(adsmPtr(p), n);
		for (unsigned i = 0; i < n; i++)
			CHECK_EQ(p[i], i + 1);
	}
}

/* A kernel says that it may change what it only reads. */
static void input(volatile unsigned *p, size_t size)
{
	unsigned n = (unsigned)(size / 4);

	for (unsigned i = 0; i < n; i++)
		p[i] = i;
	for (unsigned k = 0; k < 8; k++) {
		call(fixed ? adsmIn(p) : adsmPtr(p), 0);
		p[k * WORDS_PER_PAGE] = k;
		for (unsigned i = 1; i < n; i += 2)
			CHECK_EQ(p[i], i);
	}
}

/* Every block is written again and again before the next call. */
static void rewritten(volatile unsigned *p, size_t size)
{
	unsigned n = (unsigned)(size / 4);

	for (unsigned k = 0; k < 2; k++) {
		for (unsigned round = 0; round < 8; round++)
			for (unsigned i = round; i < n; i += 4 * WORDS_PER_PAGE)
				p[i] = i;
		call(adsmPtr(p), n);
	}
}

/* Every other page is used: too many to watch one by one. */
static void scattered(volatile unsigned *p, size_t size)
{
	unsigned n = (unsigned)(size / 4);

	for (unsigned k = 0; k < 2; k++) {
		for (unsigned i = 0; i < n; i += 2 * WORDS_PER_PAGE)
			p[i] = i + 1;
		call(adsmPtr(p), 1);
		for (unsigned i = 0; i < n; i += 2 * WORDS_PER_PAGE)
			CHECK_EQ(p[i], i ? i + 1 : 2);
	}
}

/* Nothing to be said against it. */
static void good(volatile unsigned *p, size_t size)
{
	unsigned n = (unsigned)(size / 4);

	for (unsigned i = 0; i < n; i++)
		p[i] = i;
	call(adsmPtr(p), n);
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(p[i], i + 1);
}

/* Input or output by other code, as wrappers of system calls let it run. */
static void do_io(volatile unsigned *p, size_t offset, size_t size, bool in)
{
	struct iovec vector = { (char *)p + offset, size }, room[ADSM_IO_ROOM(1)];
	struct adsm_io io = { 0 };

	if (!in) {
		CHECK(!adsm_io_begin_output(&io, &vector, 1, room));
		CHECK(!adsm_io_end(&io, size));
		return;
	}
	CHECK(!adsm_io_begin_input(&io, &vector, 1, room));
	memset(io.vector->iov_base, 1, size);
	CHECK(!adsm_io_end(&io, size));
}

/* Bulk copies and fills, half of them as libc's functions are wrapped. */
static void copy(volatile unsigned *p, size_t offset, size_t size, unsigned kind)
{
	char *at = (char *)p + offset, *ordinary = calloc(1, size);

	CHECK(ordinary);
	if (kind == 0)
		CHECK(!adsmMemset(at, 1, size));
	else if (kind == 1)
		CHECK(!adsmMemcpy(at, ordinary, size));
	else if (kind == 2)
		CHECK(!adsmMemcpy(ordinary, at, size));
	else if (kind == 3)
		adsm_set_shared(at, 1, size, memset, NULL);
	else if (kind == 4)
		adsm_move_shared(at, ordinary, size, memmove, NULL);
	else
		adsm_move_shared(ordinary, at, size, memmove, NULL);
	free(ordinary);
}

/* Whatever there is, in an order of its own for each seed. */
static void anything(volatile unsigned *p, size_t size, uint64_t state)
{
	unsigned n = (unsigned)(size / 4), at = 0;

	for (unsigned k = 0; k < 600; k++) {
		unsigned kind = (unsigned)(draw(&state) % 16), count = (unsigned)(draw(&state) % 40);
		size_t offset = draw(&state) % 4 ? draw(&state) % size : 0, part = draw(&state) % (size / 4) + 1;

		if (part > size - offset)
			part = size - offset;
		if (kind < 9 && kind % 3 == 0)
			at = (unsigned)(draw(&state) % n);
		/* Some in a row, so that windows open. */
		for (unsigned i = 0; kind < 9 && i < count; i++, at = (at + WORDS_PER_PAGE * (1 + kind % 2)) % n)
			if (kind < 4)
				p[at] = k;
			else
				(void)p[at];
		if (kind == 9)
			call(adsmIn(p), 0);
		else if (kind == 10)
			call(adsmOut(p), 0);
		else if (kind == 11)
			call(adsmInOut(p), n);
		else if (kind == 12 || kind == 13)
			do_io(p, offset, part, kind == 12);
		else if (kind >= 14)
			copy(p, offset, draw(&state) % 4 ? part : size - offset, (unsigned)(draw(&state) % 6));
	}
	call(adsmInOut(p), 0);
}

/* ---- the advice */

#define TOLD(X) X(h2d_bytes) X(d2h_bytes) X(h2d_transfers) X(d2h_transfers) X(read_faults) X(write_faults) \
	X(evictions) X(signals)

static void tell(const adsmStats *stats)
{
#define TELL(field) printf(" " #field "=%llu", (unsigned long long)stats->field);
	TOLD(TELL)
#undef TELL
	printf("\n");
}

/* Its counters under another protocol, with blocks of that size, and nothing sent early. */
static void tell_what_if(const struct adsm_record *record, const char *protocol, size_t block_size)
{
	const struct adsm_usage *use = record->use;
	int i = ADSM_UNEVICTED;

	if (!use)
		return;
	if (strcmp(protocol, record->protocol))
		i = ADSM_LAZY;
	if (!strcmp(protocol, "rolling") && (i == ADSM_LAZY || block_size != record->block_size))
		for (i = ADSM_ROLLING; i < ADSM_N_SIMS && adsm_sim_block_size(i) != block_size; i++)
			;
	if (i == ADSM_N_SIMS || !use->sims[i] || !adsm_use_exact(record, i))
		return;
	printf("if %s %zu:", protocol, block_size);
	tell(&use->sims[i]->stats);
}

static void tell_advice(void)
{
	static const char *const kinds[] = { "in", "blocks", "protocol", "rolling_size" };
	uint64_t n_more;
	struct adsm_record *record = adsm_records_lock(&n_more);
	struct adsm_advice_item items[8];

	for (; record; record = record->next) {
		unsigned n = adsm_advice_list(record, items, 8);

		CHECK(n <= 5);
		for (unsigned i = 0; i < n; i++) {
			printf("advice %s %d %s:\n", kinds[items[i].kind], items[i].exact, items[i].setting);
			printf("text %s\nnow", items[i].text);
			tell(&items[i].now);
			printf("then");
			tell(&items[i].then);
		}
		tell_what_if(record, "lazy", 0);
		for (size_t size = 4096; size <= (size_t)1 << 20; size *= 4)
			tell_what_if(record, "rolling", size);
	}
	adsm_records_unlock();
}

/* name [fixed | a seed] [bytes] */
int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(volatile unsigned *p, size_t size);
	} programs[] = {
		{ "sparse", sparse }, { "dense", dense }, { "input", input }, { "rewritten", rewritten },
		{ "scattered", scattered }, { "good", good },
	};
	size_t size = argc > 3 ? strtoul(argv[3], NULL, 10) : (size_t)1 << 20;
	volatile unsigned *p;
	adsmStats stats;

	CHECK(argc > 2);
	fixed = !strcmp(argv[2], "fixed");
	p = make(size);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strcmp(argv[1], programs[i].name))
			programs[i].run(p, size);
	if (!strcmp(argv[1], "anything") || !strcmp(argv[1], "killed"))
		anything(p, size, strtoul(argv[2], NULL, 10));
	if (!strcmp(argv[1], "killed"))
		raise(SIGKILL);
	CHECK(!adsmObjectStatsGet((void *)p, &stats, sizeof(stats)));
	CHECK(!adsmFree((void *)p));
	printf("counted");
	tell(&stats);
	tell_advice();
	return 0;
}
