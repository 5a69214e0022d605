/* SPDX-License-Identifier: MIT */
/* watch_process.h - reads what the library does in another process, by the table of lib/base/watch.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "adsm.h"
#include "base/watch.h"

#define WATCHED_DEVICES 8

struct watched {
	pid_t pid;
	struct adsm_watch table;
};

struct watched_device {
	char name[64], backend[16];
	uint64_t last_call, running;	/* number of calls until now, and of those that run */
	bool lost;
};

struct watched_object {
	uint64_t address, size, generation;
	char name[ADSM_NAME_SIZE], protocol[16];
	int device;
	uint64_t n_blocks, n_invalid, n_dirty;
	adsmStats stats;
};

/* All at about one time: the process is not stopped. */
struct watched_state {
	uint64_t now_ns;
	adsmStats total;
	struct watched_device devices[WATCHED_DEVICES];
	int n_devices;
	struct watched_object *objects;	/* by address; the caller frees them */
	size_t n_objects;
};

/*
 * Find the table. Returns NULL, or a sentence that says why there is none. *ret_wait: the process may load the library
 * later.
 */
const char *watch_find(pid_t pid, struct watched *ret_watched);
/* False: the process has ended, or it runs another program. */
bool watch_read(const struct watched *watched, struct watched_state *ret_state);
/* Has the process ended? Its parent may not know it yet. */
bool watch_ended(const struct watched *watched);
