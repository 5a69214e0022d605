/* SPDX-License-Identifier: MIT */
/* once/wait.h - threads of the program that wait for a unit: in adsmOnceGet(), a touch of the view, a system call. */
#pragma once

#include "engine/engine.h"
#include "once/once.h"

/*
 * Wait until the unit is set. @where: the caller's code address. This is a cancellation point. Returns 0, or -ENODEV or
 * -EDEADLK with an error text.
 */
int adsm_once_get(struct adsm_once_object *object, size_t unit, const void *where);
/* Wait until the unit is not set, and begin to write it. As adsm_once_get(); -ENOTSUP: it is set, on a cluster. */
int adsm_once_room(struct adsm_once_object *object, size_t unit, const void *where);
/* Make a set unit empty. -EINVAL: it is not set; -ENOTSUP: on a cluster; with an error text. */
int adsm_once_make_empty(struct adsm_once_object *object, size_t unit);
/* This thread jumps to code whose stack pointer is @stack: the waits that it leaves end (core/frame.h). */
void adsm_once_leave(uintptr_t stack, bool may_return);
/* Serve a fault in a view, or a store to the readers' mapping. Returns FOREIGN if it is in neither. No lock is held. */
enum adsm_fault_result adsm_once_fault(struct adsm_fault *fault);			/* [signal] */
/* Set what the program permits for whole pages of the view (limits.h). May be called anywhere. -ENOMEM: no mappings are
 * left. */
int adsm_once_limit(struct adsm_once_object *object, size_t offset, size_t size, enum adsm_prot limit);
/*
 * Prepare a system call that is to read bytes of a view from @offset on, or, with @input, to write them. Before reading
 * it waits for the units; before writing the units must be fresh. Returns 0 and the address for the system, or a
 * negative errno and a line in the log.
 */
int adsm_once_io(struct adsm_once_object *object, size_t offset, size_t size, bool input, const void *where,
		 void **ret_address);
