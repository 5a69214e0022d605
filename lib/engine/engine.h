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

struct adsm_engine {
	const char *name;
	/* Take the signals; the dispositions found are what foreign faults are forwarded to. */
	int (*start)(adsm_fault_handler *handler);
	/* Give the signals back, if they are still ours. */
	void (*stop)(void);
	/* Change what the view of a run of pages permits. -ENOMEM: the process has no mappings left; nothing
	 * changed. All may run in the fault handler. */
	int (*open_ro)(void *view, size_t size);	/* was closed; its data is in place */
	int (*open_rw)(void *view, size_t size);	/* was closed */
	int (*upgrade)(void *view, size_t size);	/* was readable, becomes writable */
	int (*protect)(void *view, size_t size);	/* was writable, becomes readable */
	int (*close)(void *view, size_t size);		/* whatever it was, becomes inaccessible */
};

/* The one that ADSM_ENGINE names, once it is chosen: with all options loaded, before it starts. */
extern const struct adsm_engine *adsm_engine;
void adsm_engine_choose(void);

#endif
