/* SPDX-License-Identifier: MIT */
/* model.h - what the parts of the model checker share: see model.c. */
#ifndef MODEL_H
#define MODEL_H

#include <adsm.h>
#include <adsm_queue.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKIP 77			/* exit status: there is no such device here */
#define WORKERS_MAX 8
#define SHARED_MAX 6			/* objects dealt out in pieces */
#define OWN_MAX 6			/* objects of one thread */
#define PIECES_MAX 800			/* of a thread */
#define SIGNAL_PIECES_MAX 64
#define DEVICE_MAX 2			/* device-only allocations of a thread */
#define QUEUES 3			/* of a thread */
#define SPOTS 3				/* most of one vector */
#define SPOT_MAX 16000			/* so that a vector fits into an empty pipe */
#define TOTAL_MAX (SPOTS * SPOT_MAX)
#define LEAVE_SIGNAL SIGWINCH		/* sends a thread out of a call; drivers do not take it */
#define MASK_SIGNAL SIGCONT		/* its handler changes the mask that it returns to */
#define HISTORY 2048			/* operations remembered of each thread */

/* ---- what the parent sees of a round, too */

struct entry {
	uint64_t seq;
	char what[24];
	int32_t object;
	uint32_t value;
	uint64_t first, size;
};

struct record {
	atomic_ulong n_operations, n_bytes, seq;
	unsigned long n_total;			/* operations of the rounds before */
	struct {
		atomic_ulong n;
		struct entry entries[HISTORY];
	} threads[WORKERS_MAX];
};

/* ---- objects, threads */

struct object {
	unsigned char *p, *shadow;
	size_t size;
	int number, owner;		/* owner: the thread's, or -1: dealt out */
	size_t block_size;
	bool batch;
	bool called;			/* a call of its owner's may use it, and no sync was since */
	unsigned assigned;		/* to which kernels of its owner's, a bit for each */
	size_t held, held_size;		/* a hold that lasts; size 0: none */
};

struct piece {
	struct object *object;
	size_t first, size;
};

/* What an operation works on: bytes of one piece. */
struct spot {
	struct object *object;
	unsigned char *p, *shadow;
	size_t size;
};

struct device_memory {
	unsigned char *p, *shadow;	/* p is the device's */
	size_t size;
};

enum channel { CHANNEL_FILE, CHANNEL_PIPE, CHANNEL_STREAM, CHANNEL_DATAGRAM, CHANNELS };

enum kernel { ADD, ADD_ANY, COPY, COPY_ANY, MIX, FROM_CONST, THROUGH, KERNELS };

struct worker {
	pthread_t thread;
	int index;
	uint64_t state, signal_state;
	bool pending;			/* calls, and no sync since */
	volatile sig_atomic_t may_touch;	/* a handler, where drivers are called for it */
	struct object things[OWN_MAX];	/* p is NULL: none */
	struct object for_signals;	/* only the handler uses it */
	struct piece pieces[PIECES_MAX], signal_pieces[SIGNAL_PIECES_MAX];
	size_t n_pieces, n_signal_pieces;
	struct device_memory device[DEVICE_MAX];
	adsmModule *module;
	adsmKernel *kernels[KERNELS];
	adsmQueue *queues[QUEUES];	/* NULL: not made */
	int in[CHANNELS], out[CHANNELS];
	char path[32];			/* of the file */
	uint64_t late_seed;		/* what it reads while a kernel runs */
	size_t late_size;		/* 0: nothing */
	unsigned late_left;		/* it does not come: the call of this number is left; 0: it comes */
	atomic_uint n_left;		/* calls that it was sent out of */
	void *stack;			/* its handlers' own */
};

/* How this round is: from its environment. */
struct round {
	uint64_t seed;			/* of this round */
	unsigned n_workers, n_shared;
	int n_devices;
	bool fails;			/* operations of the backend fail, and are repeated */
	bool strict;			/* ADSM_TOUCH=error: no touch before the sync */
	bool batch;			/* there are objects whose accesses are not seen */
	bool paper;			/* all calls are unnamed */
	bool drivers;			/* a touch calls a driver: not where malloc may be interrupted */
	bool addresses;			/* pointers in data work */
	bool small;			/* the device has no room for all objects: calls of too many are refused */
	bool interrupts;		/* signals end system calls that wait */
	bool stacks;			/* handlers that leave calls run on stacks of their own */
	unsigned block;			/* threads of a block */
};

