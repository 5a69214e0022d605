/* SPDX-License-Identifier: MIT */
/* adsm_once.h - write-once objects: data that readers wait for. */
#ifndef ADSM_ONCE_H
#define ADSM_ONCE_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A write-once object is an array of units. Each is empty, then fresh (somebody writes it), then set, and stays so: it
 * is written once, and whoever reads it before waits for it. The CPU's threads and kernels of several devices use such
 * objects at once, while calls run: the rule that a touch waits for the call does not hold for them (Breitbart,
 * Programming hybrid systems with implicit memory based synchronization, section VII; docs/once.md).
 *
 *	adsmOnce *sums = adsmOnceAlloc(n, sizeof(int), NULL);
 *
 *	*(int *)adsmOnceFresh(sums, i) = 42;		one thread, or a kernel by ADSM_FRESH and ADSM_SET
 *	adsmOnceSet(sums, i);
 *
 *	total += *(const int *)adsmOnceGet(sums, i);	another one: waits until it is set
 *
 * The conventions of adsm.h hold. Get, try, wait, fresh and set may be called inside signal handlers, too. In the child
 * of a fork a write-once object is the parent's, as every shared object: ENOTSUP.
 */

/* What a unit's flag says. */
enum { ADSM_ONCE_EMPTY, ADSM_ONCE_FRESH, ADSM_ONCE_SET };

/** An object: made by adsmOnceAlloc(), not by hand. Read only; a copy of it does as well. */
typedef struct adsmOnce {
	const void *data;		/* for readers: unit u, once it is set, is at data + u * size; stays mapped */
	const unsigned char *flags;	/* of each unit */
	size_t size;			/* bytes of a unit */
	size_t count;			/* units */
	void *address;			/* the object's: for adsmPtr(), and plain loads that wait; see below */
	void *room;			/* for writers: what adsmOnceFresh() gives is in there */
} adsmOnce;

/*
 * Plain loads at address + u * size, which is also what kernels have, wait as adsmOnceGet() does, page by page: a page
 * opens when all units in it are set. So units that are whole pages wait for themselves alone; of smaller ones a load
 * may wait for its neighbours. A store there is an error that is told, then SIGBUS. System calls wait as loads do
 * (write(2) of a unit that is not set), and may fill what is fresh (read(2)). Where a wait has no end that can come
 * (-ENODEV, -EDEADLK of adsmOnceGet()), the load ends in SIGBUS, after a sentence.
 */

/* Where the units' bytes are. Only how fast somebody gets at them depends on that. */
enum {
	ADSM_ONCE_HOST,			/* all in the host's memory */
	ADSM_ONCE_DEVICE,		/* all in a device's */
	ADSM_ONCE_STRIPED,		/* stripes of consecutive units, device by device, in turn */
	ADSM_ONCE_TILED,		/* units are tiles of a matrix, row by row; cyclic over a grid of devices */
	ADSM_ONCE_OWN			/* a function of the program's says where */
};

#define ADSM_ONCE_ON_HOST (-1)		/* instead of a device */

