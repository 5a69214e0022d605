/* SPDX-License-Identifier: MIT */
/*
 * core.h - a core: a window of address space with its local store in it (adsm_scratchpad.h), and how code runs there.
 *
 *	control, tags, dirty bits, lines, code buffer | inaccessible | stack
 *
 * Kernels see nothing else that they could write: a stack that runs over touches what is inaccessible.
 */
#ifndef ADSM_SCRATCHPAD_CORE_H
#define ADSM_SCRATCHPAD_CORE_H

#include "adsm_kernel.h"
#include "cache.h"

struct adsm_core {
	void *window;
	struct adsm_cache *cache;	/* its beginning; NULL: what is there is somebody else's */
	uint8_t *code;			/* the code buffer: layout.code bytes of the window, readable and writable */
	uint8_t *stack;			/* its lowest byte; its end is the window's */
	uint64_t stack_size;
};

/* A core with nothing in its store. -ENOMEM. */
int adsm_core_reserve(const struct adsm_scratchpad_layout *layout, struct adsm_core *ret_core);
/* And with an empty cache. */
int adsm_core_create(const struct adsm_scratchpad_geometry *geometry, const struct adsm_scratchpad_layout *layout,
		     const struct adsm_cache_memory *memory,
		     void (*wrong)(struct adsm_cache *cache, uint64_t address, const char *what),
		     struct adsm_core *ret_core);
void adsm_core_destroy(struct adsm_core *core);
/* Run a block of a kernel on the core's stack. */
void adsm_core_run(const struct adsm_core *core, adsm_kernel_run *run, const struct adsm_kernel_block *block,
		   const void *const *args);
/* The same for any function of two pointers. */
void adsm_core_call(const struct adsm_core *core, void *run, const void *first, const void *const *args);
/* Is the address below the core's stack, where one that runs over gets to? For signal handlers too. */
bool adsm_core_is_below_stack(const struct adsm_core *core, uint64_t address);
/* How deep the stack has been used since the last adsm_core_paint(): bytes. */
void adsm_core_paint(const struct adsm_core *core);
uint64_t adsm_core_depth(const struct adsm_core *core);

#endif
