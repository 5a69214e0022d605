/* SPDX-License-Identifier: MIT */
/* checked_manager.c - the manager of figure9_ape.c, which looks at what the workers have written. */
#include <comic_pp_manager.h>

#include "../../check.h"

#define SIZE 1024

COMIC_PP_shared(int a[SIZE];)

int main(void)
{
	COMIC_PP_manager_init();
	for (int i = 0; i < SIZE; i++)
		CHECK_AT(COMIC_PP_access(a[i]), i, 0);
	COMIC_PP_manager_run(0);
	for (int i = 0; i < SIZE; i++)
		CHECK_AT(COMIC_PP_access(a[i]), i, i);
	COMIC_PP_manager_exit();
}
