/* SPDX-License-Identifier: MIT */
/* expected.h - the first read after a call: where it is the same each time, the sync fetches it. For policies. */
#pragma once

#include "protocol.h"

#define ADSM_EXPECTED_MAX 8		/* objects of which a sync fetches what is expected to be read first */

/* What such a policy begins with: the objects whose first reads the next sync fetches. */
struct adsm_expected {
	struct adsm_notes *due[ADSM_EXPECTED_MAX];
	unsigned n_due;
};

void adsm_expected_touched(struct adsm_notes *notes, struct adsm_block *block, bool write);
void adsm_expected_written(void *policy, struct adsm_notes *notes, bool told);
struct adsm_block *adsm_expected_next(const struct adsm_notes *notes);
struct adsm_block *adsm_expected_synced(void *policy, uint8_t *ret_view);
void adsm_expected_object(void *policy, struct adsm_notes *notes, int change);

#define ADSM_EXPECTED \
	.touched = adsm_expected_touched, .written = adsm_expected_written, .expected = adsm_expected_next, \
	.synced = adsm_expected_synced
