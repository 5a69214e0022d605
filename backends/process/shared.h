/* SPDX-License-Identifier: MIT */
/*
 * shared.h - what the library and the process of a device agree on: the memory that both map, the queue in it, and the
 * messages between them. Both are built from the same version of this file; a greeting detects a device program of
 * another version.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"

#define ADSM_PROCESS_SLOTS 256		/* maximum number of outstanding launches */
#define ADSM_PROCESS_LANES 4		/* orders of launches; most devices have only the first one */
#define ADSM_PROCESS_MAX_ARGS 512	/* variables of modules included */
#define ADSM_PROCESS_MAX_ARG_BYTES ((size_t)1 << 20)
#define ADSM_PROCESS_INLINE_ARGS 1024
/* Includes the bytes that alignment adds to the arguments. */
#define ADSM_PROCESS_ARG_AREA (ADSM_PROCESS_MAX_ARG_BYTES + 65536)
#define ADSM_PROCESS_NAME 64		/* bytes of a kernel's name, terminator included */
#define ADSM_PROCESS_TEXT 512

/* Descriptors of the device's program. */
#define ADSM_PROCESS_SOCKET 3
#define ADSM_PROCESS_APPLICATION 4	/* a pidfd of the application, if the system has pidfds */
#define ADSM_PROCESS_KEPT 5		/* in a keeper: the shared memory */

/* ---- a queue: operations are numbered from 1 and done in order by one consumer */

struct adsm_process_queue {
	_Alignas(64) _Atomic uint64_t submitted;	/* number of the last operation submitted */
	_Alignas(64) _Atomic uint32_t idle;	/* futex: the consumer sleeps while it is 1 */
	_Atomic uint32_t stop;			/* the consumer has to end */
	_Alignas(64) _Atomic uint64_t done;	/* number of the last operation done */
	_Atomic uint32_t tick;			/* futex: changes with done, and when the device is lost */
	_Atomic uint32_t waited;		/* a thread may be sleeping on tick */
};

/* @shared: the two ends are in different processes. Producers exclude each other. */
uint64_t adsm_process_queue_submit(struct adsm_process_queue *queue, bool shared);
/* For the consumer: wait for an operation; spin for @spin_ns before sleeping. Returns false if the queue was
 * stopped. */
bool adsm_process_queue_next(struct adsm_process_queue *queue, uint64_t spin_ns, bool shared);
/*
 * For the consumer, after it has done all operations up to @done: sleep until there is another operation, the queue is
 * stopped, or a thread pokes the consumer because @more() has become true.
 * @more: NULL: there is no other reason to wake up.
 * @most_ns: the time limit; 0: no limit.
 */
void adsm_process_queue_sleep(struct adsm_process_queue *queue, uint64_t done, bool (*more)(void), uint64_t most_ns,
			      bool shared);
void adsm_process_queue_poke(struct adsm_process_queue *queue, bool shared);
void adsm_process_queue_done(struct adsm_process_queue *queue, bool shared);
void adsm_process_queue_stop(struct adsm_process_queue *queue, bool shared);
/* The consumer's process has ended: set *@lost, and wake all threads that wait for *@lost or for the queue. */
void adsm_process_queue_lose(struct adsm_process_queue *queue, _Atomic uint32_t *lost);
/* Wait until operation @seq is done or *lost is set. Returns 0, or -EINTR. May be called in the fault handler. */
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

/* ---- the shared memory: a sparse file, where only the argument areas in use take memory */

/* What a task has counted, summed over all workers. */
#define ADSM_TASK_COUNTS(row) \
	row(WORKERS, workers, "workers of all calls") \
	row(LOCKS, locks, "locks acquired") \
	row(LOCK_WAITS, lock_waits, "of locks: acquisitions for which the worker slept") \
	row(HANDOVERS, handovers, "of locks: those handed over to a worker after a long wait") \
	row(BARRIERS, barriers, "barriers that all workers reached") \
	row(FLAGS, flags, "waits for flags") \
	row(FLAG_WAITS, flag_waits, "of flags: waits for which the worker slept") \
	row(WORK_NS, work_ns, "time from the start to the end of each worker, added up") \
	row(LOCK_WAIT_NS, lock_wait_ns, "of work_ns: time that workers slept for locks") \
	row(BARRIER_WAIT_NS, barrier_wait_ns, "of work_ns: time that workers waited for others at barriers") \
	row(FLAG_WAIT_NS, flag_wait_ns, "of work_ns: time that workers slept for flags")

