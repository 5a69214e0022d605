/* SPDX-License-Identifier: MIT */
/* notes.c - see notes.h. The file is written again after each call of a kernel: the device can end at any time. */
#include "notes.h"

#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
	char *from, *to;
	uint64_t n;
};

static const char *path;
static struct pair *pairs;
static size_t n_pairs;
static atomic_bool incomplete;		/* there was no memory for a pair */

void adsm_notes_start(const char *its_path)
{
	path = its_path;
}

bool adsm_notes_wanted(void)
{
	return path && *path;
}

static const char *name_of(const struct adsm_image *image, uint32_t partition)
{
	const char *name = partition ? NULL : "-";

	for (uint32_t i = 0; partition && i < image->header->n_symbols; i++)
		if (adsm_image_partition(image->functions[i].symbol) == partition)
			name = name ? "*" : adsm_image_name(image, i);
	return name ? name : "*";
}

static void add(const char *from, const char *to, uint64_t n)
{
	struct pair *more;

	for (size_t i = 0; i < n_pairs; i++)
		if (!strcmp(pairs[i].from, from) && !strcmp(pairs[i].to, to)) {
			pairs[i].n += n;
			return;
		}
	more = realloc(pairs, (n_pairs + 1) * sizeof(*pairs));
	pairs = more ? more : pairs;
	if (more) {
		pairs[n_pairs] = (struct pair){ strdup(from), strdup(to), n };
		if (pairs[n_pairs].from && pairs[n_pairs].to) {
			n_pairs++;
			return;
		}
		free(pairs[n_pairs].from);
		free(pairs[n_pairs].to);
	}
	adsm_notes_miss();
}

void adsm_notes_miss(void)
{
	atomic_store(&incomplete, true);
}

void adsm_notes_add(const struct adsm_image *image, uint64_t *calls)
{
	const uint32_t n = image->header->n_partitions + 1;

	for (uint32_t from = 0; from < n; from++)
		for (uint32_t to = 0; to < n; to++) {
			if (calls[from * n + to])
				add(name_of(image, from), name_of(image, to), calls[from * n + to]);
			calls[from * n + to] = 0;
		}
}

int adsm_notes_write(char *ret_text, size_t size)
{
	FILE *file = fopen(path, "we");
	int ret = file ? 0 : -errno;

	for (size_t i = 0; file && i < n_pairs; i++)
		fprintf(file, "%s %s %lu\n", pairs[i].from, pairs[i].to, (unsigned long)pairs[i].n);
	if (file && (ferror(file) | fclose(file)))
		ret = errno ? -errno : -EIO;
	ret = ret ? ret : atomic_load(&incomplete) ? -ENOMEM : 0;
	if (ret)
		adsm_format(ret_text, size, "the notes of calls cannot be written to %s (ADSM_SCRATCHPAD_NOTES): %s",
			    path, strerror(-ret));
	return ret;
}
