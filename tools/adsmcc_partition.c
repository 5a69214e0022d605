/* SPDX-License-Identifier: MIT */
/* adsmcc_partition.c - decides which function is in which partition. */
#include "adsmcc_link.h"

#include <stdio.h>
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

#define CALLS_OF_LOOP 8			/* how often a loop is assumed to run */

struct clusters {
	uint32_t n;			/* sections of the object */
	uint32_t limit;			/* bytes of a cluster */
	uint32_t *of;			/* by section: the section that represents its cluster */
	uint64_t *size;			/* by that section; 0: it represents none */
	double *calls;			/* a row for each of these sections: the calls between the clusters */
	bool *roots;			/* a row for each of these sections: the exported functions that reach it */
};

bool partition_is_free(const struct link *link, uint32_t section)
{
	return link->reached[section] && link->object.sections[section].code && !link->partition[section];
}

static uint64_t rounded(uint64_t size)
{
	return (size + 15) & ~(uint64_t)15;
}

/* Does an earlier reference of @section need the same stub or constant as its reference @i? */
static bool is_repeated(const struct link *link, uint32_t section, size_t i)
{
	const struct object_relocation *all = link->object.sections[section].relocations;
	uint32_t to, other;
	int64_t offset, place;
	const enum reference_kind kind = link_reference(link, section, &all[i], &to, &offset);

	for (size_t j = 0; j < i; j++)
		if (link_reference(link, section, &all[j], &other, &place) == kind && other == to &&
		    (kind == REFERENCE_BYTES || (all[j].symbol == all[i].symbol && place == offset)))
			return true;
	return false;
}

uint64_t partition_bytes(const struct link *link, uint32_t section)
{
	const struct object_section *code = &link->object.sections[section];
	uint64_t size = rounded(code->size);

	for (size_t i = 0; i < code->n_relocations; i++) {
		uint32_t to;
		int64_t offset;
		const enum reference_kind kind = link_reference(link, section, &code->relocations[i], &to, &offset);

		if (is_repeated(link, section, i))
			continue;
		if (kind == REFERENCE_BYTES && to)
			size += rounded(link->object.sections[to].size);
		if (kind == REFERENCE_BRANCH && to != section)
			size += MACHINE_STUB;
	}
	return size;
}

/* Mark all that the code of @section calls as reached by @root. */
static void mark_root(const struct link *link, struct clusters *clusters, uint32_t section, uint32_t root)
{
	const struct object_section *code = &link->object.sections[section];
	bool *row = clusters->roots + (size_t)section * clusters->n;

	if (row[root])
		return;
	row[root] = true;
	for (size_t i = 0; i < code->n_relocations; i++) {
		uint32_t to;
		int64_t offset;

		link_reference(link, section, &code->relocations[i], &to, &offset);
		if (to && link->object.sections[to].code)
			mark_root(link, clusters, to, root);
	}
}

static bool have_root(const struct clusters *clusters, uint32_t one, uint32_t other)
{
	for (uint32_t i = 0; i < clusters->n; i++)
		if (clusters->roots[(size_t)one * clusters->n + i] && clusters->roots[(size_t)other * clusters->n + i])
			return true;
	return false;
}

static void join(struct clusters *clusters, uint32_t one, uint32_t other)
{
	const size_t n = clusters->n;

	for (uint32_t i = 0; i < n; i++) {
		if (clusters->of[i] == other)
			clusters->of[i] = one;
		clusters->calls[one * n + i] += clusters->calls[other * n + i];
		clusters->calls[i * n + one] += clusters->calls[i * n + other];
		clusters->roots[one * n + i] |= clusters->roots[other * n + i];
	}
	clusters->size[one] += clusters->size[other];
	clusters->size[other] = 0;
}

/* How much two clusters belong together: by the calls between them; a little if one kernel needs both. */
static double closeness(const struct clusters *clusters, uint32_t one, uint32_t other)
{
	const double calls = clusters->calls[(size_t)one * clusters->n + other];

	return calls > 0 ? 1 + calls : have_root(clusters, one, other) ? 1e-3 : 1e-6;
}

/* Join the two closest clusters that are not too large together. Returns false if there are none. */
static bool join_closest(struct clusters *clusters)
{
	uint32_t best[2] = { 0, 0 };
	double most = 0;

	for (uint32_t i = 0; i < clusters->n; i++)
		for (uint32_t j = i + 1; clusters->size[i] && j < clusters->n; j++) {
			double its;

			if (!clusters->size[j] || clusters->size[i] + clusters->size[j] > clusters->limit)
				continue;
			its = closeness(clusters, i, j);
			if (its > most) {
				most = its;
				best[0] = i;
				best[1] = j;
			}
		}
	if (most > 0)
		join(clusters, best[0], best[1]);
	return most > 0;
}