enum {
#define ADSM_TASK_COUNT(upper, name, help) ADSM_TASK_##upper,
	ADSM_TASK_COUNTS(ADSM_TASK_COUNT)
#undef ADSM_TASK_COUNT
	ADSM_TASK_N_COUNTS
};

#define ADSM_TASK_WORKERS_MAX 1024
#define ADSM_TASK_LOCKS_MAX (1u << 20)	/* lock numbers are smaller */
#define ADSM_TASK_FLAGS_MAX ADSM_TASK_LOCKS_MAX	/* the same for flags */
#define ADSM_TASK_WAITS 1024		/* maximum number of waits that are recorded one by one for each launch */

/* What a worker waits for: the number of a lock or, with ADSM_TASK_FLAG, of a flag; or one of the others. */
enum {
	ADSM_TASK_RUNS = ADSM_TASK_LOCKS_MAX, ADSM_TASK_AT_BARRIER, ADSM_TASK_ENDED,
	ADSM_TASK_FOR_MEMORY,		/* only in a record: other workers are allocating memory */
	ADSM_TASK_HANDED = 1 << 24,
	ADSM_TASK_FLAG = 1 << 25,	/* and the number of a flag */
};

struct adsm_task_wait {
	struct adsm_span span;
	uint32_t worker, what;		/* what: as above; ADSM_TASK_HANDED: the lock was handed over */
};

/*
 * The locks that workers waited for longest, in descending order; .n is 0 behind the last one. If there are more locks,
 * a new one replaces the one with the shortest waits. So locks that are waited for often stay, and no figure is too
 * large.
 */
#define ADSM_TASK_HOT 8
struct adsm_task_hot { uint64_t ns; uint32_t lock, n; };
void adsm_task_hot_add(struct adsm_task_hot hot[ADSM_TASK_HOT], struct adsm_task_hot more);

struct adsm_task_record {		/* what the workers of a task did; recorded if the launch is counted */
	_Atomic uint32_t n_waits;	/* may be larger than ADSM_TASK_WAITS: further waits are not recorded */
	struct adsm_span workers[ADSM_TASK_WORKERS_MAX];
	struct adsm_task_wait waits[ADSM_TASK_WAITS];
	struct adsm_task_hot hot[ADSM_TASK_HOT];
};

struct adsm_process_slot {			/* a launch */
	_Atomic uint64_t launch;	/* its number; written first */
	_Atomic uint32_t lane;
	_Atomic uint64_t lane_seq;	/* its number in the queue of the lane */
	char name[ADSM_PROCESS_NAME];
	uint32_t kernel, n_args;
	uint32_t sets;			/* a bit for each argument: a write-once object whose units it may set */
	uint32_t grid[3], block[3];
	uint64_t first_block, n_blocks;
	uint64_t start_ns, end_ns;	/* the device writes these, counts, status and task */
	uint64_t counts[ADSM_TASK_N_COUNTS];
	int32_t status;			/* negative: the launch has failed; shared->failures has the text */
	uint32_t task;			/* the launch was a task */
	uint32_t arg_bytes;
	uint32_t in_area;		/* the arguments' bytes are in the slot's area; 0: they are in args */
	uint32_t counted;		/* the application will ask for its costs */
	uint32_t traced;		/* the application will ask when its parts moved data; implies counted */
	uint32_t advised;		/* the application will ask for advice; implies counted */
	/* Number of entries in shared->pointers for this slot; 0 if the backend needs none. */
	uint32_t n_pointers;
	uint32_t arg_offset[ADSM_PROCESS_MAX_ARGS];
	_Alignas(64) uint8_t args[ADSM_PROCESS_INLINE_ARGS];
};

struct adsm_process_pointer {		/* an argument that is a pointer to device memory */
	uint64_t base, size;		/* of the memory */
	uint32_t arg;			/* index of the argument, from 0 */
	uint32_t access;		/* how the launch accesses the memory: ADSM_ACCESS_*; 0: unknown */
};

