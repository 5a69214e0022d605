/* SPDX-License-Identifier: MIT */
/*
 * driver.h - what the wrappers of a driver do for programs that use that driver themselves: their memory is adopted, so
 * becomes objects; their commands, which are kernels and copies, become calls. Negative errnos, sentences set. Ordinary
 * code only.
 */
#ifndef ADSM_DRIVER_H
#define ADSM_DRIVER_H

#include "core/kept.h"
#include "run/call.h"

#define ADSM_DRIVER_USES 8

/* An object and the place of an address in it; valid until somebody frees it. */
struct adsm_driver_place {
	struct adsm_home *home;
	const struct adsm_memory *memory;
	uintptr_t start;
	size_t offset, size;		/* size: of the object, as the program asked for it */
	bool device_only;
};

/* The device's address of it. */
static inline uint64_t adsm_driver_address(const struct adsm_driver_place *place)
{
	return place->memory->address + place->offset;
}

/* Does what begins there end in the same object? */
static inline bool adsm_driver_has(const struct adsm_driver_place *place, size_t size)
{
	return size <= place->size - place->offset;
}

/* What a command does with the object that writes @size bytes there. */
static inline unsigned adsm_driver_written(const struct adsm_driver_place *place, size_t size)
{
	return !place->offset && size >= place->size ? ADSM_ACCESS_OUT : ADSM_ACCESS_INOUT;
}

/* Has the library started, and is there any object? Cheap: it stands before everything else. */
bool adsm_driver_active(void);
/* Which object has an address: false where none has. Cheap, no lock. */
bool adsm_driver_find(const void *p, struct adsm_driver_place *ret_place);
/* The home of a driver's context, one there is. */
struct adsm_home *adsm_driver_home_of(void *context);
/* The same; made where there is none, which starts the library on @backend with this one where it had not. */
int adsm_driver_home(const char *backend, void *context, void *device, struct adsm_home **ret_home);

/*
 * The program is about to end the context of a home, whose adopted objects are forgotten: the backend's queues and
 * threads end, and its share in the context. Not where objects or kernels of the library's own are there, unless
 * @always: then that share keeps the context. Did it end? Then its device is lost.
 */
bool adsm_driver_end(struct adsm_home *home, bool always);

/*
 * Make an object of memory that the program allocated: whole pages from @address on, inaccessible so far, @size bytes
 * of them its own. Contents are undefined. -EINVAL where that is no page, -EEXIST where another object is.
 */
int adsm_driver_adopt(struct adsm_home *home, uint64_t address, size_t size);
/*
 * Before the program frees it: waits (@wait) for the calls that may use it, else the caller knows that none does; then
 * the range is inaccessible, as the driver left it. -EINVAL where no adopted object starts there; -EBUSY while held.
 * @driver_free: NULL, or the memory may be kept, which 1 says it is: it is the library's then, until it is handed out
 * again, or @driver_free is called, with a lock held: to free it and nothing else.
 */
int adsm_driver_forget(const void *p, bool wait, adsm_kept_free *driver_free);
/* Make an object of memory that is kept there, of as many pages as @size bytes take; -ENOENT where there is none. */
int adsm_driver_reuse(struct adsm_home *home, size_t size, uint64_t *ret_address);
/* Free what is kept of freed memory, the library's own too: of a home, or of all (NULL). Was there any? */
bool adsm_driver_give_up(struct adsm_home *home);
/* How many bytes are kept on a driver's device. */
size_t adsm_driver_kept(void *device);

/*
 * Release objects to commands of the program's, have @enqueue give them to the driver's queue @queue, and take note of
 * when they end. @n 0: they may use any object, as an unnamed call. What is in no object, or one of another home's, is
 * passed over. @enqueue (NULL: nothing is given) runs once, with the home's lock held and signals blocked, so that no
 * access comes in between: it touches no shared memory and waits for nothing.
 * Returns 0, with what @enqueue returned in *ret_result (not 0: the driver refused, nothing was taken note of); or a
 * negative errno: @enqueue has not run, or its end cannot be known; then the objects are the device's all the same.
 */
int adsm_driver_call(struct adsm_home *home, const struct adsm_driver_use *uses, size_t n, void *queue,
		     int (*enqueue)(void *arg), void *arg, int *ret_result);
/*
 * The same for commands that may use any object; but while none is open, signals are not blocked, and nobody takes note
 * of when they end before somebody waits for it: for all that @queue has then. Before @queue ends, or is in a state in
 * which it cannot be asked, adsm_driver_launched_on(); before commands that such a wait must not be for,
 * adsm_driver_launched().
 */
int adsm_driver_launch(struct adsm_home *home, void *queue, int (*enqueue)(void *arg), void *arg, int *ret_result);
/* Take note of when the commands launched so far end: of one home's, or of all (NULL); of what has some on a queue. */
void adsm_driver_launched(struct adsm_home *home);
void adsm_driver_launched_on(void *queue);
/*
 * After the program has waited for its commands: take note of it, and fetch what the protocol wants back. Where there
 * are objects whose accesses are not seen (batch), this waits for all commands.
 */
int adsm_driver_sync(struct adsm_home *home);

/*
 * Copies that return when the bytes have moved, in the order of calls. Both ends may be in objects, at @to and @from
 * (NULL: not in one). What covers whole
 * blocks goes to the device at once; from the device, a copy of whole blocks leaves them valid for the CPU, so that
 * another one is served there, and a smaller one fetches its own bytes only.
 */
int adsm_driver_copy(void *dst, const struct adsm_driver_place *to, const void *src,
		     const struct adsm_driver_place *from, size_t size);
int adsm_driver_fill(void *dst, const struct adsm_driver_place *to, int value, size_t size);

#endif
