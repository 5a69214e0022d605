/* SPDX-License-Identifier: MIT */
/* adsm_service.h - services: functions of the program that kernels call while they run. */
#ifndef ADSM_SERVICE_H
#define ADSM_SERVICE_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Services
 *
 * A service is a function of the program that a kernel calls while it runs. The kernel writes a command into memory
 * that the program sees too, and waits for the result. A thread of the library calls the function. (Manzano et al.,
 * OPELL and PM, section 3.2: execution handler, command buffers, shadow threads. See docs/services.md.)
 *
 * In the program:
 *
 *	static int square(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
 *	{
 *		const int n = *(const int *)in, result = n * n;
 *
 *		memcpy(out, &result, sizeof(result));
 *		return sizeof(result);
 *	}
 *
 *	adsmServiceRegister("square", square, sizeof(int), sizeof(int), NULL);
 *
 * In a kernel:
 *
 *	int n = 7, m = 0;
 *
 *	if (ADSM_SERVICE("square", &n, sizeof(n), &m, sizeof(m)) == sizeof(m))
 *		a[0] = m;
 *
 * The devices of the backends cpu and scratchpad support services. Devices of cluster support them in kernels that are
 * not tasks: node 0 runs such a kernel alone. The conventions of adsm.h hold.
 */

#define ADSM_SERVICE_NAME_MAX 63	/* maximum number of characters of a name */
#define ADSM_SERVICE_BYTES_MAX 65536	/* maximum number of bytes in each direction */

/**
 * A function of the program that kernels call.
 *
 * @ctx: the pointer that adsmServiceRegister() got.
 * @in: a copy of the kernel's bytes, aligned to 64 bytes.
 * @in_size: bytes at @in, at most max_in of adsmServiceRegister().
 * @out: memory for the result, aligned to 64 bytes and filled with zeros.
 * @out_size: bytes at @out that the kernel has room for, at most max_out of adsmServiceRegister().
 *
 * The library owns @in and @out. They are valid until the function returns.
 *
 * Returns the number of bytes of @out that the kernel gets, 0 to @out_size, or a negative errno value. ADSM_SERVICE
 * returns this value in the kernel. For any other value the library logs an error, and ADSM_SERVICE returns -EOVERFLOW.
 *
 * The function runs in a thread of the library, with all asynchronous signals blocked. The library runs one function at
 * a time for each device. Functions for different devices may run at the same time.
 *
 * The function must return, because the kernel waits for it. If it ends its thread instead, by pthread_exit() or a
 * cancellation, the kernel's call fails with -ECANCELED. It must not end its thread by a raw system call (SYS_exit):
 * the library does not detect this, and the kernel waits forever.
 *
 * The function must not wait for a thread that waits for the kernel's call. For example, a thread must not call
 * adsmSync() while it holds a lock that the function takes. The library enforces two rules:
 * - The function may access shared memory that no running call uses. If a running call uses the memory, the library
 *   logs an error, and the thread gets SIGBUS. System calls on such memory fail.
 * - Functions that use a device or wait for a call fail with EDEADLK, for example adsmAlloc(), adsmMemcpy(), adsmCall()
 *   and adsmSync(). The function may call adsmLastError(), adsmErrorString(), adsmVersion() and the functions below.
 *   docs/services.md lists further functions that it may call.
 */
typedef int adsmServiceFunction(void *ctx, const void *in, size_t in_size, void *out, size_t out_size);

/**
 * Register a service. From now on kernels of all devices can call it. A service may call this function too.
 *
 * @name: 1 to ADSM_SERVICE_NAME_MAX characters. The library copies it.
 * @function: the service. Its code must stay loaded until adsmServiceUnregister() has returned.
 * @max_in, @max_out: the maximum number of bytes that a kernel passes, and that it gets, 0 to ADSM_SERVICE_BYTES_MAX.
 *                    A kernel that passes or expects more gets -E2BIG, and the library does not call @function.
 * @ctx: a pointer for @function. It must stay valid until adsmServiceUnregister() has returned.
 *
 * Returns 0 or:
 *   -EINVAL   @function is NULL, or @name or a maximum is invalid
 *   -EEXIST   there is a service of this name
 *   -ENOMEM   there is not enough memory
 *   -ENOTSUP  the process is the child of a fork()
 */
ADSM_API int adsmServiceRegister(const char *name, adsmServiceFunction *function, size_t max_in, size_t max_out,
				 void *ctx);

/**
 * Unregister a service. Kernels that call it later get -ENOENT. If the service is running, the function waits until it
 * has returned. Kernels that called it before still get its results.
 *
 * @name: the service's name.
 *
 * Returns 0 or:
 *   -EINVAL   @name is invalid
 *   -ENOENT   there is no service of this name
 *   -EDEADLK  the caller is a service, and the service @name is running
 *   -ENOTSUP  the process is the child of a fork()
 */
ADSM_API int adsmServiceUnregister(const char *name);

#ifdef __cplusplus
}
#endif

#endif
