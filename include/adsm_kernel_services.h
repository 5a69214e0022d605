/* SPDX-License-Identifier: MIT */
/*
 * adsm_kernel_services.h - services: what a kernel can ask of the program and of the device while it runs. This header
 * is a part of adsm_kernel.h, for native C. Sources of kernels include adsm_kernel.h.
 *
 * A kernel may use these macros anywhere, also in functions that it calls. Not every device supports them. If a device
 * does not, calls of a kernel that contains them return -ENOTSUP. See docs/services.md.
 *
 * - ADSM_SERVICE(name, in, in_size, out, out_size): calls the function that the program registered by this name
 *   (adsm_service.h), and waits for it. in and out are memory of the kernel itself, not of an object, of at most
 *   64 KiB each. The result, an int, is the function's result: the number of bytes in out, or an error, see below.
 * - ADSM_PRINT(format, ...): prints to the program's standard error, like printf() of C99. Lines of several threads do
 *   not mix; a missing newline is added. The result, an int, is the number of bytes, or an error, see below.
 * - ADSM_NEXT(counter, chunk): takes the next chunk of a loop. A call of a kernel has the counters 0 to 15, which all
 *   of its threads share, and which begin at 0. The macro adds chunk to the counter. The result, a long, is the
 *   counter's old value. The thread then runs the iterations of this chunk:
 *
 *	ADSM_THREADS {
 *		for (long i; (i = ADSM_NEXT(0, 8)) < n;)
 *			for (long k = i; k < i + 8 && k < n; k++)
 *				c[k] = a[k] + b[k];
 *	}
 *
 * - ADSM_ALLOC(size): allocates size bytes of device memory, aligned to 64, until the call ends. The result is a
 *   void ADSM_SPACE_GLOBAL *, or NULL if there is not enough memory. In a task on the backend scratchpad it is NULL.
 * - ADSM_FREE(p): frees memory of ADSM_ALLOC before the call ends.
 * - ADSM_SERVICES: is defined if the kernel is compiled for cpu, cluster or scratchpad. It is not defined for OpenCL C
 *   and CUDA, which have no services.
 *
 * Errors of ADSM_SERVICE:
 *   -ENOENT     there is no service of this name
 *   -E2BIG      in_size or out_size is larger than registered, or than 64 KiB; the function is not called
 *   -EINVAL     in or out is NULL, and its size is not 0
 *   -EOVERFLOW  the function returned neither an error nor 0 to out_size
 *   -ECANCELED  the function ended its thread; the kernel's call fails with this error
 *   others      the function's own errors
 *
 * Errors of ADSM_PRINT:
 *   -EINVAL     a conversion is not supported; an argument is missing or has another type; or a width or precision is
 *               above 4095
 *   -E2BIG      the format with its strings, or the text, is larger than 64 KiB
 *
 * If a kernel passes an invalid counter or chunk to ADSM_NEXT, the result is the largest long, and the call fails with
 * -EINVAL. If it passes an invalid address to ADSM_FREE, the call fails with -EINVAL too.
 *
 * A core issues one command at a time, and waits for its result. The device provides the functions that issue commands.
 * For cores with a local store, pointers to them are in the store. Otherwise the module finds them by the name
 * adsm_services_here. If a device does not define this name, the device has no services.
 */
#ifndef ADSM_KERNEL_SERVICES_H
#define ADSM_KERNEL_SERVICES_H

#define ADSM_SERVICES 1
#define ADSM_NEXT_COUNTERS 16
#define ADSM_NEXT_NONE 0x7fffffffffffffff	/* larger than the bound of any loop */
#define ADSM_NO_SERVICES_ (-95)			/* -ENOTSUP */

/* An argument of ADSM_PRINT. The list ends with an entry of kind 0. */
struct adsm_kernel_print {
	__UINT64_TYPE__ kind;		/* ADSM_PRINT_*; a number's size in bytes is shifted by ADSM_PRINT_SIZE_SHIFT */
	__UINT64_TYPE__ value;
};

