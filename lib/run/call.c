/* SPDX-License-Identifier: MIT */
/* call.c - kernel calls: binding arguments, releasing objects, launching. */
#include "run/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "core/options.h"
#include "core/block.h"
#include "core/index.h"
#include "core/observe.h"
#include "run/caller.h"
#include "run/explicit.h"
#include "run/gather.h"
#include "run/inside.h"
#include "run/io.h"
#include "run/wait.h"

#define USES_MAX 128			/* objects named by one call, assignments included */
#define FEW 17				/* arguments and assignments without malloc(): 16, and adsmCall()'s empty one */
#define PATIENCE 3			/* passes over busy objects before new accesses have to wait */
#define TOUCH_GRACE_NS 5000000		/* for threads whose touch came before this call; twice after each vain one */
#define TOUCH_GRACE_MAX_NS 320000000

/* A pointer that a call names: an argument, an adsmUse(), an assignment. */
struct named_pointer {
	const char *what;		/* for messages */
	const void *p;
	unsigned access;
	struct adsm_launch_arg *arg;	/* NULL: not an argument of the kernel */
};

/* What one call does to one object. */
struct use {
	struct adsm_object *object;
	uint64_t birth;			/* tells whether it is still the same object */
	unsigned access;
};

struct bound_call {
	adsmKernel *kernel;		/* NULL: commands of the program's, see driver.h */
	struct adsm_home *home;		/* NULL while no argument said which */
	const void *where;		/* code address of who makes it */
	bool named;
	bool gather;			/* it may be one with others on its queue: gather.h */
	void *queue;
	adsm_starter *start;
	uint64_t given_ns;		/* as in struct adsm_call */
	void *start_arg;
	size_t n_args, n_pointers, n_uses;
	size_t max;			/* of each of these; USES_MAX once there is @many */
	struct adsm_launch_arg *args;
	struct named_pointer *pointers;
	struct use *uses;
	size_t const_bytes, n_bytes;
	char *bytes;			/* copies of the values and constants */
	/* Where they are when there are few: stacks may be small. */
	struct adsm_launch_arg few_args[FEW];
	struct named_pointer few_pointers[FEW];
	struct use few_uses[FEW];
	char few_bytes[256];
	struct many *many;
};

struct many {
	struct adsm_launch_arg args[ADSM_ARGS_MAX];
	struct named_pointer pointers[USES_MAX];
	struct use uses[USES_MAX];
	struct adsm_assignment assignments[USES_MAX];
};

/* ---- binding */

/* Only what is used of it is filled in. */
static void begin(struct bound_call *call, adsmKernel *kernel, const void *where)
{
	call->kernel = kernel;
	call->where = where;
	call->home = NULL;
	call->queue = NULL;
	call->gather = false;
	call->n_args = call->n_pointers = call->n_uses = call->const_bytes = call->n_bytes = 0;
	call->max = FEW;
	call->args = call->few_args;
	call->pointers = call->few_pointers;
	call->uses = call->few_uses;
	call->bytes = call->few_bytes;
	call->many = NULL;
}

static void end(struct bound_call *call)
{
	free(call->many);
	if (call->bytes != call->few_bytes)
		free(call->bytes);
}

/* Room for as many as there may be. Before any lock, and before objects are known. */
static int grow(struct bound_call *call)
{
	struct many *many = malloc(sizeof(*many));

	if (!many)
		return adsm_fail(-ENOMEM, "no memory for a call of more than %d arguments", FEW - 1);
	memcpy(many->args, call->args, call->n_args * sizeof(*call->args));
	memcpy(many->pointers, call->pointers, call->n_pointers * sizeof(*call->pointers));
	for (size_t i = 0; i < call->n_pointers; i++)
		if (many->pointers[i].arg)
			many->pointers[i].arg = many->args + (many->pointers[i].arg - call->args);
	call->args = many->args;
	call->pointers = many->pointers;
	call->uses = many->uses;
	call->max = USES_MAX;
	call->many = many;
	return 0;
}

