/* SPDX-License-Identifier: MIT */
/* opencl/threads.c - see threads.h. Threads that appear while the driver starts are the driver's if they block all
 * signals, as all threads do that the library lets a driver start. The user checks the signals (once/deadlock.c). */
#include "threads.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MAX 1024			/* the driver has one for each processor */

/* Only one thread at a time starts a driver or opens a device. */
static int before[MAX];
static size_t n_before;
static _Atomic int known[MAX];
static _Atomic size_t n_known;
static _Atomic bool shared;

static size_t list(int *ret_threads)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	size_t n = 0;

	while (folder && n < MAX && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			ret_threads[n++] = atoi(entry->d_name);
	if (folder)
		closedir(folder);
	return n;
}

static bool was_there(int thread)
{
	for (size_t i = 0; i < n_before; i++)
		if (before[i] == thread)
			return true;
	return false;
}

void adsm_cl_threads_begin(void)
{
	n_before = list(before);
}

void adsm_cl_threads_end(void)
{
	int now[MAX];
	const size_t n = list(now);

	for (size_t i = 0; i < n && n_known < MAX; i++)
		if (!was_there(now[i]) && !adsm_cl_threads_has(now[i])) {
			atomic_store(&known[atomic_load(&n_known)], now[i]);
			atomic_fetch_add(&n_known, 1);
		}
}

void adsm_cl_threads_share(void)
{
	atomic_store(&shared, true);
}

bool adsm_cl_threads_has(int thread)
{
	const size_t n = atomic_load(&n_known);

	for (size_t i = 0; i < n && !atomic_load(&shared); i++)
		if (atomic_load(&known[i]) == thread)
			return true;
	return false;
}
