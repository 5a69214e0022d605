/* SPDX-License-Identifier: MIT */
/*
 * os.h - what the library asks of the operating system: os_*.c are Linux.
 *
 * Preconditions: addresses and sizes are whole pages unless said otherwise. Functions return 0 or a
 * negative errno, never touch errno, and those marked [signal] may run in the fault handler: they
 * make raw system calls only, since libc's write() is a cancellation point and its locks are not ours.
 */
#ifndef ADSM_OS_H
#define ADSM_OS_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_PAGE_SIZE ((size_t)4096)	/* x86-64 and aarch64 with 4 KiB pages; checked at start */
#define ADSM_HUGE_PAGE_SIZE ((size_t)2 << 20)

enum adsm_prot { ADSM_PROT_NONE, ADSM_PROT_READ, ADSM_PROT_RW, ADSM_PROT_RX };

/* ---- memory */

/* A sparse file in memory, @size bytes long, close-on-exec. Survives a small `ulimit -f`. */
int adsm_os_memfd(const char *name, size_t size, int *ret_fd);
/* Reserve address space at exactly @wanted (0: anywhere), inaccessible, costing nothing, not inherited. */
int adsm_os_reserve(uintptr_t wanted, size_t size, void **ret_address);
/* Map @fd at @offset over @address (part of a reservation; NULL: anywhere), shared, not inherited, with huge pages. */
int adsm_os_map(void *address, size_t size, int fd, size_t offset, enum adsm_prot prot,
		void **ret_address);
/* Turn a mapped range back into a reservation. */
int adsm_os_unmap_to_reserve(void *address, size_t size);
void adsm_os_unmap(void *address, size_t size);
int adsm_os_protect(void *address, size_t size, enum adsm_prot prot);			/* [signal] */
/* Take the pages of a mapped range now, so that first use does not fault page by page. Best effort. */
void adsm_os_populate(void *address, size_t size, bool write);			/* [signal] */
/*
 * Have whole huge pages under a mapped, writable range, which begins and ends with one: 0.2 ms for each, where 512
 * small ones cost 2 ms; and opening and closing costs nothing any more. What is there stays. False: not everywhere.
 */
bool adsm_os_huge(void *address, size_t size);					/* [signal] */
/* Have @to be, over what is there, another mapping of what a shared mapping has at @from: as that one is. */
int adsm_os_duplicate(void *from, size_t size, void *to);
/* Give the pages of a file, mapped shared and writable here, back. */
int adsm_os_discard(void *address, size_t size);
/* Let the system take these pages out of memory again, whatever mlock() has asked for. */
void adsm_os_unlock(void *address, size_t size);
/* Is it to be in a core file? -ENOMEM: the process has no mappings left. */
int adsm_os_dump(void *address, size_t size, bool dump);			/* [signal] */
/*
 * What mostly is behind a negative errno of the system's for memory, descriptors or threads, in words to follow its
 * text: " (ulimit -v)"; "" where there is nothing to say.
 */
const char *adsm_os_limit(int error);
/* Bytes of address space that this process may have (ulimit -v); UINT64_MAX: as much as there is. */
uint64_t adsm_os_address_limit(void);
/* Sparse zeroed private memory for tables; costs only what is touched. NULL when there is none. */
void *adsm_os_table(size_t size);
/* A word that is 1, and 0 in the child of a fork, however that was made; before Linux 4.14 it is 1 there too. */
int adsm_os_fork_mark(_Atomic uint32_t **ret_mark);

/* ---- waiting. A futex word is 32 bits; @shared when another process waits on it too. */

/*
 * Until when this thread sleeps in what follows, in all; then @over is called, which does not return. @until_ns 0: as
 * long as it takes. Set while signals are blocked, and set back.
 */
struct adsm_os_patience { uint64_t until_ns; void (*over)(void); };
extern _Thread_local struct adsm_os_patience adsm_os_patience;

/* Sleep while *word == value, at most @timeout_ns (0: no limit). 0, -EAGAIN, -EINTR, -ETIMEDOUT. */
int adsm_os_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared); /* [signal] */
void adsm_os_wake(_Atomic uint32_t *word, int n, bool shared);			/* [signal] */

