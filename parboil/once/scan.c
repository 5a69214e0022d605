/* SPDX-License-Identifier: MIT */
/*
 * scan.c - prefix sums as a pipeline (Breitbart, section VIII): the CPU produces blocks of 256 numbers; a device scans
 * each by itself; the CPU scans the blocks' sums; another device adds them. With write-once objects each block goes on
 * as soon as what it needs is there. The other forms do one stage after the other.
 */
#include "pipelines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT 256
#define THREADS 128
#define MAX_REPEAT 1001

static const adsmDim block_dim = { THREADS, 1, 1 };

struct scan {
	size_t n;
	unsigned adds, work;
	/* Write-once: blocks, their scans and sums, the sums' scan, the result. */
	adsmOnce *input, *local, *sums, *scanned, *result;
	double start_ms, input_ms, runtime_ms;
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
static uint64_t digest(uint64_t hash, const int *data)
{
	for (int i = 0; i < UNIT; i++)
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
		hash = digest(hash, data);
	}
	return hash;
}

/* ---- with write-once objects */

static const int *get(const adsmOnce *once, size_t unit)
{
	const int *p = adsmOnceGet(once, unit);

	if (!p)
		die("%s", adsmLastError());
	return p;
}

static int *fresh(const adsmOnce *once, size_t unit)
{
	int *p = adsmOnceFresh(once, unit);

	if (!p)
		die("%s", adsmLastError());
	return p;
}

static void *scan_sums(void *arg)
{
	struct scan *s = arg;
	int sum = 0;

	for (size_t b = 0; b < s->n; b++) {
		/* What comes before this block is known before its sum is. */
		*fresh(s->scanned, b) = sum;
		check(adsmOnceSet(s->scanned, b));
		sum += *get(s->sums, b);
	}
	return NULL;
}

/* A thread instead of the first device. */
static void *scan_blocks(void *arg)
{
	struct scan *s = arg;

	for (size_t b = 0; b < s->n; b++) {
		const int *in = get(s->input, b);
		int *out = fresh(s->local, b), *own = fresh(s->sums, b), sum = 0;

		for (int i = 0; i < UNIT; i++) {
			out[i] = sum;
			sum += in[i];
		}
		work(s->work);
		*own = sum;
		check(adsmOnceSet(s->sums, b));
		check(adsmOnceSet(s->local, b));
	}
	return NULL;
}

/* A thread instead of the second. */
static void *add_sums(void *arg)
{
	struct scan *s = arg;

	for (size_t b = 0; b < s->n; b++) {
		const int *in = get(s->local, b);
		int sum = *get(s->scanned, b), *out = fresh(s->result, b);

		for (int i = 0; i < UNIT; i++)
			out[i] = in[i] + sum;
		work(s->work);
		check(adsmOnceSet(s->result, b));
	}
	return NULL;
}

static void start_kernels(struct scan *s)
{
	const adsmDim grid = { (unsigned)s->n, 1, 1 };

	device(0);
	check(adsmCall(kernel("scan_units"), grid, block_dim, adsmPtr(s->input->address), adsmPtr(s->local->address),
		       adsmPtr(s->sums->address), adsmVal(s->work)));
	device(1);
	check(adsmCall(kernel("add_units"), grid, block_dim, adsmPtr(s->local->address), adsmPtr(s->scanned->address),
		       adsmPtr(s->result->address), adsmVal(s->work)));
}