enum {
	ADSM_PRINT_NUMBER = 1, ADSM_PRINT_DOUBLE, ADSM_PRINT_STRING, ADSM_PRINT_POINTER, ADSM_PRINT_KIND = 255,
	ADSM_PRINT_SIZE_SHIFT = 8
};

struct adsm_kernel_services {
	__UINT32_TYPE__ size;		/* bytes of this structure */
	int (*service)(const char *name, const void *in, __SIZE_TYPE__ in_size, void *out, __SIZE_TYPE__ out_size);
	int (*print)(const char *format, const struct adsm_kernel_print *args);
	long (*next)(unsigned counter, long chunk);
	__UINT64_TYPE__ (*alloc)(__SIZE_TYPE__ size);	/* returns an address; 0: there is not enough memory */
	void (*free)(__UINT64_TYPE__ address);
	/*
	 * printf() of CUDA C: as print, but the program's standard output gets the text when the program synchronizes,
	 * and no newline is added. Older devices do not have it.
	 */
	int (*output)(const char *format, const struct adsm_kernel_print *args);
	/* malloc() and free() of CUDA C: the memory lives until the device's last module is unloaded. */
	__UINT64_TYPE__ (*heap_alloc)(__SIZE_TYPE__ size);
	void (*heap_free)(__UINT64_TYPE__ address);
	/*
	 * Only for modules of CUDA C. Missing in older devices, whose structures are smaller.
	 * fail: the kernel cannot continue: ends the device with a sentence, "block (0, 0, 0), thread (1, 0, 0): …".
	 * inside: may the kernel access these bytes? @of: an address in the object that they must be in; 0: any object.
	 * Returns 0 if not, and where they are: "8 bytes behind the end of …".
	 */
	void (*fail)(const char *text);
	int (*inside)(__UINT64_TYPE__ address, __SIZE_TYPE__ size, __UINT64_TYPE__ of, char *ret_text,
		      __SIZE_TYPE__ text_size);
};

/* The functions of the device. adsmcc recognizes kernels that may use services by this name. */
extern const struct adsm_kernel_services adsm_services_here __attribute__((weak, visibility("default")));

#ifdef ADSM_SCRATCHPAD_
/* Not inline: adsmcc recognizes these functions, and knows how much stack the runtime needs in them. */
#define ADSM_SERVICES_FUNCTION_ static __attribute__((noinline, unused))
#define ADSM_SERVICES_ (adsm_store_here_()->services)
#else
#define ADSM_SERVICES_FUNCTION_ static inline __attribute__((unused))
#define ADSM_SERVICES_ (&adsm_services_here)
#endif

ADSM_SERVICES_FUNCTION_ int adsm_services_call(const char *name, const void *in, __SIZE_TYPE__ in_size, void *out,
					       __SIZE_TYPE__ out_size)
{
	const struct adsm_kernel_services *services = ADSM_SERVICES_;

	return services ? services->service(name, in, in_size, out, out_size) : ADSM_NO_SERVICES_;
}

ADSM_SERVICES_FUNCTION_ int adsm_services_print(const char *format, const struct adsm_kernel_print *args)
{
	const struct adsm_kernel_services *services = ADSM_SERVICES_;

	return services ? services->print(format, args) : ADSM_NO_SERVICES_;
}

ADSM_SERVICES_FUNCTION_ int adsm_services_output(const char *format, const struct adsm_kernel_print *args)
{
	const struct adsm_kernel_services *services = ADSM_SERVICES_;

	if (services && services->size <= __builtin_offsetof(struct adsm_kernel_services, output))
		return services->print(format, args);
	return services ? services->output(format, args) : ADSM_NO_SERVICES_;
}

ADSM_SERVICES_FUNCTION_ long adsm_services_next(unsigned counter, long chunk)
{
	const struct adsm_kernel_services *services = ADSM_SERVICES_;

	return services ? services->next(counter, chunk) : ADSM_NEXT_NONE;
}

