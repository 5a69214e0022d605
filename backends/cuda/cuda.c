/* SPDX-License-Identifier: MIT */
/* cuda.c - the CUDA backend: finds, opens and closes devices. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "launch.h"
#include "list.h"
#include "base/log.h"
#include "memory.h"
#include "module.h"
#include "options.h"
#include "pin.h"
#include "queue.h"
#include "stubs.h"

#define MAX_DEVICES 16			/* maximum number of devices */
#define MAX_ARG_BYTES ((size_t)4 << 10)	/* of a launch: the limit that every device supports */

struct found {
	CUcontext context;		/* the program's context; NULL: the device's primary context */
	CUdevice id;
	bool is_open;
};

static struct found found[MAX_DEVICES];
static int n_found;
static bool given;			/* found[] contains contexts of the program: use_context() */

/* ---- finding devices */

static int probe_all(void)
{
	const char *wanted = adsm_cuda_options.device;
	char names[256] = "";
	CUresult error;
	int n = 0;

	error = adsm_cu.cuDeviceGetCount(&n);
	if (adsm_cuda_loss(error))
		return adsm_fail(-ENODEV, "the CUDA driver has lost its devices (%s): %s", adsm_cu_error_name(error),
				 adsm_cuda_loss(error));
	if (error || !n)
		return adsm_fail(-ENODEV, "the CUDA driver found no device (%s)", adsm_cu_error_name(error));
	for (int i = 0; i < n; i++) {
		size_t at = strlen(names);
		char name[128] = "";
		CUdevice id;

		if (adsm_cu.cuDeviceGet(&id, i) || adsm_cu.cuDeviceGetName(name, sizeof(name), id))
			continue;
		adsm_format(names + at, sizeof(names) - at, "%s%d: %s", at ? "; " : "", i, name);
		if (n_found < MAX_DEVICES && adsm_driven_matches(wanted, strlen(wanted), name, (unsigned)i))
			found[n_found++] = (struct found){ .id = id };
	}
	if (!n_found)
		return adsm_fail(-ENODEV, "ADSM_CUDA_DEVICE=%s: no device matches; the devices are %s", wanted, names);
	return n_found;
}

/* The number of entries up to the last open device. Open devices come first and keep their numbers. */
static int n_open(void)
{
	int n = 0;

	for (int i = 0; i < n_found; i++)
		if (found[i].is_open)
			n = i + 1;
	return n;
}

static int adsm_cuda_probe(void)
{
	struct adsm_sigset old;
	int ret;

	/* Drivers start threads, which inherit the signal mask. */
	adsm_os_signals_block_for_threads(&old);
	ret = adsm_cu_open();
	if (!ret && (given || n_open())) {
		ret = n_found;
	} else if (!ret) {
		n_found = 0;
		ret = probe_all();
	}
	adsm_os_signals_restore(&old);
	/* With "auto" the error is only logged, because the program may use another backend. */
	if (ret < 0 && !strcmp(adsm_backend_options.name, "auto"))
		adsm_info("cuda: %s", adsm_last_error());
	return ret;
}

/* Find the device of a context, which must be @device. */
static int check_context(CUcontext context, void *device, CUdevice *ret_id)
{
	CUcontext popped;
	CUresult error = adsm_cu.cuCtxPushCurrent_v2(context);

	if (!error) {
		error = adsm_cu.cuCtxGetDevice(ret_id);
		adsm_cu.cuCtxPopCurrent_v2(&popped);
	}
	if (error)
		return adsm_fail(-EINVAL, "the context is not a valid context of the CUDA driver (%s)",
				 adsm_cu_error_name(error));
	if (*ret_id != (CUdevice)(intptr_t)device)
		return adsm_fail(-EINVAL, "the context belongs to device %d, not to device %d", *ret_id,
				 (CUdevice)(intptr_t)device);
	return 0;
}

static int adsm_cuda_use_context(void *context, void *device)
{
	ADSM_SIGNALS_BLOCKED_FOR_THREADS;
	CUdevice id = 0;
	int ret;

	ret = adsm_cu_open();
	if (!ret && context)
		ret = check_context(context, device, &id);
	if (ret)
		return ret;
	if (!context || !n_open())
		given = context;
	n_found = n_open();
	if (!context)
		return 0;
	for (int i = 0; i < n_found; i++)
		if (found[i].context == context)
			return 0;
	if (n_found == MAX_DEVICES)
		return adsm_fail(-ENOMEM, "the library can use at most %d contexts of the program", MAX_DEVICES);
	found[n_found++] = (struct found){ .id = id, .context = context };
	return 0;
}

/* ---- open and close */

