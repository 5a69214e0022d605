/* SPDX-License-Identifier: MIT */
/*
 * step.c - see step.h.
 *
 * Threads are coroutines of one real thread. A state is all that they may have changed: the program's variables, each
 * thread's thread-local variables, registers and stack, and memory that the scenario declares. It is saved before a
 * thread continues, and restored to try another one. States are compared by hashes of 128 bits.
 */
/* With fortification, longjmp() to another stack would end the program. */
#undef _FORTIFY_SOURCE

#define STEP_ENGINE
#include "step.h"

#include "base/error.h"
#include "base/log.h"
#include "base/os.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define THREADS_MAX 8
#define RANGES_MAX 16
#define STACK ((size_t)64 << 10)
#define LOCAL_MAX 4096
#define ARENA ((size_t)1 << 20)
#define ARENA_LATER ((size_t)4 << 10)	/* bytes that threads may allocate */
#define STATES_MAX 20000000

enum status { READY, LOCKS, AWAITS, SLEEPS, ENDED, KILLED };
enum how { RUNS, LIMIT, SIGNAL, KILL };

struct state {				/* of a thread, beside its stack */
	enum status status;
	const void *on;			/* the word or lock that it waits for */
	bool (*condition)(void *arg);
	void *arg;
	bool shared, timed;
	unsigned n_choices, choice;
	int result;
	unsigned signals;
	bool woken;			/* it must continue to its next step */
	bool late;			/* its clock, see adsm_os_now_ns() */
	const char *file, *text;	/* of its next step */
	int line;
	uintptr_t low;			/* the lowest address of its stack that is in use */
	jmp_buf at;
};

struct thread {
	struct state state;
	uint8_t local[LOCAL_MAX];
	const char *name;
	void (*run)(void *arg);
	void *arg;
	unsigned flags;
	ucontext_t context;
	uint8_t *stack;
};

struct range { uint8_t *p; size_t size; };

struct move { uint8_t thread, how; uint16_t choice; };

struct visited { uint64_t a, b; uint32_t id; };

struct frame {
	uint8_t *state;
	uint32_t id;
	unsigned n, next;
	struct move moves[THREADS_MAX * 4];
};

/* The explorer's own data. It is not in the program's variables, which are restored. */
static struct engine {
	const struct step_scenario *scenario;
	struct thread threads[THREADS_MAX];
	unsigned n_threads;
	int current;			/* -1: the explorer itself */
	jmp_buf explorer;
	ucontext_t context;
	struct range ranges[RANGES_MAX];
	unsigned n_ranges;
	struct range constants[RANGES_MAX];
	unsigned n_constants;
	struct range plain[RANGES_MAX];
	unsigned n_plain;
	bool full;			/* TEST_FULL=1 */
	unsigned used, most;		/* preemptions in the current state; their limit */
	int last;			/* the thread that ran last; -1: none */
	uint64_t constant_hash;
	uint8_t *buffer, *first;
	size_t size, room;
	struct visited *visited;
	size_t n_slots;
	uint32_t n_states;
	struct { uint32_t parent; struct move move; bool good; } *states;
	size_t states_room;
	struct { uint32_t from, to; } *edges;
	size_t n_edges, edges_room;
	bool tells;
	const char *failed;		/* why the interleaving is printed */
	char *text;
	uint64_t saw;
	bool has_seen;
} *engine;

static struct { size_t used, room; _Alignas(64) uint8_t bytes[ARENA]; } arena;

extern uint8_t __data_start[], _end[];
extern uint8_t __start_step_local[], __stop_step_local[];
/* So that the section is not empty. */
static uint64_t no_local __attribute__((section("step_local"), used));

static void *grow(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p) {
		fprintf(stderr, "not enough memory for %zu bytes\n", size);
		exit(1);
	}
	return p;
}

/* ---- threads */

static size_t local_size(void)
{
	return (size_t)(__stop_step_local - __start_step_local);
}

static struct thread *self(void)
{
	return engine->current < 0 ? NULL : &engine->threads[engine->current];
}

