/* SPDX-License-Identifier: MIT */
/*
 * os.h - the functions that the library needs from the operating system. os_*.c implement them for Linux.
 *
 * - Addresses and sizes are in whole pages unless a comment says otherwise.
 * - Functions return 0 or a negative errno unless a comment says otherwise. They do not change errno.
 * - Functions marked [signal] may run in the fault handler. They make raw system calls only, because libc's write() is
 *   a cancellation point, and libc's locks may be held by the interrupted code.
 */
#pragma once

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_PAGE_SIZE ((size_t)4096)	/* x86-64 and aarch64 with 4 KiB pages; checked at start */
#define ADSM_HUGE_PAGE_SIZE ((size_t)2 << 20)

/* A size in whole pages: rounded up. */
static inline size_t adsm_whole_pages(size_t size)
{
	return (size + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
}

enum adsm_prot { ADSM_PROT_NONE, ADSM_PROT_READ, ADSM_PROT_RW, ADSM_PROT_RX };

/* ---- memory */

/* Create a sparse file in memory, @size bytes long, close-on-exec. Works also under a small `ulimit -f`. */
int adsm_os_memfd(const char *name, size_t size, int *ret_fd);
/*
 * Reserve inaccessible address space. It uses no memory, and the child of a fork does not have it.
 *
 * @wanted: the exact address; 0: any address.
 */
int adsm_os_reserve(uintptr_t wanted, size_t size, void **ret_address);
/*
 * Map a part of a file, shared, with huge pages where the system has them. The child of a fork does not have the
 * mapping.
 *
 * @address: part of a reservation; NULL: any address.
 * @size, @offset: the part of @fd, in bytes.
 */
int adsm_os_map(void *address, size_t size, int fd, size_t offset, enum adsm_prot prot,
		void **ret_address);
/* Turn a mapped range into a reservation again. */
int adsm_os_unmap_to_reserve(void *address, size_t size);
void adsm_os_unmap(void *address, size_t size);
int adsm_os_protect(void *address, size_t size, enum adsm_prot prot);			/* [signal] */
/* Allocate the pages of a mapped range now, so that the first use does not fault on each page. Returns 0 also if the
 * system cannot do that. */
int adsm_os_populate(void *address, size_t size, bool write);			/* [signal] */
/*
 * Put huge pages under a mapped, writable range. The contents stay. This takes 0.2 ms for each huge page, where 512
 * small pages take 2 ms, and the range then costs almost nothing to open and close.
 *
 * @address, @size: whole huge pages.
 *
 * Returns false if a part of the range did not get huge pages.
 */
bool adsm_os_huge(void *address, size_t size);					/* [signal] */
/* Map the pages of the shared mapping at @from also at @to, with the same protection, over the mapping there. */
int adsm_os_duplicate(void *from, size_t size, void *to);
/* Free the pages of a file that is mapped here, shared and writable. */
int adsm_os_discard(void *address, size_t size);
/* Undo mlock() for these pages. */
void adsm_os_unlock(void *address, size_t size);
/* Set whether a core file contains the range. Returns -ENOMEM if the process has no mappings left. */
int adsm_os_dump(void *address, size_t size, bool dump);			/* [signal] */
/* Return the likely limit behind a negative errno of a system call for memory, descriptors or threads. Messages append
 * it to the error's text: " (ulimit -v)", or "" if no limit is likely. */
const char *adsm_os_limit(int error);
/* Return the bytes of address space that this process may have (ulimit -v); UINT64_MAX: no limit. */
uint64_t adsm_os_address_limit(void);
/* Return zeroed private memory for a table. Only pages that are touched use memory. NULL if there is not enough. */
void *adsm_os_table(size_t size);
/* Make a word that is 1, and 0 in the child of any kind of fork. Before Linux 4.14 it is 1 in the child too. */
int adsm_os_fork_mark(_Atomic uint32_t **ret_mark);

/* ---- waiting. A futex word has 32 bits. @shared: true if another process also waits on the word. */

/*
 * The time limit of this thread's sleeps in the functions below, all together. When it is over, @over is called and
 * does not return. @until_ns: the time by adsm_os_now_ns(); 0: no limit. Set it only while signals are blocked, and
 * restore it.
 */
struct adsm_os_patience { uint64_t until_ns; void (*over)(void); };
extern _Thread_local struct adsm_os_patience adsm_os_patience;

/* Sleep while *word == value. @timeout_ns: 0: no limit. Returns 0, -EAGAIN, -EINTR or -ETIMEDOUT. */
int adsm_os_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared); /* [signal] */
/* Wake at most @n threads that sleep on a word. */
void adsm_os_wake(_Atomic uint32_t *word, int n, bool shared);			/* [signal] */

