/* SPDX-License-Identifier: MIT */
/* describe.h - what a cluster is made of, in a sentence. */
#ifndef ADSM_CLUSTER_DESCRIBE_H
#define ADSM_CLUSTER_DESCRIBE_H

#include "shared.h"

/*
 * By what its nodes have said of themselves: "4 nodes: 2 on a (8 cores), 2 on b (8 cores); Open MPI v4.1.4 (ob1: tcp
 * vader); tracker uffd". Hosts for which there is no room are counted.
 */
void adsm_cluster_describe(const struct adsm_cluster_shared *shared, char *text, size_t size);

#endif
