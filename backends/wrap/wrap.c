/* SPDX-License-Identifier: MIT */
/*
 * wrap.c - a backend around another one: it traces each operation and injects failures by a plan, so
 * that tests can ask what the library makes of them. The plan's words, separated by commas:
 *
 *	trace		log each operation with its arguments and result
 *	fail=N		every Nth operation fails before it is done: -ENOMEM from alloc, else -EIO
 *	random		each with a chance of one in N: so no number of operations fails each time that it is tried
 *	once		only the first of them
 *	lost=N		after N operations the device is lost: -ENODEV from everything
 *	delay=T		each operation comes late by a random time up to T (ns, us, ms, s)
 *	ops=A+B		which operations the words above count and meet; all of op_names by default
 *	seed=N		shifts or draws which operations fail, and chooses the delays
 *	unsafe		no operation may be called in the fault handler, and is reported when it is
 */
#include "list.h"
#include "base/log.h"
#include "base/os.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum op {
	OP_ALLOC, OP_TO_DEVICE, OP_TO_HOST, OP_COPY, OP_FILL, OP_LAUNCH, OP_WAIT, OP_QUERY,
	OP_MODULE_LOAD, N_OPS
};

static const char *const op_names[N_OPS] = {
	"alloc", "to_device", "to_host", "copy", "fill", "launch", "wait", "query", "module_load",
};

#define MAX_ARGS 64

struct plan {
	bool trace, random, once, unsafe;
	unsigned ops;		/* a bit for each enum op */
	uint64_t seed, fail, lost, delay_ns;
};

struct wrap_device {
	struct adsm_device base;
	struct adsm_device *inner;
	_Atomic uint64_t seen[ADSM_N_QUEUES];	/* the last event somebody was told is complete */
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

_Atomic unsigned adsm_wrap_unsafe_calls;

static const struct adsm_backend *inner;
static struct plan plan;
static _Atomic uint64_t n_operations;
static _Atomic bool lost, failed;

#define trace(...) \
	do { if (plan.trace) adsm_log_write(ADSM_LOG_INFO, "wrap: " __VA_ARGS__); } while (0)

/* ---- the plan */

static bool parse_number(const char *text, uint64_t *ret_value, const char **ret_end)
{
	uint64_t value = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return false;
	}
	*ret_value = value;
	*ret_end = p;
	return p != text;
}

static bool parse_count(const char *text, uint64_t *ret_value)
{
	const char *end;

	return parse_number(text, ret_value, &end) && !*end;
}

static bool parse_time(const char *text, uint64_t *ret_ns)
{
	static const struct { const char *name; uint64_t ns; } units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
	};
	uint64_t value;
	const char *end;

	if (!parse_number(text, &value, &end))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(end, units[i].name))
			return !__builtin_mul_overflow(value, units[i].ns, ret_ns);
	}
	return false;
}

static bool parse_ops(const char *text, unsigned *ret_ops)
{
	unsigned ops = 0;

	for (;;) {
		size_t length = strcspn(text, "+"), i = 0;

		while (i < N_OPS && (strlen(op_names[i]) != length || strncmp(op_names[i], text, length)))
			i++;
		if (i == N_OPS)
			return false;
		ops |= 1u << i;
		text += length;
		if (!*text++)
			break;
	}
	*ret_ops = ops;
	return true;
}

static bool parse_word(const char *word, struct plan *p)
{
	if (!strcmp(word, "trace"))
		return p->trace = true;
	if (!strcmp(word, "random"))
		return p->random = true;
	if (!strcmp(word, "once"))
		return p->once = true;
	if (!strcmp(word, "unsafe"))
		return p->unsafe = true;
	if (!strncmp(word, "seed=", 5))
		return parse_count(word + 5, &p->seed);
	if (!strncmp(word, "fail=", 5))
		return parse_count(word + 5, &p->fail) && p->fail;
	if (!strncmp(word, "lost=", 5))
		return parse_count(word + 5, &p->lost) && p->lost;
	if (!strncmp(word, "delay=", 6))
		return parse_time(word + 6, &p->delay_ns);
	if (!strncmp(word, "ops=", 4))
		return parse_ops(word + 4, &p->ops);
	return false;
}

