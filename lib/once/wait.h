/* SPDX-License-Identifier: MIT */
/* once/wait.h - threads of the program's that wait for a unit: in a verb, in a touch of the view, in a system call. */
#ifndef ADSM_ONCE_WAIT_H
#define ADSM_ONCE_WAIT_H

#include "engine/engine.h"
#include "once/once.h"

/*
 * Until the unit is set. @where: the program's code that wants it. A point of cancellation. 0; -ENODEV, -EDEADLK with
 * the sentence.
 */
int adsm_once_get(struct adsm_once_object *object, size_t unit, const void *where);
/* This thread jumps to where its stack pointer is @stack: the waits end that it leaves (core/frame.h). */
void adsm_once_leave(uintptr_t stack, bool may_return);
/* A fault in a view, or a store where readers read. FOREIGN: it is in none. Without a lock. */
enum adsm_fault_result adsm_once_fault(struct adsm_fault *fault);			/* [signal] */
/* The program permits another most of whole pages of the view (limits.h). Anywhere. -ENOMEM: no mappings are left. */
int adsm_once_limit(struct adsm_once_object *object, size_t offset, size_t size, enum adsm_prot limit);
/*
 * A system call is to read the bytes of a view from @offset on, or, as input, to write them: what is to be read is
 * waited for, and what is written has to be fresh. The address that the system is given instead. A negative errno, and
 * a line in the log.
 */
int adsm_once_io(struct adsm_once_object *object, size_t offset, size_t size, bool input, const void *where,
		 void **ret_address);

#endif
