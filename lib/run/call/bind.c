/* SPDX-License-Identifier: MIT */
/* bind.c - see bind.h. */
#include "run/call/bind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/writes.h"
#include "core/index.h"
#include "core/replica.h"
#include "run/object/variable.h"

/* Initialize only the members that are used. */
static void begin(struct adsm_bound *bound, adsmKernel *kernel, struct adsm_home *home)
{
	bound->kernel = kernel;
	bound->launch = NULL;
	bound->home = home;
	bound->chosen = home;
	bound->mixed = false;
	bound->n_args = bound->n_pointers = bound->n_uses = bound->const_bytes = bound->n_bytes = bound->n_onces = 0;
	bound->sets = 0;
	bound->replicas = bound->yields = bound->known = false;
	bound->max = ADSM_ARGS_FEW;
	bound->args = bound->few_args;
	bound->pointers = bound->few_pointers;
	bound->uses = bound->few_uses;
	bound->bytes = bound->few_bytes;
	bound->room = NULL;
}

void adsm_bind_end(struct adsm_bound *bound)
{
	for (size_t i = 0; i < bound->n_onces; i++)
		adsm_once_give(bound->onces[i]);
	free(bound->room);
	if (bound->bytes != bound->few_bytes)
		free(bound->bytes);
}

/* Change to the large arrays. Call this before any lock is taken, and before objects are known. */
static int grow(struct adsm_bound *bound)
{
	struct adsm_bound_room *room = malloc(sizeof(*room));

	if (!room)
		return adsm_fail(-ENOMEM, "no memory for a call of more than %d arguments", ADSM_ARGS_FEW - 1);
	memcpy(room->args, bound->args, bound->n_args * sizeof(*bound->args));
	memcpy(room->pointers, bound->pointers, bound->n_pointers * sizeof(*bound->pointers));
	for (size_t i = 0; i < bound->n_pointers; i++)
		if (room->pointers[i].arg)
			room->pointers[i].arg = room->args + (room->pointers[i].arg - bound->args);
	bound->args = room->args;
	bound->pointers = room->pointers;
	bound->uses = room->uses;
	bound->max = ADSM_USES_MAX;
	bound->room = room;
	return 0;
}

static int add_use(struct adsm_bound *bound, struct adsm_object *object, unsigned access)
{
	for (size_t i = 0; i < bound->n_uses; i++)
		if (bound->uses[i].object == object) {
			bound->uses[i].access |= access;
			return 0;
		}
	if (bound->n_uses == bound->max)
		return adsm_fail(-EINVAL, "a call can name at most %d objects", ADSM_USES_MAX);
	bound->uses[bound->n_uses++] = (struct adsm_use){ object, object->generation, access };
	return 0;
}

/*
 * Note a pointer. If the caller of adsm_bind() chose no home, the first pointer to an object decides on which device
 * the call runs.
 */
static int add_pointer(struct adsm_bound *bound, const char *what, const void *p, unsigned access,
		       struct adsm_launch_arg *arg)
{
	const struct adsm_object *object;

	if (arg)
		*arg = (struct adsm_launch_arg){ .kind = ADSM_LAUNCH_POINTER, .offset = (uintptr_t)p };
	if (!p)
		return 0;
	if (bound->n_pointers == bound->max)
		return adsm_fail(-EINVAL, "a call can name at most %d objects", ADSM_USES_MAX);
	bound->pointers[bound->n_pointers++] = (struct adsm_named_pointer){
		.what = what, .p = p, .access = access, .arg = arg,
	};
	/* If the object is freed or moves meanwhile, adsm_bind_objects() notices. */
	object = bound->chosen || (bound->home && adsm_n_homes == 1) ? NULL : adsm_index_find((uintptr_t)p);
	if (object && !object->once && !bound->home)
		bound->home = adsm_object_home(object);
	else if (object && !object->once)
		bound->mixed |= adsm_object_home(object) != bound->home;
	if (!access)
		bound->named = false;
	return 0;
}

/*
 * Find the objects that commands of the program's own use. Other pointers are not to objects, or to objects of another
 * home.
 */
