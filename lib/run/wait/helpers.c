/* SPDX-License-Identifier: MIT */
/* helpers.c - the helper threads: start, work, end. */
#include "run/wait/helpers.h"

#include "core/block.h"
#include "core/copier.h"
#include "core/observe.h"
#include "run/wait/wait.h"

/* The word is read first. stop is set before the word changes, so a thread that reads the new word also reads stop. */
static bool goes_on(struct adsm_home *home, const _Atomic uint32_t *word, uint32_t *ret_word)
{
	*ret_word = atomic_load(word);
	return !atomic_load(&home->stop);
}

static void run_copier(void *arg)
{
	struct adsm_home *home = arg;
	uint32_t word;

	adsm_spent.in_background = true;
	atomic_store(&home->copier_id, adsm_os_thread_id());
	while (goes_on(home, &home->copy_word, &word))
		if (!adsm_copier_serve(home))
			adsm_os_wait(&home->copy_word, word, 0, false);
}

static void run_watcher(void *arg)
{
	struct adsm_watcher *watcher = arg;
	uint32_t word;

	adsm_spent.in_background = true;
	while (goes_on(watcher->home, &watcher->word, &word)) {
		adsm_watch_calls(watcher->home, watcher->lane);
		adsm_os_wait(&watcher->word, word, 0, false);
	}
}

static void run_evictor(void *arg)
{
	struct adsm_home *home = arg;
	uint32_t word;
	bool started;

	adsm_because(ADSM_WHY_EVICT, NULL, "");
	adsm_spent.in_background = true;
	while (goes_on(home, &home->evict_word, &word)) {
		adsm_lock(&home->lock);
		started = false;
		while (adsm_fetch_ahead(home) || adsm_send_queued(home) ||
		       (adsm_protocol_options.evict_batch != 1 && (started = adsm_evict_batch(home, started))))
			;
		home->evictor_sleeps = true;
		adsm_unlock(&home->lock);
		adsm_os_wait(&home->evict_word, word, 0, false);
	}
}

int adsm_watcher_start(struct adsm_home *home, unsigned lane)
{
	struct adsm_watcher *watcher = &home->watchers[lane];
	int error;

	if (watcher->runs)
		return 0;
	watcher->home = home;
	watcher->lane = lane;
	error = adsm_os_thread_start(&watcher->thread, "adsm-watcher", run_watcher, watcher);
	watcher->runs = !error;
	return error;
}

int adsm_service_start(struct adsm_home *home)
{
	int error;

	if (home->device->caps.signal_safe)
		return 0;
	error = adsm_os_thread_start(&home->copier, "adsm-copier", run_copier, home);
	if (error)
		return error;
	error = adsm_watcher_start(home, 0);
	if (error) {
		atomic_store(&home->stop, true);
		adsm_os_poke(&home->copy_word);
		adsm_os_thread_join(&home->copier);
		return error;
	}
	home->has_service = true;
	return 0;
}

int adsm_evictor_start(struct adsm_home *home)
{
	static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_HELPERS);
	int error = 0;

	if (atomic_load(&home->has_evictor))
		return 0;
	adsm_mutex_lock(&mutex);
	if (!atomic_load(&home->has_evictor)) {
		error = adsm_os_thread_start(&home->evictor, "adsm-evictor", run_evictor, home);
		if (!error)
			atomic_store(&home->has_evictor, true);
	}
	adsm_mutex_unlock(&mutex);
	return error;
}

void adsm_helpers_stop(struct adsm_home *home)
{
	atomic_store(&home->stop, true);
	if (home->has_evictor) {
		adsm_os_poke(&home->evict_word);
		adsm_os_thread_join(&home->evictor);
	}
	if (home->has_service) {
		adsm_os_poke(&home->copy_word);
		adsm_os_thread_join(&home->copier);
	}
	for (unsigned i = 0; i < ADSM_LANES_MAX; i++) {
		struct adsm_watcher *watcher = &home->watchers[i];

		if (!watcher->runs)
			continue;
		adsm_os_poke(&watcher->word);
		adsm_os_thread_join(&watcher->thread);
		watcher->runs = false;
	}
	home->has_evictor = home->has_service = false;
}