/* The caller needs nothing on the stack below this address. */
static __attribute__((noinline)) uintptr_t below(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

static __attribute__((noinline)) void leave(struct thread *thread)
{
	thread->state.low = below() & ~(uintptr_t)15;
	if (!_setjmp(thread->state.at))
		_longjmp(engine->explorer, 1);
}

static void step(struct thread *thread, const char *file, int line, const char *text)
{
	thread->state.file = file;
	thread->state.line = line;
	thread->state.text = text;
	leave(thread);
}

_Noreturn void step_end(void)
{
	self()->state.status = ENDED;
	_longjmp(engine->explorer, 1);
}

static void begin(void)
{
	struct thread *thread = self();

	thread->run(thread->arg);
	step_end();
}

static void go_to(struct thread *thread, bool first)
{
	memcpy(__start_step_local, thread->local, local_size());
	engine->current = (int)(thread - engine->threads);
	if (!_setjmp(engine->explorer)) {
		if (first)
			swapcontext(&engine->context, &thread->context);
		_longjmp(thread->state.at, 1);
	}
	engine->current = -1;
	memcpy(thread->local, __start_step_local, local_size());
	memset(__start_step_local, 0, local_size());
}

void step_thread(const char *name, void (*run)(void *arg), void *arg, unsigned flags)
{
	struct thread *thread = &engine->threads[engine->n_threads++];
	uint8_t *stack = thread->stack;

	if (engine->n_threads > THREADS_MAX)
		abort();
	memset(thread, 0, sizeof(*thread));
	*thread = (struct thread){ .name = name, .run = run, .arg = arg, .flags = flags, .stack = stack };
	thread->state.signals = engine->scenario->signals;
	memset(stack, 0, STACK);
	getcontext(&thread->context);
	thread->context.uc_stack.ss_sp = stack;
	thread->context.uc_stack.ss_size = STACK;
	thread->context.uc_link = NULL;
	makecontext(&thread->context, begin, 0);
}

/* ---- steps */

void step_at(const volatile void *word, const char *file, int line, const char *text)
{
	struct thread *thread = self();

	for (unsigned i = 0; i < engine->n_plain; i++)
		if ((uintptr_t)word - (uintptr_t)engine->plain[i].p < engine->plain[i].size)
			return;
	if (thread)
		step(thread, file, line, text);
}

void step_saw(uint64_t value)
{
	engine->saw = value;
	engine->has_seen = true;
}

unsigned step_choose(unsigned n)
{
	struct thread *thread = self();

	thread->state.n_choices = n;
	step(thread, "", 0, "chooses");
	thread->state.n_choices = 0;
	step_saw(thread->state.choice);
	return thread->state.choice;
}

static uint32_t *word_of(void *lock)
{
	return lock;
}

void step_lock(void *lock, const char *file, int line, const char *text)
{
	struct thread *thread = self();

	if (!thread)
		return;
	thread->state.status = LOCKS;
	thread->state.on = lock;
	step(thread, file, line, text);
	thread->state.status = READY;
	thread->state.on = NULL;
	*word_of(lock) = 1;
}

bool step_trylock(void *lock, const char *file, int line, const char *text)
{
	bool has;

	step_at(lock, file, line, text);
	has = !*word_of(lock);
	*word_of(lock) = 1;
	step_saw(has);
	return has;
}

void step_unlock(void *lock)
{
	if (self())
		*word_of(lock) = 0;
}

void step_await(bool (*condition)(void *arg), void *arg)
{
	struct thread *thread = self();

	thread->state.status = AWAITS;
	thread->state.condition = condition;
	thread->state.arg = arg;
	step(thread, "", 0, "awaits its condition");
	thread->state.status = READY;
	thread->state.condition = NULL;
	thread->state.arg = NULL;
}

int step_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared, const char *file, int line,
	      const char *text)
{
	struct thread *thread = self();
	int result;

	step(thread, file, line, text);
	step_saw(*word);
	if (*word != value)
		return -EAGAIN;
	thread->state.status = SLEEPS;
	thread->state.on = word;
	thread->state.shared = shared;
	thread->state.timed = timeout_ns;
	step(thread, file, line, "goes on");
	result = thread->state.result;
	thread->state.result = 0;
	return result;
}

