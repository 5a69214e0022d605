/* SPDX-License-Identifier: MIT */
/* homes.c - open and close homes. */
#include "start/homes.h"

#include <string.h>

#include "core/options.h"
#include "core/arena.h"
#include "core/objects.h"
#include "core/resident.h"
#include "observe/observe.h"
#include "run/object/printed.h"
#include "once/make.h"
#include "run/touch/fault.h"
#include "run/wait/helpers.h"
#include "run/wait/pending.h"
#include "run/copy/prefetcher.h"
#include "run/object/service.h"
#include "start/at_exit.h"
#include "stubs.h"

/* Drivers change the program's signal actions even if they are only asked for devices. LLVM inside them changes those
 * of the signals that end the process. */
static struct adsm_actions actions;

void adsm_homes_keep_actions(void)
{
	adsm_os_actions_get(&actions);
}

void adsm_homes_restore_actions(const struct adsm_backend *backend)
{
	adsm_os_actions_restore(&actions, backend && backend->driver != &adsm_no_driver);
}

void adsm_homes_close(void)
{
	for (int i = 0; i < adsm_n_homes; i++)
		adsm_prefetchers_stop(&adsm_homes[i]);
	for (int i = 0; i < adsm_n_homes; i++) {
		adsm_helpers_stop(&adsm_homes[i]);
		adsm_objects_give_up(&adsm_homes[i]);
		adsm_homes[i].device->backend->close(adsm_homes[i].device);
		adsm_homes[i].device = NULL;
	}
	adsm_n_homes = 0;
}

/* Open the next home, for a backend's device. adsm_n_homes counts it once it is ready. */
int adsm_homes_add(const struct adsm_backend *backend, int index)
{
	const struct adsm_backend_config config = {
		.arena_fd = adsm_arena.fd,
		.arena_base = adsm_arena.base,
		.arena_size = adsm_arena.size,
		.alias_base = adsm_arena.alias,
		.keep = adsm_core_options.keep,
		.leave_arena = adsm_arena_leave,
		.lost = adsm_once_device_lost,
		.serve = adsm_service_run,
		.output = adsm_printed_add,
	};
	struct adsm_home *home = &adsm_homes[adsm_n_homes];
	struct adsm_device *device;
	int error = backend->open(index, &config, &device);

	if (error)
		return error;
	memset(home, 0, sizeof(*home));
	adsm_lock_init(&home->lock, ADSM_RANK_HOME);
	adsm_mutex_init(&home->call_mutex, ADSM_RANK_CALL);
	home->index = adsm_n_homes;
	home->device = device;
	home->n_lanes = device->caps.max_running > ADSM_LANES_MAX ? ADSM_LANES_MAX :
		device->caps.max_running ? device->caps.max_running : 1;
	adsm_pending_init(home);
	adsm_policies_init(&home->policies);
	adsm_residents_init(home);
	error = adsm_service_start(home);
	if (error) {
		backend->close(device);
		home->device = NULL;
		return error;
	}
	if (device->caps.ends_at_exit)
		adsm_at_exit_watch();
	adsm_observe_device(home->index, device);
	adsm_n_homes++;
	return 0;
}

/* Open all homes, or none. */
static int open_homes(const struct adsm_backend *backend, int n_devices)
{
	int error = 0;

	for (int i = 0; i < n_devices && i < ADSM_MAX_DEVICES && !error; i++)
		error = adsm_homes_add(backend, i);
	adsm_homes_restore_actions(backend);
	if (!error)
		error = adsm_engine->start(adsm_on_fault);
	if (error)
		adsm_homes_close();
	return error;
}

/* If there is no room for the arena and for what the devices need, make the arena smaller and try again. */
int adsm_homes_open(const struct adsm_backend *backend, int n_devices)
{
	int error = open_homes(backend, n_devices);

	while (adsm_arena_is_too_large(error)) {
		if (!error) {
			adsm_engine->stop();
			adsm_homes_close();
		}
		error = adsm_arena_shrink();
		if (!error)
			error = open_homes(backend, n_devices);
	}
	return error;
}