/* The line of the function in the list of lines: "first to last of file"; NULL: unknown. */
static const char *lines_of(const struct partition_options *options, const char *function)
{
	const char *dot = strchr(function, '.'), *line = options->lines.bytes;
	const size_t size = dot ? (size_t)(dot - function) : strlen(function);
	unsigned first, last;
	char file[1024];

	for (; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, function, size) && line[size] == ' ' &&
		    sscanf(line + size, " %u %u %1023[^\n]", &first, &last, file) == 3)
			return format_string("%s:%u-%u: ", file, first, last);
	return "";
}

static void report_large(const struct link *link, const struct partition_options *options, uint32_t section,
			 uint64_t size)
{
	const char *name = object_function_at(&link->object, section, 0);

	die("%s'%s' has %lu bytes with its constants and calls, which is more than a partition of %u bytes%s: split "
	    "it, or use --partition auto:SIZE", lines_of(options, name), name, (unsigned long)size, options->limit,
	    options->calls.bytes ? ", and adsmcc cannot divide it at the blocks of its code" : "");
}

static struct clusters start_clusters(const struct link *link, const struct partition_options *options)
{
	const uint32_t n = (uint32_t)link->object.n_sections;
	struct clusters clusters = {
		.n = n, .limit = options->limit, .of = grow(NULL, n * sizeof(uint32_t)),
		.size = grow(NULL, n * sizeof(uint64_t)), .calls = weigh_calls(link, options),
		.roots = grow(NULL, (size_t)n * n),
	};

	memset(clusters.roots, 0, (size_t)n * n);
	for (uint32_t i = 0; i < n; i++) {
		clusters.of[i] = i;
		clusters.size[i] = partition_is_free(link, i) ? partition_bytes(link, i) : 0;
		if (clusters.size[i] > options->limit)
			report_large(link, options, i, clusters.size[i]);
	}
	for (size_t i = 0; i < link->object.n_symbols; i++)
		if (link->object.symbols[i].function && link->object.symbols[i].exported)
			mark_root(link, &clusters, link->object.symbols[i].section,
				  link->object.symbols[i].section);
	return clusters;
}

/* Leave the kernels out of the partitions. Returns false if the largest function does not fit beside them. */
static bool keep_kernels(const struct link *link, struct clusters *clusters)
{
	uint64_t resident = 0, largest = 0;

	for (size_t i = 0; i < link->object.n_symbols; i++) {
		const uint32_t section = link->object.symbols[i].section;

		if (link->object.symbols[i].function && link->object.symbols[i].exported) {
			resident += clusters->size[section];
			clusters->size[section] = 0;
		}
	}
	for (uint32_t i = 0; i < clusters->n; i++)
		if (clusters->size[i] > largest)
			largest = clusters->size[i];
	clusters->limit -= resident < clusters->limit ? resident : clusters->limit;
	return largest && largest <= clusters->limit;
}

/* Join functions while there is room. Returns the calls between the clusters. */
static double join_all(struct clusters *clusters, const struct link *link)
{
	double cost = 0;

	while (join_closest(clusters))
		;
	for (uint32_t i = 0; i < clusters->n; i++)
		for (uint32_t j = i + 1; j < clusters->n; j++) {
			const double calls = clusters->calls[(size_t)i * clusters->n + j];

			if (clusters->size[i] && clusters->size[j])
				cost += calls;
			/* A return to resident code loads nothing, nor do the next calls in a loop. */
			else if (partition_is_free(link, i) && partition_is_free(link, j) &&
				 clusters->of[i] == i && clusters->of[j] == j)
				cost += calls / CALLS_OF_LOOP;
		}
	return cost;
}

static void assign_automatically(struct link *link, const struct partition_options *options)
{
	struct clusters clusters = start_clusters(link, options);

	if (!options->each) {
		struct clusters beside = start_clusters(link, options);
		const double cost = join_all(&clusters, link);

		if (cost > 0 && keep_kernels(link, &beside) && join_all(&beside, link) < cost)
			clusters = beside;
	}
	for (uint32_t i = 0; i < clusters.n; i++) {
		if (!clusters.size[i])
			continue;
		if (++link->n_partitions > ADSM_IMAGE_MAX_PARTITIONS)
			die("there are more than %u partitions: the numbers of ADSM_PARTITION() and those that adsmcc "
			    "adds", ADSM_IMAGE_MAX_PARTITIONS);
		for (uint32_t j = 0; j < clusters.n; j++)
			if (clusters.of[j] == i && partition_is_free(link, j))
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
		assign_automatically(link, options);
}
