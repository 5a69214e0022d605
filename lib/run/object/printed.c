/* SPDX-License-Identifier: MIT */
/* printed.c - see printed.h. */
#include "run/object/printed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "core/life.h"

#define MOST ((size_t)1 << 20)	/* bytes; more than that is written while the kernel still runs */

static struct {
	struct adsm_mutex mutex;
	char *text;
	size_t size, room;
	_Atomic bool any;
} kept = { .mutex = ADSM_MUTEX_INIT(ADSM_RANK_PRINT) };

/* The caller has the lock of stdout, so texts keep their order. */
static void write_out(void)
{
	char *text;
	size_t size;

	adsm_mutex_lock(&kept.mutex);
	text = kept.text;
	size = kept.size;
	kept.text = NULL;
	kept.size = kept.room = 0;
	atomic_store(&kept.any, false);
	adsm_mutex_unlock(&kept.mutex);
	/* If the program's stream fails, the program learns it by ferror(). */
	if (size)
		(void)!fwrite(text, 1, size, stdout);
	free(text);
}

static int keep(const char *text, size_t size)
{
	const size_t room = 2 * (kept.size + size);
	char *larger;

	if (size > kept.room - kept.size) {
		larger = realloc(kept.text, room);
		if (!larger)
			return -ENOMEM;
		kept.text = larger;
		kept.room = room;
	}
	memcpy(kept.text + kept.size, text, size);
	kept.size += size;
	atomic_store(&kept.any, true);
	return 0;
}

int adsm_printed_add(const char *text, size_t size)
{
	bool many;
	int error;

	adsm_mutex_lock(&kept.mutex);
	error = keep(text, size);
	many = kept.size > MOST;
	adsm_mutex_unlock(&kept.mutex);
	if (many && !ftrylockfile(stdout)) {
		write_out();
		funlockfile(stdout);
	}
	return error;
}

void adsm_printed_show(void)
{
	const int before = errno;

	/* A service must not wait for a lock: the thread that has it may wait for the kernel. */
	if (!atomic_load_explicit(&kept.any, memory_order_relaxed) || adsm_serving || adsm_is_child())
		return;
	{
		ADSM_UNCANCELLED;

		flockfile(stdout);
		write_out();
		funlockfile(stdout);
	}
	errno = before;
}
