/* SPDX-License-Identifier: MIT */
/* defaults.h - finds the hosts in Open MPI's own settings, for command lines that name no hosts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Search the environment, the parameter files and the default hostfile of the Open MPI installation that contains
 * @command.
 * @is_5: it is release 5, not an earlier one.
 * @ret_text: a file or a list, for adsm_cluster_hosts().
 * Returns false if no host is named.
 */
bool adsm_cluster_default_hosts(const char *command, bool is_5, char *ret_text, size_t size);
