/* SPDX-License-Identifier: MIT */
/* bind.h - the arguments of a call, checked and copied, and the objects that it uses. */
#pragma once

#include "core/index.h"
#include "core/object.h"
#include "core/options.h"
#include "once/once.h"
#include "run/object/kernel.h"

#define ADSM_USES_MAX 640	/* objects named by one call, assignments and variables included */
/* Arguments of the kernel: what the caller passes, and the module's variables. */
#define ADSM_BOUND_ARGS_MAX (ADSM_ARGS_MAX + ADSM_VARIABLES_MAX)
#define ADSM_ONCES_MAX 32	/* write-once objects of one call: bits of adsm_bound.sets */
#define ADSM_ARGS_FEW 17	/* arguments and assignments without malloc(): 16, and adsmCall()'s empty one */

/* How a command of the program's own uses an object. */
struct adsm_driver_use {
	const void *p;			/* any address in the object */
	unsigned access;		/* ADSM_ACCESS_* */
};

/* A pointer that a call names: an argument, an adsmUse(), an assignment. */
struct adsm_named_pointer {
	const char *what;		/* for messages */
	const void *p;
	unsigned access;
	struct adsm_launch_arg *arg;	/* NULL: not an argument of the kernel */
	bool raw;			/* it need not point to an object */
	const char *writes;		/* what the kernel certainly writes (base/writes.h); NULL: not known */
};

/* What one call does to one object. */
struct adsm_use {
	struct adsm_object *object;
	uint64_t generation;		/* tells whether the slot still has the same object */
	unsigned access;
};

/* Room for the largest number of arguments and objects of a call. */
struct adsm_bound_room {
	struct adsm_launch_arg args[ADSM_BOUND_ARGS_MAX];
	struct adsm_named_pointer pointers[ADSM_USES_MAX];
	struct adsm_use uses[ADSM_USES_MAX];
	struct adsm_assignment assignments[ADSM_USES_MAX];
};

struct adsm_bound {
	adsmKernel *kernel;		/* NULL: commands of the program's own, see driver.h */
	const struct adsm_launch *launch;	/* its grid and block; NULL: not known yet */
	struct adsm_home *home;		/* NULL until an argument names an object */
	bool chosen;			/* the caller of adsm_bind() chose the home */
	bool mixed;			/* objects of several homes were named; they may have moved since */
	bool named;
	bool replicas;			/* it may use the wanted replicas of its home (core/replica.h) */
	bool yields;			/* it can wait for memory that calls of moves.h keep (residency.h) */
	bool known;			/* the call uses only what it names; also true
					   with ADSM_PAPER=1, where named is false */
	size_t n_args, n_pointers, n_uses;
	size_t max;			/* the capacity of each of these arrays */
	struct adsm_launch_arg *args;
	struct adsm_named_pointer *pointers;
	struct adsm_use *uses;
	/* Write-once objects, in the order of the arguments, each with a
	 * reference. Bit i of sets: the call may set units of onces[i]. */
	struct adsm_once_object *onces[ADSM_ONCES_MAX];
	uint32_t failures[ADSM_ONCES_MAX];	/* the failure of each object that adsm_bind_onces() cleared */
	size_t n_onces;
	uint32_t sets;
	size_t const_bytes, n_bytes;
	char *bytes;			/* copies of the values and constants */
	/* The arrays if there are few arguments. They are small because stacks may be small. */
	struct adsm_launch_arg few_args[ADSM_ARGS_FEW];
	struct adsm_named_pointer few_pointers[ADSM_ARGS_FEW];
	struct adsm_use few_uses[ADSM_ARGS_FEW];
	char few_bytes[256];
	struct adsm_bound_room *room;	/* the arrays if there are more; NULL: not allocated */
};

/*
 * Bind a call of @kernel with these arguments, on @home; NULL: on the home that they name. The caller holds no lock.
 * adsm_bind_end() is necessary also after an error.
 */
int adsm_bind(struct adsm_bound *bound, struct adsm_home *home, adsmKernel *kernel, const adsmArg *args, size_t n);
/* The same for commands of the program's own on @home, which use these objects. */
int adsm_bind_uses(struct adsm_bound *bound, struct adsm_home *home, const struct adsm_driver_use *uses, size_t n);
void adsm_bind_end(struct adsm_bound *bound);
/*
 * Before the call starts: clear the failures of earlier calls on the write-once objects whose units this call may set.
 * Lock held.
 */
void adsm_bind_onces(struct adsm_bound *bound);
/*
 * If the call has begun, note it as the last one on its write-once objects; it is the home's next call. Otherwise
 * restore the failures. Lock held since adsm_bind_onces().
 */
void adsm_bind_onces_end(struct adsm_bound *bound, bool has_begun);
/* Find the objects of the pointers. Lock held: the result is valid until the lock is given back. -EXDEV, without a
 * sentence: an object has another home, and no replica is wanted here. */
int adsm_bind_objects(struct adsm_bound *bound);

/*
 * Is it a call of a kernel of the program's? Otherwise it stands for commands of the program's own, and the end of some
 * of these is never known.
 */
static inline bool adsm_bound_is_own(const struct adsm_bound *bound)
{
	return bound->kernel && !bound->kernel->module->internal;
}

/*
 * How a call accesses an object that it names. An unnamed call may access every object in any way, except objects that
 * are assigned to it.
 */
static inline unsigned adsm_bound_access(const struct adsm_bound *bound, size_t i)
{
	bool known = bound->named || (bound->uses[i].object->assigned && !adsm_paper);

	return known ? bound->uses[i].access : ADSM_ACCESS_INOUT;
}

/* As in bind.c: a raw pointer to the end of an object is of that if no other object begins there. */
static inline bool adsm_pointer_reaches(const struct adsm_named_pointer *pointer, const struct adsm_object *object)
{
	const uintptr_t p = (uintptr_t)pointer->p;

	return p - object->start < object->span ||
		(pointer->raw && p - object->start == object->span && !adsm_index_find(p));
}

/* Does one of the first @n pointers of the call reach the object? */
static inline bool adsm_bound_names(const struct adsm_bound *bound, const struct adsm_object *object, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (adsm_pointer_reaches(&bound->pointers[i], object))
			return true;
	return false;
}

/* Was the object freed while the lock was given back? */
static inline bool adsm_use_is_gone(const struct adsm_use *use)
{
	return !use->object->live || use->object->freeing || use->object->generation != use->generation;
}
