/* SPDX-License-Identifier: MIT */
/* whole_manager.c - what the workers' tasks have done. With an argument: a task of that number. */
#include <comic_pp_manager.h>

#include "../../check.h"
#include "shared.h"

int main(int argc, char **argv)
{
	const int sum = 3 * COUNTERS * COMIC_PP_MAX_NUM_APE_THREADS;

	COMIC_PP_manager_init();
	if (argc > 1)
		COMIC_PP_manager_run((unsigned)atoi(argv[1]));
	for (unsigned task = 0; task < 5; task++)
		COMIC_PP_manager_run(task);
	for (int i = 0; i < COMIC_PP_MAX_NUM_APE_THREADS; i++)
		CHECK_AT(COMIC_PP_access(c[i]), i, 'a' + i);
	CHECK_EQ(COMIC_PP_access(s), sum);
	CHECK_EQ(COMIC_PP_access(i), sum);
	CHECK_EQ(COMIC_PP_access(l), sum);
	CHECK_EQ(COMIC_PP_access(ll), sum);
	CHECK_EQ(COMIC_PP_access(f), sum);
	CHECK_EQ(COMIC_PP_access(d), sum);
	for (int i = 0; i < COUNTERS; i++)
		CHECK_AT(COMIC_PP_access(turns[i]), i, 2 * COMIC_PP_MAX_NUM_APE_THREADS);
	CHECK_EQ(COMIC_PP_access(pair.x), COUNTERS * (COUNTERS - 1) / 2);
	CHECK_EQ(COMIC_PP_access(pair.y), 'a' + COMIC_PP_MAX_NUM_APE_THREADS - 1);
	COMIC_PP_manager_exit();
}
