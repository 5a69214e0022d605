/* SPDX-License-Identifier: MIT */
/* opencl.c - the OpenCL backend: finds, opens and closes devices. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "behind.h"
#include "launch.h"
#include "list.h"
#include "base/log.h"
#include "memory.h"
#include "once.h"
#include "options.h"
#include "program.h"
#include "queue.h"
#include "stubs.h"
#include "threads.h"
#include "units.h"
#include "memory_kinds.h"

#define MAX_DEVICES 16			/* maximum number of devices */
#define MAX_PLATFORMS 16
#define VERSION_NEEDED 12u		/* OpenCL 1.2 */

#define GET(id, what, var) adsm_cl.clGetDeviceInfo((id), (what), sizeof(var), &(var), NULL)

struct found {
	cl_platform_id platform;
	cl_device_id id;
	cl_device_type type;
};

static struct found found[MAX_DEVICES];
static int n_found;

/* The program's own context and device: adsmOpenCLUse(). */
static cl_context program_context;
static cl_device_id program_device;

/* ---- finding devices */

/* The version of a device: 30 for "OpenCL 3.0 …". */
static unsigned version_of(cl_device_id id)
{
	static const char prefix[] = "OpenCL ";
	char text[128];
	const char *p = text + sizeof(prefix) - 1;

	adsm_cl_device_text(id, CL_DEVICE_VERSION, text, sizeof(text));
	if (strncmp(text, prefix, sizeof(prefix) - 1) || !isdigit((unsigned char)p[0]) || p[1] != '.' ||
	    !isdigit((unsigned char)p[2]))
		return 10;
	return 10 * (unsigned)(p[0] - '0') + (unsigned)(p[2] - '0');
}

static void platform_text(cl_platform_id platform, cl_platform_info what, char *ret_text, size_t size)
{
	size_t n = 0;

	ret_text[0] = '\0';
	if (adsm_cl.clGetPlatformInfo(platform, what, size, ret_text, &n) || n > size)
		ret_text[0] = '\0';
}

/* Is the device selected by ADSM_OPENCL_DEVICE? Its two words are separated by a colon. */
static bool chosen(unsigned platform, const char *platform_name, unsigned device, const char *device_name)
{
	const char *wanted = adsm_opencl_options.device, *colon = strchr(wanted, ':');
	size_t length = colon ? (size_t)(colon - wanted) : strlen(wanted);

	return adsm_driven_matches(wanted, length, platform_name, platform) &&
		(!colon || adsm_driven_matches(colon + 1, strlen(colon + 1), device_name, device));
}

/* "auto" never takes a CPU as an accelerator, because there is the backend cpu for it; nor a device that cannot be
 * opened. If the program chooses this backend, it gets an error for such a device instead. */
static bool is_taken(cl_device_id id, cl_device_type type)
{
	cl_bool available = CL_TRUE;

	GET(id, CL_DEVICE_AVAILABLE, available);
	return strcmp(adsm_backend_options.name, "auto") ||
		((type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR)) && available &&
		 version_of(id) >= VERSION_NEEDED);
}

static void look_at_platform(unsigned index, cl_platform_id platform, char *names, size_t names_size)
{
	cl_device_id devices[MAX_DEVICES];
	cl_uint n = 0;
	char platform_name[128];

	platform_text(platform, CL_PLATFORM_NAME, platform_name, sizeof(platform_name));
	if (adsm_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n))
		return;
	for (cl_uint i = 0; i < n && i < MAX_DEVICES; i++) {
		size_t at = strlen(names);
		cl_device_type type = 0;
		char name[256];

		adsm_cl_device_text(devices[i], CL_DEVICE_NAME, name, sizeof(name));
		GET(devices[i], CL_DEVICE_TYPE, type);
		adsm_format(names + at, names_size - at, "%s%u:%u %s: %s", at ? "; " : "", index, i, platform_name,
			    name);
		if (n_found < MAX_DEVICES && is_taken(devices[i], type) && chosen(index, platform_name, i, name))
			found[n_found++] = (struct found){ platform, devices[i], type };
	}
}

