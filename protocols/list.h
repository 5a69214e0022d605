/* SPDX-License-Identifier: MIT */
/* list.h - the protocols there are, their options, and the policies that a home has of them. */
#pragma once

#include "base/options.h"
#include "protocol.h"

extern const struct adsm_protocol adsm_protocol_batch, adsm_protocol_lazy, adsm_protocol_rolling;
extern struct adsm_option adsm_protocol_rows[];	/* of list.c: which one, and its blocks */
extern struct adsm_option adsm_rolling_rows[];
extern struct adsm_option adsm_bound_rows[];	/* of options.c */

/* All of them; their names in the same order; all options. */
#define ADSM_PROTOCOLS &adsm_protocol_batch, &adsm_protocol_lazy, &adsm_protocol_rolling
#define ADSM_PROTOCOL_NAMES "batch, lazy, rolling"
#define ADSM_PROTOCOL_ROWS adsm_protocol_rows, adsm_rolling_rows, adsm_bound_rows

#define ADSM_ROLLING_AUTO 0u

struct adsm_protocol_options {
	const char *protocol;		/* ADSM_PROTOCOL */
	size_t block_size;		/* ADSM_BLOCK_SIZE: bytes */
	unsigned rolling_size;		/* ADSM_ROLLING_SIZE: blocks, or ADSM_ROLLING_AUTO */
	size_t fault_ahead;		/* ADSM_FAULT_AHEAD: bytes of the largest window, 0 off */
	size_t evict_batch;		/* ADSM_EVICT_BATCH: bytes; 1: one block, closed by the writer */
};

extern struct adsm_protocol_options adsm_protocol_options;

/* By name; NULL when there is none. */
const struct adsm_protocol *adsm_protocol_find(const char *name);
/* Protocol number @i, from 0; NULL: there are fewer. */
const struct adsm_protocol *adsm_protocol_at(size_t i);

/* The policies of a home: one for each protocol. */
struct adsm_policies {
	_Alignas(16) unsigned char of[ADSM_PROTOCOLS_MAX][ADSM_POLICY_SIZE];
};

void adsm_policies_init(struct adsm_policies *policies);
void *adsm_policy_of(struct adsm_policies *policies, const struct adsm_protocol *protocol);
/* The next block to send early by any protocol's policy, or NULL. */
struct adsm_block *adsm_policy_victim(const struct adsm_policies *policies, bool started);
/* A call has been launched that may write any object. */
void adsm_policies_written(struct adsm_policies *policies);
/* The next block to fetch after a sync by any protocol's policy, and how far its view is to be opened; or NULL. */
struct adsm_block *adsm_policy_synced(struct adsm_policies *policies, uint8_t *ret_view);