static void wake_up(struct thread *thread, int result)
{
	thread->state.status = READY;
	thread->state.on = NULL;
	thread->state.shared = thread->state.timed = false;
	thread->state.result = result;
	thread->state.woken = true;
}

void step_wake(_Atomic uint32_t *word, int n, bool shared, const char *file, int line, const char *text)
{
	struct thread *sleepers[THREADS_MAX];
	unsigned n_sleepers = 0;

	step_at(word, file, line, text);
	for (unsigned i = 0; i < engine->n_threads; i++) {
		struct thread *thread = &engine->threads[i];

		if (thread->state.status == SLEEPS && thread->state.on == word && thread->state.shared == shared)
			sleepers[n_sleepers++] = thread;
	}
	step_saw(n_sleepers);
	if (n == 1 && n_sleepers > 1 && self()) {
		sleepers[0] = sleepers[step_choose(n_sleepers)];
		n_sleepers = 1;
	}
	for (unsigned i = 0; i < n_sleepers; i++)
		wake_up(sleepers[i], 0);
}

void *step_alloc(size_t size)
{
	void *p = &arena.bytes[arena.used];

	arena.used += (size + 63) & ~(size_t)63;
	if (arena.used > arena.room)
		abort();
	return memset(p, 0, size);
}

void *step_calloc(size_t n, size_t size)
{
	return step_alloc(n * size);
}

void *step_aligned_alloc(size_t alignment, size_t size)
{
	return step_alloc(size);
}

void step_free(void *p)
{
}

void step_check(bool holds, const char *text, const char *file, int line)
{
	if (holds || engine->failed)
		return;
	if (asprintf(&engine->text, "%s:%d: %s does not hold", file, line, text) < 0)
		abort();
	engine->failed = engine->text;
}

static enum status status_of(const char *name)
{
	for (unsigned i = 0; i < engine->n_threads; i++)
		if (!strcmp(engine->threads[i].name, name))
			return engine->threads[i].state.status;
	abort();
}

bool step_killed(const char *name)
{
	return status_of(name) == KILLED;
}

bool step_over(const char *name)
{
	return status_of(name) == ENDED || status_of(name) == KILLED;
}

/* ---- the functions of os.h that waits need */

int adsm_os_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared)
{
	return step_wait(word, value, timeout_ns, shared, "os.h", 0, "sleep");
}

void adsm_os_wake(_Atomic uint32_t *word, int n, bool shared)
{
	step_wake(word, n, shared, "os.h", 0, "wake");
}

/* The time is early and late by turns. So a thread that spins for some time checks only once. */
uint64_t adsm_os_now_ns(void)
{
	struct thread *thread = self();

	if (!thread)
		return 1;
	thread->state.late = !thread->state.late;
	return thread->state.late ? 1 : UINT64_C(1) << 60;
}

void adsm_os_sleep_until_ns(uint64_t when_ns)
{
}

int adsm_os_thread_id(void)
{
	return engine->current + 1;
}

unsigned adsm_os_cpu(void)
{
	return 0;
}

unsigned adsm_os_n_cpus(void)
{
	return 2;
}

void adsm_os_signals_block(struct adsm_sigset *ret_old)
{
}

void adsm_os_signals_restore(const struct adsm_sigset *old)
{
}

int adsm_os_cancel_block(void)
{
	return 0;
}

void adsm_os_cancel_restore(const int *old)
{
}

_Noreturn void adsm_os_die(int signal)
{
	step_check(false, "the process lives", __FILE__, __LINE__);
	step_end();
}

void adsm_say(const char *format, ...)
{
}

enum adsm_log_level adsm_log_level = ADSM_LOG_SILENT;

void adsm_log_write(enum adsm_log_level level, const char *format, ...)
{
}

int adsm_format(char *buffer, unsigned long size, const char *format, ...)
{
	*buffer = '\0';
	return 0;
}

const char *adsm_last_error(void)
{
	return "";
}

const char *adsm_error_string(int error)
{
	return "";
}

/* ---- states */

void step_memory(void *p, size_t size)
{
	engine->ranges[engine->n_ranges++] = (struct range){ p, size };
	if (engine->n_ranges == RANGES_MAX)
		abort();
}

