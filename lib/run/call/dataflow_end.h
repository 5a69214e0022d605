/* SPDX-License-Identifier: MIT */
/* dataflow_end.h - objects and modules that calls by ranges still use. */
#pragma once

#include "once/once.h"

/* Returns -EBUSY, with an error text, if a call that has not begun reads a unit of the object that is not set. */
int adsm_dataflow_check(const struct adsm_once_object *object);
/* Wait until no call uses the object. The caller holds no lock. */
void adsm_dataflow_wait(const struct adsm_once_object *object);
/* Wait until there are no calls of the module's kernels. Returns -EBUSY if one could wait forever. */
int adsm_dataflow_leave(const adsmModule *module);
