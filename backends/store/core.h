/* SPDX-License-Identifier: MIT */
/*
 * core.h - a core: a window of address space that contains its local store (adsm_scratchpad.h), and how code runs
 * there.
 *
 *	control, tags, dirty bits, lines, code buffer | inaccessible | stack
 *
 * Kernels can write nothing else: a stack that overflows touches inaccessible memory.
 */
#pragma once

#include "adsm_kernel.h"
#include "cache.h"

/* A part of messages about wrong pointers. */
#define ADSM_CORE_PLAIN "this is an address of device memory, which a plain pointer cannot access: write " \
	"ADSM_SPACE_GLOBAL before the type (const ADSM_SPACE_GLOBAL float *p), also in each cast"

struct adsm_core {
	void *window;
	struct adsm_cache *cache;	/* at the beginning of the window; NULL: something else is there */
	uint8_t *code;			/* the code buffer: layout.code bytes of the window, readable and writable */
	uint8_t *stack;			/* its lowest byte; its end is the window's end */
	uint64_t stack_size;
};

/* Make a core with an empty store. Returns 0 or -ENOMEM. */
int adsm_core_reserve(const struct adsm_scratchpad_layout *layout, struct adsm_core *ret_core);
/* The same with an empty cache. */
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
/* Explain a crash of a kernel at @address: a sentence if the address is below the core's stack, where an overflow gets
 * to; otherwise NULL. @arrays: what the sentence calls the kernel's arrays. May be called in signal handlers. */
const char *adsm_core_explain(const struct adsm_core *core, uint64_t address, const char *arrays);
/* Explain an access through the cache that is not possible. @what: "a load" and so on, or ADSM_DIRECT_UNALIGNED. @near:
 * which object is near the address, or "". */
void adsm_core_say_wrong(const char *what, const char *near, char *ret_text, size_t size);
/* Bytes of the parts in front of the code buffer. */
uint64_t adsm_core_parts(const struct adsm_scratchpad_layout *layout);
/* Bytes of the local store that are used: its parts, and the stack that was used since the last adsm_core_paint(). */
void adsm_core_paint(const struct adsm_core *core);
uint64_t adsm_core_used(const struct adsm_core *core, const struct adsm_scratchpad_layout *layout);
