/* SPDX-License-Identifier: MIT */
/* wrap.c - a backend around another one. It traces each operation and injects errors according to a plan (plan.h), so
 * that tests can check how the library handles them. */
#include "base/log.h"
#include "list.h"
#include "plan.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define FEW_ARGS 64			/* of a launch, without malloc() */

struct wrap_device {
	struct adsm_device base;
	struct adsm_device *inner;
	_Atomic uint64_t last_complete[ADSM_N_QUEUES];	/* the last event that was reported as complete */
	_Atomic uint64_t last_launch;	/* on ADSM_QUEUE_COMPUTE */
};

struct wrap_memory {
	struct adsm_memory base;
	struct adsm_memory *inner;
};

struct wrap_entry {
	struct adsm_entry base;
	struct adsm_entry *inner;
	struct wrap_entry *next;
};

struct wrap_code {
	struct adsm_code base;
	struct adsm_code *inner;
	struct wrap_entry *_Atomic entries;
};

static const struct adsm_backend *inner;

#define trace(...) \
	do { if (adsm_wrap_plan.trace) adsm_log_write(ADSM_LOG_INFO, "wrap: " __VA_ARGS__); } while (0)

static struct adsm_device *inner_of(struct adsm_device *device)
{
	return ((struct wrap_device *)device)->inner;
}

static struct adsm_memory *inner_memory_of(struct adsm_memory *memory)
{
	return memory ? ((struct wrap_memory *)memory)->inner : NULL;
}

/* A function that only calls that of the backend inside. */
#define FORWARD(type, name, function, parameters, ...) \
static type wrap_##name parameters \
{ \
	return inner->function(__VA_ARGS__); \
}

static void trace_event(const char *what, int ret, const struct adsm_device_event *event)
{
	if (event && !ret)
		trace("  %s is event %u:%lu", what, event->queue, (unsigned long)event->seq);
}

static int wrap_probe(void)
{
	int ret = inner->probe();

	trace("probe() = %d", ret);
	return ret;
}

static struct adsm_backend wrap;

static int wrap_open(int index, const struct adsm_backend_config *config, struct adsm_device **ret_device)
{
	struct wrap_device *device = calloc(1, sizeof(*device));
	int ret = device ? inner->open(index, config, &device->inner) : -ENOMEM;

	trace("open(%d) = %d", index, ret);
	if (ret) {
		free(device);
		return ret;
	}
	device->base = *device->inner;
	device->base.backend = &wrap;
	device->base.caps.max_running = 1;	/* of each queue, only the last complete operation is noted */
	if (adsm_wrap_plan.unsafe)
		device->base.caps.signal_safe = false;
	if (adsm_wrap_plan.lost)
		device->base.caps.survives = false;
	*ret_device = &device->base;
	return 0;
}

static void wrap_close(struct adsm_device *device)
{
	if (!device)
		return;
	trace("close(%s)", device->name);
	inner->close(inner_of(device));
	free(device);
}

static void wrap_end(struct adsm_device *device, const char *why, bool wait)
{
	trace("end(%s, '%s', %d)", device->name, why, wait);
	inner->driver->end(inner_of(device), why, wait);
	atomic_store(&device->lost, atomic_load(&inner_of(device)->lost));
}

/* Finish alloc() and memory_adopt(). */
static int give_memory(struct adsm_device *device, int ret, struct wrap_memory *memory, struct adsm_memory **ret_memory)
{
	if (ret) {
		free(memory);
		return ret;
	}
	memory->base = *memory->inner;
	memory->base.device = device;
	*ret_memory = &memory->base;
	return 0;
}

static int wrap_alloc(struct adsm_device *device, size_t size, uint64_t wanted,
		      struct adsm_memory **ret_memory)
{
	struct wrap_memory *memory = NULL;
	int ret = adsm_wrap_step_or_fail(OP_ALLOC);

	if (!ret) {
		memory = calloc(1, sizeof(*memory));
		ret = memory ? inner->alloc(inner_of(device), size, wanted, &memory->inner) : -ENOMEM;
	}
	trace("alloc(%zu at %lx) = %d", size, (unsigned long)wanted, ret);
	return give_memory(device, ret, memory, ret_memory);
}