static int resolve_uses(struct adsm_bound *bound)
{
	for (size_t i = 0; i < bound->n_pointers; i++) {
		struct adsm_object *object = adsm_object_find_locked(bound->home, (uintptr_t)bound->pointers[i].p);

		if (object && !object->freeing)
			add_use(bound, object, bound->pointers[i].access);
	}
	return 0;
}

/* The address that the device gets, as far as it is known. */
static bool address_of(const struct adsm_launch_arg *arg, int64_t *ret_value)
{
	*ret_value = arg->memory ? (int64_t)(arg->memory->address + arg->offset) : 0;
	return arg->memory || !arg->offset;
}

/* An integer in an argument's bytes. */
static bool value_of(const void *arg, uint32_t param, uint32_t offset, uint32_t size, int64_t *ret_value)
{
	const struct adsm_bound *bound = arg;
	const struct adsm_launch_arg *value = param < bound->n_args ? &bound->args[param] : NULL;
	int32_t small;

	if (value && value->kind == ADSM_LAUNCH_POINTER && size == sizeof(*ret_value) && !offset)
		return address_of(value, ret_value);
	if (!value || value->kind != ADSM_LAUNCH_VALUE || value->size < size || offset > value->size - size)
		return false;
	if (size == sizeof(small)) {
		memcpy(&small, (const char *)value->data + offset, sizeof(small));
		*ret_value = small;
	} else {
		memcpy(ret_value, (const char *)value->data + offset, sizeof(*ret_value));
	}
	return true;
}

/* How the call accesses an object by a pointer to @offset in it. OUT: it certainly overwrites all of the object. */
static unsigned access_of(const struct adsm_bound *bound, const struct adsm_named_pointer *pointer,
			  const struct adsm_object *object, size_t offset)
{
	struct adsm_writes_launch launch = { .value = value_of, .arg = bound };

	if (!pointer->writes || !bound->launch || object->size > INT64_MAX / 4)
		return pointer->access;
	launch.grid = bound->launch->grid;
	launch.block = bound->launch->block;
	return adsm_writes_cover(pointer->writes, &launch, -(int64_t)offset, (int64_t)(object->size - offset)) ?
		ADSM_ACCESS_OUT : pointer->access;
}

/*
 * The object of a pointer, or NULL. A pointer that need not point to an object may be one past the end of one, and is
 * of that if no other object begins there. Lock held.
 */
static struct adsm_object *find_object(const struct adsm_bound *bound, const struct adsm_named_pointer *pointer)
{
	const uintptr_t p = (uintptr_t)pointer->p;
	struct adsm_object *object = adsm_object_find_locked(bound->home, p);

	if (pointer->raw && (!object || object->freeing))
		object = adsm_object_find_locked(bound->home, p - 1);
	return object && !object->freeing && p - object->start < object->size + pointer->raw ? object : NULL;
}

/* The object of a pointer has another home. Only kernels of the program's make objects move. */
static int elsewhere(const struct adsm_bound *bound, const struct adsm_named_pointer *pointer)
{
	return bound->kernel->module->internal ?
		adsm_fail(-EINVAL, "argument '%s' of %s: the object at %p is not on device %d, unlike the first one",
			  pointer->what, bound->kernel->info->name, pointer->p, bound->home->index) : -EXDEV;
}

/* The wanted replica here that a pointer is to; NULL: the call has none. */
static const struct adsm_replica *find_replica(const struct adsm_bound *bound, const struct adsm_named_pointer *pointer)
{
	const uintptr_t p = (uintptr_t)pointer->p;
	const struct adsm_replica *replica = bound->replicas ? adsm_replica_at(bound->home, p) : NULL;

	return replica || !bound->replicas || !pointer->raw || adsm_index_find(p) ? replica :
		adsm_replica_at(bound->home, p - 1);
}

/* Let a pointer to an object of another home be one to the replica. False: it is to no byte of the object, as in
 * find_object(). */
static bool use_replica(const struct adsm_named_pointer *pointer, const struct adsm_replica *replica)
{
	const size_t offset = (uintptr_t)pointer->p - replica->start;

	if (offset >= replica->size + pointer->raw)
		return false;
	if (pointer->arg) {
		pointer->arg->memory = replica->memory;
		pointer->arg->offset = offset;
		pointer->arg->access = pointer->access;
	}
	return true;
}

