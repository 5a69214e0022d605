/* SPDX-License-Identifier: MIT */
/* once/make.h - make and free write-once objects. Any thread may call these functions, with no lock held. */
#pragma once

#include "once/once.h"

int adsm_once_create(size_t count, size_t size, const adsmOnceDistribution *distribution,
		     struct adsm_once_object **ret_object);
/* No call uses the object, and no thread waits for it. */
int adsm_once_destroy(struct adsm_once_object *object);
/* A device was lost: threads that wait for units which it was to set get an error. Any thread; no lock held. */
void adsm_once_device_lost(void);
size_t adsm_once_alive(void);
/* The library stops. There are no objects. */
void adsm_once_end(void);
