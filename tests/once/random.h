/* SPDX-License-Identifier: MIT */
/* random.h - units that each need some of those before, set by threads and kernels at the same time, against an
 * oracle. */
#ifndef TEST_ONCE_RANDOM_H
#define TEST_ONCE_RANDOM_H

#include "once.h"

#define RANDOM_WORKERS_MAX 8

struct random_work {
	adsmOnce *once;
	size_t first, step;
};

static inline uint32_t random_value(size_t unit, const adsmOnce *once, const uint32_t *oracle)
{
	uint64_t state = unit * UINT64_C(0x5851f42d4c957f2d) + 42;
	uint32_t value = (uint32_t)unit * 2654435761u + 1;

	for (unsigned i = 0; i < 3 && unit; i++) {
		size_t other = splitmix(&state) % unit;

		value = value * 31 + (oracle ? oracle[other] : get(once, other));
	}
	return value;
}

static inline void *random_compute(void *arg)
{
	struct random_work *work = arg;

	for (size_t unit = work->first; unit < work->once->count; unit += work->step)
		put(work->once, unit, random_value(unit, work->once, NULL));
	return NULL;
}

/* Threads make units 0 to @workers - 1 of each @parts; kernels, which have been called, the others. Waits for all. */
static inline void random_check(adsmOnce *once, size_t workers, size_t parts)
{
	const size_t n = once->count;
	uint32_t *oracle = malloc(n * sizeof(*oracle));
	struct random_work work[RANDOM_WORKERS_MAX];
	pthread_t threads[RANDOM_WORKERS_MAX];

	CHECK(oracle && workers <= RANDOM_WORKERS_MAX);
	for (size_t i = 0; i < workers; i++) {
		work[i] = (struct random_work){ once, i, parts };
		threads[i] = start(random_compute, &work[i]);
	}
	for (size_t i = 0; i < n; i++)
		oracle[i] = random_value(i, NULL, oracle);
	for (size_t i = 0; i < workers; i++)
		end(threads[i]);
	for (size_t i = 0; i < n; i++)
		CHECK_AT(get(once, i), i, oracle[i]);
	CHECK_OK(adsmSync());
	free(oracle);
}

#endif
