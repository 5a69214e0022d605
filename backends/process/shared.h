/* SPDX-License-Identifier: MIT */
/*
 * shared.h - what the library and the process of a device agree on: the memory that both map, the
 * queue in it, and the messages between them. Both are built from the same version of this file; the
 * version number guards against a device program of another one.
 */
#ifndef ADSM_PROCESS_SHARED_H
#define ADSM_PROCESS_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_PROCESS_VERSION 0x6163700bu

#define ADSM_PROCESS_SLOTS 256		/* launches outstanding at most */
#define ADSM_PROCESS_MAX_ARGS 64
#define ADSM_PROCESS_MAX_ARG_BYTES ((size_t)1 << 20)
#define ADSM_PROCESS_INLINE_ARGS 1024
/* With room for the bytes that alignment adds to the arguments. */
#define ADSM_PROCESS_ARG_AREA (ADSM_PROCESS_MAX_ARG_BYTES + 8192)
#define ADSM_PROCESS_NAME 64		/* bytes of a kernel's name, terminator included */
#define ADSM_PROCESS_TEXT 512

/* The program's descriptors. */
#define ADSM_PROCESS_SOCKET 3
#define ADSM_PROCESS_APPLICATION 4	/* pidfd, where the system has them */
#define ADSM_PROCESS_KEPT 5		/* of a keeper: the shared memory */

/* ---- a queue: operations are numbered from 1 and done in order by one consumer */

struct adsm_process_queue {
	_Alignas(64) _Atomic uint64_t submitted;	/* the number of the last one given */
	_Alignas(64) _Atomic uint32_t idle;	/* futex: the consumer sleeps while it is 1 */
	_Atomic uint32_t stop;			/* the consumer is to end */
	_Alignas(64) _Atomic uint64_t done;	/* the number of the last one done */
	_Atomic uint32_t tick;			/* futex: changes with done, and at the device's death */
	_Atomic uint32_t waited;		/* somebody may sleep on tick */
};

/* @shared: the two ends live in different processes. Producers exclude each other. */
uint64_t adsm_process_queue_submit(struct adsm_process_queue *queue, bool shared);
/* The consumer: wait, awake for @spin_ns first, for an operation. False: stopped. */
bool adsm_process_queue_next(struct adsm_process_queue *queue, uint64_t spin_ns, bool shared);
/*
 * The consumer, that has done all up to @done: sleep until there is an operation, the queue stops, or somebody pokes it
 * because @more() is true; at most @most_ns, 0: no limit. @more: NULL: there is nothing else.
 */
void adsm_process_queue_sleep(struct adsm_process_queue *queue, uint64_t done, bool (*more)(void), uint64_t most_ns,
			      bool shared);
void adsm_process_queue_poke(struct adsm_process_queue *queue, bool shared);
void adsm_process_queue_done(struct adsm_process_queue *queue, bool shared);
void adsm_process_queue_stop(struct adsm_process_queue *queue, bool shared);
/* Wake everybody who waits, to look again. */
void adsm_process_queue_tick(struct adsm_process_queue *queue, bool shared);
/* The consumer's process has ended, wherever it was: *@lost is set, and everybody who waits for it or here is woken. */
void adsm_process_queue_lose(struct adsm_process_queue *queue, _Atomic uint32_t *lost);
/* Wait until operation @seq is done or *lost: 0, or -EINTR. For the fault handler too. */
int adsm_process_queue_wait(struct adsm_process_queue *queue, uint64_t seq, const _Atomic uint32_t *lost,
			uint64_t spin_ns, bool shared);

static inline void adsm_process_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* ---- the shared memory; a sparse file, so that only the argument areas in use cost memory */

/* What a task has done, all workers together. */
#define ADSM_TASK_COUNTS(row) \
	row(WORKERS, workers, "workers of its calls") \
	row(LOCKS, locks, "locks taken") \
	row(LOCK_WAITS, lock_waits, "of these: waited for, asleep") \
	row(HANDOVERS, handovers, "of these: handed over to who had waited too long") \
	row(BARRIERS, barriers, "barriers that all its workers have come to") \
	row(WORK_NS, work_ns, "from each worker's start to its end, all together") \
	row(LOCK_WAIT_NS, lock_wait_ns, "of that: waited for locks, asleep") \
	row(BARRIER_WAIT_NS, barrier_wait_ns, "of that: waited for others at barriers")

enum {
#define ADSM_TASK_COUNT(upper, name, help) ADSM_TASK_##upper,
	ADSM_TASK_COUNTS(ADSM_TASK_COUNT)
#undef ADSM_TASK_COUNT
	ADSM_TASK_N_COUNTS
};

#define ADSM_TASK_WORKERS_MAX 1024
#define ADSM_TASK_LOCKS_MAX (1u << 20)	/* their numbers are below */
#define ADSM_TASK_WAITS 1024		/* of each launch so many are told one by one */