static int parse_plan(const char *text, struct plan *ret_plan)
{
	struct plan parsed = { .ops = (1u << N_OPS) - 1 };
	char word[256];

	for (;;) {
		size_t length = strcspn(text, ",");

		adsm_format(word, length < sizeof(word) ? length + 1 : sizeof(word), "%s", text);
		if (length >= sizeof(word) || !parse_word(word, &parsed))
			return adsm_fail(-EINVAL, "ADSM_WRAP: '%s' is not valid; valid are trace, fail=N, "
					 "random, once, lost=N, delay=100us, seed=N, unsafe, ops= and some of "
					 "alloc+to_device+to_host+copy+fill+launch+wait+query+module_load",
					 word);
		text += length;
		if (!*text++)
			break;
	}
	*ret_plan = parsed;
	return 0;
}

/* A well mixed number for each operation. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static bool is_lost(void)
{
	return atomic_load(&lost);
}

/* What chance has for the operation of this number. */
static uint64_t draw(uint64_t n)
{
	return mix(plan.seed + n * 0x9e3779b97f4a7c15u);
}

static bool fails(uint64_t n)
{
	return plan.fail && (plan.random ? draw(~n) : n + plan.seed) % plan.fail == 0 &&
		!(plan.once && atomic_exchange(&failed, true));
}

/*
 * What the plan has for this operation: 0 to go on, or its error. Says nothing by adsm_fail(), which
 * the fault handler may not call.
 */
static int step(enum op op)
{
	uint64_t n;

	if (plan.unsafe && adsm_in_fault) {
		adsm_error("wrap: %s called in the fault handler of a backend that is not signal safe",
			   op_names[op]);
		atomic_fetch_add(&adsm_wrap_unsafe_calls, 1);
	}
	if (is_lost())
		return -ENODEV;
	if (!(plan.ops & (1u << op)))
		return 0;
	n = atomic_fetch_add(&n_operations, 1) + 1;
	if (plan.lost && n > plan.lost) {
		atomic_store(&lost, true);
		return -ENODEV;
	}
	if (plan.delay_ns)
		adsm_os_sleep_until_ns(adsm_os_now_ns() + draw(n) % (plan.delay_ns + 1));
	if (!fails(n))
		return 0;
	return op == OP_ALLOC ? -ENOMEM : -EIO;
}

/* The same where the sentence may be kept. */
static int step_or_fail(enum op op)
{
	int ret = step(op);

	if (ret)
		adsm_fail(ret, ret == -ENODEV ? "the device was lost, as ADSM_WRAP asks" :
			  "%s failed, as ADSM_WRAP asks", op_names[op]);
	return ret;
}

/* ---- the backend */

static struct adsm_device *inside(struct adsm_device *device)
{
	return ((struct wrap_device *)device)->inner;
}

static struct adsm_memory *inside_memory(struct adsm_memory *memory)
{
	return memory ? ((struct wrap_memory *)memory)->inner : NULL;
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
	if (plan.unsafe)
		device->base.caps.signal_safe = false;
	if (plan.lost)
		device->base.caps.survives = false;
	*ret_device = &device->base;
	return 0;
}

static void wrap_close(struct adsm_device *device)
{
	if (!device)
		return;
	trace("close(%s)", device->name);
	inner->close(inside(device));
	free(device);
}

static void wrap_end(struct adsm_device *device, const char *why, bool wait)
{
	trace("end(%s, '%s', %d)", device->name, why, wait);
	inner->end(inside(device), why, wait);
	atomic_store(&device->lost, atomic_load(&inside(device)->lost));
}

/* What alloc() and memory_adopt() give. */
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
	int ret = step_or_fail(OP_ALLOC);

	if (!ret) {
		memory = calloc(1, sizeof(*memory));
		ret = memory ? inner->alloc(inside(device), size, wanted, &memory->inner) : -ENOMEM;
	}
	trace("alloc(%zu at %lx) = %d", size, (unsigned long)wanted, ret);
	return give_memory(device, ret, memory, ret_memory);
}

static void wrap_free(struct adsm_memory *memory)
{
	if (!memory)
		return;
	trace("free(%zu at %lx)", memory->size, (unsigned long)memory->address);
	inner->free(inside_memory(memory));
	free(memory);
}

static uint64_t wrap_memory_free(struct adsm_device *device)
{
	return inner->memory_free(inside(device));
}

