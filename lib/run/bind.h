/* SPDX-License-Identifier: MIT */
/* bind.h - what a call was given, checked and copied: arguments, and pointers to the objects that it uses. */
#ifndef ADSM_BIND_H
#define ADSM_BIND_H

#include "core/object.h"
#include "core/options.h"
#include "once/once.h"
#include "run/kernel.h"

#define ADSM_USES_MAX 128	/* objects named by one call, assignments included */
#define ADSM_ARGS_FEW 17	/* arguments and assignments without malloc(): 16, and adsmCall()'s empty one */

/* What a command of the program's does with an object. */
struct adsm_driver_use {
	const void *p;			/* anywhere in it */
	unsigned access;		/* ADSM_ACCESS_* */
};

/* A pointer that a call names: an argument, an adsmUse(), an assignment. */
struct adsm_named_pointer {
	const char *what;		/* for messages */
	const void *p;
	unsigned access;
	struct adsm_launch_arg *arg;	/* NULL: not an argument of the kernel */
};

/* What one call does to one object. */
struct adsm_use {
	struct adsm_object *object;
	uint64_t generation;		/* tells whether it is still the same object */
	unsigned access;
};

/* Room for the most that a call may be given. */
struct adsm_bound_room {
	struct adsm_launch_arg args[ADSM_ARGS_MAX];
	struct adsm_named_pointer pointers[ADSM_USES_MAX];
	struct adsm_use uses[ADSM_USES_MAX];
	struct adsm_assignment assignments[ADSM_USES_MAX];
};

struct adsm_bound {
	adsmKernel *kernel;		/* NULL: commands of the program's, see driver.h */
	struct adsm_home *home;		/* NULL while no argument said which */
	bool named;
	bool known;			/* it uses what it names and nothing else; not named with ADSM_PAPER=1 */
	size_t n_args, n_pointers, n_uses;
	size_t max;			/* of each of these */
	struct adsm_launch_arg *args;
	struct adsm_named_pointer *pointers;
	struct adsm_use *uses;
	/* Write-once objects, taken, in the order of the arguments; which the call may set units of, by bits. */
	struct adsm_once_object *onces[ADSM_ARGS_MAX];
	uint32_t failures[ADSM_ARGS_MAX];	/* those of these that were taken back */
	size_t n_onces;
	uint32_t sets;
	size_t const_bytes, n_bytes;
	char *bytes;			/* copies of the values and constants */
	/* Where they are when there are few: stacks may be small. */
	struct adsm_launch_arg few_args[ADSM_ARGS_FEW];
	struct adsm_named_pointer few_pointers[ADSM_ARGS_FEW];
	struct adsm_use few_uses[ADSM_ARGS_FEW];
	char few_bytes[256];
	struct adsm_bound_room *room;	/* where they are when there are more; NULL: nowhere */
};

/* Before any lock: a call of @kernel with these arguments, on the home that they say. To be ended, however it went. */
int adsm_bind(struct adsm_bound *bound, adsmKernel *kernel, const adsmArg *args, size_t n);
/* The same for commands of the program's on @home, which use these objects. */
int adsm_bind_uses(struct adsm_bound *bound, struct adsm_home *home, const struct adsm_driver_use *uses, size_t n);
void adsm_bind_end(struct adsm_bound *bound);
/* Before it starts: what others have failed to set of its write-once objects, it may. Lock held. */
void adsm_bind_onces(struct adsm_bound *bound);
/* The call, which is the home's next, has them; or it has not begun, and all is as before. Lock held since. */
void adsm_bind_onces_end(struct adsm_bound *bound, bool has_begun);
/* Find the objects of the pointers. Lock held: they stay what they are until it is given back. */
int adsm_bind_objects(struct adsm_bound *bound);

/* Else it stands for commands of the program's, and of some nobody tells when they have ended. */
static inline bool adsm_bound_is_own(const struct adsm_bound *bound)
{
	return bound->kernel && !bound->kernel->module->internal;
}

/* What a call does to an object it names. An unnamed one may do anything, but to objects assigned to it. */
static inline unsigned adsm_bound_access(const struct adsm_bound *bound, size_t i)
{
	bool known = bound->named || (bound->uses[i].object->assigned && !adsm_paper);

	return known ? bound->uses[i].access : ADSM_ACCESS_INOUT;
}

/* The lock was away, and somebody has freed it. */
static inline bool adsm_use_is_gone(const struct adsm_use *use)
{
	return !use->object->live || use->object->freeing || use->object->generation != use->generation;
}

#endif
