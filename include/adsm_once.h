/* SPDX-License-Identifier: MIT */
/* adsm_once.h - write-once objects: arrays whose readers wait until the data is written. */
#ifndef ADSM_ONCE_H
#define ADSM_ONCE_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Write-once objects
 *
 * A write-once object is an array of units. Each unit is written once, and has one of three states. At first it is
 * empty. While a thread or a kernel writes the unit, it is fresh. When the unit is complete, it is set. A set unit does
 * not change, unless the program empties it (adsmOnceEmpty()). A reader of a unit waits until the unit is set.
 *
 * Threads of the CPU and kernels of several devices may use the same write-once object at the same time, also while
 * calls run. An access of the CPU waits for the unit, not for calls that use the object.
 *
 *	adsmOnce *sums = adsmOnceAlloc(n, sizeof(int), NULL);
 *
 *	*(int *)adsmOnceFresh(sums, i) = 42;		// the writer: a thread, or a kernel by ADSM_FRESH and ADSM_SET
 *	adsmOnceSet(sums, i);
 *
 *	total += *(const int *)adsmOnceGet(sums, i);	// a reader: waits until unit i is set
 *
 * The conventions of adsm.h hold. Of the functions below, a signal handler may call only adsmOnceGet(), adsmOnceTry(),
 * adsmOnceWait(), adsmOnceFresh() and adsmOnceSet(). In the child of a fork() the functions fail with ENOTSUP, except
 * adsmOnceTry(), which returns NULL, and adsmOnceFree(NULL), which returns 0.
 *
 * In this header "the paper" is Breitbart, Programming hybrid systems with implicit memory based synchronization,
 * section VII. docs/once.md explains how to use write-once objects.
 */

/* State of a unit. */
enum { ADSM_ONCE_EMPTY, ADSM_ONCE_FRESH, ADSM_ONCE_SET };

/**
 * A write-once object. adsmOnceAlloc() creates it. The program only reads the fields. It may pass a copy of the
 * structure to the functions below.
 */
typedef struct adsmOnce {
	const void *data;		/* for readers: unit u is at data + u * size; stays mapped until
					   adsmOnceFree() */
	const unsigned char *flags;	/* state of each unit: ADSM_ONCE_EMPTY, ADSM_ONCE_FRESH or ADSM_ONCE_SET */
	size_t size;			/* bytes of a unit */
	size_t count;			/* number of units */
	void *address;			/* the object's address: for adsmPtr(), and for loads that wait, see below */
	void *room;			/* for writers: unit u is at room + u * size, as adsmOnceFresh() returns it */
} adsmOnce;

/*
 * Plain loads that wait
 *
 * The CPU may also read unit u by a plain load at address + u * size. The load waits like adsmOnceGet(). The library
 * opens memory page by page: a page opens when all units in it are set. If units are whole pages, a load waits for its
 * own unit only. Otherwise a load may also wait for the other units of its page.
 *
 * - A store at this address is an error. The library logs it, and the thread gets SIGBUS.
 * - A system call that reads from this address, such as write(2), waits until the units are set.
 * - A system call that writes to this address, such as read(2), may fill units that are fresh.
 * - If adsmOnceGet() would fail, the library logs the error, and the thread gets SIGBUS.
 */

/* Kinds of distributions. A distribution says where the units are. It affects only the speed of accesses. */
enum {
	ADSM_ONCE_HOST,			/* all units are in host memory */
	ADSM_ONCE_DEVICE,		/* all units are in the memory of one device */
	ADSM_ONCE_STRIPED,		/* stripes of consecutive units are on the devices in turn */
	ADSM_ONCE_TILED,		/* units are the tiles of a matrix, row by row, and are distributed cyclically
					   over a grid of devices */
	ADSM_ONCE_OWN			/* a function of the program returns the place of each unit */
};

#define ADSM_ONCE_ON_HOST (-1)		/* host memory, instead of a device's index */

/**
 * A distribution. Use adsmOnceStriped() and the related functions to create it.
 *
 * The library places whole pages. A page has the place of the unit that contains the page's first byte.
 */