static void wrap_free(struct adsm_memory *memory)
{
	struct wrap_device *device = memory ? (struct wrap_device *)memory->device : NULL;
	int status;

	if (!memory)
		return;
	trace("free(%zu at %lx)", memory->size, (unsigned long)memory->address);
	/* A device that is lost by the plan still runs kernels. The backend inside expects that they have ended. */
	if (adsm_wrap_is_lost() && atomic_load(&device->last_launch))
		inner->event_wait(device->inner, (struct adsm_device_event){ .queue = ADSM_QUEUE_COMPUTE,
				  .seq = atomic_load(&device->last_launch) }, &status);
	inner->free(inner_memory_of(memory));
	free(memory);
}

FORWARD(uint64_t, memory_free, memory_free, (struct adsm_device *device), inner_of(device))

static int wrap_to_device(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			  struct adsm_device_event *ret_event)
{
	int ret = adsm_wrap_step(OP_TO_DEVICE);

	if (!ret)
		ret = inner->to_device(inner_memory_of(dst), offset, src, size, ret_event);
	trace("to_device(%lx + %zu, from %p, %zu bytes%s) = %d", (unsigned long)dst->address, offset, src,
	      size, ret_event ? ", queued" : "", ret);
	trace_event("it", ret, ret_event);
	return ret;
}

static int wrap_to_host(void *dst, struct adsm_memory *src, size_t offset, size_t size,
			struct adsm_device_event *ret_event)
{
	int ret = adsm_wrap_step(OP_TO_HOST);

	if (!ret)
		ret = inner->to_host(dst, inner_memory_of(src), offset, size, ret_event);
	trace("to_host(%p, from %lx + %zu, %zu bytes%s) = %d", dst, (unsigned long)src->address, offset, size,
	      ret_event ? ", queued" : "", ret);
	trace_event("it", ret, ret_event);
	return ret;
}

static int wrap_copy(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset,
		     size_t size, struct adsm_device_event *ret_event)
{
	int ret = adsm_wrap_step(OP_COPY);

	if (!ret)
		ret = inner->copy(inner_memory_of(dst), dst_offset, inner_memory_of(src), src_offset, size,
				  ret_event);
	trace("copy(%lx + %zu, from %lx + %zu, %zu bytes%s) = %d", (unsigned long)dst->address, dst_offset,
	      (unsigned long)src->address, src_offset, size, ret_event ? ", queued" : "", ret);
	trace_event("it", ret, ret_event);
	return ret;
}

static int wrap_fill(struct adsm_memory *dst, size_t offset, uint8_t value, size_t size,
		     struct adsm_device_event *ret_event)
{
	int ret = adsm_wrap_step(OP_FILL);

	if (!ret)
		ret = inner->fill(inner_memory_of(dst), offset, value, size, ret_event);
	trace("fill(%lx + %zu, with %u, %zu bytes%s) = %d", (unsigned long)dst->address, offset, value, size,
	      ret_event ? ", queued" : "", ret);
	trace_event("it", ret, ret_event);
	return ret;
}

/* Finish module_load() and kernel_adopt(). */
static int give_code(struct adsm_device *device, int ret, struct wrap_code *code, struct adsm_code **ret_code)
{
	if (ret) {
		free(code);
		return ret;
	}
	code->base.device = device;
	*ret_code = &code->base;
	return 0;
}

static int wrap_module_load(struct adsm_device *device, const struct adsm_image *image,
			    struct adsm_code **ret_code)
{
	struct wrap_code *code = NULL;
	int ret = adsm_wrap_step_or_fail(OP_MODULE_LOAD);

	if (!ret) {
		code = calloc(1, sizeof(*code));
		ret = code ? inner->module_load(inner_of(device), image, &code->inner) : -ENOMEM;
	}
	trace("module_load(%zu bytes) = %d", image->size, ret);
	return give_code(device, ret, code, ret_code);
}