/* GPUs first, then other accelerators; otherwise in the order of the platforms. */
static void sort_found(void)
{
	for (int i = 1; i < n_found; i++)
		for (int j = i; j > 0; j--) {
			struct found *a = &found[j - 1], *b = &found[j], swap = *a;
			cl_device_type first = a->type & ~(cl_device_type)CL_DEVICE_TYPE_DEFAULT;
			cl_device_type second = b->type & ~(cl_device_type)CL_DEVICE_TYPE_DEFAULT;
			bool better = (second == CL_DEVICE_TYPE_GPU && first != CL_DEVICE_TYPE_GPU) ||
				(second == CL_DEVICE_TYPE_ACCELERATOR && first == CL_DEVICE_TYPE_CPU);

			if (!better)
				break;
			*a = *b;
			*b = swap;
		}
}

static int probe_all(void)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	char names[256] = "";
	cl_uint n = 0;
	cl_int error;

	error = adsm_cl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &n);
	if (error || !n)
		return adsm_fail(-ENODEV, "no OpenCL platform: no driver is installed (%s); Debian's pocl-opencl-icd "
				 "is a driver for the CPU", adsm_cl_error_name(error));
	for (cl_uint i = 0; i < n && i < MAX_PLATFORMS; i++)
		look_at_platform(i, platforms[i], names, sizeof(names));
	if (n_found) {
		sort_found();
		return n_found;
	}
	if (!*names)
		return adsm_fail(-ENODEV, "no OpenCL device: none of the %u platforms has a device", n);
	if (*adsm_opencl_options.device)
		return adsm_fail(-ENODEV, "ADSM_OPENCL_DEVICE=%s: no device matches; the devices are %s",
				 adsm_opencl_options.device, names);
	return adsm_fail(-ENODEV, "no OpenCL device except CPUs (%s)", names);
}

static int probe_program(void)
{
	found[0] = (struct found){ .id = program_device };
	GET(program_device, CL_DEVICE_PLATFORM, found[0].platform);
	GET(program_device, CL_DEVICE_TYPE, found[0].type);
	return n_found = 1;
}

static int adsm_cl_probe(void)
{
	/* Drivers start threads, which inherit the signal mask. */
	ADSM_SIGNALS_BLOCKED_FOR_THREADS;
	int ret = adsm_cl_open();

	n_found = 0;
	if (ret)
		return ret;
	if (program_context)
		return probe_program();
	adsm_cl_threads_begin();
	ret = probe_all();
	adsm_cl_threads_end();
	return ret;
}

static int adsm_cl_use_context(void *context, void *device)
{
	ADSM_SIGNALS_BLOCKED_FOR_THREADS;
	cl_device_id devices[MAX_DEVICES];
	size_t size = 0;
	bool has = !context;
	int ret = adsm_cl_open();

	if (ret)
		return ret;
	if (context && !adsm_cl.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, &size))
		for (size_t i = 0; i < size / sizeof(devices[0]); i++)
			has |= devices[i] == device;
	if (!has)
		return adsm_fail(-EINVAL, "the device is not among the first %d devices of the context", MAX_DEVICES);
	if (context) {
		adsm_cl_threads_share();
		adsm_cl.clRetainContext(context);
		adsm_cl.clRetainDevice(device);
	}
	if (program_context) {
		adsm_cl.clReleaseContext(program_context);
		adsm_cl.clReleaseDevice(program_device);
	}
	program_context = context;
	program_device = device;
	return 0;
}

/* ---- open and close */

