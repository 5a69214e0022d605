/* SPDX-License-Identifier: MIT */
/* describe.h - describes the nodes of a cluster in a sentence. */
#pragma once

#include "shared.h"

/* The text is for example "4 nodes: 2 on a (8 cores), 2 on b (8 cores); Open MPI v4.1.4 (ob1: tcp vader); tracker
 * uffd". Hosts that do not fit into the text are only counted. */
void adsm_cluster_describe(const struct adsm_cluster_shared *shared, char *text, size_t size);
