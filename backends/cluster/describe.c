/* SPDX-License-Identifier: MIT */
/* describe.c - describes the nodes of a cluster in a sentence. */
#include "describe.h"

#include "base/log.h"

#include <string.h>

#define REST 48				/* bytes reserved for the number of hosts that are not named */

/* The number of nodes on the host of node @i; 0 if an earlier node has the same host. */
static uint32_t count_host(const struct adsm_cluster_shared *shared, uint32_t i)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < shared->n_nodes; k++) {
		if (strcmp(shared->nodes[k].host, shared->nodes[i].host))
			continue;
		if (k < i)
			return 0;
		n++;
	}
	return n;
}

/* "tracker uffd", or "tracker sigsegv on 1, uffd on 3"; "tracker off" if no node tracks. */
static void describe_trackers(const struct adsm_cluster_shared *shared, char *text, size_t size)
{
	static const char *const names[] = { "sigsegv", "uffd" };
	uint32_t n[2] = { 0, 0 };

	for (uint32_t i = 0; i < shared->n_nodes; i++) {
		for (int k = 0; k < 2; k++)
			n[k] += !strcmp(shared->nodes[i].tracker, names[k]);
	}
	if (n[0] && n[1])
		adsm_format(text, size, "tracker %s on %u, %s on %u", names[0], n[0], names[1], n[1]);
	else
		adsm_format(text, size, "tracker %s", n[0] ? names[0] : n[1] ? names[1] : "off");
}

void adsm_cluster_describe(const struct adsm_cluster_shared *shared, char *text, size_t size)
{
	const uint32_t n = shared->n_nodes;
	char end[200], trackers[48], host[ADSM_CLUSTER_HOST + 64];
	size_t length = (size_t)adsm_format(text, size, "%u node%s: ", n, n == 1 ? "" : "s"), room;
	uint32_t named = 0, left = 0;

	describe_trackers(shared, trackers, sizeof(trackers));
	adsm_format(end, sizeof(end), "%s%s; %s", *shared->engine ? "; " : "", shared->engine, trackers);
	room = size - strlen(end) - REST;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t alike = count_host(shared, i), cores = shared->nodes[i].cores;
		size_t more;

		if (!alike)
			continue;
		more = (size_t)adsm_format(host, sizeof(host), "%s%u on %s (%u core%s)", named ? ", " : "", alike,
					   shared->nodes[i].host, cores, cores == 1 ? "" : "s");
		if (left || length + more >= room) {
			left++;
			continue;
		}
		memcpy(text + length, host, more + 1);
		length += more;
		named++;
	}
	if (left)
		length += (size_t)adsm_format(text + length, size - length, "%s%u%s host%s", named ? ", and " : "",
					      left, named ? " more" : "", left == 1 ? "" : "s");
	adsm_format(text + length, size - length, "%s", end);
}
