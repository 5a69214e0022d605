/* SPDX-License-Identifier: MIT */
/* conform.h - what the conformance programs share: cases, checks, and shorthand over adsm.h. */
#ifndef CONFORM_H
#define CONFORM_H

#include <adsm.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHECK_MORE adsmLastError()
#define CHECK_OUT stdout
#include "../check.h"

/*
 * A program is a list of cases; one process runs one. The protocol and the memory mode come from the
 * environment, the kernels from conform.adsm in the folder TEST_KERNELS.
 */
struct conform_case {
	const char *name;
	void (*run)(void);
	bool faults;		/* the case needs touches to be detected, which batch does not do */
};

#define CASE(name, run) { name, run, false }
#define FAULT_CASE(name, run) { name, run, true }

int conform_main(int argc, char **argv, const struct conform_case *cases, size_t n);
#define CONFORM_MAIN(cases) \
	int main(int argc, char **argv) \
	{ \
		return conform_main(argc, argv, cases, sizeof(cases) / sizeof((cases)[0])); \
	}

_Noreturn void skip(const char *why);

/* A call of the library that must fail with @error and set an error text. */
#define CHECK_ERROR(call, error) do { \
	int got_ = (call); \
	if (got_ != -(error)) \
		FAIL("%s returned %d (%s), not -%s", #call, got_, strerror(-got_), \
		     #error); \
	if (!adsmLastError()[0]) \
		FAIL("%s failed without a sentence", #call); \
} while (0)

/* A call that must return NULL with errno @error. */
#define CHECK_NULL(call, error) do { \
	errno = 0; \
	const void *got_ = (call); \
	int errno_ = errno; \
	if (got_ || errno_ != (error)) \
		FAIL("%s returned %p with errno %d (%s), not %s", #call, got_, errno_, \
		     strerror(errno_), #error); \
	if (!adsmLastError()[0]) \
		FAIL("%s failed without a sentence", #call); \
} while (0)

#define CHECK_SAYS(word) do { \
	if (!strstr(adsmLastError(), (word))) \
		FAIL("\"%s\" does not name %s", adsmLastError(), (word)); \
} while (0)

bool batch(void);	/* the protocol is batch */
bool rolling(void);
bool unified(void);	/* the device copies nothing; this starts the library, to ask the device */

/* Make objects, set an option, and get properties and statistics. All of these must succeed. */
void *alloc(size_t size);
unsigned *words(size_t n, unsigned first);	/* n words: first, first + 1, … */
void set(const char *option, const char *value);
adsmObjectProps info(const void *p);
adsmStats stats(void);
adsmStats object_stats(const void *p);

/* The properties of the thread's current device. */
adsmDeviceProps device_props(void);

/*
 * The device's address of @p, for pointers in data that kernels read. @p is in an object, or NULL. If the device has no
 * addresses of its own, the case is skipped.
 */
void *in_data(const void *p);

/* kernel(): a kernel of conform.adsm, which is loaded if necessary. unload(): unload that module. module_path(): the
 * file of another module. */
adsmKernel *kernel(const char *name);
void unload(void);
const char *module_path(const char *name);

#define PAGE ((size_t)4096)
#define SPIN 20000000ul		/* turns that the late_ kernels spin before they begin: about 20 ms */

/* A grid of one thread per item, in blocks of 256. */
static inline adsmDim blocks(size_t n)
{
	return (adsmDim){ (unsigned)((n + 255) / 256), 1, 1 };
}

static inline adsmDim lanes(void)
{
	return (adsmDim){ 256, 1, 1 };
}

#define CALL(name, n, ...) CHECK_OK(adsmCall(kernel(name), blocks(n), lanes(), __VA_ARGS__))
#define SYNC() CHECK_OK(adsmSync())

/* Make results visible: a touch does that, but with batch only adsmSync() does. */
#define SETTLE() do { \
	if (batch()) \
		SYNC(); \
} while (0)

/* Random numbers from a seed: splitmix64. */
static inline uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

/* Returns whether @touch(@p) raises @signal with an address in the @size bytes at @p. */
bool raises(int signal, void (*touch)(volatile unsigned *), unsigned *p, size_t size);
void touch_read(volatile unsigned *p);
void touch_write(volatile unsigned *p);

/* Is the thread @tid of this process asleep in the kernel? */
bool asleep(pid_t tid);
/* The process of this program's device; 0: not found. */
pid_t device_process(void);
/* Is the backend's device a process of this machine? Then its memory survives its crash, and the reason is known. */
bool is_process(const char *backend);

/* Run @once with each number below @rounds in a process of its own, which kills its device. */
void kill_often(void (*once)(uint64_t state), uint64_t rounds);

#endif