ADSM_SERVICES_FUNCTION_ __UINT64_TYPE__ adsm_services_alloc(__SIZE_TYPE__ size)
{
	const struct adsm_kernel_services *services = ADSM_SERVICES_;

	return services ? services->alloc(size) : 0;
}

ADSM_SERVICES_FUNCTION_ void adsm_services_free(__UINT64_TYPE__ address)
{
	const struct adsm_kernel_services *services = ADSM_SERVICES_;

	if (services)
		services->free(address);
}

ADSM_SERVICES_FUNCTION_ __UINT64_TYPE__ adsm_services_heap_alloc(__SIZE_TYPE__ size)
{
	const struct adsm_kernel_services *services = ADSM_SERVICES_;

	if (!services || services->size <= __builtin_offsetof(struct adsm_kernel_services, heap_free))
		return 0;
	return services->heap_alloc(size);
}

ADSM_SERVICES_FUNCTION_ void adsm_services_heap_free(__UINT64_TYPE__ address)
{
	const struct adsm_kernel_services *services = ADSM_SERVICES_;

	if (services && services->size > __builtin_offsetof(struct adsm_kernel_services, heap_free))
		services->heap_free(address);
}

/* Make an entry from an expression and its size. */
#define ADSM_PRINT_MAKE_(name, type) static inline __attribute__((unused)) \
	struct adsm_kernel_print adsm_print_##name##_(__attribute__((unused)) __SIZE_TYPE__ size, type x)

ADSM_PRINT_MAKE_(number, __UINT64_TYPE__)
{
	return (struct adsm_kernel_print){ ADSM_PRINT_NUMBER | size << ADSM_PRINT_SIZE_SHIFT, x };
}

ADSM_PRINT_MAKE_(double, double)
{
	struct adsm_kernel_print arg = { ADSM_PRINT_DOUBLE, 0 };

	__builtin_memcpy(&arg.value, &x, sizeof(x));
	return arg;
}

ADSM_PRINT_MAKE_(string, const char *)
{
	return (struct adsm_kernel_print){ ADSM_PRINT_STRING, (__UINTPTR_TYPE__)x };
}

ADSM_PRINT_MAKE_(pointer, const void *)
{
	return (struct adsm_kernel_print){ ADSM_PRINT_POINTER, (__UINTPTR_TYPE__)x };
}

#define ADSM_PRINT_ARG_(x) _Generic((x), \
	float: adsm_print_double_, double: adsm_print_double_, long double: adsm_print_double_, \
	char *: adsm_print_string_, const char *: adsm_print_string_, \
	void *: adsm_print_pointer_, const void *: adsm_print_pointer_, \
	default: adsm_print_number_)(sizeof(x), x)
#define ADSM_PRINT_ARGS_(...) __VA_OPT__(ADSM_SCAN_(ADSM_PRINT_STEP_(__VA_ARGS__)))
#define ADSM_PRINT_STEP_(x, ...) ADSM_PRINT_ARG_(x), __VA_OPT__(ADSM_PRINT_AGAIN_ ADSM_PARENS_ (__VA_ARGS__))
#define ADSM_PRINT_AGAIN_() ADSM_PRINT_STEP_

#define ADSM_SERVICE(name, in, in_size, out, out_size) adsm_services_call(name, in, in_size, out, out_size)
#define ADSM_PRINT(format, ...) adsm_services_print(format, \
	(const struct adsm_kernel_print[]){ ADSM_PRINT_ARGS_(__VA_ARGS__) { 0, 0 } })
#define ADSM_NEXT(counter, chunk) adsm_services_next(counter, chunk)
#define ADSM_ALLOC(size) ((void ADSM_SPACE_GLOBAL *)(__UINTPTR_TYPE__)adsm_services_alloc(size))
#define ADSM_FREE(p) adsm_services_free((__UINTPTR_TYPE__)(p))

#endif
