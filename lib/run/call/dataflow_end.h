/* SPDX-License-Identifier: MIT */
/* dataflow_end.h - objects and modules that calls by ranges still use. */
#pragma once

#include "once/once.h"
#include "run/object/alloc.h"

/*
 * Wait until there are no calls of the module's kernels, that name the write-once object, or that use the object at @p.
 * The caller holds no lock. Returns -EBUSY, with an error text, if one of them could wait forever, or reads a unit of
 * the object that is not set. If there are calls by ranges, adsm_dataflow_leave_object() first checks what
 * adsm_object_free() checks. adsm_dataflow_check_once() does not wait.
 */
int adsm_dataflow_leave(const adsmModule *module);
int adsm_dataflow_check_once(const struct adsm_once_object *object);
int adsm_dataflow_leave_once(const struct adsm_once_object *object);
int adsm_dataflow_leave_object(const void *p, enum adsm_maker maker);