void step_constant(void *p, size_t size)
{
	engine->constants[engine->n_constants++] = (struct range){ p, size };
	if (engine->n_constants == RANGES_MAX)
		abort();
}

static uint64_t mix(uint64_t hash, uint64_t word, uint64_t by)
{
	hash = (hash ^ word) * by;
	return hash ^ hash >> 29;
}

static void hash(const uint8_t *p, size_t size, uint64_t *a, uint64_t *b)
{
	uint64_t word;

	for (; size >= 8; p += 8, size -= 8) {
		memcpy(&word, p, 8);
		*a = mix(*a, word, UINT64_C(0x9e3779b97f4a7c15));
		*b = mix(*b, word, UINT64_C(0xd6e8feb86659fd93));
	}
	word = size;
	memcpy(&word, p, size);
	*a = mix(*a, word, UINT64_C(0x9e3779b97f4a7c15));
	*b = mix(*b, word, UINT64_C(0xd6e8feb86659fd93));
}

void step_plain(void *p, size_t size)
{
	engine->plain[engine->n_plain++] = (struct range){ p, size };
	if (engine->n_plain == RANGES_MAX)
		abort();
}

/* Make ranges of the program's variables, without those that the scenario declares as constant. */
static void cut_ranges(void)
{
	uint8_t *at = __data_start;

	step_constant((void *)&engine, sizeof(engine));
	arena.room = arena.used + ARENA_LATER;
	step_constant(&arena.bytes[arena.room], ARENA - arena.room);
	for (;;) {
		uint8_t *to = _end;
		const struct range *next = NULL;

		for (unsigned i = 0; i < engine->n_constants; i++)
			if (engine->constants[i].p >= at && engine->constants[i].p < to) {
				next = &engine->constants[i];
				to = next->p;
			}
		if (to > at)
			step_memory(at, (size_t)(to - at));
		if (!next)
			break;
		at = next->p + next->size;
	}
}

static uint64_t hash_constants(void)
{
	uint64_t a = 0, b = 0;

	for (unsigned i = 0; i < engine->n_constants; i++)
		hash(engine->constants[i].p, engine->constants[i].size, &a, &b);
	return a;
}

static void put(const void *p, size_t size)
{
	if (engine->size + size > engine->room) {
		engine->room = 2 * (engine->size + size);
		engine->buffer = grow(engine->buffer, engine->room);
	}
	memcpy(engine->buffer + engine->size, p, size);
	engine->size += size;
}

static bool is_over(const struct thread *thread)
{
	return thread->state.status == ENDED || thread->state.status == KILLED;
}

/* Save the current state in the buffer. */
static void save(void)
{
	engine->size = 0;
	put(&engine->used, sizeof(engine->used));
	put(&engine->last, sizeof(engine->last));
	for (unsigned i = 0; i < engine->n_ranges; i++)
		put(engine->ranges[i].p, engine->ranges[i].size);
	for (unsigned i = 0; i < engine->n_threads; i++) {
		struct thread *thread = &engine->threads[i];

		if (is_over(thread)) {
			put(&thread->state.status, sizeof(thread->state.status));
			continue;
		}
		put(&thread->state, sizeof(thread->state));
		put(thread->local, local_size());
		put((void *)thread->state.low, (uintptr_t)thread->stack + STACK - thread->state.low);
	}
}

static void get(const uint8_t **at, void *p, size_t size)
{
	memcpy(p, *at, size);
	*at += size;
}

static void restore(const uint8_t *at)
{
	get(&at, &engine->used, sizeof(engine->used));
	get(&at, &engine->last, sizeof(engine->last));
	for (unsigned i = 0; i < engine->n_ranges; i++)
		get(&at, engine->ranges[i].p, engine->ranges[i].size);
	for (unsigned i = 0; i < engine->n_threads; i++) {
		struct thread *thread = &engine->threads[i];

		memcpy(&thread->state.status, at, sizeof(thread->state.status));
		if (is_over(thread)) {
			at += sizeof(thread->state.status);
			continue;
		}
		get(&at, &thread->state, sizeof(thread->state));
		get(&at, thread->local, local_size());
		get(&at, (void *)thread->state.low, (uintptr_t)thread->stack + STACK - thread->state.low);
	}
}