static int add_use(struct bound_call *call, struct adsm_object *object, unsigned access)
{
	for (size_t i = 0; i < call->n_uses; i++)
		if (call->uses[i].object == object) {
			call->uses[i].access |= access;
			return 0;
		}
	if (call->n_uses == call->max)
		return adsm_fail(-EINVAL, "a call uses at most %d objects by name", USES_MAX);
	call->uses[call->n_uses++] = (struct use){ object, object->birth, access };
	return 0;
}

/* Remember a pointer; the first one says on which device the call runs. */
static int add_pointer(struct bound_call *call, const char *what, const void *p, unsigned access,
		       struct adsm_launch_arg *arg)
{
	const struct adsm_object *object;

	if (arg)
		*arg = (struct adsm_launch_arg){ .kind = ADSM_LAUNCH_POINTER };
	if (!p)
		return 0;
	if (call->n_pointers == call->max)
		return adsm_fail(-EINVAL, "a call uses at most %d objects by name", USES_MAX);
	call->pointers[call->n_pointers++] = (struct named_pointer){ what, p, access, arg };
	/* A slot never changes its home, so this needs no lock, whatever becomes of the object. */
	object = call->home ? NULL : adsm_index_find((uintptr_t)p);
	if (object)
		call->home = object->home;
	if (!access)
		call->named = false;
	return 0;
}

/* The objects that commands of the program's use; others are nobody's, or concern another home. Lock held. */
static int resolve_uses(struct bound_call *call)
{
	for (size_t i = 0; i < call->n_pointers; i++) {
		struct adsm_object *object = adsm_object_find_locked(call->home, (uintptr_t)call->pointers[i].p);

		if (object && !object->freeing)
			add_use(call, object, call->pointers[i].access);
	}
	return 0;
}

/* Find the objects of the pointers. Lock held: they stay what they are until it is given back. */
static int resolve(struct bound_call *call)
{
	for (size_t i = 0; i < call->n_pointers; i++) {
		const struct named_pointer *pointer = &call->pointers[i];
		struct adsm_object *object = adsm_index_find((uintptr_t)pointer->p);
		size_t offset;
		int error;

		if (object && object->home != call->home)
			return adsm_fail(-EINVAL, "kernel '%s', argument '%s': its object lives on device %d, the "
					 "others on device %d", call->kernel->info->name, pointer->what,
					 object->home->index, call->home->index);
		object = adsm_object_find_locked(call->home, (uintptr_t)pointer->p);
		offset = object ? (uintptr_t)pointer->p - object->start : 0;
		if (!object || object->freeing || offset >= object->size)
			return adsm_fail(-EINVAL, "kernel '%s', argument '%s': %p is in no live object",
					 call->kernel->info->name, pointer->what, pointer->p);
		error = add_use(call, object, pointer->access);
		if (error)
			return error;
		if (pointer->arg) {
			pointer->arg->memory = object->memory;
			pointer->arg->offset = offset;
		}
	}
	return 0;
}

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = { "nothing", "a pointer (adsmPtr)", "a value (adsmVal)",
					     "constants (adsmConst)", "adsmUse",
					     "memory of the block (adsmLocal)" };

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "an unknown kind";
}

static int bind_argument(struct bound_call *call, const struct adsm_param *param, const adsmArg *arg,
			 struct adsm_launch_arg *ret_arg)
{
	const char *kernel = call->kernel->info->name;
	bool native = !call->kernel->module->info->image;
	size_t size = param->size;

