/* SPDX-License-Identifier: MIT */
/* once/make.h - write-once objects are made, and end. Any thread, with no lock held. */
#ifndef ADSM_ONCE_MAKE_H
#define ADSM_ONCE_MAKE_H

#include "once/once.h"

int adsm_once_create(size_t count, size_t size, const adsmOnceDistribution *distribution,
		     struct adsm_once_object **ret_object);
/* -EBUSY, with the sentence that says who waits. */
int adsm_once_destroy(struct adsm_once_object *object);
size_t adsm_once_alive(void);
/* The library stops; none is alive. */
void adsm_once_end(void);

#endif
