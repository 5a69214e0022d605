/* SPDX-License-Identifier: MIT */
/* pipeline.c - blocks that pass through stages, against the same for one number after the other. */
#include "../program.h"

#include <stdlib.h>
#include <string.h>

#define STAGES 384
#define PLACES 2
#define NUMBERS 1024

static void verify(struct pt_run *run, const unsigned *given, const unsigned *made, long n_blocks)
{
	const uint64_t start = ps_now_ns();

	for (long k = 0; k < n_blocks * NUMBERS; k++) {
		unsigned v = given[k];

		for (unsigned stage = 0; stage < STAGES; stage++)
			v = (v ^ v >> 15) * (2 * stage + 3) + (unsigned)(k % NUMBERS);
		ps_check(run->wrong, "the number", (size_t)k, made[k], v, 0);
	}
	run->reference_ns = ps_now_ns() - start;
}

static int run_pipeline(struct pt_run *run)
{
	const int n_blocks = (int)run->v[0];
	const size_t size = (size_t)n_blocks * NUMBERS * sizeof(unsigned);
	const size_t places = (size_t)run->workers * PLACES * NUMBERS * sizeof(unsigned);
	unsigned *given = ps_shared(size), *made = ps_shared(size), *between = ps_shared(places);
	struct pb_rng rng = { PT_SEED };
	int error;

	for (long i = 0; i < n_blocks * NUMBERS; i++)
		given[i] = (unsigned)pb_rng_next(&rng);
	memset(between, 0, places);
	error = PT_CALL(run, "pipeline", adsmPtr(given), adsmPtr(made), adsmPtr(between), adsmVal(n_blocks));
	if (!error && run->verify)
		verify(run, given, made, n_blocks);
	adsmFree(given);
	adsmFree(made);
	adsmFree(between);
	return error;
}

static const struct ps_size sizes[] = {
	{ "small", { 32 } }, { "medium", { 512 } }, { "paper", { 1024 } }, { 0 }
};

const struct pt_program pt_pipeline = {
	"pipeline", "blocks pass through 384 stages: flags for full and free places", "blocks", sizes, run_pipeline,
};
