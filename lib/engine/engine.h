/* SPDX-License-Identifier: MIT */
/* engine.h - the contract of fault engines. Only an engine knows how a view is opened and closed, and how an access to
 * a closed page reaches the library. engine/list.h lists the engines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"

/* What the engine does after the library's handler has returned. */
enum adsm_fault_result {
	ADSM_FAULT_SERVED,	/* run the instruction again */
	ADSM_FAULT_FOREIGN,	/* not the library's fault: forward the signal to the program's action */
	ADSM_FAULT_WAIT,	/* call adsm_fault.wait under the interrupted mask; then call the handler again */
	ADSM_FAULT_LOST,	/* cannot be served: raise SIGBUS at this address. The handler has logged the reason */
};

struct adsm_fault {
	uintptr_t address;
	uintptr_t instruction;
	/*
	 * If the interrupted function has no frame: the place of its return address. Read the word only if the
	 * instruction is known to belong to such a function on an ordinary stack. Otherwise the word may be anything.
	 */
	const uintptr_t *caller;
	uintptr_t stack;	/* the interrupted code's stack pointer */
	const void *context;	/* its ucontext_t */
	bool write;
	/* The stack is too small to serve the fault. The handler returns FOREIGN or LOST, and logs nothing. */
	bool cramped;
	/* Set with ADSM_FAULT_WAIT. The engine calls the function with no lock held, under the interrupted code's
	 * signal mask. A signal handler may leave it by siglongjmp(), so the function keeps no state. */
	void (*wait)(const struct adsm_fault *fault);
	void *wait_device;
	uint64_t wait_seq;
};

/* The library's handler of faults (run/touch/fault.c). Every signal that can be blocked is blocked. */
typedef enum adsm_fault_result adsm_fault_handler(struct adsm_fault *fault);

/* Gets a run of pages that collect() reports. Returns true if the report was used. Returns false if the next collect()
 * must report these pages again. */
typedef bool adsm_written_handler(void *arg, void *pages, size_t size);

struct adsm_engine {
	const char *name;
	bool passes_writes;	/* a readable view that is not exact also permits writes, without a fault */
	/*
	 * Start to handle faults. The engine forwards foreign faults to the signal actions that it finds.
	 *
	 * @handler: called on each fault.
	 */
	int (*start)(adsm_fault_handler *handler);
	/* Stop. The engine restores the signal actions that are still its own. */
	void (*stop)(void);
	/*
	 * Begin to manage the view of an object. The pages are closed by the engine from now on. Not in a signal
	 * handler.
	 *
	 * @view, @size: whole pages of a shared mapping that the system keeps inaccessible (PROT_NONE).
	 * @exact: true: each write to a page that is only readable faults. false: such a write need not fault, and
	 *         collect() reports it.
	 *
	 * Returns 0 or a negative errno; then nothing has changed.
	 */
	int (*attach)(void *view, size_t size, bool exact);
	/* End the management of a view, which is closed. The system keeps its pages inaccessible again. Not in a signal
	 * handler. */
	void (*detach)(void *view, size_t size);
	/*
	 * Change what a run of pages permits. May be called in the fault handler.
	 *
	 * To open pages: their data is in place; a page without memory contains zeros. To close pages: the run may
	 * include adjacent views, if all are attached.
	 *
	 * @was: what the pages permit now; to close pages, the most that any of them permits.
	 * @now: what the pages are to permit.
	 *
	 * Returns 0 or:
	 *   -ENOMEM   the process has no mappings left; nothing has changed
	 */
	int (*permit)(void *view, size_t size, enum adsm_prot was, enum adsm_prot now);
	/*
	 * Report pages that may have been written without a fault. The caller holds the lock of the object's home. The
	 * function may be called in signal handlers.
	 *
	 * - It reports the writes to a page since the latest of three events: attach(), the page ceased to be
	 *   writable, @written returned true for it.
	 * - To close and open a page does not change what is reported.
	 * - It may also report pages that are writable.
	 * - After permit() has closed a page or made it only readable, the next collect() reports all earlier writes.
	 *
	 * @view, @size: the pages.
	 * @written: called for each run of pages.
	 * @arg: passed to @written.
	 *
	 * Returns 0 or a negative errno; then the next collect() reports the remaining pages.
	 */
	int (*collect)(void *view, size_t size, adsm_written_handler *written, void *arg);
};

/* The engine that ADSM_ENGINE names. adsm_engine_choose() sets it after all options are loaded and before the library
 * starts. Each object keeps its own engine. */
extern const struct adsm_engine *adsm_engine;
void adsm_engine_choose(void);
/*
 * Add an engine that ADSM_ENGINE may name. Call it before the library starts, from one thread at a time.
 *
 * Returns 0 or:
 *   -ENOSPC   there are too many engines
 */
int adsm_engine_add(const struct adsm_engine *engine);
