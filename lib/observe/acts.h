/* SPDX-License-Identifier: MIT */
/* acts.h - functions of the observer (core/observe.h) for objects whose views open page by page: for advice, which
 * repeats acts on simulated objects, and for recordings. With the lock of the object's home. */
#pragma once

#include "core/observe.h"

/* Note where a fault is; call this first. Returns true if its block is open, and its page now is, too: the fault is
 * served. */
bool adsm_acts_touch(struct adsm_object *object, uintptr_t address, bool write);
void adsm_acts_note(const struct adsm_act *act);
void adsm_acts_evicted(struct adsm_object *object, uint32_t first, uint32_t n);