	/* Of native kernels less may be known; and a value may be any bytes that the driver takes for a pointer. */
	if (arg->kind != param->kind && !(native && (param->kind == ADSM_ARG_NONE || arg->kind == ADSM_ARG_VALUE)))
		return adsm_fail(-EINVAL, "kernel '%s', argument '%s': it takes %s, got %s", kernel, param->name,
				 kind_name(param->kind), kind_name(arg->kind));
	if (arg->kind == ADSM_ARG_POINTER)
		return add_pointer(call, param->name, arg->data, arg->access ? arg->access : param->access,
				   ret_arg);
	if (arg->kind > ADSM_ARG_LOCAL)
		return adsm_fail(-EINVAL, "kernel '%s', argument '%s': kind %u is none", kernel, param->name,
				 arg->kind);
	if (arg->kind == ADSM_ARG_LOCAL) {
		*ret_arg = (struct adsm_launch_arg){ .kind = ADSM_LAUNCH_LOCAL, .size = arg->size };
		return arg->size ? 0 : adsm_fail(-EINVAL, "kernel '%s', argument '%s': 0 bytes of memory of the "
						 "block", kernel, param->name);
	}
	if (arg->kind == ADSM_ARG_VALUE && native && arg->size && arg->size <= ADSM_CONST_MAX)
		size = param->kind == ADSM_ARG_VALUE && param->size ? param->size : arg->size;
	if (arg->kind == ADSM_ARG_VALUE && (!arg->data || arg->size != size))
		return adsm_fail(-EINVAL, "kernel '%s', argument '%s': a %s of %u bytes, got %zu bytes", kernel,
				 param->name, param->type, (unsigned)size, arg->size);
	if (arg->kind == ADSM_ARG_CONST && (!arg->data || !arg->size || arg->size > ADSM_CONST_MAX))
		return adsm_fail(-EINVAL, "kernel '%s', argument '%s': constants are 1 to %zu bytes, got %zu",
				 kernel, param->name, ADSM_CONST_MAX, arg->size);
	*ret_arg = (struct adsm_launch_arg){
		.kind = arg->kind == ADSM_ARG_VALUE ? ADSM_LAUNCH_VALUE : ADSM_LAUNCH_CONST,
		.data = arg->data,
		.size = arg->size,
	};
	if (arg->kind == ADSM_ARG_CONST)
		call->const_bytes += arg->size;
	call->n_bytes += arg->size;
	return 0;
}

/*
 * Values and constants are copied here, where nothing is locked: their bytes may lie in shared memory, and
 * to touch that under the lock would wait for itself.
 */
static int copy_values(struct bound_call *call)
{
	size_t at = 0;

	if (call->n_bytes > sizeof(call->few_bytes)) {
		call->bytes = malloc(call->n_bytes);
		if (!call->bytes)
			return adsm_fail(-ENOMEM, "no memory for %zu bytes of values", call->n_bytes);
	}
	for (size_t i = 0; i < call->n_args; i++) {
		struct adsm_launch_arg *arg = &call->args[i];

		if (arg->kind == ADSM_LAUNCH_POINTER || arg->kind == ADSM_LAUNCH_LOCAL)
			continue;
		memcpy(call->bytes + at, arg->data, arg->size);
		arg->data = call->bytes + at;
		at += arg->size;
	}
	return 0;
}

/* "a, b, n" */
static void list_params(const struct adsm_kernel_info *info, char *ret_text, size_t size)
{
	size_t at = 0;

	ret_text[0] = '\0';
	for (uint32_t i = 0; i < info->n_params && at < size; i++)
		at += (size_t)adsm_format(ret_text + at, size - at, "%s%s", i ? ", " : "", info->params[i].name);
}

