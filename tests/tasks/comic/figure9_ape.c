/* SPDX-License-Identifier: MIT */
/* figure9_ape.c - the program of COMIC++'s Figure 9 (c), but for its misprints. */
#include <comic_pp_ape.h>
#define SIZE 1024
COMIC_PP_shared (
int a[SIZE];
)
COMIC_PP_ape_main (
 case 0:
     int i, tid, chunk, low, high;
      tid = COMIC_PP_get_ape_thread_id();
      chunk = SIZE / COMIC_PP_MAX_NUM_APE_THREADS;
     low = tid * chunk;
     high = (tid == (COMIC_PP_MAX_NUM_APE_THREADS-1))
               ? SIZE : (low + chunk);
      for(i=low; i<high; i++)
        COMIC_PP_ape_write_int(&COMIC_PP_access(a[i]), i);
     COMIC_PP_ape_barrier();
   break;
)