/* Change a word and wake one thread that sleeps on it. */
static inline void adsm_os_poke(_Atomic uint32_t *word)			/* [signal] */
{
	atomic_fetch_add(word, 1);
	adsm_os_wake(word, 1, false);
}

/* A flag: a word that is 0 until an event has happened, which happens once. Raise it, and wake all threads that
 * wait. */
static inline void adsm_os_raise(_Atomic uint32_t *flag, bool shared)		/* [signal] */
{
	atomic_store(flag, 1);
	adsm_os_wake(flag, INT32_MAX, shared);
}

/* Wait until a flag is raised. Returns false if it was raised before. */
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

/* Return the time of the monotonic clock in nanoseconds. */
uint64_t adsm_os_now_ns(void);							/* [signal] */
/* A time interval, by adsm_os_now_ns(). */
struct adsm_span { uint64_t start_ns, ns; };
void adsm_os_sleep_until_ns(uint64_t when_ns);					/* [signal] */
int adsm_os_thread_id(void);							/* [signal] */
/* Return this thread's alternate signal stack; size 0: it has none. */
void adsm_os_alternate_stack(uintptr_t *ret_start, size_t *ret_size);		/* [signal] */
/* Return the end of the stack that the system or the C library gave this thread, or 0 if @address is not on it. */
uintptr_t adsm_os_stack_end(uintptr_t address);					/* [signal] */
/*
 * Read a word that may be unmapped, or belong to another thread.
 *
 * Returns 0 or:
 *   -EFAULT   there is no memory at @address
 *   others    the system does not permit it
 */
int adsm_os_peek(uintptr_t address, uint64_t *ret_word);			/* [signal] */
/*
 * Return the stack pointer of a thread that is in a system call; 0: the thread is not in a system call.
 *
 * Returns 0 or:
 *   -ESRCH    the thread has ended
 *   -ENOENT   the system does not tell
 */
int adsm_os_stack_of(int thread_id, uintptr_t *ret_stack);			/* [signal] */
unsigned adsm_os_n_cpus(void);
/* Return the processor that this thread runs on, without a system call. */
unsigned adsm_os_cpu(void);							/* [signal] */
/* Return the bytes of memory that this process may still allocate: the minimum of the machine's and of its control
 * group's. */
uint64_t adsm_os_memory_available(void);
/* Return how many processes were killed for lack of memory so far: in this control group, or else in the system. */
uint64_t adsm_os_oom_kills(void);
/* getenv(), but NULL in set-user-ID programs. */
const char *adsm_os_getenv(const char *name);
/* Return whether this program has more rights than the user that started it (set-user-ID, file capabilities). Such a
 * program must not open libraries that read the environment themselves, as drivers and their loaders do. */
bool adsm_os_is_privileged(void);

/* ---- threads and signals */

struct adsm_sigset { uint64_t mask; int cancel; };	/* the kernel's mask; the state of pthread_setcancelstate() */

/*
 * Block all signals but two, and cancellation, because drivers have cancellation points.
 *
 * The two signals are:
 * - SIGSEGV: if another process sends it, the engine keeps it until the mask is restored
 * - the signal that the C library's setuid() sends to all threads
 *
 * A signal that an instruction raises in the meantime kills the process. Therefore code under the block must not touch
 * the program's own memory.
 */
void adsm_os_signals_block(struct adsm_sigset *ret_old);			/* [signal] */
/* The same, but signals that instructions raise stay open: a driver may start threads, which inherit the mask and run
 * kernels. */
void adsm_os_signals_block_for_threads(struct adsm_sigset *ret_old);
void adsm_os_signals_restore(const struct adsm_sigset *old);			/* [signal] */
/* Block them until the end of a block, which may be left by return. */
#define ADSM_SIGNALS_BLOCKED ADSM_BLOCKED_BY_(adsm_os_signals_block)
#define ADSM_SIGNALS_BLOCKED_FOR_THREADS ADSM_BLOCKED_BY_(adsm_os_signals_block_for_threads)
#define ADSM_BLOCKED_BY_(block) \
	__attribute__((cleanup(adsm_os_signals_restore), unused)) const struct adsm_sigset blocked_ = \
		adsm_os_signals_blocked(block)
