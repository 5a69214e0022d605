/* SPDX-License-Identifier: MIT */
/* args_sized.h - arguments of which another one, a command, says how much memory they mean. */
#pragma once

/* How much a function's command means. */
enum rule { BY_FCNTL, BY_PRCTL, BY_PTRACE, BY_SEMCTL, BY_QUOTACTL, BY_ARCH_PRCTL, BY_MINCORE, BY_FSCONFIG,
	    BY_HANDLE_AT, BY_SCHED_ATTR };

#define SIZED_TEXT (-1)		/* it is a text */

/* Bytes that argument @i means, or SIZED_TEXT; 0: it means none. */
long adsm_args_sized(enum rule rule, int i, int n, const long *args);
