/* SPDX-License-Identifier: MIT */
/* lazy.c - lazy-update (paper §4.3, Figure 6b): whole objects move, and only when an access needs them. */
#include "protocol.h"

const struct adsm_protocol adsm_protocol_lazy = {
	.version = ADSM_PROTOCOL_VERSION,
	.name = "lazy",
	.whole_object = true,
	.detects = true,
	.initial = ADSM_READ_ONLY,
	.steps = ADSM_STEPS_ON_ACCESS,
	.object = adsm_policy_no_object,
	.object_dirty = adsm_policy_no_object,
	.dirtied = adsm_policy_no_block,
	.cleaned = adsm_policy_no_block,
	.victim = adsm_policy_no_victim,
};