static int attribute(const struct adsm_cuda_device *device, int which, int otherwise)
{
	int value = otherwise;

	return adsm_cu.cuDeviceGetAttribute(&value, which, device->id) ? otherwise : value;
}

static void describe(struct adsm_cuda_device *device, int index)
{
	char name[128] = "";
	size_t memory = 0;

	adsm_cu.cuDeviceGetName(name, sizeof(name), device->id);
	adsm_format(device->base.base.name, sizeof(device->base.base.name), "cuda %d: %s", index, name);
	adsm_cu.cuDeviceTotalMem_v2(&memory, device->id);
	device->capability = 10 * attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) +
		attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
	device->base.max_threads = (size_t)attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024);
	for (int i = 0; i < 3; i++) {
		device->base.max_block[i] = (size_t)attribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i, 64);
		device->base.max_grid[i] = (size_t)attribute(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i, 65535);
	}
	device->base.base.caps = (struct adsm_device_caps){
		.has_address = true,
		.keeps = true,
		.cuda_code = true,
		.variables = true,
		.ends_at_exit = true,
		.memory_size = memory,
		.compute_units = (unsigned)attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1),
		.max_pending = ADSM_DRIVEN_PENDING / 2,
		.max_running = ADSM_DRIVEN_LANES,
		.max_arg_bytes = MAX_ARG_BYTES,
	};
}

/* If the program's context is the primary one, the library retains it, too: then it does not end unnoticed. */
static CUresult share_context(struct adsm_cuda_device *device)
{
	CUcontext primary;
	unsigned flags;
	int active = 0;
	CUresult error = adsm_cu.cuDevicePrimaryCtxGetState(device->id, &flags, &active);

	if (error || !active)
		return error;
	error = adsm_cu.cuDevicePrimaryCtxRetain(&primary, device->id);
	device->retained = !error && primary == device->context;
	if (!error && !device->retained)
		adsm_cu.cuDevicePrimaryCtxRelease_v2(device->id);
	return error;
}

static int open_context(struct adsm_cuda_device *device, CUcontext context)
{
	CUresult error;

	device->context = context;
	if (context) {
		error = share_context(device);
	} else {
		error = adsm_cu.cuDevicePrimaryCtxRetain(&device->context, device->id);
		device->retained = !error;
	}
	if (!error)
		return 0;
	device->context = NULL;
	if (error == CUDA_ERROR_DEVICE_UNAVAILABLE)
		return adsm_fail(-ENODEV, "%s cannot be opened: another process uses the device exclusively "
				 "(nvidia-smi -c)", device->base.base.name);
	if (adsm_cuda_loss(error))
		return adsm_fail(-ENODEV, "%s was lost before and cannot be opened again (%s): %s; only a new process "
				 "can use the device", device->base.base.name, adsm_cu_error_name(error),
				 adsm_cuda_loss(error));
	return adsm_fail(error == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -ENODEV, "%s cannot be opened: %s",
			 device->base.base.name, adsm_cu_error_name(error));
}

/* The parts that need the context to be current. */
static int open_parts(struct adsm_cuda_device *device)
{
	struct adsm_cuda_scope scope;
	CUresult error = adsm_cuda_enter(device, &scope);
	int ret = 0;

	if (error)
		return adsm_cuda_error(device, error, "making a context current");
	for (int i = 0; i < ADSM_N_QUEUES && !ret; i++)
		ret = adsm_cuda_queue_create(&device->queues[i]);
	if (!ret)
		ret = adsm_cuda_memory_choose(device);
	adsm_cuda_leave(&scope);
	return ret;
}

static void release_context(struct adsm_cuda_device *device)
{
	if (device->retained)
		adsm_cu.cuDevicePrimaryCtxRelease_v2(device->id);
	device->retained = false;
}

static void destroy(struct adsm_cuda_device *device)
{
	struct adsm_cuda_scope scope = { .device = NULL };

	/* If the program has destroyed the context, neither the context nor its streams can be used any more. */
	if (device->context && adsm_cuda_enter(device, &scope))
		atomic_store(&device->base.base.lost, "");
	adsm_cuda_pinner_end(device);
	for (int i = 0; i < ADSM_DRIVEN_QUEUES; i++)
		adsm_cuda_queue_destroy(&device->queues[i]);
	if (device->memory_kind && device->memory_kind->end)
		device->memory_kind->end(device);
	adsm_cuda_leave(&scope);
	release_context(device);
	free(device);
}