/* Set the device's capabilities. Returns -ENOTSUP if the device lacks something necessary. */
static int describe(struct adsm_cl_device *device, int index)
{
	cl_ulong memory = 0, max_alloc = 0;
	cl_uint units = 1, align = 1024;
	cl_bool compiler = CL_TRUE, little = CL_TRUE;
	size_t dims[3] = { 0 };
	char name[256];

	device->version = version_of(device->id);
	adsm_cl_device_text(device->id, CL_DEVICE_NAME, name, sizeof(name));
	adsm_format(device->base.base.name, sizeof(device->base.base.name), "opencl %d: %s", index, name);
	if (device->version < VERSION_NEEDED)
		return adsm_fail(-ENOTSUP, "%s supports OpenCL %u.%u; %u.%u is needed", device->base.base.name,
				 device->version / 10, device->version % 10, VERSION_NEEDED / 10, VERSION_NEEDED % 10);
	GET(device->id, CL_DEVICE_ENDIAN_LITTLE, little);
	if (little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))
		return adsm_fail(-ENOTSUP, "%s has another byte order than this machine", device->base.base.name);
	GET(device->id, CL_DEVICE_COMPILER_AVAILABLE, compiler);
	if (!compiler)
		adsm_warn("%s has no compiler: it accepts only binaries", device->base.base.name);
	GET(device->id, CL_DEVICE_GLOBAL_MEM_SIZE, memory);
	GET(device->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, max_alloc);
	GET(device->id, CL_DEVICE_MAX_COMPUTE_UNITS, units);
	GET(device->id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, align);
	GET(device->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, device->base.max_threads);
	if (!GET(device->id, CL_DEVICE_MAX_WORK_ITEM_SIZES, dims))
		memcpy(device->base.max_block, dims, sizeof(dims));
	if (adsm_opencl_options.memory_size && adsm_opencl_options.memory_size < memory)
		memory = adsm_opencl_options.memory_size;
	device->max_alloc = max_alloc && max_alloc < memory ? max_alloc : memory;
	device->sub_buffer_align = align / 8;
	device->base.base.caps = (struct adsm_device_caps){
		.memory_size = memory,
		.alloc_max = device->max_alloc,
		.compute_units = units,
		.max_pending = ADSM_DRIVEN_PENDING / 2,
		.once = adsm_cl_once_may_work(device),
		.once_shown = true,
		.once_polls = adsm_cl_once_may_work(device) && found[index].type & CL_DEVICE_TYPE_CPU,
	};
	return 0;
}

static int create_context(struct adsm_cl_device *device)
{
	const cl_context_properties properties[] = {
		CL_CONTEXT_PLATFORM, (cl_context_properties)device->platform, 0
	};
	cl_int error;

	if (program_context) {
		device->context = program_context;
		return adsm_cl_error(device, adsm_cl.clRetainContext(program_context),
				     "retaining the program's context");
	}
	device->context = adsm_cl.clCreateContext(properties, 1, &device->id, NULL, NULL, &error);
	return adsm_cl_error(device, error, "clCreateContext");
}

static void destroy(struct adsm_cl_device *device)
{
	bool quiet = true;

	adsm_cl_once_stop(device);
	if (device->memory_kind)
		adsm_cl_release_kept(device);
	for (int i = 0; i < ADSM_DRIVEN_QUEUES; i++)
		quiet &= adsm_cl_queue_destroy(&device->queues[i]);
	quiet &= adsm_cl_behind_end(device);
	quiet &= adsm_cl_deferred_end(device);
	adsm_cl_once_close(device, quiet);
	if (quiet)
		adsm_cl_release_left(device);
	if (device->context)
		adsm_cl.clReleaseContext(device->context);
	/* Otherwise the driver may still write to it. */
	if (quiet)
		free(device);
}