/* Change a word and wake whoever sleeps on it. */
static inline void adsm_os_poke(_Atomic uint32_t *word)			/* [signal] */
{
	atomic_fetch_add(word, 1);
	adsm_os_wake(word, 1, false);
}

/* A word that is 0 until something has happened, once: raise it and wake whoever waits; wait for that. */
static inline void adsm_os_raise(_Atomic uint32_t *flag, bool shared)		/* [signal] */
{
	atomic_store(flag, 1);
	adsm_os_wake(flag, INT32_MAX, shared);
}

/* False: it was raised before. */
static inline bool adsm_os_await(_Atomic uint32_t *flag, bool shared)		/* [signal] */
{
	if (atomic_load(flag))
		return false;
	do
		adsm_os_wait(flag, 0, 0, shared);
	while (!atomic_load(flag));
	return true;
}

/* ---- time and identity */

uint64_t adsm_os_now_ns(void);							/* [signal] */
void adsm_os_sleep_until_ns(uint64_t when_ns);					/* [signal] */
int adsm_os_thread_id(void);							/* [signal] */
/* Where this thread's handlers of signals have a stack of their own; size 0: nowhere. */
void adsm_os_alternate_stack(uintptr_t *ret_start, size_t *ret_size);		/* [signal] */
/* The end of the stack that the system or the C library gave this thread, if @address is on it; else 0. */
uintptr_t adsm_os_stack_end(uintptr_t address);					/* [signal] */
/* Read a word that may be gone, or another thread's. 0, -EFAULT: there is no memory; else the system refuses it. */
int adsm_os_peek(uintptr_t address, uint64_t *ret_word);			/* [signal] */
/* The stack pointer of a thread that is in a system call; 0: it runs. -ESRCH: it has ended; -ENOENT: not to be had. */
int adsm_os_stack_of(int thread_id, uintptr_t *ret_stack);			/* [signal] */
unsigned adsm_os_n_cpus(void);
/* The processor that this thread runs on; without a system call. */
unsigned adsm_os_cpu(void);							/* [signal] */
/* Bytes of memory this process may still take: the machine's and its control group's, the smaller. */
uint64_t adsm_os_memory_available(void);
/* Processes of this one's control group, or else of the system, that were killed for lack of memory so far. */
uint64_t adsm_os_oom_kills(void);
/* getenv() that answers NULL in set-user-ID programs. */
const char *adsm_os_getenv(const char *name);
/*
 * This program has rights that whoever started it has not (set-user-ID, file capabilities). What asks the environment
 * by itself, as drivers and their loaders do, must not be opened in it.
 */
bool adsm_os_is_privileged(void);

/* ---- threads and signals */

struct adsm_sigset { uint64_t mask; int cancel; };	/* the kernel's mask; a state of pthread_setcancelstate() */

/*
 * Block every signal, and cancellation: drivers have points of it. But not SIGSEGV, which the engine keeps where it was
 * sent, nor the one by which the C library's setuid() reaches all threads. What an instruction raises kills
 * meanwhile: nothing under it touches the program's own memory.
 */
void adsm_os_signals_block(struct adsm_sigset *ret_old);			/* [signal] */
/* But not what instructions raise: a driver starts threads, which inherit the mask and run kernels. */
void adsm_os_signals_block_for_threads(struct adsm_sigset *ret_old);
void adsm_os_signals_restore(const struct adsm_sigset *old);			/* [signal] */
/*
 * What the program has all signals do, and giving back what libraries that were loaded since took of it. @shares: one
 * of them is a driver that runs kernels in threads of this process, where its handler of SIGFPE stays, if the program
 * has none; elsewhere SIGFPE has its default action.
 */
struct adsm_actions {
	uint64_t words[65][4];
	size_t n_libraries;
};
void adsm_os_actions_get(struct adsm_actions *ret_actions);
void adsm_os_actions_restore(const struct adsm_actions *actions, bool shares);
/* In a helper thread, for good: what its instructions raise comes to it, as code of the program's is run there. */
void adsm_os_signals_raised(void);
/* Is that the mask of a thread that has blocked them? */
bool adsm_os_signals_are_blocked(uint64_t mask);				/* [signal] */
/* Or of one that a driver has started meanwhile? Threads of the program's that block as much count, too. */
bool adsm_os_is_of_driver(uint64_t mask);					/* [signal] */

