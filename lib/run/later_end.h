/* SPDX-License-Identifier: MIT */
/* later_end.h - what calls by ranges keep from ending: objects and modules. */
#ifndef ADSM_LATER_END_H
#define ADSM_LATER_END_H

#include "once/once.h"

/* -EBUSY, with the sentence: a call that has not begun reads a unit of the object that is not set. */
int adsm_later_check(const struct adsm_once_object *object);
/* Until no call has the object. No lock held. */
void adsm_later_wait(const struct adsm_once_object *object);
/* Until no call is of the module's kernels; -EBUSY where one might wait for ever. */
int adsm_later_leave(const adsmModule *module);

#endif