static inline struct adsm_sigset adsm_os_signals_blocked(void (*block)(struct adsm_sigset *))
{
	struct adsm_sigset old;

	block(&old);
	return old;
}
/*
 * The program's actions for all signals. adsm_os_actions_get() reads them. If libraries that were loaded since have
 * changed some of them, adsm_os_actions_restore() restores these.
 *
 * @shares: one of these libraries is a driver that runs kernels in threads of this process. If the program has no
 *          handler for SIGFPE, the driver's handler stays for the driver's threads. In other threads SIGFPE has its
 *          default action.
 */
struct adsm_actions {
	uint64_t words[65][4];
	size_t n_libraries;
};
void adsm_os_actions_get(struct adsm_actions *ret_actions);
void adsm_os_actions_restore(const struct adsm_actions *actions, bool shares);
/* Unblock, in a helper thread and permanently, the signals that instructions raise: it runs code of the program. */
void adsm_os_signals_raised(void);
/* Return whether @mask is the mask of a thread inside adsm_os_signals_block(). */
bool adsm_os_signals_are_blocked(uint64_t mask);				/* [signal] */
/* Return whether @mask is the mask of a thread that a driver started under adsm_os_signals_block_for_threads(). A
 * thread of the program that blocks the same signals counts too. */
bool adsm_os_is_of_driver(uint64_t mask);					/* [signal] */

/* A helper thread, with every signal blocked. */
struct adsm_thread { uint64_t handle; };
/* Start a helper thread. @name: for debuggers, at most 15 characters. */
int adsm_os_thread_start(struct adsm_thread *ret_thread, const char *name, void (*run)(void *), void *arg);
/* The function that the system gets for such a thread. The thread that creates it has all signals blocked then. */
void *adsm_os_thread_main(void *start);
/* Wait until the thread has ended. */
void adsm_os_thread_join(struct adsm_thread *thread);
/* Instead of the join: detach the thread, which continues. */
void adsm_os_thread_leave(struct adsm_thread *thread);
/* Call run(arg). If that ends the calling thread (pthread_exit(), cancellation), the thread calls ended(arg) first. */
void adsm_os_run(void (*run)(void *), void (*ended)(void *), void *arg);

/*
 * How a thread of this process waits. If it waits for a lock, adsm_os_look_at() continues with the holder of that
 * lock, and so on, until the holder is the caller or not known.
 *
 * @lock: the address of the last lock's word; 0: the last thread does not wait for a lock.
 * @ran_ns: how long all these threads have run so far.
 *
 * If neither value changes between two calls, one of these is true: the caller holds the lock; the holder never gives
 * it back; the lock is of a kind that does not name its holder.
 */
struct adsm_os_look { uint64_t lock, ran_ns; };
struct adsm_os_look adsm_os_look_at(int thread_id);				/* [signal] */
/* End the process as the signal's default action does. */
_Noreturn void adsm_os_die(int sig);						/* [signal] */

/* ---- the order of locks */

/* A thread takes a lock only if its rank is greater than the ranks of all locks that the thread holds. Debug builds
 * assert this. docs/architecture-locks.md says what each lock guards. */
enum adsm_rank {
	ADSM_RANK_NONE,			/* no lock has this rank */
	/* Mutexes: while a thread holds one, a signal handler of the program may run, and may fault. */
	ADSM_RANK_TURN, ADSM_RANK_START, ADSM_RANK_OBSERVING, ADSM_RANK_OPTIONS, ADSM_RANK_MOVES, ADSM_RANK_CALL,
	ADSM_RANK_NOTHING, ADSM_RANK_DATAFLOW, ADSM_RANK_ONCE, ADSM_RANK_OBJECTS, ADSM_RANK_MODULES, ADSM_RANK_HELPERS,
	ADSM_RANK_CALLERS, ADSM_RANK_QUEUES, ADSM_RANK_RANGE, ADSM_RANK_SERVICES, ADSM_RANK_PEERS, ADSM_RANK_PRINT,
	ADSM_RANK_RECORDS, ADSM_RANK_NAMES, ADSM_RANK_SITES, ADSM_RANK_TABLE, ADSM_RANK_DRIVER, ADSM_RANK_REQUEST,
	ADSM_RANK_CODE,
	/* Locks of the fault path. */
	ADSM_RANK_HOME, ADSM_RANK_QUEUE, ADSM_RANK_LAUNCH, ADSM_RANK_BEHIND, ADSM_RANK_DEFERRED, ADSM_RANK_MEMORIES,
	ADSM_RANK_UNITS, ADSM_RANK_PINNER, ADSM_RANK_GRANULES, ADSM_RANK_END, ADSM_RANK_LOST, ADSM_RANK_INPUTS,
	ADSM_RANK_ACTION, ADSM_RANK_PAGES, ADSM_RANK_GUARD, ADSM_RANK_RECORDING,
};

