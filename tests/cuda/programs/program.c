/* SPDX-License-Identifier: MIT */
/*
 * program.c - programs that use CUDA only. One process for each mode: PROGRAM MODE. It checks its own results and
 * prints a sum of them.
 *
 * Modes whose names begin with touch- load and store through device pointers, as no program of CUDA's can: if the
 * memory is the device's alone, they end by SIGSEGV. The other modes copy, and do the same with and without the
 * library.
 */
#include "program.h"

const char *const api_kernel_names[N_KERNELS] = {
	[INCREMENT] = "increment", [INCREMENT_BYTES] = "increment_bytes", [ADD] = "add", [ADDF] = "addf",
	[COPY] = "copy", [LATE_COPY] = "late_copy", [LATE_INCREMENT] = "late_increment",
};

static uint64_t sum = 0xcbf29ce484222325u;

void add_to_sum(const void *p, size_t size)
{
	const unsigned char *bytes = p;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3u;
}

void *host(size_t size)
{
	void *p = calloc(1, size);

	CHECKF(p, "out of memory");
	return p;
}

unsigned *host_values(size_t n)
{
	unsigned *p = host(n * sizeof(*p));

	for (size_t i = 0; i < n; i++)
		p[i] = value(i);
	return p;
}

void increment(unsigned *p, unsigned n, stream stream)
{
	api_launch(INCREMENT, PLAIN, GRID(n), BLOCK, stream, (void *[]){ &p, &n });
}

void late_increment(unsigned *p, unsigned n, stream stream)
{
	unsigned long spins = SPINS;

	api_launch(LATE_INCREMENT, PLAIN, 1, 1, stream, (void *[]){ &spins, &p, &n });
}

void check_values(const unsigned *p, size_t n, unsigned more, const char *what)
{
	for (size_t i = 0; i < n; i++)
		CHECKF(p[i] == value(i) + more, "%s[%zu] is %u, should be %u", what, i, p[i], value(i) + more);
	add_to_sum(p, n * sizeof(*p));
}

static const struct {
	const char *name;
	void (*function)(void);
} modes[] = {
	{ "copies", do_copies },
	{ "redundant", do_redundant },
	{ "readback", do_readback },
	{ "pipeline", do_pipeline },
	{ "callbacks", do_callbacks },
	{ "pool", do_pool },
	{ "neighbours", do_neighbours },
	{ "pitch", do_pitch },
	{ "memsets", do_memsets },
	{ "launches", do_launches },
	{ "graphs", do_graphs },
	{ "ipc", do_ipc },
	{ "graph-copies", do_graph_copies },
	{ "reset", do_reset },
	{ "leave", do_leave },
	{ "touch", do_touch },
	{ "touch-redundant", do_touch_redundant },
	{ "touch-files", do_touch_files },
	{ "touch-memory", do_touch_memory },
	{ "touch-threads", do_touch_threads },
	{ "touch-pipeline", do_touch_pipeline },
	{ "touch-events", do_touch_events },
	{ "touch-at-once", do_touch_at_once },
	{ "touch-callbacks", do_touch_callbacks },
	{ "touch-pool", do_touch_pool },
	{ "touch-neighbours", do_touch_neighbours },
	{ "touch-reuse", do_touch_reuse },
	{ "touch-pitch", do_touch_pitch },
	{ "touch-memsets", do_touch_memsets },
	{ "touch-sides", do_touch_sides },
	{ "touch-launches", do_touch_launches },
	{ "touch-parameters", do_touch_parameters },
	{ "touch-graphs", do_touch_graphs },
	{ "touch-graph-copies", do_touch_graph_copies },
	{ "touch-leave", do_touch_leave },
	{ "touch-many", do_touch_many },
};

/* Are all modes tested? */
static int check(int n, char **names)
{
	int missing = 0;

	for (size_t i = 0; i < N(modes); i++) {
		bool found = false;

		for (int k = 0; k < n; k++)
			found = found || !strcmp(names[k], modes[i].name);
		if (!found)
			printf("not tested: %s\n", modes[i].name);
		missing += !found;
	}
	return missing || n != (int)N(modes);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "check"))
		return check(argc - 2, argv + 2);
	for (size_t i = 0; argc == 2 && i < N(modes); i++)
		if (!strcmp(modes[i].name, argv[1])) {
			api_start();
			modes[i].function();
			api_end();
			printf("%s: %016llx\n", argv[1], (unsigned long long)sum);
			return 0;
		}
	fprintf(stderr, "no such mode: %s\n", argc > 1 ? argv[1] : "");
	return 2;
}
