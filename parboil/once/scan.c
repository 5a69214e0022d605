/* SPDX-License-Identifier: MIT */
/*
 * scan.c - prefix sums as a pipeline (Breitbart, section VIII): the CPU produces blocks of 256 numbers; a device scans
 * each by itself; the CPU scans the blocks' sums; another device adds them. With write-once objects each block goes on
 * as soon as what it needs is there. The other forms do one stage after the other.
 */
#include "pipelines.h"

#include <stdio.h>

#define UNIT 256
#define THREADS 128

struct scan {
	size_t n;
	unsigned adds, work;
	uint64_t want;			/* the result's digest */
	/* Write-once: blocks, their scans and sums, the sums' scan, the result. */
	adsmOnce *input, *local, *sums, *scanned, *result;
};

/* What makes a program's input in reality; a number of additions, as in the paper. */
static void work(unsigned n)
{
	volatile int x = 0;

	for (unsigned k = 0; k < n; k++)
		x += (int)k;
	(void)x;
}

static void produce_block(size_t b, unsigned adds, int *data)
{
	uint64_t state = 42 + b;

	for (int i = 0; i < UNIT; i += 8) {
		uint64_t number = next_number(&state);

		for (int j = 0; j < 8; j++)
			data[i + j] = (int)(number >> 8 * j & 15);
	}
	work(adds);
}

