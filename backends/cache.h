/* SPDX-License-Identifier: MIT */
/*
 * cache.h - compiled programs on disk: a file for each key, found by its hash, holding the whole key; and the thread
 * that compilers run on.
 */
#ifndef ADSM_CACHE_H
#define ADSM_CACHE_H

#include <stddef.h>

struct adsm_cache {
	const char *name;		/* the backend's: of its subfolder, and in the log */
	const char *folder;		/* as the option has it: "" the user's, "off", or a folder */
};

/* 0, -ENOENT where there is none (a damaged one is removed), -ENOMEM. The caller frees *ret_data. */
int adsm_cache_get(const struct adsm_cache *cache, const void *key, size_t key_size, void **ret_data,
		   size_t *ret_size);
/* Keep the data, where that is possible: failures are logged at level info only. */
void adsm_cache_put(const struct adsm_cache *cache, const void *key, size_t key_size, const void *data, size_t size);

/* A key in the making: starts as zeros, bytes is NULL when memory ran out. The caller frees bytes. */
struct adsm_cache_key {
	char *bytes;
	size_t size, room;
};

/* Append data, and a NUL that ends it. */
void adsm_cache_key_add(struct adsm_cache_key *key, const void *data, size_t size);

/*
 * Run @compile on a thread with signals blocked, and wait for it. Compilers take long and start processes, which a
 * timer of the application's could interrupt for ever; its handlers should not have to wait so long either.
 * Returns what it returned, with its sentence.
 */
int adsm_compile_aside(int (*compile)(void *arg), void *arg);

#endif
