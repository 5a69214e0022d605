/* SPDX-License-Identifier: MIT */
/* hosts.h - the machines where a cluster's nodes are started; the application's machine is the first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct adsm_cluster_host {
	char *name;
	unsigned slots;			/* nodes that it takes before the next host gets any */
	unsigned n;			/* nodes that are started on it */
};

struct adsm_cluster_hosts {
	struct adsm_cluster_host *list;	/* hosts that get at least one node */
	size_t n;			/* 0: no host was named, and the launch command chooses */
};

/*
 * Distribute @n_nodes over the hosts. Returns 0, or a negative errno with a text.
 * @text: "", a file with a host in each line ("name", "name:4", "name slots=4", "# …"), or a list of such names
 * separated by commas. This machine is put first, even if it is not named.
 */
int adsm_cluster_hosts(const char *text, unsigned n_nodes, struct adsm_cluster_hosts *ret_hosts, char *ret_why,
		       size_t size);
/* Returns "a,b", or with the numbers of nodes "a:2,b:1"; NULL if there is no memory. The caller frees it. */
char *adsm_cluster_hosts_text(const struct adsm_cluster_hosts *hosts, int with_numbers);
/* Is this machine the only one? */
bool adsm_cluster_hosts_here(const struct adsm_cluster_hosts *hosts);
void adsm_cluster_hosts_free(struct adsm_cluster_hosts *hosts);