static int wrap_kernel_adopt(struct adsm_device *device, void *kernel, struct adsm_code **ret_code)
{
	struct wrap_code *code = calloc(1, sizeof(*code));
	int ret = code ? inner->driver->kernel_adopt(inner_of(device), kernel, &code->inner) : -ENOMEM;

	trace("kernel_adopt(%p) = %d", kernel, ret);
	return give_code(device, ret, code, ret_code);
}

FORWARD(int, module_names, module_names, (struct adsm_code *code, char **ret_names),
	((struct wrap_code *)code)->inner, ret_names)
FORWARD(int, kernel_params, kernel_params,
	(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max),
	((struct wrap_entry *)entry)->inner, ret_params, max)
FORWARD(int, native, driver->native, (struct adsm_device *device, struct adsm_native *ret_native),
	inner_of(device), ret_native)
FORWARD(int, native_memory, driver->native_memory, (struct adsm_memory *memory, void **ret_handle),
	inner_memory_of(memory), ret_handle)
FORWARD(int, use_context, driver->use_context, (void *context, void *device), context, device)

static int wrap_memory_adopt(struct adsm_device *device, uint64_t address, size_t size, uint64_t wanted,
			     struct adsm_memory **ret_memory)
{
	struct wrap_memory *memory = calloc(1, sizeof(*memory));
	int ret = memory ? inner->driver->memory_adopt(inner_of(device), address, size, wanted, &memory->inner) :
		-ENOMEM;

	trace("memory_adopt(%zu at %lx) = %d", size, (unsigned long)address, ret);
	return give_memory(device, ret, memory, ret_memory);
}

FORWARD(int, queue_follow, driver->queue_follow, (struct adsm_device *device, void *queue),
	inner_of(device), queue)

static int wrap_queue_join(struct adsm_device *device, void *const *queues, size_t n,
			   struct adsm_device_event *ret_event)
{
	int ret = inner->driver->queue_join(inner_of(device), queues, n, ret_event);

	trace("queue_join(%zu queues) = %d", n, ret);
	trace_event("it", ret, ret_event);
	return ret;
}

static void wrap_module_unload(struct adsm_code *base)
{
	struct wrap_code *code = (struct wrap_code *)base;
	struct wrap_entry *next;

	if (!base)
		return;
	trace("module_unload()");
	inner->module_unload(code->inner);
	for (struct wrap_entry *entry = code->entries; entry; entry = next) {
		next = entry->next;
		free(entry);
	}
	free(code);
}

static int wrap_kernel_get(struct adsm_code *base, const char *name, struct adsm_entry **ret_entry)
{
	struct wrap_code *code = (struct wrap_code *)base;
	struct wrap_entry *entry = calloc(1, sizeof(*entry));
	int ret = entry ? inner->kernel_get(code->inner, name, &entry->inner) : -ENOMEM;

	trace("kernel_get(%s) = %d", name, ret);
	if (ret) {
		free(entry);
		return ret;
	}
	entry->base.code = base;
	entry->next = atomic_load(&code->entries);
	while (!atomic_compare_exchange_weak(&code->entries, &entry->next, entry))
		;
	*ret_entry = &entry->base;
	return 0;
}

/* The launch with the memory inside. @args: room for its arguments. */
static int launch_inside(struct adsm_entry *entry, const struct adsm_launch *launch, struct adsm_launch_arg *args,
			 struct adsm_device_event *ret_event)
{
	struct adsm_launch through = *launch;

	for (size_t i = 0; i < launch->n_args; i++) {
		args[i] = launch->args[i];
		if (args[i].kind == ADSM_LAUNCH_POINTER)
			args[i].memory = inner_memory_of(args[i].memory);
	}
	through.args = args;
	through.expected.memory = inner_memory_of(launch->expected.memory);
	return inner->launch(((struct wrap_entry *)entry)->inner, &through, ret_event);
}

static int wrap_launch(struct adsm_entry *entry, const struct adsm_launch *launch,
		       struct adsm_device_event *ret_event)
{
	struct adsm_launch_arg few[FEW_ARGS], *args = few;
	int ret = adsm_wrap_step_or_fail(OP_LAUNCH);

