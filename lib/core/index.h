/* SPDX-License-Identifier: MIT */
/* index.h - from an address to its object: two loads, no lock, any address of the process. */
#ifndef ADSM_INDEX_H
#define ADSM_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct adsm_object;

int adsm_index_init(void);
/*
 * Enter, take out whole pages. Callers are serialised. Objects are type-stable, so what a concurrent
 * adsm_index_find() returned may have died meanwhile: look again under the object's lock.
 */
int adsm_index_insert(uintptr_t start, size_t size, struct adsm_object *object);
void adsm_index_remove(uintptr_t start, size_t size);
struct adsm_object *adsm_index_find(uintptr_t address);
/* The first address from @start on that is in an object, @size bytes further at most. */
uintptr_t adsm_index_next(uintptr_t start, size_t size);

#endif
