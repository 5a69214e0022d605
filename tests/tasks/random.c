/* SPDX-License-Identifier: MIT */
/*
 * random.c - random programs of workers, each with one outcome, against the outcome of a sequential run: random MODULE
 * [WORKERS [FIRST N]]. On any device with tasks; one call runs BATCH programs, one after the other.
 *
 * A program is made operation by operation. A single processor could run all of them in this order, and it does so
 * while the program is made: that run is the oracle. Between two barriers each cell belongs to one worker, or all read
 * it, or a lock guards it. Under a lock workers only add to it, so that their order does not matter. A worker may pass
 * a cell on to another worker, by a flag of the task, or by a flag in memory and a lock. So no program has a race, and
 * none has two outcomes. In the end all workers read all cells. Cells of different owners lie side by side, on several
 * pages.
 */
#include <adsm.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define CHECK_MORE adsmLastError()
#include "../check.h"
#include "random.h"

#define BATCH 50
#define DEFAULT 400			/* programs; with TEST_FULL=1 ALL */
#define ALL 10000
#define MAX_WORKERS 16
#define N_CELLS 28
#define N_LOCKS 6
#define N_FLAGS 16			/* in memory, of a program */
#define N_TASK_FLAGS 8			/* of the task; all programs use the same */
#define MEMORY (512 << 10)
#define CODE (1 << 20)			/* words */
#define PRIVATE (-1)
#define READ_ONLY (-2)

struct list { int *words; size_t n, room; };

static struct cell {
	int where, value;
	int lock;			/* that guards it, or PRIVATE or READ_ONLY */
	unsigned owner;
} cells[N_CELLS];
static struct list lists[MAX_WORKERS];
static unsigned reads[MAX_WORKERS];	/* what each has read so far */
static unsigned n_workers, n_flags, n_passed;	/* n_passed: flags of the task, since the last barrier */
static uint64_t seed;

