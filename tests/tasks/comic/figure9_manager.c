/* SPDX-License-Identifier: MIT */
/* figure9_manager.c - the program of COMIC++'s Figure 9 (b), but for its misprint. */
#include <comic_pp_manager.h>
#define SIZE 1024

COMIC_PP_shared (
   int a[ SIZE ];
)

void main()
{
   COMIC_PP_manager_init();
   COMIC_PP_manager_run(0);
   COMIC_PP_manager_exit();
}