typedef struct adsmOnceDistribution {
	size_t struct_size;		/* sizeof(adsmOnceDistribution) */
	int kind;			/* ADSM_ONCE_HOST to ADSM_ONCE_OWN */
	int device;			/* ADSM_ONCE_DEVICE: the device's index, or ADSM_DEVICE_CURRENT */
	size_t stripe;			/* ADSM_ONCE_STRIPED: number of units in a stripe; 0: one stripe per device */
	size_t rows, columns;		/* ADSM_ONCE_TILED: number of tiles; rows * columns is the number of units */
	unsigned grid_rows;		/* ADSM_ONCE_TILED: rows of the grid of devices, a divisor of the number of
					   devices; 0: the grid is as square as possible */
	int (*place)(void *arg, size_t unit);	/* ADSM_ONCE_OWN: returns a device's index or ADSM_ONCE_ON_HOST */
	void *arg;			/* ADSM_ONCE_OWN: the library passes it to place() */
} adsmOnceDistribution;

static inline adsmOnceDistribution adsmOnceMake_(int kind, int device, size_t stripe, size_t rows, size_t columns)
{
	adsmOnceDistribution distribution;

	distribution.struct_size = sizeof(distribution);
	distribution.kind = kind;
	distribution.device = device;
	distribution.stripe = stripe;
	distribution.rows = rows;
	distribution.columns = columns;
	distribution.grid_rows = 0;
	distribution.place = NULL;
	distribution.arg = NULL;
	return distribution;
}

/* Return a distribution: all units in the memory of one device. @device: its index, or ADSM_DEVICE_CURRENT. */
static inline adsmOnceDistribution adsmOnceOnDevice(int device)
{
	return adsmOnceMake_(ADSM_ONCE_DEVICE, device, 0, 0, 0);
}

/*
 * Return a distribution: stripes of consecutive units, on the devices in turn.
 *
 * @stripe: number of units in a stripe; 0: one stripe per device.
 */
static inline adsmOnceDistribution adsmOnceStriped(size_t stripe)
{
	return adsmOnceMake_(ADSM_ONCE_STRIPED, 0, stripe, 0, 0);
}

/*
 * Return a distribution: units are tiles of a matrix, row by row. The devices form a grid. Tile (r, c) is on device
 * (r mod grid rows, c mod grid columns) of the grid. The caller may set grid_rows in the result.
 *
 * @rows, @columns: number of tiles. rows * columns is the number of units.
 */
static inline adsmOnceDistribution adsmOnceTiled(size_t rows, size_t columns)
{
	return adsmOnceMake_(ADSM_ONCE_TILED, 0, 0, rows, columns);
}

/*
 * Return a distribution: a function of the program returns the place of each unit.
 *
 * @place: returns a device's index or ADSM_ONCE_ON_HOST. adsmOnceAlloc() calls it for the first unit of each page.
 * @arg: the first argument of @place.
 */
static inline adsmOnceDistribution adsmOncePlaced(int (*place)(void *arg, size_t unit), void *arg)
{
	adsmOnceDistribution distribution = adsmOnceMake_(ADSM_ONCE_OWN, 0, 0, 0, 0);

	distribution.place = place;
	distribution.arg = arg;
	return distribution;
}

/**
 * Allocate a write-once object. All units are empty.
 *
 * @count: number of units, more than 0.
 * @size: bytes of a unit, more than 0. Unit u begins at byte u * @size; there are no gaps. Each unit has a flag of one
 *        byte. A reader waits for a whole unit, so smaller units make waits shorter, but need more flags.
 * @distribution: where the units are; NULL: in host memory. The place may change at most 4095 times along the object;
 *                otherwise the function fails with EINVAL. The library does not use the structure after the function
 *                has returned.
 *
 * Kernels can use the object on each device that supports write-once objects. docs/once-reference.md lists them.
 *
 * Returns the object, which the caller owns until adsmOnceFree(), or NULL with errno:
 *   ENODEV    there is no device
 *   ENOMEM    there is not enough memory or address space
 *   EINVAL    @count or @size is 0; @distribution is invalid or names a device that does not exist
 *   ENOTSUP   @distribution names a device that does not support write-once objects
 */
ADSM_API adsmOnce *adsmOnceAlloc(size_t count, size_t size, const adsmOnceDistribution *distribution);