static int bind(struct bound_call *call, const adsmArg *args, size_t n)
{
	const struct adsm_kernel_info *info = call->kernel->info;
	size_t n_params = info->n_params;
	int error;

	if (!args && n)
		return adsm_fail(-EINVAL, "kernel '%s': %zu arguments at NULL", info->name, n);
	for (size_t i = 0; i < n; i++) {
		if (args[i].kind == ADSM_ARG_NONE)
			continue;
		if (args[i].access > ADSM_ACCESS_INOUT)
			return adsm_fail(-EINVAL, "kernel '%s': access %u is not one", info->name, args[i].access);
		if (args[i].kind == ADSM_ARG_USE) {
			error = add_pointer(call, "adsmUse", args[i].data, args[i].access, NULL);
		} else if (args[i].kind == ADSM_ARG_LOCAL && !call->kernel->module->info->image &&
			   call->n_args == info->n_params && n_params == info->n_params && n_params < ADSM_ARGS_MAX) {
			/* On some devices memory of the block is no parameter, and comes behind them. */
			n_params++;
			call->args[call->n_args++] = (struct adsm_launch_arg){ .kind = ADSM_LAUNCH_LOCAL,
									       .size = args[i].size };
			error = args[i].size ? 0 : adsm_fail(-EINVAL, "kernel '%s': 0 bytes of memory of the block",
							     info->name);
		} else if (call->n_args == n_params || call->n_args == ADSM_ARGS_MAX) {
			call->n_args++;
			break;
		} else {
			error = bind_argument(call, &info->params[call->n_args], &args[i],
					      &call->args[call->n_args]);
			call->n_args++;
		}
		if (error)
			return error;
	}
	if (call->n_args != n_params) {
		char list[256];

		list_params(info, list, sizeof(list));
		return adsm_fail(-EINVAL, "kernel '%s' takes %u arguments (%s), got %s%zu", info->name,
				 info->n_params, list, call->n_args > n_params ? "at least " : "",
				 call->n_args);
	}
	return 0;
}

static int bind_assignments(struct bound_call *call)
{
	struct adsm_assignment few[4], *list = few;
	size_t n = adsm_kernel_assignments(call->kernel, few, sizeof(few) / sizeof(few[0]));

	if (n > sizeof(few) / sizeof(few[0]) || call->n_pointers + n > call->max) {
		int error = call->many ? 0 : grow(call);

		if (error)
			return error;
		list = call->many->assignments;
		n = adsm_kernel_assignments(call->kernel, list, USES_MAX);
	}
	if (n > USES_MAX)
		return adsm_fail(-EINVAL, "kernel '%s' has %zu objects assigned, a call takes %d",
				 call->kernel->info->name, n, USES_MAX);
	for (size_t i = 0; i < n; i++) {
		int error = add_pointer(call, "adsmAssign", (const void *)list[i].start, list[i].access, NULL);

		if (error)
			return error;
	}
	return call->home ? 0 : adsm_home_get(ADSM_DEVICE_CURRENT, &call->home);
}

static int check_dims(const struct adsm_kernel_info *info, adsmDim grid, adsmDim block,
		      struct adsm_launch *launch)
{
	const unsigned g[3] = { grid.x, grid.y, grid.z }, b[3] = { block.x, block.y, block.z };
	uint64_t n_blocks = 1, n_threads = 1;

	for (int i = 0; i < 3; i++) {
		launch->grid[i] = g[i] ? g[i] : 1;
		launch->block[i] = b[i] ? b[i] : 1;
		if (__builtin_mul_overflow(n_blocks, launch->grid[i], &n_blocks) ||
		    __builtin_mul_overflow(n_threads, launch->block[i], &n_threads))
			return adsm_fail(-EINVAL, "kernel '%s': its grid has more than 2^64 blocks or threads",
					 info->name);
	}
	if (n_threads > info->max_threads)
		return adsm_fail(-EINVAL, "kernel '%s': %lu threads in a block, it takes at most %u", info->name,
				 (unsigned long)n_threads, info->max_threads);
	launch->n_blocks = n_blocks;
	return 0;
}

/* ---- releasing */

static enum adsm_block_event event_of(unsigned access)
{
	return access == ADSM_ACCESS_IN ? ADSM_EVENT_CALL_IN :
	       access == ADSM_ACCESS_OUT ? ADSM_EVENT_CALL_OUT : ADSM_EVENT_CALL_INOUT;
}