static int wrap_to_device(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			  struct adsm_device_event *ret_event)
{
	int ret = step(OP_TO_DEVICE);

	if (!ret)
		ret = inner->to_device(inside_memory(dst), offset, src, size, ret_event);
	trace("to_device(%lx + %zu, from %p, %zu bytes%s) = %d", (unsigned long)dst->address, offset, src,
	      size, ret_event ? ", queued" : "", ret);
	trace_event("it", ret, ret_event);
	return ret;
}

static int wrap_to_host(void *dst, struct adsm_memory *src, size_t offset, size_t size,
			struct adsm_device_event *ret_event)
{
	int ret = step(OP_TO_HOST);

	if (!ret)
		ret = inner->to_host(dst, inside_memory(src), offset, size, ret_event);
	trace("to_host(%p, from %lx + %zu, %zu bytes%s) = %d", dst, (unsigned long)src->address, offset, size,
	      ret_event ? ", queued" : "", ret);
	trace_event("it", ret, ret_event);
	return ret;
}

static int wrap_copy(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset,
		     size_t size, struct adsm_device_event *ret_event)
{
	int ret = step(OP_COPY);

	if (!ret)
		ret = inner->copy(inside_memory(dst), dst_offset, inside_memory(src), src_offset, size,
				  ret_event);
	trace("copy(%lx + %zu, from %lx + %zu, %zu bytes%s) = %d", (unsigned long)dst->address, dst_offset,
	      (unsigned long)src->address, src_offset, size, ret_event ? ", queued" : "", ret);
	trace_event("it", ret, ret_event);
	return ret;
}

static int wrap_fill(struct adsm_memory *dst, size_t offset, uint8_t value, size_t size,
		     struct adsm_device_event *ret_event)
{
	int ret = step(OP_FILL);

	if (!ret)
		ret = inner->fill(inside_memory(dst), offset, value, size, ret_event);
	trace("fill(%lx + %zu, with %u, %zu bytes%s) = %d", (unsigned long)dst->address, offset, value, size,
	      ret_event ? ", queued" : "", ret);
	trace_event("it", ret, ret_event);
	return ret;
}

/* What module_load() and kernel_adopt() give. */
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
	int ret = step_or_fail(OP_MODULE_LOAD);

	if (!ret) {
		code = calloc(1, sizeof(*code));
		ret = code ? inner->module_load(inside(device), image, &code->inner) : -ENOMEM;
	}
	trace("module_load(%zu bytes) = %d", image->size, ret);
	return give_code(device, ret, code, ret_code);
}

static int wrap_kernel_adopt(struct adsm_device *device, void *kernel, struct adsm_code **ret_code)
{
	struct wrap_code *code = calloc(1, sizeof(*code));
	int ret = code ? inner->kernel_adopt(inside(device), kernel, &code->inner) : -ENOMEM;

	trace("kernel_adopt(%p) = %d", kernel, ret);
	return give_code(device, ret, code, ret_code);
}

static int wrap_module_names(struct adsm_code *code, char **ret_names)
{
	return inner->module_names(((struct wrap_code *)code)->inner, ret_names);
}

static int wrap_kernel_params(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max)
{
	return inner->kernel_params(((struct wrap_entry *)entry)->inner, ret_params, max);
}

static int wrap_native(struct adsm_device *device, struct adsm_native *ret_native)
{
	return inner->native(inside(device), ret_native);
}

static int wrap_native_memory(struct adsm_memory *memory, void **ret_handle)
{
	return inner->native_memory(inside_memory(memory), ret_handle);
}

static int wrap_use_context(void *context, void *device)
{
	return inner->use_context(context, device);
}

static int wrap_memory_adopt(struct adsm_device *device, uint64_t address, size_t size, uint64_t wanted,
			     struct adsm_memory **ret_memory)
{
	struct wrap_memory *memory = calloc(1, sizeof(*memory));
	int ret = memory ? inner->memory_adopt(inside(device), address, size, wanted, &memory->inner) : -ENOMEM;

	trace("memory_adopt(%zu at %lx) = %d", size, (unsigned long)address, ret);
	return give_memory(device, ret, memory, ret_memory);
}

static int wrap_queue_follow(struct adsm_device *device, void *queue)
{
	return inner->queue_follow(inside(device), queue);
}

static int wrap_queue_join(struct adsm_device *device, void *const *queues, size_t n,
			   struct adsm_device_event *ret_event)
{
	int ret = inner->queue_join(inside(device), queues, n, ret_event);

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

static int wrap_launch(struct adsm_entry *entry, const struct adsm_launch *launch,
		       struct adsm_device_event *ret_event)
{
	struct adsm_launch_arg args[MAX_ARGS];
	struct adsm_launch through = *launch;
	int ret = step_or_fail(OP_LAUNCH);

