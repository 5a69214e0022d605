/* SPDX-License-Identifier: MIT */
/* whole_ape.c - each function of the interface, in tasks of its own. */
#include <comic_pp_ape.h>

#include "shared.h"

/* Functions may use the shared variables, too. */
static void add_to_all(int v)
{
	COMIC_PP_ape_write_short(&COMIC_PP_access(s), (short)(COMIC_PP_ape_read_short(&COMIC_PP_access(s)) + v));
	COMIC_PP_ape_write_int(&COMIC_PP_access(i), COMIC_PP_ape_read_int(&COMIC_PP_access(i)) + v);
	COMIC_PP_ape_write_long(&COMIC_PP_access(l), COMIC_PP_ape_read_long(&COMIC_PP_access(l)) + v);
	COMIC_PP_ape_write_long_long(&COMIC_PP_access(ll), COMIC_PP_ape_read_long_long(&COMIC_PP_access(ll)) + v);
	COMIC_PP_ape_write_float(&COMIC_PP_access(f), COMIC_PP_ape_read_float(&COMIC_PP_access(f)) + (float)v);
	COMIC_PP_ape_write_double(&COMIC_PP_access(d), COMIC_PP_ape_read_double(&COMIC_PP_access(d)) + v);
}

COMIC_PP_ape_main(
case 0:
	COMIC_PP_ape_write_char(&COMIC_PP_access(c[COMIC_PP_get_ape_thread_id()]),
				(char)('a' + COMIC_PP_get_ape_thread_id()));
	break;
case 1:
case 2:
	for (int round = 0; round < COUNTERS; round++) {
		COMIC_PP_ape_lock_acquire(3);
		add_to_all(comic_pp_function_ == 1 ? 1 : 2);
		COMIC_PP_ape_write_int(&COMIC_PP_access(turns[round]),
				       COMIC_PP_ape_read_int(&COMIC_PP_access(turns[round])) + 1);
		COMIC_PP_ape_lock_release(3);
	}
	COMIC_PP_ape_flush(&COMIC_PP_access(s));
	COMIC_PP_ape_flush_all();
	COMIC_PP_ape_barrier();
	break;
case 3:
	if (COMIC_PP_get_ape_thread_id() == 0) {
		int *memory = COMIC_PP_ape_malloc(COUNTERS * sizeof(int));
		for (int i = 0; i < COUNTERS; i++)
			COMIC_PP_ape_write_int(&memory[i], i);
		COMIC_PP_ape_write_long(&COMIC_PP_access(kept), (long)memory);
	}
	break;
case 4:
	if (COMIC_PP_get_ape_thread_id() == COMIC_PP_MAX_NUM_APE_THREADS - 1) {
		int *memory = (int *)COMIC_PP_ape_read_long(&COMIC_PP_access(kept));
		int sum = 0;
		for (int i = 0; i < COUNTERS; i++)
			sum += *(int *)COMIC_PP_ape_local_address(&memory[i]);
		COMIC_PP_ape_write_int(&COMIC_PP_access(pair.x), sum);
		COMIC_PP_ape_write_int(&COMIC_PP_access(pair.y),
				       COMIC_PP_ape_read_char(&COMIC_PP_access(c[COMIC_PP_MAX_NUM_APE_THREADS - 1])));
		COMIC_PP_ape_free(memory);
	}
	break;
default:
	COMIC_PP_ape_lock_release(77);
)
