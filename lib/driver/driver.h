/* SPDX-License-Identifier: MIT */
/*
 * driver.h - functions for the wrappers of a driver, for programs that use that driver themselves. The program's memory
 * is adopted: it becomes objects. Its commands (kernels and copies) become calls. Functions return 0 or a negative
 * errno with an error text. They must not be called in fault or signal handlers.
 */
#pragma once

#include "core/kept.h"
#include "run/call/call.h"

#define ADSM_DRIVER_USES 8

/* An object and the place of an address in it; valid while no thread frees the object. */
struct adsm_driver_place {
	struct adsm_home *home;
	const struct adsm_memory *memory;
	uintptr_t start;
	size_t offset, size;		/* size: the object's, as the program requested it */
	bool device_only;
};

/* The device's address of the place. */
static inline uint64_t adsm_driver_address(const struct adsm_driver_place *place)
{
	return place->memory->address + place->offset;
}

/* Are @size bytes from the place on inside the object? */
static inline bool adsm_driver_has(const struct adsm_driver_place *place, size_t size)
{
	return size <= place->size - place->offset;
}

/* How a command accesses the object if it writes @size bytes at the place. */
static inline unsigned adsm_driver_written(const struct adsm_driver_place *place, size_t size)
{
	return !place->offset && size >= place->size ? ADSM_ACCESS_OUT : ADSM_ACCESS_INOUT;
}

/* Has the library started, and is there any object? This is cheap; wrappers call it first. */
bool adsm_driver_active(void);
/*
 * Find the object of an address. Returns false if there is none. This is cheap and takes no lock, except the first time
 * for an object that is not adopted: from then on that object keeps its device memory (core/resident.h).
 */
bool adsm_driver_find(const void *p, struct adsm_driver_place *ret_place);
/* The existing home of a driver's context, or NULL. */
struct adsm_home *adsm_driver_home_of(void *context);
/* The same, but open a home if there is none. If the library has not started, it starts on @backend with this home. */
int adsm_driver_home(const char *backend, void *context, void *device, struct adsm_home **ret_home);

/*
 * The program is about to end the context of a home, whose adopted objects are forgotten. End the backend's queues and
 * threads, and its reference to the context. If objects that are not adopted, or modules, exist, and @always is not
 * set, nothing happens: the backend's reference then keeps the context. Returns true if it has ended; the device is
 * then lost.
 */
bool adsm_driver_end(struct adsm_home *home, bool always);

/*
 * Make an object of memory that the program allocated: whole pages from @address on, which the CPU cannot access so
 * far. @size: the program's bytes. The contents are undefined. Returns -EINVAL if @address is not page aligned, and
 * -EEXIST if there is another object.
 */
int adsm_driver_adopt(struct adsm_home *home, uint64_t address, size_t size);
/*
 * Call this before the program frees such memory. It waits for the calls that may use the object, if @wait; otherwise
 * the caller knows that no call does, except calls by ranges that have not ended. Afterwards the CPU cannot access the
 * range, as before the adoption. Returns -EINVAL if no adopted object starts there, and -EBUSY if a range of it is
 * held, or if a call by ranges that uses it could wait forever.
 * @driver_free: NULL, or a function that frees the memory. With a function the library may keep the memory, and then
 * returns 1: it belongs to the library until adsm_driver_reuse() returns it, or @driver_free is called. That call is
 * made with a lock held, and must do nothing else.
 */
int adsm_driver_forget(const void *p, bool wait, adsm_kept_free *driver_free);
/* Make an object of kept memory that has as many pages as @size bytes need. Returns -ENOENT if there is none. */
int adsm_driver_reuse(struct adsm_home *home, size_t size, uint64_t *ret_address);
/* Free kept memory, including the library's own: of a home, or of all homes (NULL). Returns true if there was any. */
bool adsm_driver_give_up(struct adsm_home *home);
/* The number of kept bytes on a driver's device. */
size_t adsm_driver_kept(void *device);

/*
 * Release objects to commands of the program's, call @enqueue to give them to the driver's queue @queue, and note when
 * they end. If @n is 0, they may use any object, as an unnamed call. Uses that are in no object, or in an object of
 * another home, are ignored. @enqueue (NULL: there are no commands) is called once, with the home's lock held and
 * signals blocked, so that no access comes between. It must not touch shared memory and must not wait.
 * Returns 0, and the result of @enqueue in *ret_result (not 0: the driver refused, and nothing was noted). Returns a
 * negative errno if @enqueue was not called, or if the end of the commands cannot be known; in the latter case the
 * states of the objects change all the same.
 */
int adsm_driver_call(struct adsm_home *home, const struct adsm_driver_use *uses, size_t n, void *queue,
		     int (*enqueue)(void *arg), void *arg, int *ret_result);
/*
 * The same for commands that may use any object. While no object is open, signals are not blocked, and the end of the
 * commands is not noted until a thread waits for it; it then waits for everything that is in @queue. Call
 * adsm_driver_launched_on() before @queue ends or gets into a state where it cannot be asked. Call
 * adsm_driver_launched() before commands that such a wait must not include.
 */
int adsm_driver_launch(struct adsm_home *home, void *queue, int (*enqueue)(void *arg), void *arg, int *ret_result);
/*
 * Note when the commands launched so far end: of one home, or of all homes (NULL); or of the home that has commands in
 * @queue.
 */
void adsm_driver_launched(struct adsm_home *home);
void adsm_driver_launched_on(void *queue);
/*
 * Send what the CPU has written to an object, before the program gives @queue a command that reads it. No call is
 * noted: later uses of the object do not wait for that command. Results as of adsm_driver_call().
 */
int adsm_driver_send(struct adsm_home *home, const struct adsm_driver_use *use, void *queue);
/* Call this after the program has waited for its commands: it notes their end, and fetches what the protocol requires.
 * If there are objects whose accesses are not detected (batch), it waits for all commands. */
int adsm_driver_sync(struct adsm_home *home);

/*
 * Copy or fill, and return when the bytes have moved. The order is that of calls. Both ranges may be in objects, at @to
 * and @from (NULL: not in an object). Whole blocks go to the device immediately. A copy of whole blocks from the device
 * leaves them valid for the CPU, so that another copy needs no transfer; a smaller copy fetches only its own bytes.
 */
int adsm_driver_copy(void *dst, const struct adsm_driver_place *to, const void *src,
		     const struct adsm_driver_place *from, size_t size);
int adsm_driver_fill(void *dst, const struct adsm_driver_place *to, int value, size_t size);