/* Make one object ready: nothing Dirty that the kernel reads, nothing moving. 1: the lock was dropped for it. */
static int release(struct adsm_object *object, unsigned access)
{
	struct adsm_home *home = object->home;
	int error;

	if (object->blocks.n_holds)
		return adsm_fail(-EBUSY, "the object at %p is held (adsmUnhold() first)", (void *)object->start);
	if (object->blocks.n_busy || object->blocks.n_sending) {
		if (!adsm_send_queued(home))
			adsm_home_wait(home);
		return 1;
	}
	/* Closed before anything starts: where the system refuses that, nothing has been done yet. */
	error = access == ADSM_ACCESS_IN ? 0 : adsm_object_close(object);
	if (error)
		return adsm_fail(error, "the object at %p cannot be closed: the process has no memory mappings left "
				 "(vm.max_map_count)", (void *)object->start);
	if (!adsm_blocks_n_unsent(&object->blocks) || !adsm_blocks_sends(&object->blocks, event_of(access)))
		return 0;
	error = adsm_object_flush(object);
	if (error == -EBUSY)
		return adsm_fail(error, "the object at %p is held (adsmUnhold() first)", (void *)object->start);
	if (error)
		return adsm_fail(error, "the object at %p could not be sent: %s", (void *)object->start,
				 adsm_error_string(error));
	return 1;
}

/* What a call does to an object it names. An unnamed one may do anything, but to objects assigned to it. */
static unsigned access_of(const struct bound_call *call, size_t i)
{
	bool known = call->named || (call->uses[i].object->assigned && !adsm_paper);

	return known ? call->uses[i].access : ADSM_ACCESS_INOUT;
}

/* The lock was away, and somebody has freed it. */
static bool is_gone(const struct use *use)
{
	return !use->object->live || use->object->freeing || use->object->birth != use->birth;
}

static int release_named(struct bound_call *call)
{
	int moved = 0;

	for (size_t i = 0; i < call->n_uses; i++) {
		struct adsm_object *object = call->uses[i].object;
		int result;

		if (is_gone(&call->uses[i])) {
			if (!call->kernel)
				continue;
			return adsm_fail(-EINVAL, "kernel '%s': an object of its was freed meanwhile",
					 call->kernel->info->name);
		}
		result = object->device_only ? 0 : release(object, access_of(call, i));
		if (result < 0)
			return result;
		moved |= result;
	}
	return moved;
}

/* An unnamed call may use every object of the device but those assigned to other kernels. */
static int release_all(struct adsm_home *home)
{
	struct adsm_object *object = home->open;
	int moved = 0;

	while (object) {
		int result = object->assigned ? 0 : release(object, ADSM_ACCESS_INOUT);

		if (result < 0)
			return result;
		moved |= result;
		/* While the lock was away the object may have left the list: then begin again. */
		object = object->open ? object->open_next : home->open;
	}
	return moved;
}

/* After this, and until the lock is given back, no used object has anything to send or in motion. */
static int release_objects(struct bound_call *call)
{
	struct adsm_home *home = call->home;
	int moved = 1;

	if (!call->named)
		adsm_close_neighbours(home);
	for (int pass = 0; moved == 1; pass++) {
		/* Writers elsewhere could keep this going for ever: from here on they wait. */
		home->gate = pass >= PATIENCE;
		moved = release_named(call);
		if (moved >= 0 && !call->named) {
			int more = release_all(home);

			moved = more < 0 ? more : moved | more;
		}
	}
	return moved;
}

/* The call did not start. Where no write is seen, what was sent for it may be written before it is repeated. */
static void take_back(struct adsm_home *home)
{
	for (struct adsm_object *object = home->n_undetected ? home->open : NULL; object;
	     object = object->open_next)
		if (!object->blocks.detects && adsm_object_use_seq(object) <= atomic_load(&home->completed))
			adsm_object_may_be_written(object);
}

static void open_gate(struct adsm_home *home)
{
	if (!home->gate)
		return;
	home->gate = false;
	adsm_home_notify(home);
}