/* The number of the state in the buffer. *ret_new: the state is new. */
static uint32_t number(bool *ret_new)
{
	uint64_t a = 1, b = 2;
	size_t i;

	hash(engine->buffer, engine->size, &a, &b);
	if (engine->n_states >= engine->n_slots / 2) {
		struct visited *old = engine->visited;
		size_t n = engine->n_slots;

		engine->n_slots = n ? 2 * n : 1 << 16;
		engine->visited = calloc(engine->n_slots, sizeof(*engine->visited));
		if (!engine->visited)
			abort();
		for (size_t k = 0; k < n; k++) {
			if (!old[k].id)
				continue;
			for (i = old[k].a & (engine->n_slots - 1); engine->visited[i].id;)
				i = (i + 1) & (engine->n_slots - 1);
			engine->visited[i] = old[k];
		}
		free(old);
	}
	for (i = a & (engine->n_slots - 1); engine->visited[i].id; i = (i + 1) & (engine->n_slots - 1))
		if (engine->visited[i].a == a && engine->visited[i].b == b) {
			*ret_new = false;
			return engine->visited[i].id - 1;
		}
	engine->visited[i] = (struct visited){ a, b, ++engine->n_states };
	*ret_new = true;
	return engine->n_states - 1;
}

/* ---- the exploration */

static void add(struct frame *frame, unsigned thread, enum how how, unsigned choice)
{
	frame->moves[frame->n++] = (struct move){ (uint8_t)thread, (uint8_t)how, (uint16_t)choice };
}

static bool can_run(const struct thread *thread)
{
	switch (thread->state.status) {
	case READY:
		return true;
	case LOCKS:
		return !*(const uint32_t *)thread->state.on;
	case AWAITS:
		return thread->state.condition(thread->state.arg);
	default:
		return false;
	}
}

/* May the thread run, or does the limit of preemptions forbid it? */
static bool is_permitted(unsigned thread)
{
	return !engine->most || engine->used < engine->most || engine->last < 0 || (unsigned)engine->last == thread ||
		!can_run(&engine->threads[engine->last]);
}

static void list(struct frame *frame)
{
	frame->n = frame->next = 0;
	/* A choice is part of a step. */
	for (unsigned i = 0; i < engine->n_threads; i++)
		for (unsigned c = 0; !is_over(&engine->threads[i]) && c < engine->threads[i].state.n_choices; c++)
			add(frame, i, RUNS, c);
	if (frame->n)
		return;
	for (unsigned i = 0; i < engine->n_threads; i++) {
		struct thread *thread = &engine->threads[i];

		if (is_over(thread))
			continue;
		if (can_run(thread) && is_permitted(i))
			add(frame, i, RUNS, 0);
		if (thread->state.status == SLEEPS && thread->state.timed && engine->scenario->time == STEP_ANY_TIME)
			add(frame, i, LIMIT, 0);
		if (thread->state.status == SLEEPS && thread->state.signals)
			add(frame, i, SIGNAL, 0);
		if (thread->flags & STEP_MORTAL)
			add(frame, i, KILL, 0);
	}
}

static void count_preemption(unsigned thread)
{
	if (engine->last >= 0 && (unsigned)engine->last != thread && can_run(&engine->threads[engine->last]))
		engine->used++;
	engine->last = (int)thread;
}

static void make(struct move move)
{
	struct thread *thread = &engine->threads[move.thread];

	engine->has_seen = false;
	if (engine->tells)
		fprintf(stderr, "  %-12s %s", thread->name, move.how == KILL ? "is killed" : move.how == LIMIT ?
			"has slept for its time" : move.how == SIGNAL ? "gets a signal" : thread->state.text);
	if (engine->tells && thread->state.line && move.how == RUNS)
		fprintf(stderr, "  (%s:%d)", strrchr(thread->state.file, '/') ?
			strrchr(thread->state.file, '/') + 1 : thread->state.file, thread->state.line);
	switch (move.how) {
	case RUNS:
		if (engine->most)
			count_preemption(move.thread);
		thread->state.choice = move.choice;
		go_to(thread, false);
		break;
	case LIMIT:
		wake_up(thread, -ETIMEDOUT);
		break;
	case SIGNAL:
		thread->state.signals--;
		wake_up(thread, -EINTR);
		break;
	case KILL:
		thread->state.status = KILLED;
		break;
	}
	/* Run woken threads up to their next step. No other thread can observe what they do there. */
	for (unsigned i = 0; i < engine->n_threads; i++)
		if (engine->threads[i].state.woken) {
			engine->threads[i].state.woken = false;
			go_to(&engine->threads[i], false);
		}
	if (engine->tells && engine->has_seen)
		fprintf(stderr, " : %lld", (long long)engine->saw);
	if (engine->tells)
		fprintf(stderr, "\n");
}

