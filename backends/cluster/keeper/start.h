/* SPDX-License-Identifier: MIT */
/* start.h - what a keeper is told to start, and the whole command line that comes of it. */
#ifndef ADSM_CLUSTER_START_H
#define ADSM_CLUSTER_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "door.h"

struct adsm_cluster_start {
	const char *launch, *hosts, *program;	/* options CLUSTER_LAUNCH, CLUSTER_HOSTS; the node program */
	const char *arena;		/* "BASE:SIZE" */
	unsigned n_nodes, timeout_s;
	char **rest;			/* more for the node program, ended by NULL */
};

/* From a command line "--launch L --hosts H --program P --arena A --nodes N --timeout S -- REST". False: it is none. */
bool adsm_cluster_start_read(struct adsm_cluster_start *start, int argc, char **argv);
/*
 * Find out whose launch command it is, clean the environment, and write the command line. It stays. The cluster has
 * its files in @folder. 0, or a negative errno with a sentence.
 */
int adsm_cluster_start_command(const struct adsm_cluster_start *start, const struct adsm_cluster_door *door,
			       const char *folder, char ***ret_command, char *ret_why, size_t size);

#endif