static int resolve(struct adsm_bound *bound)
{
	for (size_t i = 0; i < bound->n_pointers; i++) {
		const struct adsm_named_pointer *pointer = &bound->pointers[i];
		const struct adsm_replica *replica = find_replica(bound, pointer);
		struct adsm_object *object = replica ? NULL : adsm_index_find((uintptr_t)pointer->p);
		size_t offset;
		int error;

		if (replica && use_replica(pointer, replica))
			continue;
		/* A write-once object is at no home. */
		if (object && !object->once && !adsm_object_is_at(object, bound->home))
			return elsewhere(bound, pointer);
		object = replica ? NULL : find_object(bound, pointer);
		if (!object && pointer->raw)
			continue;
		if (!object)
			return adsm_fail(-EINVAL, "kernel '%s', argument '%s': %p is not in a live object",
					 bound->kernel->info->name, pointer->what, pointer->p);
		offset = (uintptr_t)pointer->p - object->start;
		if (pointer->arg) {
			pointer->arg->memory = object->memory;
			pointer->arg->offset = offset;
		}
		error = add_use(bound, object, access_of(bound, pointer, object, offset));
		if (error)
			return error;
	}
	return 0;
}

/* Set each argument's access: what the call does with the object by all pointers to it. */
static void tell_access(struct adsm_bound *bound)
{
	for (size_t i = 0; i < bound->n_pointers; i++)
		for (size_t u = 0; bound->pointers[i].arg && u < bound->n_uses; u++)
			if (bound->uses[u].object->memory == bound->pointers[i].arg->memory)
				bound->pointers[i].arg->access = adsm_bound_access(bound, u);
}

int adsm_bind_objects(struct adsm_bound *bound)
{
	int error = bound->kernel ? resolve(bound) : resolve_uses(bound);

	if (!error && bound->kernel)
		tell_access(bound);
	return error;
}

/* A kernel gets the object's address as a value, and the device recognizes it. */
static int bind_once(struct adsm_bound *bound, const struct adsm_param *param, const adsmArg *arg,
		     struct adsm_launch_arg *ret_arg)
{
	struct adsm_once_object *object = adsm_once_take((uintptr_t)arg->data);

	if (!object)
		return adsm_fail(-EINVAL, "kernel '%s', argument '%s': %p is not the address of a write-once object "
				 "(adsmPtr(once->address))", bound->kernel->info->name, param->name, arg->data);
	bound->onces[bound->n_onces++] = object;
	adsm_once_go_far(adsm_once_table, object->shared);
	if ((arg->access ? arg->access : param->access) != ADSM_ACCESS_IN)
		bound->sets |= 1u << (bound->n_onces - 1);
	*ret_arg = (struct adsm_launch_arg){ .kind = ADSM_LAUNCH_VALUE, .data = &object->handle.address,
					     .size = sizeof(object->handle.address), .once = true,
					     .access = arg->access ? arg->access : param->access };
	bound->n_bytes += ret_arg->size;
	return 0;
}

void adsm_bind_onces(struct adsm_bound *bound)
{
	for (size_t i = 0; i < bound->n_onces; i++)
		bound->failures[i] = bound->sets >> i & 1 ? atomic_exchange(&bound->onces[i]->shared->failed, 0) : 0;
}

void adsm_bind_onces_end(struct adsm_bound *bound, bool has_begun)
{
	uint64_t seq = bound->home->last_seq + 1;

	for (size_t i = 0; i < bound->n_onces; i++) {
		struct adsm_once_object *object = bound->onces[i];
		uint32_t none = 0;

		if (has_begun) {
			atomic_store(&object->use_seq[bound->home->index], seq);
			if (bound->sets >> i & 1)
				atomic_store(&object->write_seq[bound->home->index], seq);
		} else if (bound->failures[i] && atomic_compare_exchange_strong(&object->shared->failed, &none,
										bound->failures[i])) {
			/* A thread that began to wait meanwhile must get the failure, too. */
			adsm_once_wake_all(adsm_once_table);
		}
	}
}

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = { "nothing", "a pointer (adsmPtr)", "a value (adsmVal)",
					     "constants (adsmConst)", "adsmUse",
					     "memory of the block (adsmLocal)",
					     "a write-once object (adsmPtr of its address)" };

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "an unknown kind";
}

