/* SPDX-License-Identifier: MIT */
/* hosts.h - which machines a cluster's nodes are started on: the application's first. */
#ifndef ADSM_CLUSTER_HOSTS_H
#define ADSM_CLUSTER_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

struct adsm_cluster_host {
	char *name;
	unsigned slots;			/* nodes that it takes before the next one has its turn */
	unsigned n;			/* nodes that are started on it */
};

struct adsm_cluster_hosts {
	struct adsm_cluster_host *list;	/* those that get a node */
	size_t n;			/* 0: none were named, whoever starts them chooses */
};

/*
 * Deal @n_nodes out. @text: "", a file with a host in each line ("name", "name:4", "name slots=4", "# …"), or such
 * names between commas; this machine goes to the front, also where it is not named. 0, or a negative errno with a
 * sentence.
 */
int adsm_cluster_hosts(const char *text, unsigned n_nodes, struct adsm_cluster_hosts *ret_hosts, char *ret_why,
		       size_t size);
/* "a,b", or with the number of nodes "a:2,b:1". The caller frees it; NULL: no memory. */
char *adsm_cluster_hosts_text(const struct adsm_cluster_hosts *hosts, int with_numbers);
/* Is this machine the only one? */
bool adsm_cluster_hosts_here(const struct adsm_cluster_hosts *hosts);
void adsm_cluster_hosts_free(struct adsm_cluster_hosts *hosts);

#endif
