/* SPDX-License-Identifier: MIT */
/*
 * batch.c - batch-update (paper §4.3, Figure 6a): every call sends all, every sync fetches all.
 *
 * Nothing is protected, so accesses are not seen: ReadOnly means "sent, and only read by the kernels
 * since": a sync makes it Dirty without moving a byte, because the CPU may have written it unseen.
 */
#include "protocol.h"

const struct adsm_protocol adsm_protocol_batch = {
	.version = ADSM_PROTOCOL_VERSION,
	.name = "batch",
	.whole_object = true,
	.detects = false,
	.initial = ADSM_DIRTY,
	.steps = {
		[ADSM_INVALID] = {
			[ADSM_EVENT_READ]	= { ADSM_DIRTY, ADSM_TO_HOST },
			[ADSM_EVENT_WRITE]	= { ADSM_DIRTY, ADSM_TO_HOST },
			[ADSM_EVENT_OVERWRITE]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },
			[ADSM_EVENT_SEND]	= { ADSM_INVALID, ADSM_NO_TRANSFER },
			[ADSM_EVENT_CALL_IN]	= { ADSM_INVALID, ADSM_NO_TRANSFER },
			[ADSM_EVENT_CALL_INOUT]	= { ADSM_INVALID, ADSM_NO_TRANSFER },
			[ADSM_EVENT_CALL_OUT]	= { ADSM_INVALID, ADSM_NO_TRANSFER },
			[ADSM_EVENT_SYNC]	= { ADSM_DIRTY, ADSM_TO_HOST },
		},
		[ADSM_READ_ONLY] = {
			[ADSM_EVENT_READ]	= { ADSM_READ_ONLY, ADSM_NO_TRANSFER },
			[ADSM_EVENT_WRITE]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },
			[ADSM_EVENT_OVERWRITE]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },
			[ADSM_EVENT_SEND]	= { ADSM_READ_ONLY, ADSM_NO_TRANSFER },
			[ADSM_EVENT_CALL_IN]	= { ADSM_READ_ONLY, ADSM_NO_TRANSFER },
			[ADSM_EVENT_CALL_INOUT]	= { ADSM_INVALID, ADSM_NO_TRANSFER },
			[ADSM_EVENT_CALL_OUT]	= { ADSM_INVALID, ADSM_NO_TRANSFER },
			[ADSM_EVENT_SYNC]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },
		},
		[ADSM_DIRTY] = {
			[ADSM_EVENT_READ]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },
			[ADSM_EVENT_WRITE]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },
			[ADSM_EVENT_OVERWRITE]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },
			[ADSM_EVENT_SEND]	= { ADSM_READ_ONLY, ADSM_TO_DEVICE },
			[ADSM_EVENT_CALL_IN]	= { ADSM_READ_ONLY, ADSM_TO_DEVICE },
			[ADSM_EVENT_CALL_INOUT]	= { ADSM_INVALID, ADSM_TO_DEVICE },
			[ADSM_EVENT_CALL_OUT]	= { ADSM_INVALID, ADSM_NO_TRANSFER },
			[ADSM_EVENT_SYNC]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },
		},
	},
	.object = adsm_policy_no_object,
	.object_dirty = adsm_policy_no_object,
	.dirtied = adsm_policy_no_block,
	.cleaned = adsm_policy_no_block,
	.victim = adsm_policy_no_victim,
};