static int adsm_cl_open_device(int index, const struct adsm_backend_config *config, struct adsm_device **ret_device)
{
	struct adsm_cl_device *device = calloc(1, sizeof(*device));
	struct adsm_sigset old;
	int ret;

	if (!device)
		return -ENOMEM;
	device->base.base.backend = &adsm_backend_opencl;
	device->base.run = adsm_cl_run;
	adsm_lock_init(&device->launch_lock, ADSM_RANK_LAUNCH);
	adsm_lock_init(&device->behind.lock, ADSM_RANK_BEHIND);
	adsm_lock_init(&device->deferred_lock, ADSM_RANK_DEFERRED);
	adsm_lock_init(&device->memories_lock, ADSM_RANK_MEMORIES);
	adsm_lock_init(&device->base.lost_lock, ADSM_RANK_LOST);
	device->platform = found[index].platform;
	device->id = found[index].id;
	device->alias_base = config->alias_base;
	device->arena_base = config->arena_base;
	device->keep = config->keep;
	adsm_cl_once_open(device, config);
	adsm_os_signals_block_for_threads(&old);
	adsm_cl_threads_begin();
	ret = describe(device, index);
	if (!ret)
		ret = create_context(device);
	for (unsigned i = 0; i < ADSM_DRIVEN_QUEUES && !ret; i++)
		adsm_cl_queue_init(device, i);
	for (int i = 0; i < ADSM_N_QUEUES && !ret; i++)
		ret = adsm_cl_queue_create(&device->queues[i]);
	if (!ret)
		ret = adsm_cl_memory_choose(device, program_context != NULL);
	/* Unified memory is mapped again after each launch, and kernels of two lanes may use the same. */
	device->base.base.caps.max_running = device->base.base.caps.unified ? 1 : ADSM_DRIVEN_LANES;
	if (!ret)
		adsm_cl_measure_copies(device);
	adsm_cl_threads_end();
	if (ret)
		destroy(device);
	adsm_os_signals_restore(&old);
	if (!ret)
		*ret_device = &device->base.base;
	return ret;
}

static void adsm_cl_close(struct adsm_device *base)
{
	ADSM_SIGNALS_BLOCKED;

	if (base)
		destroy((struct adsm_cl_device *)base);
}

static int adsm_cl_native(struct adsm_device *base, struct adsm_native *ret_native)
{
	struct adsm_cl_device *device = (struct adsm_cl_device *)base;
	ADSM_SIGNALS_BLOCKED;

	adsm_cl_threads_share();
	/* A program that calls this has kernels of its own, which need buffers. */
	adsm_cl_memory_with_buffers(device);
	*ret_native = (struct adsm_native){ .platform = device->platform, .device = device->id,
					    .context = device->context };
	for (int i = 0; i < ADSM_N_QUEUES; i++)
		ret_native->queues[i] = device->queues[i].cl;
	return 0;
}

static const struct adsm_driver_ops driver = {
	/* Contexts are reference-counted: closing the device releases the library's reference. */
	.end = adsm_no_end,
	.native = adsm_cl_native,
	.native_memory = adsm_cl_native_memory,
	.kernel_adopt = adsm_cl_kernel_adopt,
	.use_context = adsm_cl_use_context,
	.memory_adopt = adsm_no_memory_adopt,
	.queue_follow = adsm_no_queue_follow,
	.queue_join = adsm_no_queue_join,
};

const struct adsm_backend adsm_backend_opencl = {
	.version = ADSM_BACKEND_VERSION,
	.name = "opencl",
	.driver = &driver,
	.costs = &adsm_no_costs,
	.once = &adsm_cl_once_ops,
	.probe = adsm_cl_probe,
	.open = adsm_cl_open_device,
	.close = adsm_cl_close,
	.alloc = adsm_cl_alloc,
	.free = adsm_cl_free,
	.memory_free = adsm_cl_memory_free,
	.to_device = adsm_driven_to_device,
	.to_host = adsm_driven_to_host,
	.copy = adsm_driven_copy,
	.fill = adsm_driven_fill,
	.module_load = adsm_cl_module_load,
	.module_unload = adsm_cl_module_unload,
	.kernel_get = adsm_cl_kernel_get,
	.module_names = adsm_cl_module_names,
	.kernel_params = adsm_cl_kernel_params,
	.launch = adsm_cl_launch,
	.event_query = adsm_driven_event_query,
	.event_wait = adsm_cl_event_wait,
	.event_times = adsm_driven_event_times,
	.event_failure = adsm_no_event_failure,
	.status = adsm_driven_status,
};
