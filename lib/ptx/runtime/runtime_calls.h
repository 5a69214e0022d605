/* SPDX-License-Identifier: MIT */
/*
 * runtime_calls.h - what device code may call: printf, assert, trap, malloc, free. This text is part of every module
 * that is made of PTX, after adsm_kernel.h and runtime.h. The functions use the services of the device.
 */
#include <time.h>

#define PTX_PRINT_ARGS 32

static uint64_t ptx_nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The size in bytes of a conversion's integer, by its length modifier. */
static unsigned ptx_print_size(const char *modifiers, const char *end)
{
	for (; modifiers < end; modifiers++) {
		if (*modifiers == 'l' || *modifiers == 'j' || *modifiers == 'z' || *modifiers == 't')
			return 8;
	}
	return 4;
}

/*
 * vprintf(): the arguments lie one after the other, each at a multiple of its size. Returns their number; -1: there is
 * no format; -2: the text cannot be printed.
 */
static int ptx_print(const struct ptx_block *block, uint32_t thread, const char *format, const char *arguments)
{
	struct adsm_kernel_print list[PTX_PRINT_ARGS + 1];
	unsigned n = 0;
	size_t at = 0;

	(void)block;
	(void)thread;
	if (!format)
		return -1;
	for (const char *p = format; *p && n < PTX_PRINT_ARGS; p++) {
		const char *start = p + 1;
		unsigned size;

		if (*p != '%')
			continue;
		if (p[1] == '%') {
			p++;
			continue;
		}
		while (*++p && !strchr("diouxXcsfFeEgGaApn", *p)) {
			if (*p != '*' || n == PTX_PRINT_ARGS)
				continue;
			at = (at + 3) & ~(size_t)3;
			list[n] = (struct adsm_kernel_print){ ADSM_PRINT_NUMBER | 4 << ADSM_PRINT_SIZE_SHIFT, 0 };
			memcpy(&list[n++].value, arguments + at, 4);
			at += 4;
		}
		if (!*p || n == PTX_PRINT_ARGS)
			break;
		size = strchr("sfFeEgGaApn", *p) ? 8 : ptx_print_size(start, p);
		at = (at + size - 1) & ~(size_t)(size - 1);
		list[n].kind = strchr("fFeEgGaA", *p) ? ADSM_PRINT_DOUBLE : *p == 's' ? ADSM_PRINT_STRING :
			*p == 'p' ? ADSM_PRINT_POINTER : ADSM_PRINT_NUMBER | (uint64_t)size << ADSM_PRINT_SIZE_SHIFT;
		list[n].value = 0;
		memcpy(&list[n++].value, arguments + at, size);
		at += size;
	}
	list[n] = (struct adsm_kernel_print){ 0, 0 };
	return adsm_services_output(format, list) < 0 ? -2 : (int)n;
}

static void *ptx_allocate(const struct ptx_block *block, uint64_t size)
{
	(void)block;
	return (void *)(uintptr_t)adsm_services_heap_alloc(size);
}

static void ptx_release(const struct ptx_block *block, void *memory)
{
	(void)block;
	if (memory)
		adsm_services_heap_free((uint64_t)(uintptr_t)memory);
}

/* The kernel cannot continue. Why has been printed. */
static void ptx_end_badly(void) __attribute__((noreturn));
static void ptx_end_badly(void)
{
	__builtin_trap();
}

static void ptx_report(const struct ptx_block *block, uint32_t thread, const char *what) __attribute__((noreturn));
static void ptx_report(const struct ptx_block *block, uint32_t thread, const char *what)
{
	const uint32_t *dim = block->block->block, *index = block->block->index;
	const struct adsm_kernel_services *services = &adsm_services_here;
	char text[1200];

	snprintf(text, sizeof(text), "block (%u, %u, %u), thread (%u, %u, %u): %s", index[0], index[1], index[2],
		 thread % dim[0], thread / dim[0] % dim[1], thread / dim[0] / dim[1], what);
	if (services && services->size >= sizeof(*services))
		services->fail(text);
	fprintf(stderr, "adsm: kernel %s, %s\n", block->name, text);
	ptx_end_badly();
}

/* assert() */
static void ptx_fail(const struct ptx_block *block, uint32_t thread, const char *message, const char *file,
		     uint32_t line, const char *function)
{
	char what[1024];

	snprintf(what, sizeof(what), "%s:%u: %s: assertion '%s' failed", file, line, function, message);
	ptx_report(block, thread, what);
}

static void ptx_trap(const struct ptx_block *block, uint32_t thread, const char *place)
{
	char what[512];

	snprintf(what, sizeof(what), "trap at %s", place);
	ptx_report(block, thread, what);
}
