/* SPDX-License-Identifier: MIT */
/*
 * os.h - what the library asks of the operating system; one file per system implements it.
 *
 * Preconditions: addresses and sizes are whole pages unless said otherwise. Functions return 0 or a
 * negative errno, never touch errno, and those marked [signal] may run in the fault handler: they
 * make raw system calls only, since libc's write() is a cancellation point and its locks are not ours.
 */
#ifndef ADSM_OS_H
#define ADSM_OS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_PAGE_SIZE ((size_t)4096)	/* x86-64 and aarch64 with 4 KiB pages; checked at start */
#define ADSM_HUGE_PAGE_SIZE ((size_t)2 << 20)

enum adsm_prot { ADSM_PROT_NONE, ADSM_PROT_READ, ADSM_PROT_RW };

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
/* Give the pages of a file range back. */
int adsm_os_punch(int fd, size_t offset, size_t size);
/* Sparse zeroed private memory for tables; costs only what is touched. NULL when there is none. */
void *adsm_os_table(size_t size);
/* A word that is 1, and 0 in the child of a fork, however that was made; before Linux 4.14 it is 1 there too. */
int adsm_os_fork_mark(_Atomic uint32_t **ret_mark);

/* ---- waiting. A futex word is 32 bits; @shared when another process waits on it too. */

/* Sleep while *word == value, at most @timeout_ns (0: no limit). 0, -EAGAIN, -EINTR, -ETIMEDOUT. */
int adsm_os_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared); /* [signal] */
void adsm_os_wake(_Atomic uint32_t *word, int n, bool shared);			/* [signal] */

/* Change a word and wake whoever sleeps on it. */
static inline void adsm_os_poke(_Atomic uint32_t *word)			/* [signal] */
{
	atomic_fetch_add(word, 1);
	adsm_os_wake(word, 1, false);
}

/* ---- time and identity */

uint64_t adsm_os_now_ns(void);							/* [signal] */
void adsm_os_sleep_until_ns(uint64_t when_ns);					/* [signal] */
int adsm_os_thread_id(void);							/* [signal] */
unsigned adsm_os_n_cpus(void);
/* Bytes of memory this process may still take: the machine's and its control group's, the smaller. */
uint64_t adsm_os_memory_available(void);
/* getenv() that answers NULL in set-user-ID programs. */
const char *adsm_os_getenv(const char *name);

/* ---- threads and signals */

struct adsm_sigset { uint64_t bits[16]; };	/* a sigset_t, opaque here */

/* Block every asynchronous signal (not SEGV, BUS, FPE, ILL, TRAP, ABRT). */
void adsm_os_signals_block(struct adsm_sigset *ret_old);			/* [signal] */
void adsm_os_signals_restore(const struct adsm_sigset *old);			/* [signal] */

/* A helper thread with every signal blocked. */
struct adsm_thread { uint64_t handle; };
int adsm_os_thread_start(struct adsm_thread *ret_thread, const char *name, void (*run)(void *), void *arg);
void adsm_os_thread_join(struct adsm_thread *thread);

/* ---- locks: a futex mutex the fault path may take; held only with asynchronous signals blocked. */

struct adsm_lock { _Atomic uint32_t word; };

void adsm_lock_slow(struct adsm_lock *lock);

static inline void adsm_lock(struct adsm_lock *lock)				/* [signal] */
{
	uint32_t free = 0;

	if (!atomic_compare_exchange_strong_explicit(&lock->word, &free, 1, memory_order_acquire,
						     memory_order_relaxed))
		adsm_lock_slow(lock);
}

static inline void adsm_unlock(struct adsm_lock *lock)				/* [signal] */
{
	if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2)
		adsm_os_wake(&lock->word, 1, false);
}

/* ---- processes and files */

/* write(2) without libc, all of it, errors ignored. */
void adsm_os_write(int fd, const void *data, size_t size);			/* [signal] */
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
/* This shared object has wrappers, and yet the process calls the C library's own functions. */
bool adsm_os_is_bypassed(void);

#endif
