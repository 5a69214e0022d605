/* SPDX-License-Identifier: MIT */
/* node/net/version.h - which MPI this is. */
#ifndef ADSM_CLUSTER_VERSION_H
#define ADSM_CLUSTER_VERSION_H

#include <stddef.h>

/* Its name and version; in brackets, where that can be known, what it sends messages with: the parts of Open MPI. */
void adsm_node_mpi(char *text, size_t size);

#endif
