/* SPDX-License-Identifier: MIT */
/* node/net/version.h - the name and version of this MPI. */
#ifndef ADSM_CLUSTER_VERSION_H
#define ADSM_CLUSTER_VERSION_H

#include <stddef.h>

/* Writes name and version. For Open MPI, the parts that send messages follow in brackets, if they can be determined. */
void adsm_node_mpi(char *text, size_t size);

#endif
