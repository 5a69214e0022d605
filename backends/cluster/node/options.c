/* SPDX-License-Identifier: MIT */
/* node/options.c - reads a node's command line, which the keeper made. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_EVERY 8			/* after this number of pushes of a page, probe for readers */

struct adsm_node_words adsm_node_words;

/* The index of a name in a list that ends with NULL. */
static int choose(const char *key, const char *value, const char *const *names)
{
	for (int i = 0; names[i]; i++) {
		if (!strcmp(value, names[i]))
			return i;
	}
	fprintf(stderr, "adsm-cluster-node: '%s' is not a valid value of %s\n", value, key);
	exit(1);
}

/* Options of tasks. */
static void read_task_word(const char *key, uint64_t n)
{
	struct adsm_node_words *words = &adsm_node_words;

	if (!strcmp(key, "--tasks"))
		words->tasks = n;
	else if (!strcmp(key, "--store"))
		words->store.size = n;
	else if (!strcmp(key, "--code"))
		words->store.code = n;
	else if (!strcmp(key, "--page"))
		words->task.page = (uint32_t)n;
	else if (!strcmp(key, "--node-page"))
		words->node_page = (uint32_t)n;
	else if (!strcmp(key, "--cache"))
		words->task.n_pages = (uint32_t)n;
	else if (!strcmp(key, "--virtual"))
		words->virtual = (enum adsm_cluster_virtual)n;
	else if (!strcmp(key, "--locality"))
		words->locality = (uint32_t)n;
	else if (!strcmp(key, "--frames"))
		words->n_frames = (uint32_t)n;
}

static void read_word(const char *key, const char *value)
{
	static const char *const updates[] = { "adaptive", "eager", "lazy", "threshold", NULL };
	static const char *const collectives[] = { "allgatherv", "bcast", NULL };
	static const char *const trackers[] = { "auto", "sigsegv", "uffd", "off", NULL };
	struct adsm_node_words *words = &adsm_node_words;
	char *end;
	int i;

	if (!strcmp(key, "--connect")) {
		words->connect = value;
	} else if (!strcmp(key, "--token")) {
		words->token = value;
	} else if (!strcmp(key, "--arena")) {
		words->base = strtoul(value, &end, 0);
		words->size = *end == ':' ? strtoul(end + 1, NULL, 0) : 0;
	} else if (!strcmp(key, "--threads")) {
		words->threads = (unsigned)strtoul(value, NULL, 0);
	} else if (!strcmp(key, "--timeout")) {
		words->timeout_ns = strtoul(value, NULL, 0) * 1000000000;
	} else if (!strcmp(key, "--update")) {
		words->options.update = (enum adsm_update)choose(key, value, updates);
	} else if (!strcmp(key, "--exchange")) {
		words->options.collective = (enum adsm_collective)choose(key, value, collectives);
	} else if (!strcmp(key, "--lazy")) {
		words->options.threshold = strtoul(value, NULL, 0);
	} else if (!strcmp(key, "--tracker")) {
		i = choose(key, value, trackers);
		words->tracked = i == 1 || i == 2;
		words->track = words->tracked ? (enum adsm_track)i : ADSM_TRACK_AUTO;
	} else if (!strcmp(key, "--paper")) {
		words->options.paper = strtoul(value, NULL, 0);
	} else {
		read_task_word(key, strtoul(value, NULL, 0));
	}
}

void adsm_node_words_read(int argc, char **argv)
{
	adsm_node_words.options.probe_every = PROBE_EVERY;
	for (int i = 1; i + 1 < argc; i += 2)
		read_word(argv[i], argv[i + 1]);
	if (adsm_node_words.options.paper) {
		adsm_node_words.options.update = ADSM_UPDATE_THRESHOLD;
		adsm_node_words.options.collective = ADSM_COLLECTIVE_BCAST;
	}
	if (!adsm_node_words.node_page)
		adsm_node_words.node_page = adsm_node_words.task.page;
	if (adsm_node_words.connect && adsm_node_words.token && adsm_node_words.base && adsm_node_words.size)
		return;
	fprintf(stderr, "adsm-cluster-node is a part of libadsm. The library starts it if ADSM_BACKEND is cluster.\n");
	exit(1);
}