/**
 * Free a write-once object. The function waits for calls that use the object.
 *
 * @once: NULL has no effect.
 *
 * Returns 0 or:
 *   -EINVAL   @once is not a write-once object, was freed before, or is being freed by another thread
 *   -EBUSY    a thread, a kernel or a call waits for a unit of the object; or a call that sets units of the object
 *             waits for units which no other call sets. adsmLastError() names it
 */
ADSM_API int adsmOnceFree(adsmOnce *once);

/**
 * Wait until a unit is set. adsmOnceGet() calls this function if the unit is not set.
 *
 * The thread polls for a short time, then it sleeps. If a signal handler runs, the thread continues to wait after it.
 * The function is a cancellation point.
 *
 * @once: the write-once object.
 * @unit: 0 to @once->count - 1.
 *
 * Returns the unit's address, or NULL with errno:
 *   EINVAL    @once is not a write-once object, or it has no such unit
 *   ENOTSUP   the process is the child of a fork()
 *   EDEADLK   the wait would not end: all threads and kernels that could set the unit wait too
 *   EDEADLK   a service would wait: a kernel waits for the service (adsm_service.h)
 *   ENODEV    the wait would not end: a device was lost whose calls may set units of the object
 *   others    the wait would not end: a call that may set units of the object failed with this error
 */
ADSM_API const void *adsmOnceWait(const adsmOnce *once, size_t unit);

/**
 * Wait until a unit is set, and return its address ("get" in the paper). Any number of threads may read a unit, any
 * number of times.
 *
 * @once: the write-once object.
 * @unit: 0 to @once->count - 1.
 *
 * Returns the address of @once->size bytes, which do not change until adsmOnceFree() or adsmOnceEmpty(). On failure the
 * function returns NULL, with the errors of adsmOnceWait().
 */
static inline const void *adsmOnceGet(const adsmOnce *once, size_t unit)
{
#ifdef __GNUC__
	if (__builtin_expect(unit < once->count &&
			     __atomic_load_n(&once->flags[unit], __ATOMIC_ACQUIRE) == ADSM_ONCE_SET, 1))
		return (const char *)once->data + unit * once->size;
#endif
	return adsmOnceWait(once, unit);
}

/**
 * Return a unit's address if the unit is set. The function never waits, and preserves errno.
 *
 * @once: the write-once object.
 * @unit: the number of the unit.
 *
 * Returns the address, or NULL if the unit is not set or does not exist.
 */
static inline const void *adsmOnceTry(const adsmOnce *once, size_t unit)
{
#ifdef __GNUC__
	int set = unit < once->count && __atomic_load_n(&once->flags[unit], __ATOMIC_ACQUIRE) == ADSM_ONCE_SET;
#else
	int set = unit < once->count && *(const volatile unsigned char *)&once->flags[unit] == ADSM_ONCE_SET;
#endif

	return set ? (const char *)once->data + unit * once->size : NULL;
}

/**
 * Begin to write a unit ("get_uninitialized" in the paper).
 *
 * The program may call the function again until the unit is set. Several threads may call it, and each may write a
 * part of the unit.
 *
 * @once: the write-once object.
 * @unit: 0 to @once->count - 1.
 *
 * Returns the address of @once->size bytes, which the program writes before it calls adsmOnceSet(). Bytes that were
 * never written are 0; the contents of other bytes are undefined. On failure the function returns NULL with errno:
 *   EINVAL    @once is not a write-once object, or it has no such unit
 *   EEXIST    the unit is set
 *   ENOTSUP   the process is the child of a fork()
 */
ADSM_API void *adsmOnceFresh(adsmOnce *once, size_t unit);

/**
 * Set a unit ("set" in the paper). All readers then see the bytes that were written to the unit. Threads and kernels
 * that wait for the unit wake up.
 *
 * @once: the write-once object.
 * @unit: 0 to @once->count - 1.
 *
 * Returns 0 or:
 *   -EEXIST   the unit was set before. If several threads set a unit at the same time, the function returns 0 in one
 *             thread, and this error in the others
 *   -EINVAL   adsmOnceFresh() was not called before, @once is not a write-once object, or it has no such unit
 *   -ENOTSUP  the process is the child of a fork()
 */