/** A distribution: made by the functions below. A page of memory is where the first unit in it belongs. */
typedef struct adsmOnceDistribution {
	size_t struct_size;		/* sizeof(adsmOnceDistribution) */
	int kind;			/* ADSM_ONCE_HOST and so on */
	int device;			/* ADSM_ONCE_DEVICE; or ADSM_DEVICE_CURRENT */
	size_t stripe;			/* ADSM_ONCE_STRIPED: units; 0: one stripe for each device */
	size_t rows, columns;		/* ADSM_ONCE_TILED: of tiles; their product is the number of units */
	unsigned grid_rows;		/* ADSM_ONCE_TILED: of devices, divides their number; 0: squarest */
	int (*place)(void *arg, size_t unit);	/* ADSM_ONCE_OWN: a device, or ADSM_ONCE_ON_HOST */
	void *arg;
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

static inline adsmOnceDistribution adsmOnceOnDevice(int device)
{
	return adsmOnceMake_(ADSM_ONCE_DEVICE, device, 0, 0, 0);
}

/* @stripe: units; 0: as many stripes as there are devices. */
static inline adsmOnceDistribution adsmOnceStriped(size_t stripe)
{
	return adsmOnceMake_(ADSM_ONCE_STRIPED, 0, stripe, 0, 0);
}

/* @rows, @columns: of tiles. Tile (r, c) is on device (r mod grid rows, c mod grid columns) of the grid. */
static inline adsmOnceDistribution adsmOnceTiled(size_t rows, size_t columns)
{
	return adsmOnceMake_(ADSM_ONCE_TILED, 0, 0, rows, columns);
}

/* @place is called in adsmOnceAlloc(), with @arg, for the first unit of each page. */
static inline adsmOnceDistribution adsmOncePlaced(int (*place)(void *arg, size_t unit), void *arg)
{
	adsmOnceDistribution distribution = adsmOnceMake_(ADSM_ONCE_OWN, 0, 0, 0, 0);

	distribution.place = place;
	distribution.arg = arg;
	return distribution;
}

/**
 * Allocate a write-once object; all units are empty.
 * @count: units, more than 0. @size: bytes of one, more than 0; data lies without gaps, so a unit begins at a multiple
 * of it. Both sides wait for whole units: a small one means more flags, and waiting for less.
 * @distribution: where the bytes are; NULL: on the host. It is not kept.
 * Devices that can use such objects are told of it now; the others never (docs/once.md says which).
 * Returns the object, owned by the caller until adsmOnceFree(); NULL with errno EINVAL (a size, a distribution or a
 * device that there is not; more than 4096 changes of place), ENODEV, ENOMEM.
 */
ADSM_API adsmOnce *adsmOnceAlloc(size_t count, size_t size, const adsmOnceDistribution *distribution);

/**
 * Free an object; waits for the calls that were given it. NULL is allowed.
 * Returns 0; -EINVAL where it is none; -EBUSY while somebody waits for one of its units (the sentence says who).
 */
ADSM_API int adsmOnceFree(adsmOnce *once);

/**
 * What adsmOnceGet() does where the unit is not set: wait until it is. The thread sleeps, after a moment awake; it
 * goes on after signals, and a cancelled thread ends there.
 * Returns its address; NULL with errno EINVAL (@unit is beyond the end, @once no object), ENODEV (a device was lost
 * that was to set units of the object, as far as its calls' arguments say, and this one is not set), EDEADLK (all who
 * could set it wait, too), ENOTSUP.
 */
ADSM_API const void *adsmOnceWait(const adsmOnce *once, size_t unit);

/**
 * Wait for a unit, and read it: "get" of the paper. Any number of threads, any number of times.
 * Returns its address, @once->size bytes that do not change any more, until adsmOnceFree(); else as adsmOnceWait().
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

/** A unit if it is set, else NULL, at once; also beyond the end. errno is as it was. */
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
 * Begin to write a unit: "get_uninitialized" of the paper. May be repeated until it is set, by several threads that
 * write parts of it, too.
 * Returns where to write @once->size bytes, before adsmOnceSet(); what is there is undefined, at first 0. NULL with
 * errno EINVAL (beyond the end, no object), EEXIST (it is set already), ENOTSUP.
 */
ADSM_API void *adsmOnceFresh(adsmOnce *once, size_t unit);

/**
 * What was written to a unit is there for all: "set" of the paper. Whoever waits for it is woken.
 * Returns 0; -EEXIST where it was set before, by whomever: of those who set a unit at once one is told 0, all others
 * this; -EINVAL without adsmOnceFresh() before, beyond the end, or no object; -ENOTSUP.
 */
ADSM_API int adsmOnceSet(adsmOnce *once, size_t unit);

/* ---- calls that wait for units, of kernels that do not ------------------------------------- */

/** Units of an object that a call reads, or sets: made by adsmOnceIn() and adsmOnceOut(). */
typedef struct adsmOnceRange {
	const adsmOnce *once;
	size_t first, count;		/* units */
} adsmOnceRange;

/**
 * Call a kernel that begins when all units that it reads are set, and sets others when it has ended: on any device,
 * also where kernels cannot wait. Returns at once; units say that it has ended, adsmSync() does not wait for it.
 * @args: as adsmCallArgs() has them. For a pointer adsmOnceIn() or adsmOnceOut() may stand, which gives the kernel so
 * many units, one behind the other, from its parameter on; it writes all of what it sets. One of them at least it sets.
 * It runs on the device of this thread (adsmDeviceSet()), whose pointers the others are, in the order of these calls
 * there: one that waits for units of a later one of the same device waits for ever.
 * Returns 0; -EINVAL for arguments that do not fit, or units beyond the end; -EEXIST where a unit that it sets is set;
 * -ENODEV, -ENOMEM. What fails later is told once in the log, and to who waits for the units: ENODEV and so on.
 */
ADSM_API int adsmOnceCallArgs(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n);

/** The device whose memory has a unit's first byte, or ADSM_ONCE_ON_HOST. Returns 0 or -EINVAL. */
ADSM_API int adsmOncePlace(const adsmOnce *once, size_t unit, int *ret_device);

/** One who waits. */
typedef struct adsmOnceWaiter {
	const void *address;		/* the object's; see adsmOnce */
	size_t unit;
	int device;			/* a kernel on this device, or ADSM_ONCE_ON_HOST: a thread of the program's */
	int thread;			/* its number, as the system counts threads; a kernel's: in its process */
	uint64_t waited_ns;		/* for so long */
	const void *where;		/* the code that waits: a return address, or the load; NULL: in a kernel */
	char kernel[64];		/* of a device; "" */
	char place[128];		/* in words: "main.c:88 (fill)", "kernel scan, block 7" */
} adsmOnceWaiter;

/**
 * Who waits for units, of all objects, and since when: for diagnosis, when nothing goes on. A thread that left its wait
 * by longjmp() is named until it waits again or ends.
 * @ret_waiters: room for @max of them, those that have waited longest first. @size: sizeof(adsmOnceWaiter).
 * Returns how many there are, which may be more; or a negative errno.
 */
ADSM_API int adsmOnceWaiters(adsmOnceWaiter *ret_waiters, size_t max, size_t size);

#ifdef __cplusplus
}

/* A range lives as long as the expression that it is written in. */
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
/* Units @first to @first + @count - 1, for adsmOnceCall(): read by the call, and set by it. */
#define adsmOnceIn(once, first, count) adsmArgMake_(ADSM_ARG_ONCE, ADSM_ACCESS_IN, \
	&(const adsmOnceRange){ once, first, count }, sizeof(adsmOnceRange))
#define adsmOnceOut(once, first, count) adsmArgMake_(ADSM_ARG_ONCE, ADSM_ACCESS_OUT, \
	&(const adsmOnceRange){ once, first, count }, sizeof(adsmOnceRange))

/** adsmOnceCallArgs() with the arguments written out:
 * adsmOnceCall(k, grid, block, adsmOnceIn(blocks, 0, 16), adsmOnceOut(sums, 0, 16), adsmVal(n)). */
#define adsmOnceCall(kernel, grid, block, ...) adsmOnceCallArgs(kernel, grid, block, \
	(const adsmArg[]){ { 0, 0, NULL, 0 }, __VA_ARGS__ }, \
	sizeof((const adsmArg[]){ { 0, 0, NULL, 0 }, __VA_ARGS__ }) / sizeof(adsmArg))
#endif

#endif