static bool all_ended(void)
{
	for (unsigned i = 0; i < engine->n_threads; i++)
		if (!is_over(&engine->threads[i]) && !(engine->threads[i].flags & STEP_SERVER))
			return false;
	return true;
}

/* Print the interleaving up to state @id, and the place of each thread there. */
static void tell(uint32_t id, const char *why)
{
	uint32_t n = 0, i = 0, *path;

	for (uint32_t at = id; at; at = engine->states[at].parent)
		n++;
	path = grow(NULL, (n + 1) * sizeof(*path));
	for (uint32_t at = id; at; at = engine->states[at].parent)
		path[i++] = at;
	fprintf(stderr, "%s: %s; the interleaving:\n", engine->scenario->name, why);
	restore(engine->first);
	engine->tells = true;
	while (i)
		make(engine->states[path[--i]].move);
	for (i = 0; i < engine->n_threads; i++) {
		const struct thread *thread = &engine->threads[i];
		static const char *const words[] = { "goes on", "waits for a lock", "awaits its condition", "sleeps",
						     "has ended", "was killed" };

		fprintf(stderr, "  at the end %s %s", thread->name, words[thread->state.status]);
		if (!is_over(thread) && thread->state.line)
			fprintf(stderr, ": %s:%d", thread->state.file, thread->state.line);
		fprintf(stderr, "\n");
	}
	free(path);
}

static void note(uint32_t id, uint32_t parent, struct move move)
{
	if (id >= engine->states_room) {
		engine->states_room = engine->states_room ? 2 * engine->states_room : 1 << 12;
		engine->states = grow(engine->states, engine->states_room * sizeof(*engine->states));
	}
	engine->states[id].parent = parent;
	engine->states[id].move = move;
	engine->states[id].good = all_ended();
}

static void connect_states(uint32_t from, uint32_t to)
{
	if (engine->n_edges == engine->edges_room) {
		engine->edges_room = engine->edges_room ? 2 * engine->edges_room : 1 << 14;
		engine->edges = grow(engine->edges, engine->edges_room * sizeof(*engine->edges));
	}
	engine->edges[engine->n_edges].from = from;
	engine->edges[engine->n_edges].to = to;
	engine->n_edges++;
}

/* Why a state where no thread can continue is wrong. NULL: it is right. */
static const char *judge(void)
{
	if (!all_ended())
		return "nobody can go on, and not all have ended: a lost wake-up, or a deadlock";
	if (engine->scenario->settled && !engine->scenario->settled())
		return "all are at rest, and not all is done";
	return NULL;
}

/* The first state from which the end cannot be reached any more, so that threads loop for ever. 0: there is none. */
static uint32_t find_endless(void)
{
	uint32_t *first = calloc((size_t)engine->n_states + 2, sizeof(*first)), *from, *queue, *at;
	uint32_t n = 0, bad = 0;

	at = grow(NULL, ((size_t)engine->n_states + 1) * sizeof(*at));
	from = grow(NULL, (engine->n_edges + 1) * sizeof(*from));
	queue = grow(NULL, ((size_t)engine->n_states + 1) * sizeof(*queue));
	if (!first)
		abort();
	for (size_t i = 0; i < engine->n_edges; i++)
		first[engine->edges[i].to + 1]++;
	for (uint32_t i = 0; i < engine->n_states; i++)
		first[i + 1] += first[i];
	memcpy(at, first, (size_t)engine->n_states * sizeof(*at));
	for (size_t i = 0; i < engine->n_edges; i++)
		from[at[engine->edges[i].to]++] = engine->edges[i].from;
	for (uint32_t i = 0; i < engine->n_states; i++)
		if (engine->states[i].good)
			queue[n++] = i;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = first[queue[i]]; k < first[queue[i] + 1]; k++)
			if (!engine->states[from[k]].good) {
				engine->states[from[k]].good = true;
				queue[n++] = from[k];
			}
	for (uint32_t i = 0; i < engine->n_states && !bad; i++)
		if (!engine->states[i].good)
			bad = i;
	free(at);
	free(first);
	free(from);
	free(queue);
	return bad;
}