struct adsm_process_crash {		/* why the device ended, written by its signal handler */
	_Atomic uint32_t signal;	/* 0: no crash; written last */
	uint32_t in_kernel;		/* the crash was in a kernel; else outside of kernels */
	uint64_t launch;		/* the number of its launch; 0: the one after queue.done */
	/* Another process or the system sent the signal; else an instruction raised it. */
	uint32_t sent;
	/* Process and user that sent it; sender 0: a process that is not visible here. */
	uint32_t sender, user;
	uint32_t module;		/* index + 1 of the module that crashed; 0: unknown */
	uint64_t offset;		/* address of the instruction in the module's file */
	uint64_t address;
	uint32_t has_block, block[3];	/* the block of the grid that crashed, if it is known */
	uint32_t is_said;		/* why is what the kernel itself reports: "block (…), thread (…): …" */
	char place[96];			/* where, if the device consists of several processes: " on node 2 (host)" */
	char why[448];			/* an explanation, mostly "": ": a load of …" */
};

struct adsm_process_end {		/* why the device ends, reported by the code that ends it */
	_Atomic uint32_t state;		/* 0: nothing reported; 1: being written; 2: written */
	char text[ADSM_PROCESS_TEXT];
};

/*
 * Commands that kernels give to the application. A thread that runs kernels has a buffer for its commands. It writes
 * the command, submits the number of the buffer, and waits for the answer. One thread of the application serves all
 * commands in their order.
 */
#define ADSM_PROCESS_COMMANDS 256	/* buffers; if there are more threads, some share a buffer */
#define ADSM_PROCESS_COMMAND_BYTES ((size_t)64 << 10)

enum adsm_process_command_op {
	ADSM_COMMAND_SERVICE,		/* name, in_size, out_size; its bytes: the input, then the output */
	/* in_size: its bytes, which are arguments, format and strings; out_size: number of arguments. */
	ADSM_COMMAND_PRINT,
	ADSM_COMMAND_OUTPUT,		/* the same, for the program's standard output */
	ADSM_COMMAND_TAKE,		/* in_size bytes of the device's memory; -ENOMEM if fewer are left */
	ADSM_COMMAND_GIVE,		/* give in_size bytes back */
};

enum adsm_process_command_state {
	ADSM_COMMAND_FREE, ADSM_COMMAND_ASKED, ADSM_COMMAND_ANSWERED,
	ADSM_COMMAND_LEFT,		/* the program's function did not return: it ended its thread */
};

struct adsm_process_command {
	_Alignas(64) _Atomic uint32_t state;	/* futex */
	uint32_t op;
	int64_t result;			/* result of a service, else 0; or a negative errno */
	uint64_t in_size, out_size;
	char name[ADSM_PROCESS_NAME];
};

/* As struct adsm_kernel_print; the value of a string is its offset in the bytes. */
struct adsm_process_print_arg {
	uint64_t kind, value;
};

struct adsm_process_handler {
	struct adsm_process_queue queue;	/* of commands: command s is in buffer order[(s - 1) % …] */
	_Atomic uint32_t serving;		/* a thread serves commands */
	_Atomic uint32_t order[ADSM_PROCESS_COMMANDS];
	struct adsm_process_command commands[ADSM_PROCESS_COMMANDS];
	_Alignas(4096) uint8_t bytes[ADSM_PROCESS_COMMANDS][ADSM_PROCESS_COMMAND_BYTES];
};

/* Bytes of device memory: of objects, and of memory that kernels and tasks have allocated. */
struct adsm_process_room { _Atomic uint64_t used, size; };

/* Returns false if fewer than @size bytes are left. */
bool adsm_process_take(struct adsm_process_room *room, uint64_t size);
/* Never gives back more than is used, because a kernel may have damaged the size. */
void adsm_process_give(struct adsm_process_room *room, uint64_t size);
uint64_t adsm_process_left(const struct adsm_process_room *room);