ADSM_API int adsmOnceSet(adsmOnce *once, size_t unit);

/* ---- units that are used again: pipelines without end, in an object of limited size ------- */

/**
 * Empty a unit that is set. The unit can then be written again: a next generation of data. Threads and kernels that
 * wait for room in the unit (adsmOnceRoom()) wake up.
 *
 * The caller ensures that no thread, kernel or call still reads the unit. Addresses of the unit from adsmOnceGet() are
 * then invalid. A later reader waits for the next generation. Plain loads wait, too.
 *
 * @once: the write-once object.
 * @unit: 0 to @once->count - 1.
 *
 * Returns 0 or:
 *   -EINVAL   the unit is not set, @once is not a write-once object, or it has no such unit
 *   -ENOTSUP  a device is a cluster, or the process is the child of a fork()
 */
ADSM_API int adsmOnceEmpty(adsmOnce *once, size_t unit);

/**
 * Wait until a unit is not set, and begin to write it. If the unit is not set, the function does the same as
 * adsmOnceFresh(). Otherwise it waits until adsmOnceEmpty() or a kernel empties the unit.
 *
 *	for (size_t i = 0; ; i++) {
 *		make(adsmOnceRoom(blocks, i % blocks->count));	// waits until the reader has emptied the unit
 *		adsmOnceSet(blocks, i % blocks->count);
 *	}
 *
 * The function is a cancellation point.
 *
 * @once: the write-once object.
 * @unit: 0 to @once->count - 1.
 *
 * Returns the address, as adsmOnceFresh() does, or NULL with the errors of adsmOnceWait(), or with errno:
 *   ENOTSUP   the unit is set, and a device is a cluster, where no unit is emptied
 */
ADSM_API void *adsmOnceRoom(adsmOnce *once, size_t unit);

/* ---- calls that wait for units: the kernel itself does not wait --------------------------- */

/** Units of an object that a call reads or sets. Use adsmOnceIn() and adsmOnceOut() to create it. */
typedef struct adsmOnceRange {
	const adsmOnce *once;
	size_t first, count;		/* number of the first unit; number of units */
} adsmOnceRange;

/**
 * Call a kernel as soon as units are set. The kernel starts when all units that it reads are set. When it has ended,
 * the library sets the units that it wrote. The kernel gets plain pointers, and can run on every device.
 *
 * The function returns immediately. adsmSync() does not wait for the kernel. To wait for the kernel's end, wait for a
 * unit that the call sets.
 *
 * The call runs on the calling thread's device (adsmDeviceSet()). Such calls start on a device in their order.
 * Therefore a call must not wait for units that a later call on the same device sets. It would wait forever, or until
 * the library detects a deadlock.
 *
 * The macro adsmOnceCall() is easier to use, because it counts the arguments.
 *
 * @grid, @block: as for adsmCallArgs().
 * @args, @n: as for adsmCallArgs(). In place of a pointer the caller may pass adsmOnceIn() or adsmOnceOut(). The kernel
 *            then gets a pointer to the first of these units; the others follow it. The kernel reads units of
 *            adsmOnceIn(). It must write all bytes of units of adsmOnceOut(), which the library then sets. At least one
 *            argument must be adsmOnceOut(). Objects of other pointers must be on the calling thread's device.
 *
 * Returns 0 or:
 *   -EINVAL   the arguments do not match the kernel, a unit does not exist, or a pointer is on another device
 *   -EINVAL   no argument is adsmOnceOut(), or two arguments name the same unit and one of them is adsmOnceOut()
 *   -EEXIST   a unit that the call would set is set already
 *   -ENODEV   the device was lost
 *   -ENOMEM   there is not enough memory
 *   -ENOTSUP  the device does not support what the kernel needs
 * If the call fails later, the library logs the error once. Threads and kernels that wait for its units get the error,
 * unless another such call will set these units.
 */
ADSM_API int adsmOnceCallArgs(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n);

/**
 * Find out where a unit is.
 *
 * @once: the write-once object.
 * @unit: 0 to @once->count - 1.
 * @ret_device: gets the index of the device whose memory contains the unit's first byte, or ADSM_ONCE_ON_HOST.
 *
 * Returns 0, or -EINVAL if an argument is invalid.
 */
