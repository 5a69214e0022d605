/* SPDX-License-Identifier: MIT */
/* defaults.h - the hosts that Open MPI's own settings name, for jobs whose command line names none. */
#ifndef ADSM_CLUSTER_DEFAULTS_H
#define ADSM_CLUSTER_DEFAULTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Look for them in the environment, in files of parameters, and in the default hostfile of the Open MPI that has
 * @command, of release 5 or an earlier one. False: none is named. @ret_text: a file or a list, for
 * adsm_cluster_hosts().
 */
bool adsm_cluster_default_hosts(const char *command, bool is_5, char *ret_text, size_t size);

#endif
