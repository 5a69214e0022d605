/* SPDX-License-Identifier: MIT */
/* test_describe.c - what a cluster is made of, in a sentence. */
#include "cluster/describe.h"

#include <stdlib.h>

#include "../check.h"

static struct adsm_cluster_shared *shared;

static void add(const char *host, unsigned cores, const char *tracker)
{
	struct adsm_cluster_node *node = &shared->nodes[shared->n_nodes++];

	snprintf(node->host, sizeof(node->host), "%s", host);
	snprintf(node->tracker, sizeof(node->tracker), "%s", tracker);
	node->cores = cores;
}

static void check(const char *want)
{
	char text[256];

	adsm_cluster_describe(shared, text, sizeof(text));
	CHECKF(!strcmp(text, want), "'%s', not '%s'", text, want);
}

int main(void)
{
	char host[ADSM_CLUSTER_HOST], text[256];
	const char *rest;

	shared = aligned_alloc(_Alignof(struct adsm_cluster_shared), sizeof(*shared));
	CHECK(shared);
	memset(shared, 0, sizeof(*shared));
	add("here", 1, "");
	check("1 node: 1 on here (1 core); tracker off");
	snprintf(shared->engine, sizeof(shared->engine), "Some MPI 1.0");
	add("there", 8, "uffd");
	check("2 nodes: 1 on here (1 core), 1 on there (8 cores); Some MPI 1.0; tracker uffd");
	strcpy(shared->nodes[0].tracker, "uffd");
	add("here", 1, "uffd");
	add("there", 8, "sigsegv");
	check("4 nodes: 2 on here (1 core), 2 on there (8 cores); Some MPI 1.0; tracker sigsegv on 1, uffd on 3");

	/* Of many hosts some are named, and all else is there. */
	for (unsigned i = 4; i < 100; i++) {
		snprintf(host, sizeof(host), "host%u", i);
		add(host, 8, "uffd");
	}
	adsm_cluster_describe(shared, text, sizeof(text));
	rest = strstr(text, ", and ");
	CHECKF(rest && strlen(text) > 180, "%s", text);
	CHECKF(strstr(text, "100 nodes: 2 on here (1 core), 2 on there (8 cores), 1 on host4 (8 cores), ") == text,
	       "%s", text);
	CHECKF(strstr(rest, " more hosts; Some MPI 1.0; tracker sigsegv on 1, uffd on 99"), "%s", text);
	/* The longest there can be. */
	memset(host, 'h', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	memset(shared->engine, 'e', sizeof(shared->engine) - 1);
	for (unsigned i = 0; i < shared->n_nodes; i++) {
		snprintf(shared->nodes[i].host, sizeof(host), "%c%s", 'a' + (int)(i % 3), host + 1);
		shared->nodes[i].cores = UINT32_MAX;
	}
	adsm_cluster_describe(shared, text, sizeof(text));
	CHECKF(strstr(text, "100 nodes: 3 hosts; eee") == text, "%s", text);
	CHECKF(strstr(text, "e; tracker sigsegv on 1, uffd on 99"), "%s", text);
	free(shared);
	return 0;
}