/* Is a pointer, or what may be one, passed to a parameter of 8 bytes of a kernel in CUDA C? */
static bool is_raw(const struct adsm_bound *bound, const struct adsm_param *param, const adsmArg *arg)
{
	if (!bound->kernel->info->raw)
		return false;
	if (param->kind == ADSM_ARG_POINTER)
		return arg->kind == ADSM_ARG_POINTER ||
		       (arg->kind == ADSM_ARG_VALUE && arg->data && arg->size == sizeof(void *));
	return param->kind == ADSM_ARG_VALUE && arg->kind == ADSM_ARG_POINTER && param->size == sizeof(void *);
}

/*
 * The kernel gets the address that the device has for the object, or the bytes unchanged if there is no object. A value
 * that the kernel does not use as an address is not written through.
 */
static int bind_raw(struct adsm_bound *bound, const struct adsm_param *param, const adsmArg *arg,
		    struct adsm_launch_arg *ret_arg)
{
	unsigned access = param->kind == ADSM_ARG_POINTER ? param->access : ADSM_ACCESS_IN;
	const char *writes = param->writes;
	const void *p = arg->data;
	int error;

	if (arg->kind == ADSM_ARG_VALUE) {
		memcpy(&p, arg->data, sizeof(p));
	} else if (arg->access) {
		access = arg->access;
		writes = NULL;
	}
	error = add_pointer(bound, param->name, p, access, ret_arg);
	if (!error && p) {
		bound->pointers[bound->n_pointers - 1].raw = true;
		bound->pointers[bound->n_pointers - 1].writes = writes;
	}
	return error;
}

static int bind_argument(struct adsm_bound *bound, const struct adsm_param *param, const adsmArg *arg,
			 struct adsm_launch_arg *ret_arg)
{
	const char *kernel = bound->kernel->info->name;
	bool native = !bound->kernel->module->info->image;
	size_t size = param->size;

	if (param->kind == ADSM_ARG_ONCE && arg->kind == ADSM_ARG_POINTER)
		return bind_once(bound, param, arg, ret_arg);
	if (arg->kind == ADSM_ARG_POINTER && adsm_once_at((uintptr_t)arg->data))
		return adsm_fail(-EINVAL, "kernel '%s', argument '%s': %p is a write-once object, but the parameter is "
				 "not declared ADSM_ONCE", kernel, param->name, arg->data);
	if (is_raw(bound, param, arg))
		return bind_raw(bound, param, arg, ret_arg);
	/* Of a native kernel the parameters may be unknown. A value
	 * may have any bytes, which the driver may take for a pointer. */
	if (arg->kind != param->kind && !(native && (param->kind == ADSM_ARG_NONE || arg->kind == ADSM_ARG_VALUE)))
		return adsm_fail(-EINVAL, "kernel '%s', argument '%s': expected %s, got %s", kernel, param->name,
				 kind_name(param->kind), kind_name(arg->kind));
	if (arg->kind == ADSM_ARG_POINTER)
		return add_pointer(bound, param->name, arg->data, arg->access ? arg->access : param->access,
				   ret_arg);
	if (arg->kind > ADSM_ARG_LOCAL)
		return adsm_fail(-EINVAL, "kernel '%s', argument '%s': kind %u does not exist", kernel, param->name,
				 arg->kind);
	if (arg->kind == ADSM_ARG_LOCAL) {
		*ret_arg = (struct adsm_launch_arg){ .kind = ADSM_LAUNCH_LOCAL, .size = arg->size };
		return arg->size ? 0 : adsm_fail(-EINVAL, "kernel '%s', argument '%s': the size of memory of the block "
						 "(adsmLocal) is 0", kernel, param->name);
	}
	if (arg->kind == ADSM_ARG_VALUE && native && arg->size && arg->size <= ADSM_CONST_MAX)
		size = param->kind == ADSM_ARG_VALUE && param->size ? param->size : arg->size;
	if (arg->kind == ADSM_ARG_VALUE && (!arg->data || arg->size != size))
		return adsm_fail(-EINVAL, "kernel '%s', argument '%s': expected a %s of %u bytes, got %zu bytes",
				 kernel, param->name, param->type, (unsigned)size, arg->size);
	if (arg->kind == ADSM_ARG_CONST && (!arg->data || !arg->size || arg->size > ADSM_CONST_MAX))
		return adsm_fail(-EINVAL, "kernel '%s', argument '%s': constants must have 1 to %zu bytes, got %zu",
				 kernel, param->name, ADSM_CONST_MAX, arg->size);
	*ret_arg = (struct adsm_launch_arg){
		.kind = arg->kind == ADSM_ARG_VALUE ? ADSM_LAUNCH_VALUE : ADSM_LAUNCH_CONST,
		.data = arg->data,
		.size = arg->size,
	};
	if (arg->kind == ADSM_ARG_CONST)
		bound->const_bytes += arg->size;
	bound->n_bytes += arg->size;
	return 0;
}

