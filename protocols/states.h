/* SPDX-License-Identifier: MIT */
/* states.h - the states of the protocols (paper §4.3, Figure 6), and the table that two of them share. */
#pragma once

#include "protocol.h"

enum adsm_state {
	ADSM_INVALID,			/* only the device has the data */
	ADSM_READ_ONLY,			/* both have the same data */
	ADSM_DIRTY,			/* only the CPU has the new data */
	ADSM_N_STATES
};

#define ADSM_PERMITS_ON_ACCESS { \
	[ADSM_INVALID] = ADSM_PERMIT_NONE, [ADSM_READ_ONLY] = ADSM_PERMIT_READ, [ADSM_DIRTY] = ADSM_PERMIT_WRITE }

/* What lazy and rolling share: bytes move when an access or a call needs them, and only then. What becomes Dirty may
 * be sent at any time: not under a call that still reads the old bytes. */
#define ADSM_STEPS_ON_ACCESS {											\
	[ADSM_INVALID] = {											\
		[ADSM_EVENT_READ]	= ADSM_STEP_AFTER(ADSM_READ_ONLY, ADSM_TO_HOST, ADSM_WAIT_WRITERS),	\
		[ADSM_EVENT_WRITE]	= ADSM_STEP_AFTER(ADSM_DIRTY, ADSM_TO_HOST, ADSM_WAIT_USERS),		\
		[ADSM_EVENT_OVERWRITE]	= ADSM_STEP_AFTER(ADSM_DIRTY, ADSM_NO_TRANSFER, ADSM_WAIT_USERS),	\
		[ADSM_EVENT_SEND]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_CALL_IN]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_CALL_INOUT]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_CALL_OUT]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_SYNC]	= ADSM_STEP(ADSM_INVALID),						\
	},													\
	[ADSM_READ_ONLY] = {											\
		[ADSM_EVENT_READ]	= ADSM_STEP(ADSM_READ_ONLY),						\
		[ADSM_EVENT_WRITE]	= ADSM_STEP_AFTER(ADSM_DIRTY, ADSM_NO_TRANSFER, ADSM_WAIT_USERS),	\
		[ADSM_EVENT_OVERWRITE]	= ADSM_STEP_AFTER(ADSM_DIRTY, ADSM_NO_TRANSFER, ADSM_WAIT_USERS),	\
		[ADSM_EVENT_SEND]	= ADSM_STEP(ADSM_READ_ONLY),						\
		[ADSM_EVENT_CALL_IN]	= ADSM_STEP(ADSM_READ_ONLY),						\
		[ADSM_EVENT_CALL_INOUT]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_CALL_OUT]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_SYNC]	= ADSM_STEP(ADSM_READ_ONLY),						\
	},													\
	[ADSM_DIRTY] = {											\
		[ADSM_EVENT_READ]	= ADSM_STEP(ADSM_DIRTY),						\
		[ADSM_EVENT_WRITE]	= ADSM_STEP(ADSM_DIRTY),						\
		[ADSM_EVENT_OVERWRITE]	= ADSM_STEP(ADSM_DIRTY),						\
		[ADSM_EVENT_SEND]	= ADSM_STEP_AFTER(ADSM_READ_ONLY, ADSM_TO_DEVICE, ADSM_WAIT_NONE),	\
		[ADSM_EVENT_CALL_IN]	= ADSM_STEP_AFTER(ADSM_READ_ONLY, ADSM_TO_DEVICE, ADSM_WAIT_NONE),	\
		[ADSM_EVENT_CALL_INOUT]	= ADSM_STEP_AFTER(ADSM_INVALID, ADSM_TO_DEVICE, ADSM_WAIT_NONE),	\
		[ADSM_EVENT_CALL_OUT]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_SYNC]	= ADSM_STEP(ADSM_DIRTY),						\
	},													\
}
