/* SPDX-License-Identifier: MIT */
/* adsmcc_partition.c - decides which function is in which partition. */
#include "adsmcc_link.h"

#include <stdlib.h>
#include <string.h>

#include "base/image.h"

/* The partition's number in the section's name; 0: it has none. */
static uint32_t said_partition(const struct object_section *section)
{
	const size_t prefix = strlen(PARTITION_SECTION);
	char *end;
	unsigned long number;

	if (!starts(section->name, PARTITION_SECTION))
		return 0;
	number = strtoul(section->name + prefix, &end, 10);
	if (*end || number < 1 || number > ADSM_IMAGE_MAX_PARTITIONS)
		die("ADSM_PARTITION(%s): the argument must be a number from 1 to %u, written in digits",
		    section->name + prefix, ADSM_IMAGE_MAX_PARTITIONS);
	return (uint32_t)number;
}

/* ---- by calls and sizes: functions with the most calls between them come into one partition, while there is room */

struct edge {
	uint32_t from, to;		/* sections */
	uint32_t n;			/* calls in the code */
};

struct clusters {
	struct edge *edges;
	size_t n_edges;
	uint32_t *of;			/* by section: the section that represents its cluster */
	uint64_t *size;			/* by that section */
};

static void add_edge(struct clusters *clusters, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < clusters->n_edges; i++) {
		struct edge *edge = &clusters->edges[i];

		if ((edge->from == from && edge->to == to) || (edge->from == to && edge->to == from)) {
			edge->n++;
			return;
		}
	}
	clusters->edges = grow(clusters->edges, (clusters->n_edges + 1) * sizeof(*clusters->edges));
	clusters->edges[clusters->n_edges++] = (struct edge) { from, to, 1 };
}

static bool is_free(const struct link *link, uint32_t section)
{
	return link->reached[section] && link->object.sections[section].code && !link->partition[section];
}

static uint64_t rounded(uint64_t size)
{
	return (size + 15) & ~(uint64_t)15;
}

/* An estimate of the section's size in a partition: its code, the constants that it loads, and a stub for each call. */
static uint64_t estimate(const struct link *link, struct clusters *clusters, uint32_t section)
{
	const struct object_section *code = &link->object.sections[section];
	uint64_t size = rounded(code->size);

	for (size_t i = 0; i < code->n_relocations; i++) {
		uint32_t to;
		int64_t offset;
		const enum reference_kind kind = link_reference(link, section, &code->relocations[i], &to, &offset);

		if (kind == REFERENCE_BYTES && to)
			size += rounded(link->object.sections[to].size);
		if (kind == REFERENCE_BRANCH && to != section)
			size += MACHINE_STUB;
		if (kind == REFERENCE_BRANCH && to && to != section && is_free(link, to))
			add_edge(clusters, section, to);
	}
	return size;
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void join(const struct link *link, struct clusters *clusters, uint32_t one, uint32_t other)
{
	for (uint32_t i = 0; i < link->object.n_sections; i++)
		if (clusters->of[i] == other)
			clusters->of[i] = one;
	clusters->size[one] += clusters->size[other];
	clusters->size[other] = 0;
}

static void join_callers(const struct link *link, struct clusters *clusters, uint32_t limit)
{
	if (clusters->n_edges)
		qsort(clusters->edges, clusters->n_edges, sizeof(*clusters->edges), compare_edges);
	for (size_t i = 0; i < clusters->n_edges; i++) {
		const uint32_t one = clusters->of[clusters->edges[i].from], other = clusters->of[clusters->edges[i].to];

		if (one != other && clusters->size[one] + clusters->size[other] <= limit)
			join(link, clusters, one, other);
	}
}

/* Join clusters that have no calls between them, if there is room. */
static void join_small(const struct link *link, struct clusters *clusters, uint32_t limit)
{
	const uint32_t n = (uint32_t)link->object.n_sections;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++)
			if (clusters->size[i] && clusters->size[j] && clusters->size[i] + clusters->size[j] <= limit)
				join(link, clusters, i, j);
}

static void assign_automatically(struct link *link, uint32_t limit)
{
	const uint32_t n = (uint32_t)link->object.n_sections;
	struct clusters clusters = { .of = grow(NULL, n * sizeof(uint32_t)), .size = grow(NULL, n * sizeof(uint64_t)) };

	for (uint32_t i = 0; i < n; i++) {
		clusters.of[i] = i;
		clusters.size[i] = is_free(link, i) ? estimate(link, &clusters, i) : 0;
		if (clusters.size[i] > limit)
			die("'%s' has %lu bytes with its constants and calls, which is more than a partition of %u "
			    "bytes: split it, or use --partition auto:SIZE", object_function_at(&link->object, i, 0),
			    (unsigned long)clusters.size[i], limit);
	}
	join_callers(link, &clusters, limit);
	join_small(link, &clusters, limit);
	for (uint32_t i = 0; i < n; i++) {
		if (!clusters.size[i])
			continue;
		link->n_partitions++;
		for (uint32_t j = 0; j < n; j++)
			if (clusters.of[j] == i && is_free(link, j))
				link->partition[j] = link->n_partitions;
	}
}

void assign_partitions(struct link *link, const struct partition_options *options)
{
	for (size_t i = 0; i < link->object.n_sections; i++) {
		link->partition[i] = link->reached[i] ? said_partition(&link->object.sections[i]) : 0;
		if (link->partition[i] > link->n_partitions)
			link->n_partitions = link->partition[i];
	}
	if (options->automatic)
		assign_automatically(link, options->limit);
}
