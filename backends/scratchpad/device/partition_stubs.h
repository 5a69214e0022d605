/* SPDX-License-Identifier: MIT */
/* partition_stubs.h - writes code for a manager. */
#pragma once

#include "partition_types.h"

#define ADSM_PARTITION_STUB 16u		/* bytes of a stub */
#define ADSM_PARTITION_GATES 64u	/* bytes before the stubs: the gates, which lead to enter and leave */

/* Write the gates at @write, followed by the stubs of functions. */
void adsm_partition_write_stubs(const struct adsm_partitions *partitions, uint8_t *write);
/* Offsets of the two gates. */
#define ADSM_PARTITION_GATE_ENTER 0u
#define ADSM_PARTITION_GATE_LEAVE 32u
