/* SPDX-License-Identifier: MIT */
/*
 * matrix.c - what a program of MPI's may do with objects: each operation, on several sizes, with the objects in each
 * state. All bytes are looked at: what must have come, what must not have changed, and that the device sees both.
 *
 *   mpirun -n RANKS matrix [OPERATION]
 */
#include "matrix.h"

#include <dlfcn.h>
#include <stdlib.h>

#define PAD 333			/* bytes before and behind what MPI is given; no multiple of anything */
#define WINDOW_PAD 320		/* MPICH 4.0 has windows begin at multiples of 64 only */
#define JUNK 99			/* the seed of what nothing has come to */

enum state { INVALID, READ_ONLY, DIRTY, N_STATES };

static const char *const states[] = { "Invalid", "ReadOnly", "Dirty" };
static adsmKernel *fill, *add_one;
struct run run;

/* ---- objects */

static adsmDim grid(size_t n)
{
	return (adsmDim){ (unsigned)((n + 64 * 64 - 1) / (64 * 64)), 1, 1 };
}

static void fill_on_device(unsigned char *object, size_t n, int seed)
{
	const adsmDim block = { 64, 1, 1 };
	unsigned long bytes = n;

	CHECK_OK(adsmCall(fill, grid(n), block, adsmOut(object), adsmVal(bytes), adsmVal(seed)));
	CHECK_OK(adsmSync());
}

/* An object whose bytes are the pattern of @seed, in that state. */
static unsigned char *make(size_t n, int seed, enum state state)
{
	unsigned char *object = adsmAlloc(n);
	volatile unsigned char *look = object;

	CHECK(object);
	fill_on_device(object, n, seed);
	for (size_t i = 0; i < n && state != INVALID; i += i + 1 < n && i + 4096 >= n ? n - 1 - i : 4096)
		(void)look[i];
	for (size_t i = 0; i < n && state == DIRTY; i++)
		object[i] = pattern(i, seed);
	return object;
}

/* Every byte of it: @want in the middle, if that has come, and the pattern of @seed around. @plus: added to each
 * byte. */
static void check(const char *what, const unsigned char *object, size_t room, size_t n, int seed, want_function *want,
		  unsigned plus)
{
	for (size_t i = 0; i < room + 2 * run.pad; i++) {
		unsigned wanted = pattern(i, seed);

		if (want && i >= run.pad && i < run.pad + n)
			wanted = want(i - run.pad);
		wanted = (wanted + plus) & 255;
		CHECKF(object[i] == wanted, "%s, %zu bytes, %s, rank %d: byte %zd of %s is %u, not %u", run.name, run.n,
		       states[run.state], run.rank, (ssize_t)(i - run.pad), what, object[i], wanted);
	}
}

void add_one_to(unsigned char *p, size_t n)
{
	const adsmDim block = { 64, 1, 1 };
	unsigned long bytes = n;

	CHECK_OK(adsmCall(add_one, grid(bytes), block, adsmInOut(p), adsmVal(bytes)));
	CHECK_OK(adsmSync());
}

/* The same again when a kernel has seen it. */
static void check_twice(const char *what, unsigned char *object, size_t room, size_t n, int seed, want_function *want)
{
	check(what, object, room, n, seed, want, 0);
	add_one_to(object, room + 2 * run.pad);
	check(what, object, room, n, seed, want, 1);
	CHECK_OK(adsmFree(object));
}

/* What is sent has its pattern from its own first byte on, what is around it belongs to the same. */
unsigned char sent(size_t i, int rank)
{
	return pattern(i + run.pad, rank);
}

unsigned char junk(size_t i)
{
	return pattern(i + run.pad, JUNK);
}

/* ---- the matrix */

static void once(const struct operation *operation, size_t n, enum state state)
{
	size_t room = operation->many ? n * (size_t)run.size : n;
	unsigned char *out, *in;

	run.name = operation->name;
	run.n = n;
	run.state = state;
	run.pad = operation->window ? WINDOW_PAD : PAD;
	run.got = 0;
	run.want = NULL;
	out = make(n + 2 * run.pad, run.rank, state);
	in = make(room + 2 * run.pad, JUNK, state);
	run.out = out + run.pad;
	run.in = in + run.pad;
	operation->run();
	check_twice("what is received", in, room, run.got, JUNK, run.want);
	/* Some receive where they send. */
	check_twice("what is sent", out, n, run.out_want ? n : 0, run.rank, run.out_want);
	run.out_want = NULL;
}

#define LARGE ((size_t)4 << 20)		/* from there on a third of the operations, in one state */
#define HUGE ((size_t)64 << 20)		/* only one operation of each kind */

static bool is_wanted(const struct operation *operation, size_t size, size_t i, enum state state)
{
	size_t number = (size_t)(operation - operations);

	if (size < LARGE)
		return true;
	return (operation->huge || (number + i) % 3 == 0) && (size_t)state == number / 3 % N_STATES;
}

static void all_of(const struct operation *operation, const size_t *sizes, size_t n_sizes)
{
	const size_t most = operation->most ? operation->most : operation->huge ? HUGE : HUGE - 1;

	for (size_t i = 0; i < n_sizes; i++)
		for (enum state state = 0; state < N_STATES; state++)
			if (sizes[i] <= most && is_wanted(operation, sizes[i], i, state))
				once(operation, sizes[i], state);
}

/* Wrappers of MPI's functions are there, or not. */
static void check_wrapped(void)
{
	Dl_info info;

	CHECK(dladdr(dlsym(RTLD_DEFAULT, "MPI_Send"), &info));
	CHECKF(!strstr(info.dli_fname, "libadsm-mpi") == !getenv("TEST_WRAPPED"), "MPI_Send() is in %s",
	       info.dli_fname);
}

int main(int argc, char **argv)
{
	static const size_t few[] = { 70001, 3000 };
	static const size_t all[] = {
		1, 2, 511, 4096, 5000, 16400, 70001, 300000, (1 << 20) + 3, 4 << 20, 16 << 20, 64 << 20,
	};
	bool full = getenv("TEST_FULL") && *getenv("TEST_FULL");
	adsmModule *module;
	char path[4096];
	unsigned n = 0;

	check_wrapped();
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &run.size);
	run.before = (run.rank + run.size - 1) % run.size;
	run.after = (run.rank + 1) % run.size;
	snprintf(path, sizeof(path), "%s/mpi.adsm", getenv("TEST_KERNELS"));
	module = adsmModuleLoad(path);
	CHECKF(module, "%s", path);
	fill = adsmKernelGet(module, "fill");
	add_one = adsmKernelGet(module, "add_one");
	for (const struct operation *operation = operations; operation->name; operation++) {
		if (argc > 1 && strcmp(argv[1], operation->name))
			continue;
		/* Three ranks on two processors take their time. */
		all_of(operation, full ? all : few, full ? sizeof(all) / sizeof(*all) : run.size > 2 ? 1 : 2);
		n++;
	}
	CHECK_OK(adsmModuleUnload(module));
	MPI_Barrier(MPI_COMM_WORLD);
	if (!run.rank)
		printf("%u operations: every byte is right\n", n);
	fflush(stdout);
	MPI_Finalize();
	return n ? 0 : 1;
}
