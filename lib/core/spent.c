/* SPDX-License-Identifier: MIT */
/* spent.c - how long this thread has been moving data, and the maximum of all threads. */
#include "core/spent.h"

uint64_t adsm_start_ns;
_Thread_local struct adsm_spent adsm_spent;
_Atomic uint64_t adsm_most_spent_ns;
