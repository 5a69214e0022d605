/* SPDX-License-Identifier: MIT */
/* node/wait.c - the end of operations that all nodes take part in. */
#include "wait.h"

#include "comm.h"

#include <mpi.h>

void adsm_wait_for(void *request)
{
	int done = 0;

	while (MPI_Test(request, &done, MPI_STATUS_IGNORE), !done) {
		adsm_comm_beat();
		adsm_comm_rest(ADSM_COMM_BUSY_NS);
	}
	adsm_comm_active();
}