static void setup(const struct step_scenario *scenario)
{
	bool is_new;

	engine->scenario = scenario;
	engine->n_threads = engine->n_ranges = engine->n_constants = engine->n_plain = 0;
	engine->used = 0;
	engine->most = engine->full ? scenario->full_preemptions : scenario->preemptions;
	engine->last = -1;
	engine->n_states = 0;
	engine->n_edges = 0;
	engine->current = -1;
	engine->failed = NULL;
	if (engine->visited)
		memset(engine->visited, 0, engine->n_slots * sizeof(*engine->visited));
	arena.used = 0;
	arena.room = ARENA;
	memset(__start_step_local, 0, local_size());
	scenario->start();
	cut_ranges();
	for (unsigned i = 0; i < engine->n_threads; i++)
		go_to(&engine->threads[i], true);
	engine->constant_hash = hash_constants();
	save();
	engine->first = grow(engine->first, engine->size);
	memcpy(engine->first, engine->buffer, engine->size);
	note(number(&is_new), 0, (struct move){ 0 });
}

static void push(struct frame **frames, size_t *n, uint32_t id)
{
	struct frame *frame;

	if (!(*n & (*n + 1)))
		*frames = grow(*frames, 2 * (*n + 1) * sizeof(**frames));
	frame = &(*frames)[(*n)++];
	frame->id = id;
	frame->state = grow(NULL, engine->size);
	memcpy(frame->state, engine->buffer, engine->size);
	list(frame);
}

/* Returns why the model is wrong, in the state *ret_id. NULL: it is right. */
static const char *explore(uint32_t *ret_id)
{
	struct frame *frames = NULL, *top;
	const char *why = NULL;
	size_t n = 0;

	push(&frames, &n, 0);
	while (n && !why) {
		bool is_new;
		uint32_t id;

		top = &frames[n - 1];
		if (top->next == top->n) {
			free(top->state);
			n--;
			continue;
		}
		restore(top->state);
		make(top->moves[top->next++]);
		save();
		id = number(&is_new);
		connect_states(top->id, id);
		if (!is_new)
			continue;
		note(id, top->id, top->moves[top->next - 1]);
		*ret_id = id;
		why = engine->failed;
		if (why)
			break;
		push(&frames, &n, id);
		if (!frames[n - 1].n)
			why = judge();
		if (engine->n_states > STATES_MAX)
			why = "there are too many states to see them all";
	}
	while (n)
		free(frames[--n].state);
	free(frames);
	if (!why && !engine->most && (*ret_id = find_endless()))
		why = "from here on nobody's work can end, though threads go on";
	if (!why && hash_constants() != engine->constant_hash)
		why = "what the scenario calls constant has changed";
	return why;
}

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

int step_main(int argc, char **argv, const struct step_scenario *scenarios)
{
	int result = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);

	engine = map(sizeof(*engine));
	engine->full = getenv("TEST_FULL") != NULL;
	for (int i = 0; i < THREADS_MAX; i++)
		engine->threads[i].stack = map(STACK);
	if (local_size() > LOCAL_MAX)
		abort();
	for (const struct step_scenario *s = scenarios; s->name; s++) {
		bool wanted = argc < 2;
		const char *why;
		uint32_t id = 0;

		for (int i = 1; i < argc; i++)
			wanted |= !strcmp(argv[i], s->name);
		if (!wanted)
			continue;
		setup(s);
		why = explore(&id);
		if (why) {
			tell(id, why);
			result = 1;
			break;
		}
		restore(engine->first);
		printf("%s: %u states of %zu bytes, %zu steps\n", s->name, engine->n_states, engine->size,
		       engine->n_edges);
	}
	return result;
}
