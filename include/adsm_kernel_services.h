/* SPDX-License-Identifier: MIT */
/*
 * adsm_kernel_services.h - what kernels ask of the program and of the device while they run (docs/scratchpad.md,
 * Services), in native C: a part of adsm_kernel.h, which says what the words mean. Sources include that.
 *
 * A core has one command at a time, and waits for its answer. What it calls is the device's: of cores with a local
 * store it stands in the store, else the module finds it by name, and where there is no such name there are none.
 */
#ifndef ADSM_KERNEL_SERVICES_H
#define ADSM_KERNEL_SERVICES_H

#define ADSM_SERVICES 1
#define ADSM_NEXT_COUNTERS 16
#define ADSM_NEXT_NONE 0x7fffffffffffffff	/* larger than any bound of a loop */
#define ADSM_NO_SERVICES_ (-95)			/* -ENOTSUP */

/* An argument of ADSM_PRINT. Behind the last one there is one of kind 0. */
struct adsm_kernel_print {
	__UINT64_TYPE__ kind;		/* one of these; of a number its bytes, from ADSM_PRINT_SIZE_SHIFT on */
	__UINT64_TYPE__ value;
};

enum {
	ADSM_PRINT_NUMBER = 1, ADSM_PRINT_DOUBLE, ADSM_PRINT_STRING, ADSM_PRINT_POINTER, ADSM_PRINT_KIND = 255,
	ADSM_PRINT_SIZE_SHIFT = 8
};

struct adsm_kernel_services {
	__UINT32_TYPE__ size;		/* of this structure */
	int (*service)(const char *name, const void *in, __SIZE_TYPE__ in_size, void *out, __SIZE_TYPE__ out_size);
	int (*print)(const char *format, const struct adsm_kernel_print *args);
	long (*next)(unsigned counter, long chunk);
	__UINT64_TYPE__ (*alloc)(__SIZE_TYPE__ size);	/* an address; 0: there is none */
	void (*free)(__UINT64_TYPE__ address);
};

/* A device's own. adsmcc knows kernels that may get here by this name. */
extern const struct adsm_kernel_services adsm_services_here __attribute__((weak, visibility("default")));

#ifdef ADSM_SCRATCHPAD_
/* Functions, so that the stack of what they call is the runtime's, which is known. */
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

/* Of an expression and its size. */
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