/* A helper thread with every signal blocked. */
struct adsm_thread { uint64_t handle; };
int adsm_os_thread_start(struct adsm_thread *ret_thread, const char *name, void (*run)(void *), void *arg);
/* What the system is given as its function: all signals of the thread that makes it are blocked meanwhile. */
void *adsm_os_thread_main(void *start);
void adsm_os_thread_join(struct adsm_thread *thread);
/* Instead: it goes on, and nobody waits for it. */
void adsm_os_thread_leave(struct adsm_thread *thread);
/* run(arg); where that ends the calling thread (pthread_exit(), a cancellation), the thread calls ended(arg) first. */
void adsm_os_run(void (*run)(void *), void (*ended)(void *), void *arg);

/*
 * How a thread of this process waits, and in turn who has the lock that it waits for, where that is known and not the
 * caller: @lock, the address of the last one's word, 0 when its holder does something else, and @ran_ns, for how long
 * all of them have run so far. Where neither changes between two looks, the caller has the lock, or nobody gives it
 * back, or it is of a kind that does not say who has it.
 */
struct adsm_os_look { uint64_t lock, ran_ns; };
struct adsm_os_look adsm_os_look_at(int thread_id);				/* [signal] */
/* End the process as this signal does by default. */
_Noreturn void adsm_os_die(int sig);						/* [signal] */

/* ---- the order of locks: a thread takes only such as stand behind all that it has, as debug builds assert.
 * docs/architecture.md says what each guards. */

enum adsm_rank {
	ADSM_RANK_NONE,			/* no lock may have it */
	/* Mutexes: a signal handler of the program's may run meanwhile, and fault. */
	ADSM_RANK_TURN, ADSM_RANK_START, ADSM_RANK_OBSERVING, ADSM_RANK_OPTIONS, ADSM_RANK_CALL, ADSM_RANK_NOTHING,
	ADSM_RANK_LATER, ADSM_RANK_ONCE, ADSM_RANK_OBJECTS, ADSM_RANK_MODULES, ADSM_RANK_HELPERS, ADSM_RANK_CALLERS,
	ADSM_RANK_RANGE, ADSM_RANK_SERVICES, ADSM_RANK_PEERS, ADSM_RANK_PRINT, ADSM_RANK_RECORDS, ADSM_RANK_NAMES,
	ADSM_RANK_SITES, ADSM_RANK_TABLE, ADSM_RANK_DRIVER, ADSM_RANK_REQUEST, ADSM_RANK_CODE,
	/* The fault path's. */
	ADSM_RANK_HOME, ADSM_RANK_QUEUE, ADSM_RANK_BEHIND, ADSM_RANK_DEFERRED, ADSM_RANK_MEMORIES, ADSM_RANK_PINNER,
	ADSM_RANK_GRANULES, ADSM_RANK_END, ADSM_RANK_LOST, ADSM_RANK_INPUTS, ADSM_RANK_ACTION, ADSM_RANK_PAGES,
	ADSM_RANK_GUARD,
};

#ifndef NDEBUG
extern _Thread_local uint64_t adsm_os_ranks;	/* those that this thread has, by bits */

static inline bool adsm_rank_fits(unsigned rank)
{
	return rank && !(adsm_os_ranks >> rank);
}
#endif

/* From now on this thread counts as one with these; those that it had. */
static inline uint64_t adsm_os_ranks_set(uint64_t ranks)
{
#ifndef NDEBUG
	const uint64_t was = adsm_os_ranks;

	adsm_os_ranks = ranks;
	ranks = was;
#endif
	return ranks;
}

/* ---- locks: a futex mutex the fault path may take; held only with signals blocked, by adsm_os_signals_block(). */

struct adsm_lock {
	_Atomic uint32_t word;
	uint8_t rank;			/* enum adsm_rank */
	bool noted;			/* among the ranks of who has it */
};

#define ADSM_LOCK_INIT(of) { .rank = (of) }

