/* SPDX-License-Identifier: MIT */
/* expected.h - the first read after a call: where it is the same each time, the sync fetches it. Lock held. */
#ifndef ADSM_EXPECTED_H
#define ADSM_EXPECTED_H

#include "core/object.h"

/* A fault reads, or writes, block @b. */
void adsm_note_fault(struct adsm_object *object, uint32_t b, bool write);
/* A call has been launched that may write an object. @told: whatever writes it has ended when the call has. */
void adsm_note_written(struct adsm_object *object, bool told);
/* Is it known what will be read first after the next call that may write an object? */
bool adsm_expects_read(const struct adsm_object *object);
/* Once calls have ended, and outside faults: fetch what is likely to be read next. Gives the lock away meanwhile. */
void adsm_fetch_expected(struct adsm_home *home);
/* The object goes. */
void adsm_forget_expected(struct adsm_object *object);

#endif
