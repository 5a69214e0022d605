/* SPDX-License-Identifier: MIT */
/* once/make.h - write-once objects are made, and end. Any thread, with no lock held. */
#ifndef ADSM_ONCE_MAKE_H
#define ADSM_ONCE_MAKE_H

#include "once/once.h"

int adsm_once_create(size_t count, size_t size, const adsmOnceDistribution *distribution,
		     struct adsm_once_object **ret_object);
/* No call has it, and nobody waits for it. */
int adsm_once_destroy(struct adsm_once_object *object);
/* A device has been lost: who waits for what it was to set need not wait any longer. Any thread, no lock held. */
void adsm_once_device_lost(void);
size_t adsm_once_alive(void);
/* The library stops; none is alive. */
void adsm_once_end(void);

#endif
