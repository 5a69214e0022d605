/* SPDX-License-Identifier: MIT */
/* once.h - the end of a write-once object that calls may still use. */
#pragma once

#include "once/once.h"

/*
 * Wait for the calls that have the object, and free it. Returns -EBUSY if a thread or kernel waits for one of its
 * units.
 */
int adsm_once_free(struct adsm_once_object *object);