	if (!ret && launch->n_args > FEW_ARGS) {
		args = malloc(launch->n_args * sizeof(*args));
		if (!args)
			ret = adsm_fail(-ENOMEM, "kernel '%s': no memory for %zu arguments", launch->name,
					launch->n_args);
	}
	if (!ret)
		ret = launch_inside(entry, launch, args, ret_event);
	if (!ret && ret_event)
		atomic_store(&((struct wrap_device *)entry->code->device)->last_launch, ret_event->seq);
	if (args != few)
		free(args);
	trace("launch(%s, grid %u %u %u, block %u %u %u, blocks %lu + %lu, %zu arguments) = %d", launch->name,
	      launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
	      launch->block[2], (unsigned long)launch->first_block, (unsigned long)launch->n_blocks,
	      launch->n_args, ret);
	trace_event(launch->name, ret, ret_event);
	return ret;
}

/* Was the event not reported as complete before the device was lost? */
static bool not_reported(struct wrap_device *device, struct adsm_device_event event)
{
	return adsm_wrap_is_lost() && event.seq > atomic_load(&device->last_complete[event.queue]);
}

static void note_complete(struct wrap_device *device, struct adsm_device_event event)
{
	uint64_t last = atomic_load(&device->last_complete[event.queue]);

	while (last < event.seq &&
	       !atomic_compare_exchange_weak(&device->last_complete[event.queue], &last, event.seq))
		;
}

static int wrap_event_query(struct adsm_device *base, struct adsm_device_event event, int *ret_status)
{
	struct wrap_device *device = (struct wrap_device *)base;
	int ret = adsm_wrap_step(OP_QUERY);

	if (not_reported(device, event)) {
		*ret_status = -ENODEV;
		ret = 1;
	} else if (!ret || adsm_wrap_is_lost()) {
		ret = inner->event_query(device->inner, event, ret_status);
		if (ret == 1)
			note_complete(device, event);
	}
	trace("event_query(%u:%lu) = %d, status %d", event.queue, (unsigned long)event.seq, ret,
	      ret == 1 ? *ret_status : 0);
	return ret;
}

static int wrap_event_wait(struct adsm_device *base, struct adsm_device_event event, int *ret_status)
{
	struct wrap_device *device = (struct wrap_device *)base;
	int ret = adsm_wrap_step(OP_WAIT);

	if (not_reported(device, event)) {
		*ret_status = -ENODEV;
		ret = 0;
	} else if (!ret || adsm_wrap_is_lost()) {
		ret = inner->event_wait(device->inner, event, ret_status);
		if (!ret && not_reported(device, event))
			*ret_status = -ENODEV;
		else if (!ret)
			note_complete(device, event);
	}
	trace("event_wait(%u:%lu) = %d, status %d", event.queue, (unsigned long)event.seq, ret,
	      ret ? 0 : *ret_status);
	return ret;
}

FORWARD(int, event_times, event_times,
	(struct adsm_device *device, struct adsm_device_event event, struct adsm_span *ret_span),
	inner_of(device), event, ret_span)
FORWARD(const char *, event_failure, event_failure, (struct adsm_device *device, struct adsm_device_event event),
	inner_of(device), event)
FORWARD(int, of_launch, costs->of_launch,
	(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_values, uint64_t *ret_start_ns),
	inner_of(device), event, ret_values, ret_start_ns)
FORWARD(int, of_part, costs->of_part,
	(struct adsm_device *device, struct adsm_device_event event, unsigned i, struct adsm_part_times *ret_times),
	inner_of(device), event, i, ret_times)
FORWARD(int, of_wait, costs->of_wait,
	(struct adsm_device *device, struct adsm_device_event event, unsigned i, struct adsm_part_wait *ret_wait),
	inner_of(device), event, i, ret_wait)
FORWARD(int, of_moves, costs->of_moves,
	(struct adsm_device *device, struct adsm_device_event event, unsigned i, struct adsm_part_moves *ret_moves),
	inner_of(device), event, i, ret_moves)