/* After this, no thread is in the driver, and none enters it. The parts of a failed context end with it. */
static void end_parts(struct adsm_cuda_device *device, bool failed)
{
	CUcontext context;

	for (int i = 0; i < ADSM_DRIVEN_QUEUES; i++)
		adsm_cuda_queue_stop(&device->queues[i]);
	for (uint32_t n; (n = atomic_load(&device->n_inside)); )
		adsm_os_wait(&device->n_inside, n, 0, false);
	if (!failed && !adsm_cu.cuCtxPushCurrent_v2(device->context)) {
		for (int i = 0; i < ADSM_DRIVEN_QUEUES; i++)
			if (device->queues[i].stream)
				adsm_cuda_queue_drop(&device->queues[i]);
		adsm_cu.cuCtxPopCurrent_v2(&context);
	}
	release_context(device);
}

static void adsm_cuda_end(struct adsm_device *base, const char *why, bool wait)
{
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)base;
	bool failed = adsm_driven_is_lost(&device->base);
	ADSM_SIGNALS_BLOCKED;

	adsm_driven_lose(&device->base, ADSM_LOG_INFO, why);
	if (wait)
		end_parts(device, failed);
}

static int adsm_cuda_open(int index, const struct adsm_backend_config *config, struct adsm_device **ret_device)
{
	struct adsm_cuda_device *device = calloc(1, sizeof(*device));
	struct adsm_sigset old;
	int ret;

	if (!device)
		return -ENOMEM;
	device->base.base.backend = &adsm_backend_cuda;
	device->base.run = adsm_cuda_run;
	adsm_lock_init(&device->constants_lock, ADSM_RANK_MEMORIES);
	adsm_lock_init(&device->end_lock, ADSM_RANK_END);
	for (unsigned i = 0; i < ADSM_DRIVEN_QUEUES; i++)
		adsm_cuda_queue_init(device, i);
	adsm_lock_init(&device->pinner.lock, ADSM_RANK_PINNER);
	adsm_lock_init(&device->base.lost_lock, ADSM_RANK_LOST);
	device->id = found[index].id;
	device->index = index;
	device->arena_base = config->arena_base;
	device->arena_size = config->arena_size;
	device->leave_arena = config->leave_arena;
	device->alias_base = config->alias_base;
	adsm_os_signals_block_for_threads(&old);
	describe(device, index);
	ret = open_context(device, found[index].context);
	if (!ret)
		ret = open_parts(device);
	if (ret)
		destroy(device);
	else
		found[index].is_open = true;
	adsm_os_signals_restore(&old);
	if (!ret)
		*ret_device = &device->base.base;
	return ret;
}

static void adsm_cuda_close(struct adsm_device *base)
{
	ADSM_SIGNALS_BLOCKED;

	if (!base)
		return;
	found[((struct adsm_cuda_device *)base)->index].is_open = false;
	destroy((struct adsm_cuda_device *)base);
}

static int adsm_cuda_native(struct adsm_device *base, struct adsm_native *ret_native)
{
	const struct adsm_cuda_device *device = (struct adsm_cuda_device *)base;

	*ret_native = (struct adsm_native){ .device = (void *)(intptr_t)device->id, .context = device->context };
	for (int i = 0; i < ADSM_N_QUEUES; i++)
		ret_native->queues[i] = device->queues[i].stream;
	return 0;
}

static const struct adsm_driver_ops driver = {
	.end = adsm_cuda_end,
	.native = adsm_cuda_native,
	.native_memory = adsm_cuda_native_memory,
	.kernel_adopt = adsm_cuda_kernel_adopt,
	.use_context = adsm_cuda_use_context,
	.memory_adopt = adsm_cuda_memory_adopt,
	.queue_follow = adsm_cuda_queue_follow,
	.queue_join = adsm_cuda_queue_join,
};

const struct adsm_backend adsm_backend_cuda = {
	.version = ADSM_BACKEND_VERSION,
	.name = "cuda",
	.driver = &driver,
	.costs = &adsm_no_costs,
	.once = &adsm_no_once,
	.probe = adsm_cuda_probe,
	.open = adsm_cuda_open,
	.close = adsm_cuda_close,
	.alloc = adsm_cuda_alloc,
	.free = adsm_cuda_free,
	.memory_free = adsm_cuda_memory_free,
	.to_device = adsm_driven_to_device,
	.to_host = adsm_driven_to_host,
	.copy = adsm_driven_copy,
	.fill = adsm_driven_fill,
	.module_load = adsm_cuda_module_load,
	.module_unload = adsm_cuda_module_unload,
	.kernel_get = adsm_cuda_kernel_get,
	.module_names = adsm_cuda_module_names,
	.kernel_params = adsm_cuda_kernel_params,
	.launch = adsm_cuda_launch,
	.event_query = adsm_driven_event_query,
	.event_wait = adsm_cuda_event_wait,
	.event_times = adsm_driven_event_times,
	.event_failure = adsm_no_event_failure,
	.status = adsm_driven_status,
};
