/* SPDX-License-Identifier: MIT */
/* cache.h - compiled programs on disk: one file for each key. The file's name is the key's hash, and the file contains
 * the whole key. And the thread that compilers run on. */
#pragma once

#include <stddef.h>

struct adsm_cache {
	const char *name;		/* the backend's name: also the name of its subfolder, and in the log */
	const char *folder;		/* the option's value: "" for the user's folder, "off", or a folder */
	size_t max_files;		/* the files that were used least recently are removed; 0: 256 */
};

/* Returns 0; -ENOENT if the cache has no such program (a damaged file is removed); -ENOMEM. The caller frees
 * *ret_data. */
int adsm_cache_get(const struct adsm_cache *cache, const void *key, size_t key_size, void **ret_data,
		   size_t *ret_size);
/* Keep the data if possible. Failures are only logged, at level info. */
void adsm_cache_put(const struct adsm_cache *cache, const void *key, size_t key_size, const void *data, size_t size);

/* A key while it is built. It starts as zeros. bytes is NULL after memory ran out. The caller frees bytes. */
struct adsm_cache_key {
	char *bytes;
	size_t size, room;
};

/* Append the data and a terminating NUL. */
void adsm_cache_key_add(struct adsm_cache_key *key, const void *data, size_t size);

/*
 * Run @compile on a thread with signals blocked, and wait for it. Compilers take long and start processes, which a
 * timer of the application could interrupt again and again; and the application's handlers should not be delayed that
 * long. Returns the result of @compile. Its error text becomes the caller's.
 */
int adsm_compile_aside(int (*compile)(void *arg), void *arg);