#ifndef NDEBUG
extern _Thread_local uint64_t adsm_os_ranks;	/* the ranks of the locks that this thread holds, as bits */

static inline bool adsm_rank_fits(unsigned rank)
{
	return rank && !(adsm_os_ranks >> rank);
}
#endif

/* Set the ranks that this thread counts as holding. Returns the previous ones. */
static inline uint64_t adsm_os_ranks_set(uint64_t ranks)
{
#ifndef NDEBUG
	const uint64_t was = adsm_os_ranks;

	adsm_os_ranks = ranks;
	ranks = was;
#endif
	return ranks;
}

/* ---- locks for the fault path, on a futex word. A thread holds one only inside adsm_os_signals_block(). */

struct adsm_lock {
	_Atomic uint32_t word;
	uint8_t rank;			/* enum adsm_rank */
	bool noted;			/* the holder's adsm_os_ranks has its rank */
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

/* Take the lock if it is free, in any order of ranks, because this does not wait. Returns whether it was free. */
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

/* ---- cancellation. ADSM_UNCANCELLED disables it until the end of a block, which no signal handler may leave. */

int adsm_os_cancel_block(void);
void adsm_os_cancel_restore(const int *old);

#define ADSM_UNCANCELLED \
	__attribute__((cleanup(adsm_os_cancel_restore), unused)) const int uncancelled_ = adsm_os_cancel_block()

/* ---- mutexes, not for the fault path. The thread that holds one cannot be cancelled. */

struct adsm_mutex {
	pthread_mutex_t mutex;
	int cancel;			/* the holder's cancellation state before it took the mutex */
	uint8_t rank;			/* enum adsm_rank */
};

#define ADSM_MUTEX_INIT(of) { .mutex = PTHREAD_MUTEX_INITIALIZER, .rank = (of) }

void adsm_mutex_init(struct adsm_mutex *mutex, enum adsm_rank rank);
void adsm_mutex_destroy(struct adsm_mutex *mutex);
void adsm_mutex_lock(struct adsm_mutex *mutex);
bool adsm_mutex_trylock(struct adsm_mutex *mutex);
void adsm_mutex_unlock(struct adsm_mutex *mutex);

/* ---- processes and files */

/* Write all bytes by write(2), without libc. Returns 0 or a negative errno. */
int adsm_os_write(int fd, const void *data, size_t size);			/* [signal] */
/* Read the first @size - 1 bytes of a file into @buffer as a string. Returns @buffer; "" if the file cannot be read. */
const char *adsm_os_read_text(const char *path, char *buffer, size_t size);	/* [signal] */
/*
 * Start a program in a session of its own. The caller's wait(), SIGCHLD handler and terminal never see the process. It
 * has /dev/null as descriptors 0 to 2, default signal actions, an empty signal mask, and no LD_PRELOAD.
 *
 * @path: the program.
 * @argv: its arguments; the last one is NULL.
 * @fds, @n_fds: its descriptors 3, 4, …. It gets no others.
 * @ret_pid: its process id.
 * @ret_pidfd: a descriptor of the process, close-on-exec; -1: the system has none.
 */
int adsm_os_spawn_daemon(const char *path, char *const argv[], const int *fds, size_t n_fds,
			 int *ret_pid, int *ret_pidfd);
/* Write the path of a descriptor of this process: "/proc/PID/fd/FD". Other processes can open it, too. */
void adsm_os_fd_path(int fd, char *ret_path, size_t size);
/* Return the path of the shared object that contains this code; of its folder, without a slash at the end. */
int adsm_os_library_path(char *ret_path, size_t size);
int adsm_os_library_dir(char *ret_path, size_t size);
/* The index of a library, in the order in which they were loaded: of the one with @address. If there is none, as for 0:
 * the number of all. */
size_t adsm_os_library_index(uintptr_t address);
/* This shared object has wrappers. Their constructor sets the variable. */
extern bool adsm_os_has_wrappers;
/* Return whether this shared object has wrappers, but the process calls the C library's own functions. */
bool adsm_os_is_bypassed(void);
/* Return whether the program finds this library's functions. If not, other code opened the library for itself,
 * later. */
bool adsm_os_is_linked(void);
/* dlsym(). If there are wrappers, the function below their own dlsym(), which does not return wrappers. */
extern void *(*_Atomic adsm_os_dlsym)(void *handle, const char *name);
