/* SPDX-License-Identifier: MIT */
/* run/once.h - the end of a write-once object, which calls may still use. */
#ifndef ADSM_RUN_ONCE_H
#define ADSM_RUN_ONCE_H

#include "once/once.h"

/* Waits for the calls that were given it. -EBUSY while somebody waits for one of its units. */
int adsm_once_free(struct adsm_once_object *object);

#endif