struct adsm_process_shared {
	struct adsm_process_queue queue;	/* of launches of lane 0 */
	struct adsm_process_queue lanes[ADSM_PROCESS_LANES - 1];	/* of the other lanes */
	/* Launch s uses slot (s - 1) % ADSM_PROCESS_SLOTS. For each lane, the slots of its launches. If a device has
	 * one lane, these are the slots in their order. */
	_Atomic uint32_t order[ADSM_PROCESS_LANES][ADSM_PROCESS_SLOTS];
	_Alignas(64) struct adsm_process_crash crash;
	struct adsm_process_end end;
	struct adsm_process_room room;
	struct adsm_process_slot slots[ADSM_PROCESS_SLOTS];
	_Alignas(4096) uint8_t areas[ADSM_PROCESS_SLOTS][ADSM_PROCESS_ARG_AREA];
	struct adsm_process_pointer pointers[ADSM_PROCESS_SLOTS][ADSM_PROCESS_MAX_ARGS];
	char failures[ADSM_PROCESS_SLOTS][ADSM_PROCESS_TEXT];
	struct adsm_task_record tasks[ADSM_PROCESS_SLOTS];
	struct adsm_process_handler handler;
	/* Other data that a backend and its device share: the extra bytes of hello, initially 0. The bits of live
	 * memory (live.h) are at their end. */
	_Alignas(4096) uint8_t extra[];
};

static inline struct adsm_process_queue *adsm_process_lane(struct adsm_process_shared *shared, uint32_t lane)
{
	return lane && lane < ADSM_PROCESS_LANES ? &shared->lanes[lane - 1] : &shared->queue;
}

/* The slot of launch @seq of a lane, counted from 1. */
static inline uint32_t adsm_process_slot_of(struct adsm_process_shared *shared, uint32_t lane, uint64_t seq)
{
	return atomic_load(&shared->order[lane][(seq - 1) % ADSM_PROCESS_SLOTS]) % ADSM_PROCESS_SLOTS;
}

/* Record why the device ends. Only the first report counts. A crash in a kernel is recorded in struct
 * adsm_process_crash instead. */
void adsm_process_say_end(struct adsm_process_shared *shared, const char *text);
/* Returns the recorded text, or "". */
const char *adsm_process_said_end(struct adsm_process_shared *shared);

/* ---- messages: the device's program greets (greet.h), then each request has one reply */

enum adsm_process_op {
	ADSM_PROCESS_HELLO,			/* descriptors: device memory, shared memory */
	ADSM_PROCESS_LOAD,			/* descriptor: the module; the reply has the module's index */
	ADSM_PROCESS_UNLOAD,
	ADSM_PROCESS_KERNEL,		/* index: the module; the reply has the kernel's index */
	/* For write-once objects; see struct adsm_once_ops. */
	ADSM_PROCESS_ONCE_TABLE,	/* descriptor: the table; index: number of the device */
	ADSM_PROCESS_ONCE_MAP,		/* descriptor: the file; base, size; extra: offset in the file */
	ADSM_PROCESS_ONCE_ADD,		/* descriptor: the flags; base, size, unit, count; extra: size of the flags */
	ADSM_PROCESS_ONCE_REMOVE,	/* base, size */
};

struct adsm_process_request {
	uint32_t op, index;
	uint32_t n_threads;		/* hello: threads that run kernels */
	uint64_t base, size;		/* hello: the address range for device memory */
	uint64_t extra;			/* hello: bytes of shared->extra */
	uint64_t unit, count;
	char name[ADSM_PROCESS_NAME];	/* kernel: its name */
};

struct adsm_process_reply {
	int32_t error;			/* 0 or a negative errno */
	uint32_t index;
	/* A kernel, according to its module: it may do atomics on device memory; it may call services. */
	uint32_t atomics, services;
	char text[ADSM_PROCESS_TEXT];	/* after an error: what failed, or "" */
};

#define ADSM_PROCESS_MAX_FDS 2

/* Returns 0, or a negative errno: -EPIPE if the other end is closed, -EPROTO for a message of another size. */
int adsm_process_send(int sock, const void *data, size_t size, const int *fds, int n_fds);
/* @fds: ADSM_PROCESS_MAX_FDS descriptors, -1 for each missing one; NULL: the caller expects none. */
int adsm_process_receive(int sock, void *data, size_t size, int *fds);