/* What a worker waits for: the number of a lock, or one of these. */
enum {
	ADSM_TASK_RUNS = ADSM_TASK_LOCKS_MAX, ADSM_TASK_AT_BARRIER, ADSM_TASK_ENDED,
	ADSM_TASK_FOR_MEMORY,		/* in a record only: others are about to be given some */
	ADSM_TASK_HANDED = 1 << 24,
};

struct adsm_task_span { uint64_t start_ns, ns; };
struct adsm_task_wait {
	struct adsm_task_span span;
	uint32_t worker, what;		/* and ADSM_TASK_HANDED: it was handed the lock */
};

/*
 * Locks that were waited for most, the largest first, .n 0 from the end on. Where there are more locks the one that was
 * waited for least leaves for another one: what is waited for again and again stays, and its figures are no larger
 * than they should be.
 */
#define ADSM_TASK_HOT 8
struct adsm_task_hot { uint64_t ns; uint32_t lock, n; };
void adsm_task_hot_add(struct adsm_task_hot hot[ADSM_TASK_HOT], struct adsm_task_hot more);

struct adsm_task_record {		/* what a task's workers did, where the application will ask */
	_Atomic uint32_t n_waits;	/* more than there is room for, perhaps */
	struct adsm_task_span workers[ADSM_TASK_WORKERS_MAX];
	struct adsm_task_wait waits[ADSM_TASK_WAITS];
	struct adsm_task_hot hot[ADSM_TASK_HOT];
};

struct adsm_process_slot {			/* a launch */
	char name[ADSM_PROCESS_NAME];
	uint32_t kernel, n_args;
	uint32_t grid[3], block[3];
	uint64_t first_block, n_blocks;
	uint64_t start_ns, end_ns;	/* written by the device, as is the rest of these */
	uint64_t counts[ADSM_TASK_N_COUNTS];
	int32_t status;			/* negative: the launch has failed, and shared->failures says how */
	uint32_t task;			/* it was one */
	uint32_t arg_bytes;
	uint32_t in_area;		/* the arguments' bytes: in the slot's area, or below */
	uint32_t counted;		/* the application will ask what it has cost */
	uint32_t traced;		/* and when what of it was */
	uint32_t advised;		/* and what would have cost less */
	uint32_t n_pointers;		/* in the slot's row of shared->pointers; 0 where the backend wants none */
	uint32_t arg_offset[ADSM_PROCESS_MAX_ARGS];
	_Alignas(64) uint8_t args[ADSM_PROCESS_INLINE_ARGS];
};

struct adsm_process_pointer {		/* an argument that is a pointer to device memory */
	uint64_t base, size;		/* of the memory */
	uint32_t arg;			/* from 0 */
	uint32_t access;		/* what the launch does with the memory: ADSM_ACCESS_*; 0: not known */
};

struct adsm_process_crash {		/* why the device ended, written by its signal handler */
	_Atomic uint32_t signal;	/* 0: it did not crash; written last */
	uint32_t in_kernel;		/* in the launch after queue.done; else outside of any */
	uint32_t sent;			/* by another process or by the system; else it was raised */
	uint32_t sender, user;		/* who sent it: a process; 0: none that can be seen from here */
	uint32_t module;		/* its index and 1, of the code that crashed; 0: not known */
	uint64_t offset;		/* of the instruction, as the module's file has addresses */
	uint64_t address;
	char place[96];			/* where, of a device that is several processes: " on node 2 (host)" */
	char why[320];			/* what that means: ": a load of …"; mostly "" */
};

struct adsm_process_end {		/* why the device ends, in a sentence of those who end it */
	_Atomic uint32_t state;		/* 0: nobody says, 1: being written, 2: written */
	char text[ADSM_PROCESS_TEXT];
};

/*
 * What kernels ask of the application. A thread that runs kernels has a buffer for its commands: it writes one, gives
 * the buffer's number, and waits for the answer. One thread of the application serves them, in their order.
 */
#define ADSM_PROCESS_COMMANDS 256	/* buffers; threads beyond so many share some */
#define ADSM_PROCESS_COMMAND_BYTES ((size_t)64 << 10)

enum adsm_process_command_op {
	ADSM_COMMAND_SERVICE,		/* name, in_size, out_size; in its bytes what goes in, then what came out */
	ADSM_COMMAND_PRINT,		/* out_size: arguments; in its bytes these, the format, strings: in_size */
	ADSM_COMMAND_TAKE,		/* in_size bytes of the device's memory; -ENOMEM: it has not so many left */
	ADSM_COMMAND_GIVE,		/* and back */
};

enum adsm_process_command_state {
	ADSM_COMMAND_FREE, ADSM_COMMAND_ASKED, ADSM_COMMAND_ANSWERED,
	ADSM_COMMAND_LEFT,		/* the program's function did not return: it has ended its thread */
};

