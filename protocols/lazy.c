/* SPDX-License-Identifier: MIT */
/*
 * lazy.c - lazy-update (paper §4.3, Figure 6b): whole objects move, and only when an access needs them.
 *
 * The transitions are in states.h, because rolling.c has the same: ADSM_STEPS_ON_ACCESS has a row for each state and
 * event. ADSM_PERMITS_ON_ACCESS there says what each state permits.
 */
#include "expected.h"
#include "list.h"
#include "states.h"

const struct adsm_protocol adsm_protocol_lazy = {
	.version = ADSM_PROTOCOL_VERSION,
	.name = "lazy",
	.whole_object = true,
	.n_states = ADSM_N_STATES,
	.initial = ADSM_READ_ONLY,
	.permits = ADSM_PERMITS_ON_ACCESS,
	.steps = ADSM_STEPS_ON_ACCESS,
	.policy_size = sizeof(struct adsm_expected),
	.object = adsm_expected_object,
	ADSM_NO_EVICTION,
	ADSM_EXPECTED,
};