	if (!ret && launch->n_args > MAX_ARGS)
		ret = adsm_fail(-EINVAL, "kernel '%s': more than %d arguments", launch->name, MAX_ARGS);
	if (!ret) {
		for (size_t i = 0; i < launch->n_args; i++) {
			args[i] = launch->args[i];
			if (args[i].kind == ADSM_LAUNCH_POINTER)
				args[i].memory = inside_memory(args[i].memory);
		}
		through.args = args;
		through.expected.memory = inside_memory(launch->expected.memory);
		ret = inner->launch(((struct wrap_entry *)entry)->inner, &through, ret_event);
	}
	trace("launch(%s, grid %u %u %u, block %u %u %u, blocks %lu + %lu, %zu arguments) = %d", launch->name,
	      launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
	      launch->block[2], (unsigned long)launch->first_block, (unsigned long)launch->n_blocks,
	      launch->n_args, ret);
	trace_event(launch->name, ret, ret_event);
	return ret;
}

/* Whether a lost device still owes the answer of this event. */
static bool never_told(struct wrap_device *device, struct adsm_device_event event)
{
	return is_lost() && event.seq > atomic_load(&device->seen[event.queue]);
}

static void tell(struct wrap_device *device, struct adsm_device_event event)
{
	uint64_t seen = atomic_load(&device->seen[event.queue]);

	while (seen < event.seq &&
	       !atomic_compare_exchange_weak(&device->seen[event.queue], &seen, event.seq))
		;
}

static int wrap_event_query(struct adsm_device *base, struct adsm_device_event event, int *ret_status)
{
	struct wrap_device *device = (struct wrap_device *)base;
	int ret = step(OP_QUERY);

	if (never_told(device, event)) {
		*ret_status = -ENODEV;
		ret = 1;
	} else if (!ret || is_lost()) {
		ret = inner->event_query(device->inner, event, ret_status);
		if (ret == 1)
			tell(device, event);
	}
	trace("event_query(%u:%lu) = %d, status %d", event.queue, (unsigned long)event.seq, ret,
	      ret == 1 ? *ret_status : 0);
	return ret;
}

static int wrap_event_wait(struct adsm_device *base, struct adsm_device_event event, int *ret_status)
{
	struct wrap_device *device = (struct wrap_device *)base;
	int ret = step(OP_WAIT);

	if (never_told(device, event)) {
		*ret_status = -ENODEV;
		ret = 0;
	} else if (!ret || is_lost()) {
		ret = inner->event_wait(device->inner, event, ret_status);
		if (!ret && never_told(device, event))
			*ret_status = -ENODEV;
		else if (!ret)
			tell(device, event);
	}
	trace("event_wait(%u:%lu) = %d, status %d", event.queue, (unsigned long)event.seq, ret,
	      ret ? 0 : *ret_status);
	return ret;
}

static int wrap_event_elapsed(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_ns)
{
	return inner->event_elapsed(inside(device), event, ret_ns);
}

static int wrap_status(struct adsm_device *device)
{
	if (is_lost())
		return adsm_fail(-ENODEV, "the device was lost, as ADSM_WRAP asks");
	return inner->status(inside(device));
}

static struct adsm_backend wrap = {
	.version = ADSM_BACKEND_VERSION,
	.probe = wrap_probe,
	.open = wrap_open,
	.close = wrap_close,
	.end = wrap_end,
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
	.event_elapsed = wrap_event_elapsed,
	.status = wrap_status,
	.native = wrap_native,
	.native_memory = wrap_native_memory,
	.kernel_adopt = wrap_kernel_adopt,
	.use_context = wrap_use_context,
	.memory_adopt = wrap_memory_adopt,
	.queue_follow = wrap_queue_follow,
	.queue_join = wrap_queue_join,
};

int adsm_wrap(const struct adsm_backend *backend, const char *text, const struct adsm_backend **ret_backend)
{
	int ret = parse_plan(text, &plan);

	if (ret)
		return ret;
	inner = backend;
	wrap.name = backend->name;
	atomic_store(&n_operations, 0);
	atomic_store(&lost, false);
	atomic_store(&failed, false);
	atomic_store(&adsm_wrap_unsafe_calls, 0);
	*ret_backend = &wrap;
	return 0;
}