static inline void adsm_lock_init(struct adsm_lock *lock, enum adsm_rank rank)
{
	atomic_init(&lock->word, 0);
	lock->rank = (uint8_t)rank;
}

static inline void adsm_lock_note(struct adsm_lock *lock)
{
#ifndef NDEBUG
	lock->noted = adsm_rank_fits(lock->rank);
	adsm_os_ranks |= (uint64_t)lock->noted << lock->rank;
#endif
}

void adsm_lock_slow(struct adsm_lock *lock);

static inline void adsm_lock(struct adsm_lock *lock)				/* [signal] */
{
	uint32_t free = 0;

	assert(adsm_rank_fits(lock->rank));
	if (!atomic_compare_exchange_strong_explicit(&lock->word, &free, 1, memory_order_acquire,
						     memory_order_relaxed))
		adsm_lock_slow(lock);
	adsm_lock_note(lock);
}

/* In any order: it does not wait. */
static inline bool adsm_trylock(struct adsm_lock *lock)				/* [signal] */
{
	uint32_t free = 0;
	bool has = atomic_compare_exchange_strong_explicit(&lock->word, &free, 1, memory_order_acquire,
							   memory_order_relaxed);

	if (has)
		adsm_lock_note(lock);
	return has;
}

static inline void adsm_unlock(struct adsm_lock *lock)				/* [signal] */
{
#ifndef NDEBUG
	adsm_os_ranks &= ~((uint64_t)lock->noted << lock->rank);
#endif
	if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2)
		adsm_os_wake(&lock->word, 1, false);
}

/* ---- cancellation: in the rest of a block, which no signal handler leaves, there is no point of it. */

int adsm_os_cancel_block(void);
void adsm_os_cancel_restore(const int *old);

#define ADSM_UNCANCELLED \
	__attribute__((cleanup(adsm_os_cancel_restore), unused)) const int uncancelled_ = adsm_os_cancel_block()

/* ---- mutexes: not for the fault path. Who has one cannot be cancelled. */

struct adsm_mutex {
	pthread_mutex_t mutex;
	int cancel;			/* the state that its holder had before */
	uint8_t rank;			/* enum adsm_rank */
};

#define ADSM_MUTEX_INIT(of) { .mutex = PTHREAD_MUTEX_INITIALIZER, .rank = (of) }

void adsm_mutex_init(struct adsm_mutex *mutex, enum adsm_rank rank);
void adsm_mutex_destroy(struct adsm_mutex *mutex);
void adsm_mutex_lock(struct adsm_mutex *mutex);
void adsm_mutex_unlock(struct adsm_mutex *mutex);

/* ---- processes and files */

/* write(2) without libc, all of it, errors ignored. */
void adsm_os_write(int fd, const void *data, size_t size);			/* [signal] */
/* The first bytes of a file as a string, and that is the value; "" when it cannot be read. */
const char *adsm_os_read_text(const char *path, char *buffer, size_t size);	/* [signal] */
/*
 * Start @path as a process of its own session that the caller's wait(), SIGCHLD handler and terminal
 * never see: /dev/null as descriptors 0-2, @fds as 3, 4, …, no other; default dispositions, empty
 * mask, no LD_PRELOAD. @argv ends with NULL. @ret_pid: its process id. @ret_pidfd: close-on-exec, or -1.
 */
int adsm_os_spawn_daemon(const char *path, char *const argv[], const int *fds, size_t n_fds,
			 int *ret_pid, int *ret_pidfd);
/* The shared object that contains this code, and its folder, without a slash at its end. */
int adsm_os_library_path(char *ret_path, size_t size);
int adsm_os_library_dir(char *ret_path, size_t size);
/* Set by the wrappers' constructor: this shared object has some. */
extern bool adsm_os_has_wrappers;
/* There are wrappers, and yet the process calls the C library's own functions. */
bool adsm_os_is_bypassed(void);
/* Does the program find this library's functions? Else the library was opened later, and is only who opened it's. */
bool adsm_os_is_linked(void);
/* dlsym(); where there are wrappers what is below theirs, which does not hand out wrappers. */
extern void *(*_Atomic adsm_os_dlsym)(void *handle, const char *name);

#endif
