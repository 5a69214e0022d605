/* SPDX-License-Identifier: MIT */
/*
 * engine.h - the contract of fault engines: the only place that knows how a view is opened and closed and how an
 * access to a closed page reaches the library. list.h has those there are.
 */
#ifndef ADSM_ENGINE_H
#define ADSM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"

/* What the handler made of a fault. */
enum adsm_fault_result {
	ADSM_FAULT_SERVED,	/* run the instruction again */
	ADSM_FAULT_FOREIGN,	/* not ours: to whoever had the signal before */
	ADSM_FAULT_WAIT,	/* wait first, with adsm_fault.wait, under the interrupted mask; then ask again */
	ADSM_FAULT_LOST,	/* ours and cannot be served: SIGBUS at this address (already logged) */
};

struct adsm_fault {
	uintptr_t address;
	uintptr_t instruction;
	/* Where a function without a frame has the address that it returns to. To be read only where the instruction is
	 * known to be such a function's, on an ordinary stack: elsewhere anything may be there. */
	const uintptr_t *caller;
	uintptr_t stack;	/* the interrupted code's stack pointer */
	const void *context;	/* its ucontext_t */
	bool write;
	/* There is no stack to serve the fault on. The answer is FOREIGN or LOST, and nothing is logged. */
	bool cramped;
	/* Set with ADSM_FAULT_WAIT; run with no lock held and the interrupted code's signal mask. It may be
	 * left by siglongjmp(), so it keeps no state. */
	void (*wait)(const struct adsm_fault *fault);
	void *wait_device;
	uint64_t wait_seq;
};

/* fault.c's side; signals are blocked, all that the kernel lets. */
typedef enum adsm_fault_result adsm_fault_handler(struct adsm_fault *fault);

/* Pages that were written: true, they are taken; false, the next collect() tells of them again. */
typedef bool adsm_written_handler(void *arg, void *pages, size_t size);

struct adsm_engine {
	const char *name;
	bool passes_writes;	/* a view that is not exact and may be read may be written, too, without a fault */
	/* Take the signals; the dispositions found are what foreign faults are forwarded to. */
	int (*start)(adsm_fault_handler *handler);
	/* Give the signals back, if they are still ours. */
	void (*stop)(void);
	/*
	 * The view of an object comes: whole pages of a shared mapping that the system keeps inaccessible (PROT_NONE).
	 * From now on they are closed by the engine. @exact: each write to what may only be read has to fault; else it
	 * need not, and collect() tells. Negative errno: nothing changed. It goes, closed: the system keeps it
	 * inaccessible again. Neither in a signal handler.
	 */
	int (*attach)(void *view, size_t size, bool exact);
	void (*detach)(void *view, size_t size);
	/*
	 * Change what a run of pages permits, from @was to @now. Where it is opened its data is in place; a page
	 * without memory has zeros. Where it is closed, @was is the most that any of it permits, and neighbours, all
	 * attached, may go in one run. -ENOMEM: the process has no mappings left; nothing changed. In the fault handler
	 * too.
	 */
	int (*permit)(void *view, size_t size, enum adsm_prot was, enum adsm_prot now);
	/*
	 * Tell of each run of pages that may have been written without a fault since attach(), since they ceased to be
	 * writable, or since they were taken; closing and opening leaves that as it is, and pages that are writable may
	 * be told of. Once permit() takes writing away or closes, no write comes of which this does not tell. Under the
	 * lock of the object's home, in signal handlers too. Negative errno: what has not been told of is next time.
	 */
	int (*collect)(void *view, size_t size, adsm_written_handler *written, void *arg);
};

/* The one that ADSM_ENGINE names, once it is chosen: with all options loaded, before it starts. Objects have theirs. */
extern const struct adsm_engine *adsm_engine;
void adsm_engine_choose(void);
/* One more that may be named, before the library starts, not by threads at once; -ENOSPC: there are too many. */
int adsm_engine_add(const struct adsm_engine *engine);

#endif
