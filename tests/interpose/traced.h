/* SPDX-License-Identifier: MIT */
/* traced.h - signals that come while a thread is inside the library. */
#ifndef INTERPOSE_TRACED_H
#define INTERPOSE_TRACED_H

#include <signal.h>
#include <unistd.h>

#include "conform.h"

/* The backend writes what it does to a stderr that is never read: each line raises SIGPIPE in its thread, inside the
 * library, which blocks it. So a handler runs where the library first permits it after that. */
static inline void trace(void)
{
	int ends[2];

	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	CHECK(!pipe(ends));
	CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[0]);
	close(ends[1]);
	set("wrap", "trace");
}

#endif
