/* SPDX-License-Identifier: MIT */
/* adsm_service.h - services: functions of the program that kernels call while they run. */
#ifndef ADSM_SERVICE_H
#define ADSM_SERVICE_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A kernel asks the program for what it cannot do itself, and waits for the answer: by a command in memory that both
 * see, which a thread of the library's serves (Manzano et al., OPELL and PM, section 3.2: the execution handler, its
 * command buffers and shadow threads; docs/scratchpad.md, Services).
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
 *	int n = 7, m = 0;					in a kernel
 *	if (ADSM_SERVICE("square", &n, sizeof(n), &m, sizeof(m)) == sizeof(m))
 *		a[0] = m;
 *
 * Devices of the backends cpu and scratchpad have services. The conventions of adsm.h hold.
 */

#define ADSM_SERVICE_NAME_MAX 63	/* characters of a name */
#define ADSM_SERVICE_BYTES_MAX 65536	/* that go in, and that come out */

/**
 * What a kernel calls. @ctx: as registered. @in: a copy of so many bytes that the kernel gave, no more than max_in;
 * @out: room for what it wants, no more than max_out, all 0. Both are aligned to 64 bytes, and the library's: until it
 * returns. Returns how many bytes of @out the kernel gets, up to @out_size, or a negative errno, which the kernel gets;
 * anything else is told, and -EOVERFLOW to the kernel.
 *
 * It runs in a thread of the library's, all asynchronous signals blocked; one at a time for each device, but for
 * several devices at once. It has to return: a kernel waits for it, a call for the kernel, and somebody perhaps for the
 * call. If it ends its thread instead (pthread_exit(), a cancellation), the call fails with -ECANCELED and a
 * sentence. It must not wait, by a lock for example, for a thread that waits for that call. The library sees to it:
 * - Shared memory it may read and write where no call that runs uses it. Where one does it would wait for itself: the
 *   access is told and ends in SIGBUS, and system calls on such memory fail.
 * - Of the library it may call adsmLastError(), adsmErrorString(), adsmVersion() and the functions below. All others
 *   fail, with EDEADLK.
 */
typedef int adsmServiceFunction(void *ctx, const void *in, size_t in_size, void *out, size_t out_size);

/**
 * Register a service, for kernels of all devices, from now on.
 * @name: not empty, copied. @max_in, @max_out: bytes; a kernel that gives or wants more gets -E2BIG, and @function is
 * not called. @ctx: for the function; the caller's, until adsmServiceUnregister() has returned.
 * Returns 0; -EINVAL (no function, a name or a limit that there is not), -EEXIST (there is one of that name), -ENOMEM,
 * -ENOTSUP (the child of a fork). Any thread, also inside of a service.
 */
ADSM_API int adsmServiceRegister(const char *name, adsmServiceFunction *function, size_t max_in, size_t max_out,
				 void *ctx);

/**
 * No kernel calls the service any more: those that ask for it get -ENOENT. Waits until its function, where it just
 * runs, has returned, and who called it has the answer or will get it.
 * Returns 0; -ENOENT (there is none of that name), -EINVAL, -EDEADLK (inside of a service, of one that just runs),
 * -ENOTSUP. Any thread.
 */
ADSM_API int adsmServiceUnregister(const char *name);

#ifdef __cplusplus
}
#endif

#endif
