/* SPDX-License-Identifier: MIT */
/* core.c - see core.h. */
#include "core.h"

#include "base/log.h"
#include "direct.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#if defined(HAS_ASAN) || defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define __asan_unpoison_memory_region(p, size) ((void)(p), (void)(size))
#endif

#define PAGE ((uint64_t)4096)
#define PAINT UINT64_C(0xa5c3f00d96e1d27b)

static uint8_t *end_of(const struct adsm_core *core)
{
	return (uint8_t *)core->window + ADSM_STORE_WINDOW;
}

/* Reserve an inaccessible window, aligned to its size. */
static uint8_t *reserve(void)
{
	const uint64_t size = ADSM_STORE_WINDOW;
	uint8_t *p = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *window;

	if (p == MAP_FAILED)
		return NULL;
	window = (uint8_t *)(((uintptr_t)p + size - 1) & ~(uintptr_t)(size - 1));
	if (window > p)
		munmap(p, (size_t)(window - p));
	munmap(window + size, (size_t)(p + size - window));
	return window;
}

uint64_t adsm_core_parts(const struct adsm_scratchpad_layout *layout)
{
	return layout->control + layout->tags + layout->dirty + layout->lines + layout->ahead;
}

int adsm_core_reserve(const struct adsm_scratchpad_layout *layout, struct adsm_core *ret_core)
{
	const uint64_t parts = adsm_core_parts(layout);
	uint8_t *window = reserve();
	struct adsm_core core = {
		.window = window,
		.code = window + parts,
		.stack = window + ADSM_STORE_WINDOW - layout->stack,
		.stack_size = layout->stack,
	};

	if (!window)
		return -ENOMEM;
	if (mprotect(window, (parts + layout->code + PAGE - 1) & ~(PAGE - 1), PROT_READ | PROT_WRITE) ||
	    mprotect(core.stack, layout->stack, PROT_READ | PROT_WRITE)) {
		munmap(window, ADSM_STORE_WINDOW);
		return -ENOMEM;
	}
	*ret_core = core;
	return 0;
}

int adsm_core_create(const struct adsm_scratchpad_geometry *geometry, const struct adsm_scratchpad_layout *layout,
		     const struct adsm_cache_memory *memory,
		     void (*wrong)(struct adsm_cache *cache, uint64_t address, const char *what),
		     struct adsm_core *ret_core)
{
	int ret = adsm_core_reserve(layout, ret_core);

	if (ret)
		return ret;
	ret_core->cache = ret_core->window;
	adsm_cache_init(ret_core->cache, geometry, layout, memory, wrong);
	ret_core->cache->store.atomic = adsm_direct_atomic;
	ret_core->cache->store.exchange = adsm_direct_exchange;
	return 0;
}

void adsm_core_destroy(struct adsm_core *core)
{
	munmap(core->window, ADSM_STORE_WINDOW);
}

/* A task may have left frames by a jump. AddressSanitizer forgets such frames only on the stacks of threads. */
static void forget_frames(const struct adsm_core *core)
{
	__asan_unpoison_memory_region(core->stack, core->stack_size);
}

/* A kernel finds its store from the stack pointer alone, so nothing else has to be switched. */
void adsm_core_call(const struct adsm_core *core, void *run, const void *block, const void *const *args)
{
	/* Below the end, because the end is the beginning of the next window. */
	uint8_t *top = end_of(core) - 64;

	forget_frames(core);
#if defined(__x86_64__)
	register uint8_t *stack __asm__("rbx") = top;

	__asm__ volatile(
		"xchgq %%rsp, %%rbx\n\t"
		"callq *%[run]\n\t"
		"movq %%rbx, %%rsp"
		: "+r"(stack), "+D"(block), "+S"(args), [run] "+a"(run)
		:
		: "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc",
		  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
		  "xmm12", "xmm13", "xmm14", "xmm15");
#elif defined(__aarch64__)
	register uint8_t *stack __asm__("x19") = top;
	register const void *first __asm__("x0") = block;
	register const void *const *second __asm__("x1") = args;

	__asm__ volatile(
		"mov x20, sp\n\t"
		"mov sp, %[stack]\n\t"
		"blr %[run]\n\t"
		"mov sp, x20"
		: "+r"(first), "+r"(second)
		: [stack] "r"(stack), [run] "r"(run)
		: "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
		  "x17", "x18", "x20", "x30", "memory", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8",
		  "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22",
		  "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
#else
#error "how does one change stacks?"
#endif
}

void adsm_core_run(const struct adsm_core *core, adsm_kernel_run *run, const struct adsm_kernel_block *block,
		   const void *const *args)
{
	adsm_core_call(core, (void *)(uintptr_t)run, block, args);
}

const char *adsm_core_explain(const struct adsm_core *core, uint64_t address, const char *arrays)
{
	static char why[320];

	/* Not below the stack, where an overflow gets to. */
	if (address >= (uint64_t)(uintptr_t)core->stack ||
	    address < (uint64_t)(uintptr_t)core->window + ADSM_STORE_WINDOW / 2)
		return NULL;
	adsm_format(why, sizeof(why), ": its stack of %lu bytes in the local store has overflowed: make its %s "
		    "smaller, reduce its recursion, or raise ADSM_SCRATCHPAD_SIZE", core->stack_size, arrays);
	return why;
}

void adsm_core_say_wrong(const char *what, const char *near, char *ret_text, size_t size)
{
	if (!strcmp(what, ADSM_DIRECT_UNALIGNED))
		adsm_format(ret_text, size, ": %s", what);
	else
		adsm_format(ret_text, size, ": %s through a pointer to device memory that points to no object: %s",
			    what, *near ? near : "a null pointer, a pointer beyond its object, or a pointer that never "
			    "belonged to an object");
}

/* ---- how much stack a launch has used: only on request, because it takes as long as a small kernel */

void adsm_core_paint(const struct adsm_core *core)
{
	uint64_t *word = (uint64_t *)core->stack;

	forget_frames(core);
	for (uint64_t i = 0; i < core->stack_size / 8; i++)
		word[i] = PAINT;
}

uint64_t adsm_core_used(const struct adsm_core *core, const struct adsm_scratchpad_layout *layout)
{
	const uint64_t *word = (const uint64_t *)core->stack;
	uint64_t i = 0;

	forget_frames(core);
	while (i < core->stack_size / 8 && word[i] == PAINT)
		i++;
	return adsm_core_parts(layout) + layout->code + core->stack_size - i * 8;
}
