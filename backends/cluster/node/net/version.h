/* SPDX-License-Identifier: MIT */
/* node/net/version.h - the name and version of this MPI. */
#pragma once

#include <stddef.h>

/* Writes name and version. For Open MPI, the parts that send messages follow in brackets, if they can be determined. */
void adsm_node_mpi(char *text, size_t size);
