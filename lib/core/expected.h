/* SPDX-License-Identifier: MIT */
/* expected.h - fetches of what the CPU will probably access next, as the protocol's policy says. Lock held. */
#pragma once

#include "core/object.h"

/* A call has been launched that may write an object. @told: when the call has ended, all writes to it have ended. */
void adsm_note_written(struct adsm_object *object, bool told);
/* After calls have ended, and not in a fault: fetch what the CPU will probably read next. Gives the lock away
 * meanwhile. */
void adsm_fetch_expected(struct adsm_home *home);
