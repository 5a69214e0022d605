/* SPDX-License-Identifier: MIT */
/* syscall.h - direct system calls of Linux: no errno, no cancellation, no wrapper. For the files that implement
 * os.h. */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>

#define KERNEL_SIGSET_SIZE 8	/* bytes of a signal mask, as the kernel counts and stores it */
#define SIGNAL_BIT(sig) (UINT64_C(1) << ((sig) - 1))

/* For code that runs between a raw clone and exec: a sanitizer's runtime may hold locks there. */
#define NO_SANITIZE __attribute__((no_sanitize("address", "thread")))

NO_SANITIZE static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "+a"(nr)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return nr;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "system calls of this processor are not known here"
#endif
}

#define SYS_6(nr, a, b, c, d, e, f, ...) \
	sys6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* A system call with up to six arguments; its result, or a negative errno. */
#define sys(...) SYS_6(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