ADSM_API int adsmOncePlace(const adsmOnce *once, size_t unit, int *ret_device);

/** A wait for a unit: of a thread of the program, or of a kernel. */
typedef struct adsmOnceWaiter {
	const void *address;		/* adsmOnce.address of the object */
	size_t unit;
	int device;			/* index of the kernel's device; ADSM_ONCE_ON_HOST: a thread of the program */
	int thread;			/* the thread's id, as gettid() returns it; of a kernel: in its device's
					   process */
	uint64_t waited_ns;		/* time since the wait began */
	const void *where;		/* the code that waits: a return address, or the address of the load; NULL: a
					   kernel waits */
	char kernel[64];		/* the kernel's name; "": a thread of the program */
	char place[128];		/* a description: "main.c:88 (fill)", "kernel scan, block 7" */
} adsmOnceWaiter;

/**
 * List the waits for units of all objects. Use the list to find out why a program hangs.
 *
 * If a thread left its wait by longjmp(), the list contains the wait until the thread waits again or ends.
 *
 * @ret_waiters: gets up to @max waits, the longest first. It may be NULL if @max is 0.
 * @max: number of elements of @ret_waiters.
 * @size: sizeof(adsmOnceWaiter).
 *
 * Returns the number of waits, which may be larger than @max, or a negative errno value:
 *   -EINVAL   @ret_waiters or @size is invalid
 */
ADSM_API int adsmOnceWaiters(adsmOnceWaiter *ret_waiters, size_t max, size_t size);

#ifdef __cplusplus
}

/* The range of an argument is valid until the end of the expression that contains it. */
inline adsmArg adsmOnceIn_(const adsmOnceRange &range)
{
	return adsmArgMake_(ADSM_ARG_ONCE, ADSM_ACCESS_IN, &range, sizeof(range));
}

inline adsmArg adsmOnceOut_(const adsmOnceRange &range)
{
	return adsmArgMake_(ADSM_ARG_ONCE, ADSM_ACCESS_OUT, &range, sizeof(range));
}

#define adsmOnceIn(once, first, count) adsmOnceIn_(adsmOnceRange{ once, (size_t)(first), (size_t)(count) })
#define adsmOnceOut(once, first, count) adsmOnceOut_(adsmOnceRange{ once, (size_t)(first), (size_t)(count) })

template<typename... Args>
inline int adsmOnceCall(adsmKernel *kernel, adsmDim grid, adsmDim block, const Args &...args)
{
	const adsmArg list[] = { adsmArgMake_(ADSM_ARG_NONE, 0, NULL, 0), args... };

	return adsmOnceCallArgs(kernel, grid, block, list, sizeof(list) / sizeof(list[0]));
}
#else
/*
 * Units @first to @first + @count - 1 of an object, as one argument of adsmOnceCall(). adsmOnceIn(): the call reads
 * them. adsmOnceOut(): the call sets them. The argument is valid until the end of the enclosing block of C.
 */
#define adsmOnceIn(once, first, count) adsmArgMake_(ADSM_ARG_ONCE, ADSM_ACCESS_IN, \
	&(const adsmOnceRange){ once, first, count }, sizeof(adsmOnceRange))
#define adsmOnceOut(once, first, count) adsmArgMake_(ADSM_ARG_ONCE, ADSM_ACCESS_OUT, \
	&(const adsmOnceRange){ once, first, count }, sizeof(adsmOnceRange))

/**
 * Call a kernel as soon as units are set: adsmOnceCallArgs() with a list of arguments.
 *
 *	adsmOnceCall(kernel, grid, block, adsmOnceIn(blocks, 0, 16), adsmOnceOut(sums, 0, 16), adsmVal(n));
 */
#define adsmOnceCall(kernel, grid, block, ...) adsmOnceCallArgs(kernel, grid, block, \
	(const adsmArg[]){ { 0, 0, NULL, 0 }, __VA_ARGS__ }, \
	sizeof((const adsmArg[]){ { 0, 0, NULL, 0 }, __VA_ARGS__ }) / sizeof(adsmArg))
#endif

#endif
