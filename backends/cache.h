/* SPDX-License-Identifier: MIT */
/* cache.h - compiled programs on disk: one file for each key. The file's name is the key's hash, and the file contains
 * the whole key. And the thread that compilers run on. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

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

/*
 * A turn to compile the program of a key: one thread of one process has it at a time. Some compilers (PoCL's) have a
 * cache of their own, in which two processes that compile the same program read each other's unfinished files; the
 * binary is then incomplete. A thread goes on without a turn if there is no folder, if the file system has no locks,
 * and after a minute. After adsm_cache_enter() the caller looks for the program again.
 */
struct adsm_cache_turn {
	int fd;				/* -1: none */
	dev_t device;			/* of the file: the application may have closed the descriptor, and reused it */
	ino_t inode;
};

void adsm_cache_enter(const struct adsm_cache *cache, const void *key, size_t key_size,
		      struct adsm_cache_turn *ret_turn);
void adsm_cache_leave(const struct adsm_cache *cache, const void *key, size_t key_size,
		      const struct adsm_cache_turn *turn);

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