static uint64_t run_once(struct scan *s, bool threads)
{
	pthread_t ids[3];
	uint64_t hash = 1;

	s->input = once_alloc(s->n, UNIT * sizeof(int));
	s->local = once_alloc(s->n, UNIT * sizeof(int));
	s->sums = once_alloc(s->n, sizeof(int));
	s->scanned = once_alloc(s->n, sizeof(int));
	s->result = once_alloc(s->n, UNIT * sizeof(int));

	s->start_ms = now_ms();
	ids[0] = start(scan_sums, s);
	if (threads) {
		ids[1] = start(scan_blocks, s);
		ids[2] = start(add_sums, s);
	} else {
		start_kernels(s);
	}
	for (size_t b = 0; b < s->n; b++) {
		produce_block(b, s->adds, fresh(s->input, b));
		check(adsmOnceSet(s->input, b));
	}
	s->input_ms = now_ms() - s->start_ms;
	get(s->result, s->n - 1);
	for (int i = 0; i < (threads ? 3 : 1); i++)
		end(ids[i]);
	if (!threads)
		check(adsmSync());
	s->runtime_ms = now_ms() - s->start_ms;

	for (size_t b = 0; b < s->n; b++)
		hash = digest(hash, get(s->result, b));
	check(adsmOnceFree(s->input));
	check(adsmOnceFree(s->local));
	check(adsmOnceFree(s->sums));
	check(adsmOnceFree(s->scanned));
	check(adsmOnceFree(s->result));
	return hash;
}

static uint64_t run_threads(struct scan *s)
{
	return run_once(s, true);
}

static uint64_t run_kernels(struct scan *s)
{
	return run_once(s, false);
}

/* ---- one stage after the other */

static void scan_all(const int *sums, int *scanned, size_t n)
{
	int sum = 0;

	for (size_t b = 0; b < n; b++) {
		scanned[b] = sum;
		sum += sums[b];
	}
}

static uint64_t digest_all(const int *result, size_t n)
{
	uint64_t hash = 1;

	for (size_t b = 0; b < n; b++)
		hash = digest(hash, result + b * UNIT);
	return hash;
}

static void *shared_alloc(int home, size_t size)
{
	void *p;

	device(home);
	p = adsmAlloc(size);
	if (!p)
		die("%s", adsmLastError());
	return p;
}

static uint64_t run_calls(struct scan *s)
{
	const size_t size = s->n * UNIT * sizeof(int);
	const adsmDim grid = { (unsigned)s->n, 1, 1 };
	int *input = shared_alloc(0, size), *local = shared_alloc(0, size), *sums = shared_alloc(0, s->n * sizeof(int));
	int *moved = shared_alloc(1, size), *scanned = shared_alloc(1, s->n * sizeof(int));
	int *result = shared_alloc(1, size);
	uint64_t hash;

	s->start_ms = now_ms();
	for (size_t b = 0; b < s->n; b++)
		produce_block(b, s->adds, input + b * UNIT);
	s->input_ms = now_ms() - s->start_ms;
	device(0);
	check(adsmCall(kernel("scan_blocks"), grid, block_dim, adsmPtr(input), adsmPtr(local), adsmPtr(sums),
		       adsmVal(s->work)));
	check(adsmSync());
	scan_all(sums, scanned, s->n);
	check(adsmMemcpy(moved, local, size));
	device(1);
	check(adsmCall(kernel("add_blocks"), grid, block_dim, adsmPtr(moved), adsmPtr(scanned), adsmPtr(result),
		       adsmVal(s->work)));
	check(adsmSync());
	/* Here, too, the CPU has all of it at the end. */
	for (size_t i = 0; i < size / sizeof(int); i += 1024)
		(void)((volatile int *)result)[i];
	s->runtime_ms = now_ms() - s->start_ms;

	hash = digest_all(result, s->n);
	for (int i = 0; i < 6; i++)
		check(adsmFree((void *[]){ input, local, sums, moved, scanned, result }[i]));
	return hash;
}

static void *device_alloc(int home, size_t size)
{
	void *p;

	device(home);
	p = adsmDeviceAlloc(size);
	if (!p)
		die("%s", adsmLastError());
	return p;
}