/*
 * Values and constants are copied while no lock is held: their bytes may lie in shared memory, and a touch of that
 * under the lock would deadlock.
 */
static int copy_values(struct adsm_bound *bound)
{
	size_t at = 0;

	if (bound->n_bytes > sizeof(bound->few_bytes)) {
		bound->bytes = malloc(bound->n_bytes);
		if (!bound->bytes)
			return adsm_fail(-ENOMEM, "no memory for %zu bytes of values", bound->n_bytes);
	}
	for (size_t i = 0; i < bound->n_args; i++) {
		struct adsm_launch_arg *arg = &bound->args[i];

		if (arg->kind == ADSM_LAUNCH_POINTER || arg->kind == ADSM_LAUNCH_LOCAL)
			continue;
		memcpy(bound->bytes + at, arg->data, arg->size);
		arg->data = bound->bytes + at;
		at += arg->size;
	}
	return 0;
}

/* The names of the parameters: "a, b, n". */
static void list_params(const struct adsm_kernel_info *info, char *ret_text, size_t size)
{
	size_t at = 0;

	ret_text[0] = '\0';
	for (uint32_t i = 0; i < info->n_params && at < size; i++)
		at += (size_t)adsm_format(ret_text + at, size - at, "%s%s", i ? ", " : "", info->params[i].name);
}

static int bind(struct adsm_bound *bound, const adsmArg *args, size_t n)
{
	const struct adsm_kernel_info *info = bound->kernel->info;
	size_t n_params = info->n_params;
	int error;

	if (!args && n)
		return adsm_fail(-EINVAL, "kernel '%s': the array of %zu arguments is NULL", info->name, n);
	for (size_t i = 0; i < n; i++) {
		if (args[i].kind == ADSM_ARG_NONE)
			continue;
		if (args[i].access > ADSM_ACCESS_INOUT)
			return adsm_fail(-EINVAL, "kernel '%s': access %u of an argument does not exist", info->name,
					 args[i].access);
		if (args[i].kind == ADSM_ARG_USE && !args[i].data && args[i].size) {
			bound->named = false;		/* adsmUseAll() */
			continue;
		}
		if (args[i].kind == ADSM_ARG_USE) {
			error = add_pointer(bound, "adsmUse", args[i].data, args[i].access, NULL);
		} else if (args[i].kind == ADSM_ARG_LOCAL && !bound->kernel->module->info->image &&
			   bound->n_args == info->n_params && n_params == info->n_params && n_params < ADSM_ARGS_MAX) {
			/* On some devices memory of the block is not a parameter. It then follows the parameters. */
			n_params++;
			bound->args[bound->n_args++] = (struct adsm_launch_arg){ .kind = ADSM_LAUNCH_LOCAL,
									       .size = args[i].size };
			error = args[i].size ? 0 : adsm_fail(-EINVAL, "kernel '%s': the size of memory of the block "
							     "(adsmLocal) is 0", info->name);
		} else if (bound->n_args == n_params || bound->n_args == ADSM_ARGS_MAX) {
			bound->n_args++;
			break;
		} else {
			error = bind_argument(bound, &info->params[bound->n_args], &args[i],
					      &bound->args[bound->n_args]);
			bound->n_args++;
		}
		if (error)
			return error;
	}
	if (bound->n_args != n_params) {
		char list[256];

		list_params(info, list, sizeof(list));
		return adsm_fail(-EINVAL, "kernel '%s' takes %u arguments (%s), got %s%zu", info->name,
				 info->n_params, list, bound->n_args > n_params ? "at least " : "",
				 bound->n_args);
	}
	return 0;
}

