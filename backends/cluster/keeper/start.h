/* SPDX-License-Identifier: MIT */
/* start.h - what a keeper has to start, and the command line for that. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "door.h"

struct adsm_cluster_start {
	const char *launch, *hosts, *program;	/* the options CLUSTER_LAUNCH and CLUSTER_HOSTS; the node program */
	const char *arena;		/* "BASE:SIZE" */
	unsigned n_nodes, timeout_s;
	char **rest;			/* further arguments of the node program, ended by NULL */
};

/* Parse "--launch L --hosts H --program P --arena A --nodes N --timeout S -- REST". Returns false if the arguments
 * differ. */
bool adsm_cluster_start_read(struct adsm_cluster_start *start, int argc, char **argv);
/* Find the kind of launch command, clean the environment, and make the command line, which is never freed. @folder: the
 * folder of the cluster's files. Returns 0, or a negative errno with a text. */
int adsm_cluster_start_command(const struct adsm_cluster_start *start, const struct adsm_cluster_door *door,
			       const char *folder, char ***ret_command, char *ret_why, size_t size);
