/* SPDX-License-Identifier: MIT */
/* node/wait.h - an operation of MPI that all nodes take part in, at its end. */
#ifndef ADSM_CLUSTER_WAIT_H
#define ADSM_CLUSTER_WAIT_H

/*
 * With rests: more nodes than processors get on only where those that wait sleep. Beats go on.
 * @request: an MPI_Request; headers here do without MPI's.
 */
void adsm_wait_for(void *request);

#endif
