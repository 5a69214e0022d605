/* SPDX-License-Identifier: MIT */
/* enter.h - the object of an address that the program gives, with its home locked. */
#ifndef ADSM_ENTER_H
#define ADSM_ENTER_H

#include "core/object.h"

/* As adsm_object_lock(), signals blocked too; on NULL they are as they were. */
struct adsm_object *adsm_object_enter(const void *p, struct adsm_sigset *ret_old);
/* The same for a range, @size bytes inside one shared object; on NULL the sentence is set: -EINVAL. */
struct adsm_object *adsm_enter_range(const void *p, size_t size, struct adsm_sigset *ret_old);

#endif
