/* SPDX-License-Identifier: MIT */
/* list.c - which protocols there are, the options that choose one, and the policies of a home. */
#include "list.h"

#include <errno.h>
#include <string.h>

static int parse_block_size(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	uint64_t value;

	if (adsm_scan_size(text, &value) || (value & (value - 1)))
		return -EINVAL;
	return adsm_parse_number(row, text, ret_value);
}

static const struct adsm_protocol *all[ADSM_PROTOCOLS_MAX + 1] = { ADSM_PROTOCOLS };
static char names[256] = ADSM_PROTOCOL_NAMES;

struct adsm_option adsm_protocol_rows[] = {
	{ "PROTOCOL", "rolling", names,
	  "coherence protocol of objects whose allocation does not name a protocol",
	  ADSM_FIELD(adsm_protocol_options.protocol), adsm_parse_word, .class = "general" },
	{ "BLOCK_SIZE", "64K", "a power of two from 4K to 1G",
	  "bytes of a block; with batch and lazy a block is the whole object",
	  ADSM_FIELD(adsm_protocol_options.block_size), parse_block_size, 4096, (uint64_t)1 << 30, .class = "general" },
	{ 0 }
};

const struct adsm_protocol *adsm_protocol_find(const char *name)
{
	for (size_t i = 0; all[i]; i++)
		if (!strcmp(name, all[i]->name))
			return all[i];
	return NULL;
}

const struct adsm_protocol *adsm_protocol_at(size_t i)
{
	return i < ADSM_PROTOCOLS_MAX ? all[i] : NULL;
}

int adsm_protocol_add(const struct adsm_protocol *protocol)
{
	size_t n = 0;

	if (adsm_protocol_broken(protocol))
		return -EINVAL;
	if (adsm_protocol_find(protocol->name))
		return -EEXIST;
	while (all[n])
		n++;
	if (n == ADSM_PROTOCOLS_MAX || strlen(names) + strlen(protocol->name) + sizeof(", ") > sizeof(names))
		return -ENOSPC;
	all[n] = protocol;
	strcat(strcat(names, ", "), protocol->name);
	return 0;
}

/* ---- policies */

void adsm_policies_init(struct adsm_policies *policies)
{
	memset(policies, 0, sizeof(*policies));
	for (size_t i = 0; all[i]; i++)
		all[i]->init(policies->of[i]);
}

void *adsm_policy_of(struct adsm_policies *policies, const struct adsm_protocol *protocol)
{
	size_t i = 0;

	while (all[i] != protocol)
		i++;
	return policies->of[i];
}

struct adsm_block *adsm_policy_victim(const struct adsm_policies *policies, bool started)
{
	struct adsm_block *block = NULL;

	for (size_t i = 0; all[i] && !block; i++)
		block = all[i]->victim(policies->of[i], started);
	return block;
}

void adsm_policies_written(struct adsm_policies *policies)
{
	for (size_t i = 0; all[i]; i++)
		all[i]->written(policies->of[i], NULL, false);
}

struct adsm_block *adsm_policy_synced(struct adsm_policies *policies, uint8_t *ret_view)
{
	struct adsm_block *block = NULL;

	for (size_t i = 0; all[i] && !block; i++)
		block = all[i]->synced(policies->of[i], ret_view);
	return block;
}