/* Else it stands for commands of the program's, and of some nobody tells when they have ended. */
static bool is_own(const struct bound_call *call)
{
	return call->kernel && !call->kernel->module->internal;
}

/* The kernel's; "" for what the program gives its driver itself. */
static const char *name_of(const struct bound_call *call)
{
	return is_own(call) ? call->kernel->info->name : "";
}

static void take_object(const struct bound_call *call, struct adsm_object *object, enum adsm_block_event event)
{
	if (event != ADSM_EVENT_CALL_IN)
		adsm_note_written(object, is_own(call));
	adsm_object_called(object, event);
}

static void take_objects(struct bound_call *call, uint64_t seq)
{
	struct adsm_home *home = call->home;

	for (size_t i = 0; i < call->n_uses; i++) {
		struct adsm_object *object = call->uses[i].object;
		unsigned access = access_of(call, i);

		if (is_gone(&call->uses[i]))
			continue;
		object->use_seq = seq;
		if (access != ADSM_ACCESS_IN)
			object->write_seq = seq;
		if (!object->device_only)
			take_object(call, object, event_of(access));
	}
	if (call->named)
		return;
	if (!is_own(call))
		home->n_expected = 0;
	home->unnamed_seq = seq;
	for (struct adsm_object *object = home->open, *next; object; object = next) {
		next = object->open_next;
		if (!object->assigned)
			take_object(call, object, ADSM_EVENT_CALL_INOUT);
	}
}

/* ---- launching */

/* Touches that came first go first: their calls end, and they get a moment for their fetch. */
static void wait_for_touches(struct adsm_home *home)
{
	uint64_t grace = home->touch_grace_ns ? home->touch_grace_ns : TOUCH_GRACE_NS, until;

	adsm_wait_call(home, home->last_seq);
	until = adsm_os_now_ns() + grace;
	home->touch_grace_ns = 0;
	while (atomic_load(&home->touching)) {
		uint32_t tick = atomic_load(&home->tick);
		uint64_t now = adsm_os_now_ns();

		if (now >= until) {
			/* One that has not got the processor yet; or one that left its wait by longjmp(), which does
			 * not count itself out. */
			atomic_store(&home->touching, 0);
			home->touch_grace_ns = grace < TOUCH_GRACE_MAX_NS ? 2 * grace : grace;
			break;
		}
		atomic_fetch_add(&home->n_waiting, 1);
		if (atomic_load(&home->touching))
			adsm_os_wait(&home->tick, tick, until - now, false);
		atomic_fetch_sub(&home->n_waiting, 1);
	}
}

static void let_touches_pass(struct adsm_home *home)
{
	uint64_t until;

	if (atomic_load(&home->touching))
		wait_for_touches(home);
	/* And one that comes again and again gets the time to run its instruction, too. */
	until = atomic_load(&home->calls_from_ns);
	if (until) {
		adsm_os_sleep_until_ns(until);
		atomic_compare_exchange_strong(&home->calls_from_ns, &until, 0);
	}
}

struct kernel_start {
	struct adsm_home *home;
	struct adsm_entry *entry;
	struct adsm_launch *launch;
};

/* What the CPU has read first after the last calls it will read first after this one, too. */
static void expect(struct bound_call *call)
{
	struct adsm_launch *launch;

	if (!is_own(call))
		return;
	launch = ((struct kernel_start *)call->start_arg)->launch;
	for (size_t i = 0; i < call->n_uses && !launch->expected.memory; i++) {
		const struct adsm_object *object = call->uses[i].object;
		uint32_t b = object->first_read.block;

		if (access_of(call, i) == ADSM_ACCESS_IN || is_gone(&call->uses[i]) || !adsm_expects_read(object))
			continue;
		launch->expected.memory = object->memory;
		launch->expected.offset = (size_t)b << object->blocks.shift;
		launch->expected.size = adsm_run_size(object, b, 1);
	}
}

