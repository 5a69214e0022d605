/* SPDX-License-Identifier: MIT */
/*
 * resident.h - the device memory of objects. An object gets it at the first call, device copy, early send or handle
 * that needs it. A call that needs room for its own objects displaces others (run/call/residency.h): their bytes move
 * to the host, and their device memory is freed. A later call gets them new memory at the same place.
 *
 * While an object has no device memory, object->memory is NULL, no block is Invalid, and no policy knows its blocks
 * once the device has had no room for it. A pinned object keeps its memory until it is freed.
 */
#pragma once

#include "core/object.h"

/* Decide whether objects of a home may be without device memory. The options are known. */
void adsm_residents_init(struct adsm_home *home);

/* ---- for all of the following: the caller holds home->lock, with signals blocked. It may be given away meanwhile */

/*
 * Get device memory for an object that has none. Also in the fault handler. If the device is full, only kept memory is
 * freed for it.
 *
 * Returns 0, also if the object has memory, or a negative errno with a sentence:
 *   -ENOMEM   the device is full
 *   -EINVAL   the object was freed meanwhile
 */
int adsm_object_place(struct adsm_object *object);
/*
 * The same for an early send. If there is no room for all objects of the device, the memory would be needed for other
 * objects before a call uses this one. Then the policy gives up the object's blocks until a call needs the object.
 */
void adsm_object_place_early(struct adsm_object *object);
/* The same for a copy that the CPU can do, too. Returns whether the object has memory; no sentence is stored. */
bool adsm_object_place_for_copy(struct adsm_object *object);
/* Get memory for an object and keep it, because the program gets an address or a handle of it. Returns like
 * adsm_object_place(). */
int adsm_object_pin(struct adsm_object *object);

/* Does the object's protocol let the library fetch all bytes, and send all of them later? */
bool adsm_object_can_be_displaced(const struct adsm_object *object);
/* Why can the object never move to @to? NULL: it can. */
const char *adsm_object_why_fixed(const struct adsm_object *object, const struct adsm_home *to);
/* Free the device memory of an object. The host has all of its bytes. No call or transfer uses the memory. */
void adsm_object_displace(struct adsm_object *object);
/*
 * The home of an object changes. It has no device memory, and no call, transfer, hold, input or thread that places it
 * uses it. The caller has the lock of the object's home, and on return only the lock of @to. No two locks are held at
 * the same time; between them no thread finds the object: adsm_object_lock() waits.
 */
void adsm_object_move(struct adsm_object *object, struct adsm_home *to);