struct adsm_process_command {
	_Alignas(64) _Atomic uint32_t state;	/* futex */
	uint32_t op;
	int64_t result;			/* of the service; else 0; or a negative errno */
	uint64_t in_size, out_size;
	char name[ADSM_PROCESS_NAME];
};

struct adsm_process_print_arg {		/* as struct adsm_kernel_print; of a string the value is where it begins */
	uint64_t kind, value;
};

struct adsm_process_handler {
	struct adsm_process_queue queue;	/* of commands: number s is in buffer order[(s - 1) % …] */
	_Atomic uint32_t serving;		/* there is a thread for them */
	_Atomic uint32_t order[ADSM_PROCESS_COMMANDS];
	struct adsm_process_command commands[ADSM_PROCESS_COMMANDS];
	_Alignas(4096) uint8_t bytes[ADSM_PROCESS_COMMANDS][ADSM_PROCESS_COMMAND_BYTES];
};

/* Bytes of device memory: objects', and what kernels and tasks have been given. */
struct adsm_process_room { _Atomic uint64_t used, size; };

/* False: there are not so many left. */
bool adsm_process_take(struct adsm_process_room *room, uint64_t size);
/* Never more than there is, whatever the other side says. */
void adsm_process_give(struct adsm_process_room *room, uint64_t size);
uint64_t adsm_process_left(const struct adsm_process_room *room);

struct adsm_process_shared {
	struct adsm_process_queue queue;	/* of launches: number s uses slot (s - 1) % ADSM_PROCESS_SLOTS */
	_Alignas(64) struct adsm_process_crash crash;
	struct adsm_process_end end;
	struct adsm_process_room room;
	struct adsm_process_slot slots[ADSM_PROCESS_SLOTS];
	_Alignas(4096) uint8_t areas[ADSM_PROCESS_SLOTS][ADSM_PROCESS_ARG_AREA];
	struct adsm_process_pointer pointers[ADSM_PROCESS_SLOTS][ADSM_PROCESS_MAX_ARGS];
	char failures[ADSM_PROCESS_SLOTS][ADSM_PROCESS_TEXT];
	struct adsm_task_record tasks[ADSM_PROCESS_SLOTS];
	struct adsm_process_handler handler;
	/*
	 * What else a backend and its device have in common: hello's extra bytes, all 0 at first. The last of them say
	 * which memory is live (live.h).
	 */
	_Alignas(4096) uint8_t extra[];
};

/* Say why the device ends: the first one counts. A crash in a kernel is told without. */
void adsm_process_say_end(struct adsm_process_shared *shared, const char *text);
/* What was said; "" else. */
const char *adsm_process_said_end(struct adsm_process_shared *shared);

/* ---- messages: each request has one reply */

enum adsm_process_op {
	ADSM_PROCESS_HELLO,			/* descriptors: device memory, shared memory */
	ADSM_PROCESS_LOAD,			/* descriptor: the module; the reply's index is its */
	ADSM_PROCESS_UNLOAD,
	ADSM_PROCESS_KERNEL,		/* index: the module; the reply's index is the kernel's */
	/* Write-once objects; as struct adsm_once_ops has them. */
	ADSM_PROCESS_ONCE_TABLE,	/* descriptor: the table; index: the device's */
	ADSM_PROCESS_ONCE_MAP,		/* descriptor: the bytes; base, size; extra: where they begin in the file */
	ADSM_PROCESS_ONCE_ADD,		/* descriptor: flags; base, size, unit, count; extra: their bytes */
	ADSM_PROCESS_ONCE_REMOVE,	/* base, size */
};

struct adsm_process_request {
	uint32_t version, op, index;
	uint32_t n_threads;		/* hello: of kernels */
	uint64_t base, size;		/* hello: where device memory has to be */
	uint64_t extra;			/* hello: bytes of shared->extra */
	uint64_t unit, count;
	char name[ADSM_PROCESS_NAME];	/* kernel */
};

struct adsm_process_reply {
	uint32_t version;
	int32_t error;			/* 0 or a negative errno */
	uint32_t index;
	uint32_t atomics;		/* of a kernel: it may do some on device memory, as far as its module says */
	char text[ADSM_PROCESS_TEXT];	/* with an error: what went wrong, or "" */
};

#define ADSM_PROCESS_MAX_FDS 2

/* 0, or a negative errno: -EPIPE when nobody is at the other end, -EPROTO for a message of another size. */
int adsm_process_send(int sock, const void *data, size_t size, const int *fds, int n_fds);
/* @fds: ADSM_PROCESS_MAX_FDS descriptors, -1 where none came; NULL: none expected. */
int adsm_process_receive(int sock, void *data, size_t size, int *fds);

#endif