static int start_kernel(void *arg, struct adsm_device_event *ret_event)
{
	const struct kernel_start *s = arg;
	int tries = s->home->n_undetected ? ADSM_UNDETECTED_TRIES : 1, error;

	do
		error = s->home->device->backend->launch(s->entry, s->launch, ret_event);
	while (error && error != -ENODEV && --tries > 0);
	return error;
}

/* Commands that may use any object, and behind which nothing of the library's has to wait. Lock held. */
static bool may_gather(const struct bound_call *call)
{
	struct adsm_home *home = call->home;
	bool copies = false;

	for (uint32_t q = 0; q < ADSM_N_QUEUES; q++)
		copies |= atomic_load(&home->async_seq[q]) != 0;
	return call->gather && !call->named && !home->n_undetected && !copies && !adsm_observes(~0u) &&
		home->own_seq <= atomic_load(&home->completed);
}

/*
 * It runs. Where nobody can know when it ends, it only has changed its objects; where nobody asks yet, it stands for
 * what comes. Lock held.
 */
static void note_call(struct bound_call *call, struct adsm_device_event event, bool gathers)
{
	struct adsm_home *home = call->home;
	uint64_t seq = home->last_seq;

	if (event.seq || gathers) {
		seq = ++home->last_seq;
		home->pending[seq % ADSM_PENDING_MAX] = (struct adsm_call){
			.seq = seq, .kernel = name_of(call), .thread = call->kernel ? adsm_calls.id : 0,
			.caller = adsm_calls.caller, .event = event, .given_ns = call->given_ns
		};
	}
	take_objects(call, seq);
	if (gathers)
		adsm_gather_begin(home, call->queue, seq);
	/* The program's own commands are not for this thread's sync. */
	if (!call->kernel)
		return;
	home->own_seq = seq;
	adsm_calls.last_seq[home->index] = seq;
	adsm_calls.n_calls[home->index]++;
	adsm_calls.last_event[home->index] = event;
}

static int start(struct bound_call *call, struct adsm_device_event *ret_event)
{
	int error;

	call->given_ns = adsm_observes(ADSM_OBSERVE_TRACE) ? adsm_os_now_ns() : 0;
	adsm_enqueuing = call->home;
	error = call->start(call->start_arg, ret_event);
	adsm_enqueuing = NULL;
	return error;
}

/* Later calls end after it, and there may be @max: they must not wait for what its queues have at the last moment. */
static bool gathered_too_long(struct adsm_home *home, unsigned max)
{
	struct adsm_sigset old;
	bool is;

	adsm_home_lock(home, &old);
	is = home->gather.seq && home->last_seq - home->gather.seq >= max / 2;
	adsm_home_unlock(home, &old);
	return is;
}

/* One call at a time per device gets here: this is the order of calls. */
static int enter_call(struct bound_call *call)
{
	struct adsm_home *home = call->home;
	const struct adsm_backend *backend = home->device->backend;
	unsigned max = home->device->caps.max_pending < ADSM_PENDING_MAX ?
		home->device->caps.max_pending : ADSM_PENDING_MAX;
	struct adsm_device_event event = { 0 };
	struct adsm_sigset old;
	bool gathers = false;
	int error;

	let_touches_pass(home);
	error = backend->status(home->device);
	if (!error && (call->kernel || call->gather || gathered_too_long(home, max)))
		error = adsm_gather_end(home);
	if (!error && call->kernel)
		error = adsm_kernel_entry(call->kernel, home, &((struct kernel_start *)call->start_arg)->entry);
	if (!error && home->last_seq - atomic_load(&home->completed) >= max)
		error = adsm_wait_call(home, home->last_seq - max + 1);
	if (!error)
		error = adsm_wait_copies(home);
	if (error)
		return error;

	adsm_home_lock(home, &old);
	adsm_retire(home);
	error = call->kernel ? resolve(call) : resolve_uses(call);
	if (!error)
		error = release_objects(call);
	if (!error)
		expect(call);
	if (!error) {
		gathers = may_gather(call);
		error = start(call, gathers ? NULL : &event);
	}
	if (!error)
		note_call(call, event, gathers);
	else
		take_back(home);
	open_gate(home);
	/*
	 * adsmSync() asks itself: then the watcher sleeps until somebody waits who may not ask the backend. Of a
	 * program's own commands, and where more depends on it than time, it notes at once that they have ended.
	 */
	if (!error && home->has_service && !gathers &&
	    (!call->kernel || adsm_core_options.touch == ADSM_TOUCH_ERROR || adsm_observes(~0u)))
		adsm_os_poke(&home->watch_word);
	adsm_home_unlock(home, &old);
	return error;
}