static int bind_assignments(struct adsm_bound *bound)
{
	struct adsm_assignment few[4], *list = few;
	size_t n = adsm_kernel_assignments(bound->kernel, few, sizeof(few) / sizeof(few[0]));

	if (n > sizeof(few) / sizeof(few[0]) || bound->n_pointers + n > bound->max) {
		int error = bound->room ? 0 : grow(bound);

		if (error)
			return error;
		list = bound->room->assignments;
		n = adsm_kernel_assignments(bound->kernel, list, ADSM_USES_MAX);
	}
	if (n > ADSM_USES_MAX)
		return adsm_fail(-EINVAL, "kernel '%s' has %zu assigned objects, but a call can name at most %d",
				 bound->kernel->info->name, n, ADSM_USES_MAX);
	for (size_t i = 0; i < n; i++) {
		int error = add_pointer(bound, "adsmAssign", (const void *)list[i].start, list[i].access, NULL);

		if (error)
			return error;
	}
	return bound->home ? 0 : adsm_home_get(ADSM_DEVICE_CURRENT, &bound->home);
}

/* The module's variables that the kernel uses follow its arguments. */
static int bind_variables(struct adsm_bound *bound)
{
	const struct adsm_kernel_info *info = bound->kernel->info;
	void *const *addresses;
	int error;

	if (!info->n_variables)
		return 0;
	error = adsm_variables_get(bound->kernel->module, bound->home, &addresses);
	if (!error && !bound->room && (bound->n_args + info->n_variables > bound->max ||
				       bound->n_pointers + info->n_variables > bound->max))
		error = grow(bound);
	for (uint32_t i = 0; !error && i < info->n_variables; i++) {
		const struct adsm_param *param = &info->params[info->n_params + i];

		error = add_pointer(bound, "a variable of the module", addresses[strtoul(param->name, NULL, 10)],
				    param->access, &bound->args[bound->n_args++]);
	}
	return error;
}

static int check_onces(const struct adsm_bound *bound)
{
	const struct adsm_device *device = bound->home->device;

	return !bound->n_onces || device->caps.once ? 0 :
		adsm_fail(-ENOTSUP, "kernel '%s' takes write-once objects, which the backend '%s' does not support",
			  bound->kernel->info->name, device->backend->name);
}

int adsm_bind(struct adsm_bound *bound, struct adsm_home *home, adsmKernel *kernel, const adsmArg *args, size_t n)
{
	int error;

	begin(bound, kernel, home);
	bound->named = !kernel->info->any_object;
	error = n > ADSM_ARGS_FEW ? grow(bound) : 0;
	if (!error)
		error = bind(bound, args, n);
	if (!error)
		error = bind_assignments(bound);
	if (!error)
		error = bind_variables(bound);
	if (!error)
		error = check_onces(bound);
	if (!error)
		error = copy_values(bound);
	bound->known = bound->named;
	if (adsm_paper)
		bound->named = false;
	return error;
}

int adsm_bind_uses(struct adsm_bound *bound, struct adsm_home *home, const struct adsm_driver_use *uses, size_t n)
{
	int error;

	begin(bound, NULL, home);
	bound->named = n && n <= ADSM_USES_MAX && !adsm_paper;
	error = bound->named && n > ADSM_ARGS_FEW ? grow(bound) : 0;
	if (error)
		return error;
	bound->n_pointers = bound->named ? n : 0;
	for (size_t i = 0; i < bound->n_pointers; i++)
		bound->pointers[i] = (struct adsm_named_pointer){
			.p = uses[i].p, .access = uses[i].access,
		};
	return 0;
}
