/* SPDX-License-Identifier: MIT */
/* expected.h - what a protocol's policy says will be touched, and is fetched before. Lock held. */
#ifndef ADSM_EXPECTED_H
#define ADSM_EXPECTED_H

#include "core/object.h"

/* A call has been launched that may write an object. @told: whatever writes it has ended when the call has. */
void adsm_note_written(struct adsm_object *object, bool told);
/* Once calls have ended, and outside faults: fetch what is likely to be read next. Gives the lock away meanwhile. */
void adsm_fetch_expected(struct adsm_home *home);

#endif