static int enter_in_turn(struct bound_call *call)
{
	void (*finish_detached)(void) = atomic_load(&adsm_io_finish_detached);
	const char *name = name_of(call);
	uint64_t start = adsm_observes(ADSM_OBSERVE_TRACE) ? adsm_os_now_ns() : 0, seq;
	int error;

	adsm_because(ADSM_WHY_CALL, call->where, name);
	if (finish_detached)
		finish_detached();
	adsm_mutex_lock(&call->home->call_mutex);
	error = enter_call(call);
	seq = call->home->last_seq;
	adsm_mutex_unlock(&call->home->call_mutex);
	if (!error)
		adsm_note_call(call->home->index, name, seq, start);
	adsm_because(ADSM_WHY_OTHER, NULL, "");
	return error;
}

int adsm_call_commands(struct adsm_home *home, const struct adsm_driver_use *uses, size_t n, adsm_starter *start,
		       void *arg, void *queue, bool gather)
{
	struct bound_call call;
	int error;

	begin(&call, NULL, NULL);
	call.home = home;
	call.queue = queue;
	call.gather = gather;
	call.named = n && n <= USES_MAX && !adsm_paper;
	call.start = start;
	call.start_arg = arg;
	error = call.named && n > FEW ? grow(&call) : 0;
	if (error)
		return error;
	call.n_pointers = call.named ? n : 0;
	for (size_t i = 0; i < call.n_pointers; i++)
		call.pointers[i] = (struct named_pointer){ NULL, uses[i].p, uses[i].access, NULL };
	error = enter_in_turn(&call);
	end(&call);
	return error;
}

static int prepare(struct bound_call *call, const adsmArg *args, size_t n, adsmDim grid, adsmDim block,
		   struct adsm_launch *launch)
{
	int error = n > FEW ? grow(call) : 0;

	call->named = true;
	if (!error)
		error = bind(call, args, n);
	if (!error)
		error = bind_assignments(call);
	if (!error)
		error = check_dims(call->kernel->info, grid, block, launch);
	if (!error)
		error = copy_values(call);
	if (adsm_paper)
		call->named = false;
	launch->name = call->kernel->info->name;
	launch->n_args = call->n_args;
	launch->args = call->args;
	return error;
}

int adsm_call(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n, const void *where)
{
	struct bound_call call;
	struct adsm_launch launch = { 0 };
	struct kernel_start start = { .launch = &launch };
	int error;

	if (!kernel || !adsm_kernel_is_live(kernel))
		return adsm_fail(-EINVAL, "%p is not a kernel of a loaded module", (void *)kernel);
	adsm_calls_renew();
	adsm_calls.caller = adsm_caller_get(adsm_calls.id);
	if (!adsm_calls.caller)
		return adsm_fail(-ENOMEM, "no memory to note calls of another thread");
	begin(&call, kernel, where);
	error = prepare(&call, args, n, grid, block, &launch);
	start.home = call.home;
	call.start = start_kernel;
	call.start_arg = &start;
	if (!error)
		error = enter_in_turn(&call);
	end(&call);
	if (!error)
		adsm_count(NULL, const_bytes, call.const_bytes);
	return error;
}