extern struct record *record;
extern struct round round_is;
extern struct object shared[SHARED_MAX];
extern struct worker workers[WORKERS_MAX];
extern int requests[2];
extern _Thread_local struct worker *me;
extern _Thread_local unsigned char buffer[TOTAL_MAX], expected[TOTAL_MAX];

/* ---- run.c */

int run_round(uint64_t seed, unsigned long n_operations);
uint64_t draw_from(uint64_t *from);
size_t draw(size_t n);
void make_bytes(unsigned char *bytes, size_t size, uint64_t from);
void note(const char *what, const struct spot *spot, unsigned value);
void print_history(const struct record *of, unsigned thread, size_t n);
_Noreturn void fail(int line, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void fail_byte(const struct object *object, size_t at, unsigned got, unsigned want);
bool again(int error, unsigned *tries, int line);

#define FAIL(...) fail(__LINE__, __VA_ARGS__)
#include "../../check.h"

/* Where operations of the backend fail, calls are made again. */
#define REPEAT(call) do { \
	unsigned tries_ = 0; \
	while (again((call), &tries_, __LINE__)) \
		; \
} while (0)

/* ---- memory.c */

void make_object(struct object *object, size_t size, const adsmAllocOptions *options);
void free_object(struct object *object);
struct spot whole(struct object *object);
struct spot any_spot(size_t most);
struct object *any_thing(void);
void sync_all(void);
void settle(const struct object *object);
void same(const struct spot *spot, const unsigned char *got, const unsigned char *want, size_t size);
void write_spot(const struct spot *spot);
void look_at(const struct spot *spot);
void stop_touching(void);

void plain(void);
void typed(void);
void memory_in(void);
void memory_out(void);
void memory_across(void);
void copy_across(void);
void fill(void);
void straddle(void);
void new_thing(void);
void end_thing(void);
void look_inside(void);
void prefetch(void);
void discard(void);
void hold_on(void);
void hold_raw(void);

/* ---- calls.c */

void load_module(struct worker *worker);
void call_add(void);
void habit(void);
void add_to_all(struct object *object);
void call_copy(void);
void call_mix(void);
void call_const(void);
void call_through(void);
void change_queue(void);
void call_whole(struct object *to, const struct object *from);
void module_cycle(void);
void assign(void);
void device_life(void);
void device_copy(void);
void device_async(void);
void device_call(void);
void end_device_memory(void);

/* ---- io.c */

/* Bytes for a thread that waits for them already. */
struct request {
	int fd;
	size_t size;
	uint64_t seed;
	struct worker *leaves;	/* is to be sent out of its call; NULL: bytes come */
	unsigned n_left;	/* the number of that call */
};

void file_in(void);
void file_out(void);
void pipe_in(void);
void pipe_out(void);
void stream_in(void);
void stream_out(void);
void datagram_in(void);
void datagram_out(void);
void stdio_in(void);
void stdio_out(void);
void refused(void);
void random_in(void);
void describe(void);
void late_in(void);
void read_late(const struct spot *s, size_t size, uint64_t from);
void open_channels(struct worker *worker);
void close_channels(struct worker *worker);
void *feed(void *data);

/* ---- behind.c */

void start_behind(const sigset_t *others);
void protect(void);
void mask_behind(void);

/* ---- leave.c */

void start_leaving(const sigset_t *others, bool on_stack);
void begin_stack(void);
void end_stack(void);
void send_out(struct worker *worker, unsigned n_left);
void leave_late(const struct spot *s);
void leave_call(void);
void cancel_call(void);

/* ---- others.c */

void start_signals(void);
void stop_signals(void);
void block_signals(bool block);
void send_signal(void);
void fork_child(void);
#endif