FORWARD(bool, part_name, costs->part_name,
	(struct adsm_device *device, unsigned i, char ret_name[ADSM_PART_NAME]), inner_of(device), i, ret_name)
FORWARD(void, advise, costs->advise,
	(struct adsm_device *device, const char *kernel, const struct adsm_kernel_costs *costs,
	 char *ret_text, size_t size),
	inner_of(device), kernel, costs, ret_text, size)
FORWARD(int, once_start, once->start, (struct adsm_device *device, int index, int table_fd, size_t size),
	inner_of(device), index, table_fd, size)
FORWARD(int, once_memory, once->memory, (struct adsm_device *device, size_t size, int *ret_fd),
	inner_of(device), size, ret_fd)
FORWARD(void, once_memory_free, once->memory_free, (struct adsm_device *device, size_t size),
	inner_of(device), size)
FORWARD(int, once_map, once->map,
	(struct adsm_device *device, uint64_t address, size_t size, int fd, size_t offset),
	inner_of(device), address, size, fd, offset)
FORWARD(int, once_add, once->add, (struct adsm_device *device, const struct adsm_once_map *map),
	inner_of(device), map)
FORWARD(void, once_remove, once->remove, (struct adsm_device *device, uint64_t address, size_t size),
	inner_of(device), address, size)

FORWARD(bool, once_has_thread, once->has_thread, (struct adsm_device *device, int thread), inner_of(device), thread)

static int wrap_status(struct adsm_device *device)
{
	if (adsm_wrap_is_lost())
		return adsm_fail(-ENODEV, "the device was lost by the plan of ADSM_WRAP");
	return inner->status(inner_of(device));
}

static const struct adsm_driver_ops driver = {
	.end = wrap_end,
	.native = wrap_native,
	.native_memory = wrap_native_memory,
	.kernel_adopt = wrap_kernel_adopt,
	.use_context = wrap_use_context,
	.memory_adopt = wrap_memory_adopt,
	.queue_follow = wrap_queue_follow,
	.queue_join = wrap_queue_join,
};

static struct adsm_cost_ops costs = {
	.of_launch = wrap_of_launch,
	.of_part = wrap_of_part,
	.of_wait = wrap_of_wait,
	.of_moves = wrap_of_moves,
	.part_name = wrap_part_name,
	.advise = wrap_advise,
};

static const struct adsm_once_ops once = {
	.start = wrap_once_start,
	.memory = wrap_once_memory,
	.memory_free = wrap_once_memory_free,
	.map = wrap_once_map,
	.add = wrap_once_add,
	.remove = wrap_once_remove,
	.has_thread = wrap_once_has_thread,
};

static struct adsm_backend wrap = {
	.version = ADSM_BACKEND_VERSION,
	.driver = &driver,
	.costs = &costs,
	.once = &once,
	.probe = wrap_probe,
	.open = wrap_open,
	.close = wrap_close,
	.alloc = wrap_alloc,
	.free = wrap_free,
	.memory_free = wrap_memory_free,
	.to_device = wrap_to_device,
	.to_host = wrap_to_host,
	.copy = wrap_copy,
	.fill = wrap_fill,
	.module_load = wrap_module_load,
	.module_unload = wrap_module_unload,
	.kernel_get = wrap_kernel_get,
	.module_names = wrap_module_names,
	.kernel_params = wrap_kernel_params,
	.launch = wrap_launch,
	.event_query = wrap_event_query,
	.event_wait = wrap_event_wait,
	.event_times = wrap_event_times,
	.event_failure = wrap_event_failure,
	.status = wrap_status,
};

int adsm_wrap(const struct adsm_backend *backend, const char *text, const struct adsm_backend **ret_backend)
{
	int ret = adsm_wrap_plan_set(text);

	if (ret)
		return ret;
	inner = backend;
	wrap.name = backend->name;
	costs.counters = backend->costs->counters;
	*ret_backend = &wrap;
	return 0;
}