static unsigned any(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* ---- a program */

static void add(unsigned worker, int op, int a, int b)
{
	struct list *list = &lists[worker];

	if (list->n + RANDOM_OP > list->room) {
		list->room = list->room * 2 + 300;
		list->words = realloc(list->words, list->room * sizeof(int));
		CHECK(list->words);
	}
	list->words[list->n++] = op;
	list->words[list->n++] = a;
	list->words[list->n++] = b;
}

static void add_read(unsigned worker, unsigned cell)
{
	add(worker, RANDOM_READ, cells[cell].where, 0);
	reads[worker] = reads[worker] * 31 + (unsigned)cells[cell].value;
}

/* A cell that the worker may write to, or only read. Returns its number; N_CELLS: no such cell was found. */
static unsigned random_cell(unsigned worker, bool writes)
{
	for (unsigned tries = 0; tries < N_CELLS; tries++) {
		const unsigned i = any(N_CELLS);

		if ((cells[i].lock == PRIVATE && cells[i].owner == worker) || (!writes && cells[i].lock == READ_ONLY))
			return i;
	}
	return N_CELLS;
}

static void share_out(void)
{
	n_passed = 0;
	for (unsigned i = 0; i < N_CELLS; i++) {
		const unsigned kind = any(10);

		cells[i].owner = any(n_workers);
		cells[i].lock = kind < 5 ? PRIVATE : kind < 7 ? READ_ONLY : (int)any(N_LOCKS);
	}
}

static void add_barrier(void)
{
	for (unsigned w = 0; w < n_workers; w++)
		add(w, RANDOM_BARRIER, 0, 0);
	share_out();
}

/* With one lock, or with two in their order. */
static void add_section(unsigned worker)
{
	const int first = (int)any(N_LOCKS), second = first + (int)any(3), last = second < N_LOCKS ? second : first;

	add(worker, RANDOM_LOCK, first, 0);
	if (last != first)
		add(worker, RANDOM_LOCK, last, 0);
	for (unsigned n = any(4), tries = 0; n && tries < 2 * N_CELLS; tries++) {
		struct cell *cell = &cells[any(N_CELLS)];
		const int v = (int)any(RANDOM_VALUE);

		if (cell->lock != first && cell->lock != last)
			continue;
		add(worker, RANDOM_ADD, cell->where, v);
		cell->value = (cell->value + v) & RANDOM_VALUE;
		n--;
	}
	add(worker, RANDOM_UNLOCK, first, 0);
	if (last != first)
		add(worker, RANDOM_UNLOCK, last, 0);
}

static void pass_on(unsigned worker, unsigned cell, int flags)
{
	const unsigned other = any(n_workers);
	const int lock = (int)any(N_LOCKS);

	if (other == worker || cell == N_CELLS)
		return;
	if (n_passed < N_TASK_FLAGS && any(4)) {
		/* The worker that has waited clears the flag, and only a barrier later it is used again. */
		add(worker, RANDOM_SET, (int)n_passed, 0);
		add(other, RANDOM_WAIT, (int)n_passed, 0);
		add(other, RANDOM_CLEAR, (int)n_passed++, 0);
		cells[cell].owner = other;
		return;
	}
	if (n_flags == N_FLAGS)
		return;
	add(worker, RANDOM_POST, flags + (int)n_flags, lock);
	add(other, RANDOM_AWAIT, flags + (int)n_flags, lock);
	n_flags++;
	cells[cell].owner = other;
}

static void add_some(int flags)
{
	const unsigned w = any(n_workers), to = random_cell(w, true), from = random_cell(w, false);
	const int v = (int)any(RANDOM_VALUE + 1);

	switch (any(16)) {
	case 0: case 1: case 2: case 3:
		if (to == N_CELLS)
			break;
		add(w, RANDOM_WRITE, cells[to].where, v);
		cells[to].value = v;
		break;
	case 4: case 5: case 6: case 7:
		if (from != N_CELLS)
			add_read(w, from);
		break;
	case 8:
		if (to == N_CELLS || from == N_CELLS)
			break;
		add(w, RANDOM_COPY, cells[to].where, cells[from].where);
		cells[to].value = cells[from].value;
		break;
	case 9: case 10: case 11:
		add_section(w);
		break;
	case 12:
		pass_on(w, to, flags);
		break;
	case 13:
		add(w, RANDOM_FLUSH, cells[any(N_CELLS)].where, 0);
		break;
	case 14:
		if (v < 20)
			add(w, RANDOM_FLUSH_ALL, 0, 0);
		break;
	default:
		add_barrier();
	}
}

static void make(int flags)
{
	n_flags = 0;
	for (unsigned w = 0; w < n_workers; w++) {
		lists[w].n = 0;
		reads[w] = 0;
	}
	share_out();
	for (unsigned n = 20 + any(80); n; n--)
		add_some(flags);
	add_barrier();
	for (unsigned w = 0; w < n_workers; w++) {
		for (unsigned i = 0; i < N_CELLS; i++)
			add_read(w, i);
		add(w, RANDOM_END, 0, 0);
	}
}

/* ---- memory */

static const size_t sizes[RANDOM_N_TYPES] = {
	sizeof(char), sizeof(short), sizeof(int), sizeof(long), sizeof(float), sizeof(double)
};

/* Mostly beside the one before, now and then far away. */
static void place_cells(char *memory)
{
	size_t at = any(64);

	for (unsigned i = 0; i < N_CELLS; i++) {
		const unsigned type = any(RANDOM_N_TYPES);

		at = (at + (any(5) ? 0 : any(18000)) + sizes[type] - 1) / sizes[type] * sizes[type];
		CHECK(at + sizes[type] <= MEMORY);
		cells[i] = (struct cell){ .where = (int)at | (int)type << RANDOM_TYPE };
		at += sizes[type];
	}
	memset(memory, 0, MEMORY);
}

static int value_of(const char *memory, int where)
{
	const char *p = memory + (where & RANDOM_OFFSET);

	switch (where >> RANDOM_TYPE) {
	case RANDOM_CHAR: return *p;
	case RANDOM_SHORT: return *(const short *)p;
	case RANDOM_LONG: return (int)*(const long *)p;
	case RANDOM_FLOAT: return (int)*(const float *)p;
	case RANDOM_DOUBLE: return (int)*(const double *)p;
	default: return *(const int *)p;
	}
}

/* ---- runs */

static struct {
	int *code, *starts, *flags, *results;
	char *memory;
	adsmKernel *kernel;
} device;

static void show(unsigned program)
{
	static const char *const words[] = { "end", "read", "write", "copy", "add", "lock", "unlock", "post", "await",
					     "set", "wait for", "clear", "barrier", "flush", "flush all" };

	for (unsigned w = 0; w < n_workers; w++)
		for (const int *at = &device.code[device.starts[program * n_workers + w]]; *at; at += RANDOM_OP)
			fprintf(stderr, "worker %u: %s %#x %#x\n", w, words[*at], (unsigned)at[1], (unsigned)at[2]);
}

/* Programs from @first on: made, run on the device, and compared. */
static void run(unsigned first, unsigned n)
{
	static unsigned want[BATCH * MAX_WORKERS];
	size_t end = 0;

	seed = first * UINT64_C(0x9e3779b97f4a7c15) + 1;
	place_cells(device.memory);
	memset(device.flags, 0, BATCH * N_FLAGS * sizeof(int));
	memset(device.results, 0, BATCH * MAX_WORKERS * sizeof(int));
	for (unsigned p = 0; p < n; p++) {
		make((int)(p * N_FLAGS));
		for (unsigned w = 0; w < n_workers; w++) {
			CHECK(end + lists[w].n <= CODE);
			memcpy(&device.code[end], lists[w].words, lists[w].n * sizeof(int));
			device.starts[p * n_workers + w] = (int)end;
			end += lists[w].n;
			want[p * n_workers + w] = reads[w];
		}
	}
	CHECK_OK(adsmCall(device.kernel, adsmDim3(n_workers, 1, 1), adsmDim3(1, 1, 1), adsmPtr(device.code),
			  adsmPtr(device.starts), adsmPtr(device.memory), adsmPtr(device.flags),
			  adsmPtr(device.results), adsmVal((int)n)));
	CHECK_OK(adsmSync());
	for (unsigned i = 0; i < n * n_workers; i++) {
		if ((unsigned)device.results[i] == want[i])
			continue;
		show(i / n_workers);
		FAIL("program %u, %u workers: worker %u has read %#x, not %#x", first + i / n_workers, n_workers,
		     i % n_workers, (unsigned)device.results[i], want[i]);
	}
	for (unsigned i = 0; i < N_CELLS; i++)
		CHECKF(value_of(device.memory, cells[i].where) == cells[i].value, "programs %u to %u, cell %u", first,
		       first + n - 1, i);
}

int main(int argc, char **argv)
{
	static const unsigned crews[] = { 6, 2, 3, 9, 1, 6, 16, 4 };
	const unsigned most = argc > 2 ? (unsigned)atoi(argv[2]) : 9, first = argc > 4 ? (unsigned)atoi(argv[3]) : 0;
	const unsigned n = argc > 4 ? (unsigned)atoi(argv[4]) : getenv("TEST_FULL") ? ALL : DEFAULT;
	adsmModule *module;

	CHECK(argc > 1 && first % BATCH == 0);
	module = adsmModuleLoad(argv[1]);
	CHECK(module);
	device.kernel = adsmKernelGet(module, "interpret");
	CHECK(device.kernel);
	device.code = adsmAlloc(CODE * sizeof(int));
	device.starts = adsmAlloc(BATCH * MAX_WORKERS * sizeof(int));
	device.flags = adsmAlloc(BATCH * N_FLAGS * sizeof(int));
	device.results = adsmAlloc(BATCH * MAX_WORKERS * sizeof(int));
	device.memory = adsmAlloc(MEMORY);
	CHECK(device.code && device.starts && device.flags && device.results && device.memory);
	for (unsigned i = first; i < first + n; i += BATCH) {
		n_workers = crews[i / BATCH % (sizeof(crews) / sizeof(crews[0]))];
		n_workers = n_workers < most ? n_workers : most;
		run(i, first + n - i < BATCH ? first + n - i : BATCH);
	}
	printf("%u programs\n", n);
	adsmFree(device.code);
	adsmFree(device.starts);
	adsmFree(device.flags);
	adsmFree(device.results);
	adsmFree(device.memory);
	for (unsigned w = 0; w < MAX_WORKERS; w++)
		free(lists[w].words);
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	return 0;
}