/* The result's, which differs if one number does. */
static uint64_t digest(uint64_t hash, const int *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (uint32_t)data[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t expected(size_t n)
{
	uint64_t hash = 1;
	int data[UNIT], sum = 0;

	for (size_t b = 0; b < n; b++) {
		produce_block(b, 0, data);
		for (int i = 0; i < UNIT; i++) {
			int x = data[i];

			data[i] = sum;
			sum += x;
		}
		hash = digest(hash, data, UNIT);
	}
	return hash;
}

static void verify(const struct scan *s, const struct turn *turn, const int *result)
{
	if (digest(1, result, s->n * UNIT) != s->want)
		die("scan of %zu blocks, %s: the result is wrong", s->n, form_names[turn->form]);
}

/* What devices do in all forms: three arrays, or write-once objects, a block for each unit. */
static void call(int index, const char *name, const struct scan *s, const void *a, const void *b, const void *c)
{
	CALL(index, name, adsmDim3((unsigned)s->n, 1, 1), adsmDim3(THREADS, 1, 1), adsmPtr(a), adsmPtr(b), adsmPtr(c),
	     adsmVal(s->work));
}

/* ---- with write-once objects */

static void *scan_sums(void *arg)
{
	struct scan *s = arg;
	int sum = 0;

	for (size_t b = 0; b < s->n; b++) {
		/* What comes before this block is known before its sum is. */
		*(int *)once_fresh(s->scanned, b) = sum;
		once_set(s->scanned, b);
		sum += *(const int *)once_get(s->sums, b);
	}
	return NULL;
}

/* A thread instead of the first device. */
static void *scan_blocks(void *arg)
{
	struct scan *s = arg;

	for (size_t b = 0; b < s->n; b++) {
		const int *in = once_get(s->input, b);
		int *out = once_fresh(s->local, b), *own = once_fresh(s->sums, b), sum = 0;

		for (int i = 0; i < UNIT; i++) {
			out[i] = sum;
			sum += in[i];
		}
		work(s->work);
		*own = sum;
		once_set(s->sums, b);
		once_set(s->local, b);
	}
	return NULL;
}

/* A thread instead of the second. */
static void *add_sums(void *arg)
{
	struct scan *s = arg;

	for (size_t b = 0; b < s->n; b++) {
		const int *in = once_get(s->local, b);
		int sum = *(const int *)once_get(s->scanned, b), *out = once_fresh(s->result, b);

		for (int i = 0; i < UNIT; i++)
			out[i] = in[i] + sum;
		work(s->work);
		once_set(s->result, b);
	}
	return NULL;
}

static void run_once(void *arg, struct turn *turn)
{
	const bool threads = turn->form == FORM_THREADS;
	struct scan *s = arg;
	pthread_t ids[3];

	s->input = once_alloc(s->n, UNIT * sizeof(int));
	s->local = once_alloc(s->n, UNIT * sizeof(int));
	s->sums = once_alloc(s->n, sizeof(int));
	s->scanned = once_alloc(s->n, sizeof(int));
	s->result = once_alloc(s->n, UNIT * sizeof(int));

	turn_starts(turn);
	ids[0] = start(scan_sums, s);
	if (threads) {
		ids[1] = start(scan_blocks, s);
		ids[2] = start(add_sums, s);
	} else {
		call(0, "scan_units", s, s->input->address, s->local->address, s->sums->address);
		call(1, "add_units", s, s->local->address, s->scanned->address, s->result->address);
	}
	for (size_t b = 0; b < s->n; b++) {
		produce_block(b, s->adds, once_fresh(s->input, b));
		once_set(s->input, b);
	}
	turn_has_input(turn);
	once_get(s->result, s->n - 1);
	for (int i = 0; i < (threads ? 3 : 1); i++)
		end(ids[i]);
	if (!threads)
		check(adsmSync());
	turn_ends(turn);
	verify(s, turn, s->result->data);
}

/* ---- one stage after the other */

static void produce_all(const struct scan *s, int *input)
{
	for (size_t b = 0; b < s->n; b++)
		produce_block(b, s->adds, input + b * UNIT);
}

static void scan_all(const int *sums, int *scanned, size_t n)
{
	int sum = 0;

	for (size_t b = 0; b < n; b++) {
		scanned[b] = sum;
		sum += sums[b];
	}
}

static void run_calls(void *arg, struct turn *turn)
{
	const struct scan *s = arg;
	const size_t few = s->n * sizeof(int), size = UNIT * few;
	int *input = shared_alloc(0, size), *local = shared_alloc(0, size), *sums = shared_alloc(0, few);
	int *moved = shared_alloc(1, size), *scanned = shared_alloc(1, few), *result = shared_alloc(1, size);

	turn_starts(turn);
	produce_all(s, input);
	turn_has_input(turn);
	call(0, "scan_blocks", s, input, local, sums);
	check(adsmSync());
	scan_all(sums, scanned, s->n);
	check(adsmMemcpy(moved, local, size));
	call(1, "add_blocks", s, moved, scanned, result);
	check(adsmSync());
	touch(result, size);
	turn_ends(turn);
	verify(s, turn, result);
}

static void run_copies(void *arg, struct turn *turn)
{
	const struct scan *s = arg;
	const size_t few = s->n * sizeof(int), size = UNIT * few;
	int *input = host_alloc(size), *local = host_alloc(size), *sums = host_alloc(few), *scanned = host_alloc(few);
	int *result = host_alloc(size);
	int *d_input = device_alloc(0, size), *d_local = device_alloc(0, size), *d_sums = device_alloc(0, few);
	int *d_moved = device_alloc(1, size), *d_scanned = device_alloc(1, few), *d_result = device_alloc(1, size);

	turn_starts(turn);
	produce_all(s, input);
	turn_has_input(turn);
	check(adsmCopyToDevice(d_input, input, size));
	call(0, "scan_blocks", s, d_input, d_local, d_sums);
	check(adsmSync());
	check(adsmCopyToHost(sums, d_sums, few));
	check(adsmCopyToHost(local, d_local, size));
	scan_all(sums, scanned, s->n);
	check(adsmCopyToDevice(d_moved, local, size));
	check(adsmCopyToDevice(d_scanned, scanned, few));
	call(1, "add_blocks", s, d_moved, d_scanned, d_result);
	check(adsmSync());
	check(adsmCopyToHost(result, d_result, size));
	turn_ends(turn);
	verify(s, turn, result);
}

/* ---- measuring */

static void measure(const struct settings *settings, size_t n, FILE *csv)
{
	static run_turn *const runs[N_FORMS] = { run_once, run_once, run_calls, run_copies };
	struct scan s = { .n = n, .adds = settings->adds, .work = settings->work, .want = expected(n) };
	struct figures figures[N_FORMS];
	double chain_ms;

	take_turns(settings, runs, &s, figures, &chain_ms);
	for (int f = 0; f < N_FORMS; f++) {
		const double runtime_ms = figures[f].runtime.median, input_ms = figures[f].input.median;
		const struct spread *pure = &figures[f].pure;

		if (!settings->forms[f])
			continue;
		printf("%-8s %7zu %9u %9u %11.3f %11.3f %9.4f %7.2f%% %9.4f %8.2f\n", form_names[f], n, settings->adds,
		       settings->work, runtime_ms, input_ms, pure->median, 100 * pure->median / runtime_ms, chain_ms,
		       pure->median / chain_ms);
		fflush(stdout);
		if (csv)
			fprintf(csv, "%s,%zu,%u,%u,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n", form_names[f], n, settings->adds,
				settings->work, runtime_ms, input_ms, pure->median, pure->low, pure->high, chain_ms);
	}
}

void pipeline_scan(const struct settings *settings)
{
	static const size_t paper[] = { 50, 100, 200, 400, 500, 1000 };
	FILE *csv = NULL;

	if (settings->csv) {
		csv = fopen(settings->csv, "a");
		if (!csv)
			die("%s: %m", settings->csv);
		if (!ftell(csv))
			fputs("form,blocks,adds,work,runtime_ms,input_ms,pure_ms,pure_low_ms,pure_high_ms,chain_ms\n",
			      csv);
	}
	printf("%-8s %7s %9s %9s %11s %11s %9s %8s %9s %8s\n", "form", "blocks", "adds", "work", "runtime ms",
	       "input ms", "pure ms", "share", "chain ms", "to chain");
	if (settings->n)
		measure(settings, settings->n, csv);
	for (size_t i = 0; !settings->n && i < sizeof(paper) / sizeof(paper[0]); i++)
		measure(settings, paper[i], csv);
	if (csv && fclose(csv))
		die("%s: %m", settings->csv);
}