static uint64_t run_copies(struct scan *s)
{
	const size_t size = s->n * UNIT * sizeof(int), few = s->n * sizeof(int);
	const adsmDim grid = { (unsigned)s->n, 1, 1 };
	int *input = host_alloc(size), *local = host_alloc(size), *sums = host_alloc(few), *scanned = host_alloc(few);
	int *result = host_alloc(size);
	int *d_input = device_alloc(0, size), *d_local = device_alloc(0, size), *d_sums = device_alloc(0, few);
	int *d_moved = device_alloc(1, size), *d_scanned = device_alloc(1, few), *d_result = device_alloc(1, size);
	uint64_t hash;

	s->start_ms = now_ms();
	for (size_t b = 0; b < s->n; b++)
		produce_block(b, s->adds, input + b * UNIT);
	s->input_ms = now_ms() - s->start_ms;
	device(0);
	check(adsmCopyToDevice(d_input, input, size));
	check(adsmCall(kernel("scan_blocks"), grid, block_dim, adsmPtr(d_input), adsmPtr(d_local), adsmPtr(d_sums),
		       adsmVal(s->work)));
	check(adsmSync());
	check(adsmCopyToHost(sums, d_sums, few));
	check(adsmCopyToHost(local, d_local, size));
	scan_all(sums, scanned, s->n);
	device(1);
	check(adsmCopyToDevice(d_moved, local, size));
	check(adsmCopyToDevice(d_scanned, scanned, few));
	check(adsmCall(kernel("add_blocks"), grid, block_dim, adsmPtr(d_moved), adsmPtr(d_scanned), adsmPtr(d_result),
		       adsmVal(s->work)));
	check(adsmSync());
	check(adsmCopyToHost(result, d_result, size));
	s->runtime_ms = now_ms() - s->start_ms;

	hash = digest_all(result, s->n);
	for (int i = 0; i < 6; i++)
		check(adsmDeviceFree((void *[]){ d_input, d_local, d_sums, d_moved, d_scanned, d_result }[i]));
	for (int i = 0; i < 5; i++)
		free((void *[]){ input, local, sums, scanned, result }[i]);
	return hash;
}

/* ---- measuring */

static uint64_t (*const runs[N_FORMS])(struct scan *s) = { run_threads, run_kernels, run_calls, run_copies };

/* Of one number of blocks: the forms take turns, each behind a chain. */
static void measure(const struct settings *settings, size_t n, FILE *csv)
{
	static double runtime[N_FORMS][MAX_REPEAT], input[N_FORMS][MAX_REPEAT], pure[N_FORMS][MAX_REPEAT];
	static double chain[MAX_REPEAT];
	const size_t repeat = (size_t)settings->repeat;
	const uint64_t want = expected(n);
	double chain_ms;

	/* Of the first round nothing counts. */
	for (size_t r = 0; r <= repeat; r++) {
		const size_t at = r ? r - 1 : 0;

		chain[at] = wake_chain_ms();
		for (int f = 0; f < N_FORMS; f++) {
			struct scan s = { .n = n, .adds = settings->adds, .work = settings->work };

			if (!settings->forms[f])
				continue;
			if (runs[f](&s) != want)
				die("scan of %zu blocks, %s: the result is wrong", n, form_names[f]);
			runtime[f][at] = s.runtime_ms;
			input[f][at] = s.input_ms;
			pure[f][at] = s.runtime_ms - s.input_ms;
		}
	}
	chain_ms = median(chain, repeat);
	for (int f = 0; f < N_FORMS; f++) {
		double runtime_ms, input_ms, pure_ms;

		if (!settings->forms[f])
			continue;
		runtime_ms = median(runtime[f], repeat);
		input_ms = median(input[f], repeat);
		pure_ms = median(pure[f], repeat);
		printf("%-8s %7zu %9u %9u %11.3f %11.3f %9.4f %7.2f%% %9.4f %8.2f\n", form_names[f], n, settings->adds,
		       settings->work, runtime_ms, input_ms, pure_ms, 100 * pure_ms / runtime_ms, chain_ms,
		       pure_ms / chain_ms);
		fflush(stdout);
		if (csv)
			fprintf(csv, "%s,%zu,%u,%u,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n", form_names[f], n, settings->adds,
				settings->work, runtime_ms, input_ms, pure_ms, pure[f][repeat / 4],
				pure[f][repeat - 1 - repeat / 4], chain_ms);
	}
}

void pipeline_scan(const struct settings *settings)
{
	static const size_t paper[] = { 50, 100, 200, 400, 500, 1000 };
	FILE *csv = NULL;

	if (settings->repeat > MAX_REPEAT)
		die("at most %d turns", MAX_REPEAT);
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
