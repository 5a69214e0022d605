/* SPDX-License-Identifier: MIT */
/* os_linux.c - os.h on Linux, by direct system calls: no errno, no cancellation, no wrapper. */
#include "base/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Newer than the headers of the oldest system we build on. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define KERNEL_SIGSET_SIZE 8	/* bytes of a signal mask, as the kernel counts it */
#define SIGNAL_BIT(sig) (UINT64_C(1) << ((sig) - 1))

/* Code that runs between a raw clone and exec: a sanitizer's runtime may hold locks there. */
#define NO_SANITIZE __attribute__((no_sanitize("address", "thread")))

NO_SANITIZE static long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "+a"(nr)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return nr;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "system calls of this processor are not known here"
#endif
}

#define SYS_6(nr, a, b, c, d, e, f, ...) \
	sys6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* A system call with up to six arguments; its result, or a negative errno. */
#define sys(...) SYS_6(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

/* ---- memory */

static const int prot_bits[] = {
	[ADSM_PROT_NONE] = PROT_NONE,
	[ADSM_PROT_READ] = PROT_READ,
	[ADSM_PROT_RW] = PROT_READ | PROT_WRITE,
};

static int map_memory(void *address, size_t size, int prot, int flags, int fd, size_t offset,
		      void **ret_address)
{
	long p = sys(SYS_mmap, address, size, prot, flags, fd, offset);

	if (p < 0 && p >= -4095)
		return (int)p;
	*ret_address = (void *)p;
	return 0;
}

/* ftruncate() that a file size limit answers with -EFBIG, never with its signal. */
static int truncate_quietly(int fd, size_t size)
{
	const struct timespec now = { 0, 0 };
	uint64_t set = SIGNAL_BIT(SIGXFSZ), old, pending = 0;
	int ret;

	sys(SYS_rt_sigprocmask, SIG_BLOCK, &set, &old, KERNEL_SIGSET_SIZE);
	sys(SYS_rt_sigpending, &pending, KERNEL_SIGSET_SIZE);
	ret = (int)sys(SYS_ftruncate, fd, size);
	if (ret == -EFBIG && !(pending & set))
		sys(SYS_rt_sigtimedwait, &set, NULL, &now, KERNEL_SIGSET_SIZE);
	sys(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, KERNEL_SIGSET_SIZE);
	return ret;
}

int adsm_os_memfd(const char *name, size_t size, int *ret_fd)
{
	int fd = (int)sys(SYS_memfd_create, name, MFD_CLOEXEC), ret;
	struct rlimit old = { 0 }, more;

	if (fd < 0)
		return fd;
	ret = truncate_quietly(fd, size);
	/* The limit means files on disk: lift it for this one call, as far as we may. */
	if (ret == -EFBIG && !sys(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &old)) {
		more.rlim_cur = more.rlim_max = RLIM_INFINITY;
		if (sys(SYS_prlimit64, 0, RLIMIT_FSIZE, &more, NULL)) {
			more.rlim_cur = more.rlim_max = old.rlim_max;
			sys(SYS_prlimit64, 0, RLIMIT_FSIZE, &more, NULL);
		}
		ret = truncate_quietly(fd, size);
		sys(SYS_prlimit64, 0, RLIMIT_FSIZE, &old, NULL);
	}
	if (ret) {
		sys(SYS_close, fd);
		return ret;
	}
	*ret_fd = fd;
	return 0;
}

static int reserve(void *address, size_t size, int flags, void **ret_address)
{
	int ret = map_memory(address, size, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0, ret_address);

	if (!ret) {
		sys(SYS_madvise, *ret_address, size, MADV_DONTFORK);
		sys(SYS_madvise, *ret_address, size, MADV_DONTDUMP);
	}
	return ret;
}

int adsm_os_reserve(uintptr_t wanted, size_t size, void **ret_address)
{
	void *p = NULL;
	int ret = reserve((void *)wanted, size, wanted ? MAP_FIXED_NOREPLACE : 0, &p);

	if (ret)
		return ret;
	/* Kernels before 4.17 take the address as a hint. */
	if (wanted && p != (void *)wanted) {
		adsm_os_unmap(p, size);
		return -EEXIST;
	}
	*ret_address = p;
	return 0;
}

/* Huge pages lie on multiples of their size, in the file as in memory. */
static int reserve_for_huge_pages(size_t size, void **ret_address)
{
	uintptr_t start;
	size_t before;
	int ret = reserve(NULL, size + ADSM_HUGE_PAGE_SIZE, 0, ret_address);

	if (ret)
		return ret;
	start = (uintptr_t)*ret_address;
	before = -start % ADSM_HUGE_PAGE_SIZE;
	if (before)
		adsm_os_unmap((void *)start, before);
	adsm_os_unmap((void *)(start + before + size), ADSM_HUGE_PAGE_SIZE - before);
	*ret_address = (void *)(start + before);
	return 0;
}

int adsm_os_map(void *address, size_t size, int fd, size_t offset, enum adsm_prot prot,
		void **ret_address)
{
	bool anywhere = !address;
	int flags = MAP_SHARED | MAP_NORESERVE, ret;

	if (anywhere && size >= ADSM_HUGE_PAGE_SIZE) {
		ret = reserve_for_huge_pages(size, &address);
		if (ret)
			return ret;
	}
	ret = map_memory(address, size, prot_bits[prot], flags | (address ? MAP_FIXED : 0), fd, offset, ret_address);
	if (ret && anywhere && address)
		adsm_os_unmap(address, size);
	if (ret)
		return ret;
	sys(SYS_madvise, *ret_address, size, MADV_DONTFORK);
	/* Taken where /sys/kernel/mm/transparent_hugepage/shmem_enabled says "advise"; else see adsm_os_huge(). */
	if (size >= ADSM_HUGE_PAGE_SIZE)
		sys(SYS_madvise, *ret_address, size, MADV_HUGEPAGE);
	/* A second mapping of the same bytes: one is enough in a core file. */
	if (anywhere)
		sys(SYS_madvise, *ret_address, size, MADV_DONTDUMP);
	return 0;
}

int adsm_os_unmap_to_reserve(void *address, size_t size)
{
	return reserve(address, size, MAP_FIXED, &address);
}

void adsm_os_unmap(void *address, size_t size)
{
	sys(SYS_munmap, address, size);
}

int adsm_os_protect(void *address, size_t size, enum adsm_prot prot)
{
	return (int)sys(SYS_mprotect, address, size, prot_bits[prot]);
}

void adsm_os_populate(void *address, size_t size, bool write)
{
	sys(SYS_madvise, address, size, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

bool adsm_os_huge(void *address, size_t size)
{
	static atomic_bool refused;

	for (char *p = address; size; p += ADSM_HUGE_PAGE_SIZE, size -= ADSM_HUGE_PAGE_SIZE) {
		long ret = atomic_load_explicit(&refused, memory_order_relaxed) ? -EINVAL : 0;

		/* Of nothing at all the system makes none. */
		if (!ret)
			ret = sys(SYS_madvise, p, ADSM_PAGE_SIZE, MADV_POPULATE_WRITE);
		if (!ret)
			ret = sys(SYS_madvise, p, ADSM_HUGE_PAGE_SIZE, MADV_COLLAPSE);
		/* Before Linux 6.1, or forbidden: each try would cost more than it brings. */
		if (ret == -EINVAL)
			atomic_store_explicit(&refused, true, memory_order_relaxed);
		if (ret)
			return false;
	}
	return true;
}

int adsm_os_duplicate(void *from, size_t size, void *to)
{
	long p = sys(SYS_mremap, from, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, to);

	return p < 0 && p >= -4095 ? (int)p : 0;
}

int adsm_os_discard(void *address, size_t size)
{
	long ret = sys(SYS_madvise, address, size, MADV_REMOVE);

	/* The program has had all its memory locked. */
	if (ret == -EINVAL && !sys(SYS_munlock, address, size))
		ret = sys(SYS_madvise, address, size, MADV_REMOVE);
	return (int)ret;
}

int adsm_os_dump(void *address, size_t size, bool dump)
{
	return (int)sys(SYS_madvise, address, size, dump ? MADV_DODUMP : MADV_DONTDUMP);
}

uint64_t adsm_os_address_limit(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	sys(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit);
	return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

void *adsm_os_table(size_t size)
{
	void *p = NULL;

	map_memory(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0, &p);
	return p;
}

int adsm_os_fork_mark(_Atomic uint32_t **ret_mark)
{
	_Atomic uint32_t *mark = adsm_os_table(ADSM_PAGE_SIZE);

	if (!mark)
		return -ENOMEM;
	sys(SYS_madvise, mark, ADSM_PAGE_SIZE, MADV_WIPEONFORK);
	atomic_store(mark, 1);
	*ret_mark = mark;
	return 0;
}

/* ---- waiting, time, identity */

_Thread_local struct adsm_os_patience adsm_os_patience;

int adsm_os_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared)
{
	struct timespec timeout;

	if (adsm_os_patience.until_ns) {
		uint64_t now = adsm_os_now_ns(), until = adsm_os_patience.until_ns;

		if (now >= until)
			adsm_os_patience.over();
		if (!timeout_ns || timeout_ns > until - now)
			timeout_ns = until - now;
	}
	timeout = (struct timespec){ (time_t)(timeout_ns / 1000000000), (long)(timeout_ns % 1000000000) };
	return (int)sys(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value,
			timeout_ns ? &timeout : NULL);
}

void adsm_os_wake(_Atomic uint32_t *word, int n, bool shared)
{
	sys(SYS_futex, word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, n);
}

#define LOCK_SPIN_NS 50000
#define LOOK_MAX 8		/* threads that wait for one another */

void adsm_lock_slow(struct adsm_lock *lock)
{
	/* Held for an mprotect() at most: shorter than the way through the scheduler and back. */
	for (uint64_t until = adsm_os_now_ns() + LOCK_SPIN_NS; adsm_os_now_ns() < until;) {
		uint32_t free = 0;

		if (!atomic_load_explicit(&lock->word, memory_order_relaxed) &&
		    atomic_compare_exchange_strong_explicit(&lock->word, &free, 1, memory_order_acquire,
							    memory_order_relaxed))
			return;
	}
	while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire))
		adsm_os_wait(&lock->word, 2, 0, false);
}

uint64_t adsm_os_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);	/* in the vDSO: no system call */
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void adsm_os_sleep_until_ns(uint64_t when_ns)
{
	struct timespec when = { (time_t)(when_ns / 1000000000), (long)(when_ns % 1000000000) };

	while (sys(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == -EINTR)
		;
}

int adsm_os_thread_id(void)
{
	return (int)sys(SYS_gettid);
}

unsigned adsm_os_n_cpus(void)
{
	unsigned long mask[128] = { 0 };	/* as many as Linux may have on these processors */
	long size = sys(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	unsigned n = 0;

	for (long i = 0; i < size / (long)sizeof(mask[0]); i++)
		n += (unsigned)__builtin_popcountl(mask[i]);
	return n ? n : 1;
}

const char *adsm_os_read_text(const char *path, char *buffer, size_t size)
{
	long fd = sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), n;
	size_t length = 0;

	if (fd >= 0) {
		while (length < size - 1 &&
		       (n = sys(SYS_read, fd, buffer + length, size - 1 - length)) > 0)
			length += (size_t)n;
		sys(SYS_close, fd);
	}
	buffer[length] = '\0';
	return buffer;
}

/* The number after @key at the start of a line of @text; UINT64_MAX when there is none. */
static uint64_t number_after(const char *text, const char *key)
{
	size_t length = strlen(key);
	char *end;

	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += !!line) {
		if (!strncmp(line, key, length)) {
			uint64_t value = strtoull(line + length, &end, 10);

			return end == line + length ? UINT64_MAX : value;
		}
	}
	return UINT64_MAX;
}

/* One version of control groups: where it is mounted, what its files are called. */
struct cgroup_files {
	const char *mount, *limit, *used, *cache, *events;
};

/* For what files say: stacks may be small. */
struct room {
	char groups[4096], path[PATH_MAX], text[16384];
};

/* The next memory group in lines "number:controllers:path", NULL: there is none. Version 2 has no controllers. */
static const char *next_group(const char **line, const struct cgroup_files **ret_files)
{
	static const struct cgroup_files v1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
						"memory.usage_in_bytes", "total_inactive_file", "memory.oom_control" };
	static const struct cgroup_files v2 = { "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file",
						"memory.events" };

	while (*line && **line) {
		const char *names = strchr(*line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		const char *memory = names ? strstr(names, "memory") : NULL;

		*line = strchr(*line, '\n');
		*line += !!*line;
		if (!path)
			break;
		if (path == names + 1 || (memory && memory < path)) {
			*ret_files = path == names + 1 ? &v2 : &v1;
			return path + 1;
		}
	}
	return NULL;
}

/* The number after @key in a file of the group whose path is the first @length bytes of @path; or UINT64_MAX. */
static uint64_t group_number(struct room *room, const struct cgroup_files *files, const char *path, size_t length,
			     const char *name, const char *key)
{
	char *p;

	if (strlen(files->mount) + length + 64 >= PATH_MAX)
		return UINT64_MAX;
	p = mempcpy(stpcpy(room->path, files->mount), path, length);
	*p++ = '/';
	strcpy(p, name);
	return number_after(adsm_os_read_text(room->path, room->text, sizeof(room->text)), key);
}

/* What the group at @path and all groups above it leave; file cache that can be dropped is not use. */
static uint64_t group_available(struct room *room, const struct cgroup_files *files, const char *path)
{
	uint64_t least = UINT64_MAX;

	for (size_t end = strcspn(path, "\n");; end--) {
		uint64_t limit = group_number(room, files, path, end, files->limit, "");
		uint64_t used = group_number(room, files, path, end, files->used, "");
		uint64_t cache = group_number(room, files, path, end, "memory.stat", files->cache);

		if (limit != UINT64_MAX && used != UINT64_MAX) {
			if (cache != UINT64_MAX && cache < used)
				used -= cache;
			limit = limit > used ? limit - used : 0;
			if (limit < least)
				least = limit;
		}
		while (end && path[end - 1] != '/')
			end--;
		if (!end)
			return least;
	}
}

uint64_t adsm_os_memory_available(void)
{
	struct room *room = malloc(sizeof(*room));
	const struct cgroup_files *files;
	const char *line, *path;
	uint64_t least, group;
	int saved_errno = errno;

	if (!room)
		return UINT64_MAX;
	least = number_after(adsm_os_read_text("/proc/meminfo", room->text, sizeof(room->text)), "MemAvailable:");
	if (least != UINT64_MAX)
		least *= 1024;
	line = adsm_os_read_text("/proc/self/cgroup", room->groups, sizeof(room->groups));
	while ((path = next_group(&line, &files))) {
		group = group_available(room, files, path);
		if (group < least)
			least = group;
	}
	free(room);
	errno = saved_errno;
	return least;
}

uint64_t adsm_os_oom_kills(void)
{
	struct room *room = malloc(sizeof(*room));
	const struct cgroup_files *files;
	const char *line, *path;
	uint64_t number = UINT64_MAX;
	int saved_errno = errno;

	if (!room)
		return 0;
	line = adsm_os_read_text("/proc/self/cgroup", room->groups, sizeof(room->groups));
	while (number == UINT64_MAX && (path = next_group(&line, &files)))
		number = group_number(room, files, path, strcspn(path, "\n"), files->events, "oom_kill ");
	if (number == UINT64_MAX)
		number = number_after(adsm_os_read_text("/proc/vmstat", room->text, sizeof(room->text)), "oom_kill ");
	free(room);
	errno = saved_errno;
	return number == UINT64_MAX ? 0 : number;
}

const char *adsm_os_getenv(const char *name)
{
	return secure_getenv(name);
}

bool adsm_os_is_privileged(void)
{
	return getauxval(AT_SECURE);
}

/* ---- threads and signals */

#define RAISED (SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGTRAP) | \
		SIGNAL_BIT(SIGABRT))
/*
 * The C library's own to cancel a thread (32) too: it would keep our lock. But not the one by which setuid() reaches
 * all threads (33): threads that a driver starts meanwhile inherit the mask, and it would wait for ever.
 */
#define ASYNCHRONOUS (~(RAISED | SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(33)))

static void block(uint64_t set, struct adsm_sigset *ret_old)
{
	/* In this order, and back in the other: a handler that runs next to either may leave by siglongjmp(). */
	sys(SYS_rt_sigprocmask, SIG_BLOCK, &set, &ret_old->mask, KERNEL_SIGSET_SIZE);
	ret_old->cancel = adsm_os_cancel_block();
}

void adsm_os_signals_block(struct adsm_sigset *ret_old)
{
	block(ASYNCHRONOUS | RAISED, ret_old);
}

void adsm_os_signals_block_for_threads(struct adsm_sigset *ret_old)
{
	block(ASYNCHRONOUS, ret_old);
}

bool adsm_os_signals_are_blocked(uint64_t mask)
{
	return mask & SIGNAL_BIT(32);
}

/* The place of a library in the order in which they were loaded: the one with @address, or how many there are. */
struct place {
	uintptr_t address;		/* 0: in none */
	size_t n;
};

static int look_for_place(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *place = arg;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    place->address - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) < info->dlpi_phdr[i].p_memsz)
			return 1;
	place->n++;
	return 0;
}

void adsm_os_actions_get(struct adsm_actions *ret_actions)
{
	struct place all = { 0, 0 };

	for (int sig = 1; sig <= 64; sig++)
		sys(SYS_rt_sigaction, sig, NULL, ret_actions->words[sig], KERNEL_SIGSET_SIZE);
	dl_iterate_phdr(look_for_place, &all);
	ret_actions->n_libraries = all.n;
}

void adsm_os_actions_restore(const struct adsm_actions *actions)
{
	for (int sig = 1; sig <= 64; sig++) {
		const uint64_t *was = actions->words[sig], raised = RAISED | SIGNAL_BIT(SIGSEGV);
		struct place place = { 0, 0 };
		uint64_t now[4] = { 0 };

		if (sys(SYS_rt_sigaction, sig, NULL, now, KERNEL_SIGSET_SIZE) || !memcmp(now, was, sizeof(now)) ||
		    (raised & SIGNAL_BIT(sig) && was[0] == (uintptr_t)SIG_DFL))
			continue;
		/* Else it is the C library's, or another thread of the program's has set it meanwhile. */
		place.address = now[0];
		if (dl_iterate_phdr(look_for_place, &place) && place.n >= actions->n_libraries)
			sys(SYS_rt_sigaction, sig, was, NULL, KERNEL_SIGSET_SIZE);
	}
}

void adsm_os_signals_restore(const struct adsm_sigset *old)
{
	/* What is pending is handled in the second. */
	adsm_os_cancel_restore(&old->cancel);
	sys(SYS_rt_sigprocmask, SIG_SETMASK, &old->mask, NULL, KERNEL_SIGSET_SIZE);
}

/* ---- cancellation, mutexes */

int adsm_os_cancel_block(void)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	return old;
}

void adsm_os_cancel_restore(const int *old)
{
	pthread_setcancelstate(*old, NULL);
}

void adsm_mutex_init(struct adsm_mutex *mutex)
{
	pthread_mutex_init(&mutex->mutex, NULL);
}

void adsm_mutex_destroy(struct adsm_mutex *mutex)
{
	pthread_mutex_destroy(&mutex->mutex);
}

void adsm_mutex_lock(struct adsm_mutex *mutex)
{
	const int cancel = adsm_os_cancel_block();

	pthread_mutex_lock(&mutex->mutex);
	mutex->cancel = cancel;
}

void adsm_mutex_unlock(struct adsm_mutex *mutex)
{
	const int cancel = mutex->cancel;

	pthread_mutex_unlock(&mutex->mutex);
	adsm_os_cancel_restore(&cancel);
}

/* The @n-th word of a text, as a number of base 10, or 16 with "0x" before it. */
static uint64_t word_at(const char *text, unsigned n)
{
	uint64_t value = 0;
	unsigned base = 10;

	for (; n && *text; text++)
		n -= *text == ' ';
	if (text[0] == '0' && text[1] == 'x') {
		base = 16;
		text += 2;
	}
	for (; (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'); text++)
		value = value * base + (uint64_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
	return value;
}

/* A file about a thread: "" where there is none. */
static const char *read_of_thread(int thread_id, const char *name, char *buffer, size_t size)
{
	char path[64] = "/proc/self/task/", digits[12];
	char *p = path + strlen(path), *digit = digits;

	do
		*digit++ = (char)('0' + thread_id % 10);
	while (thread_id /= 10);
	while (digit > digits)
		*p++ = *--digit;
	*p++ = '/';
	strcpy(p, name);
	return adsm_os_read_text(path, buffer, size);
}

/*
 * Who has the lock with this word, where it is a mutex of the C library's; 0: nobody that lives. The word is followed
 * by a count, the thread and how many use it, which is 0 in malloc()'s own locks, whatever else they have there.
 */
static int owner_of(uint64_t lock)
{
	int words[4] = { 0 };
	/* Not by its address: it may be gone. */
	long fd = sys(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (sys(SYS_pread64, fd, words, sizeof(words), lock) != sizeof(words))
		words[2] = 0;
	sys(SYS_close, fd);
	return words[2] > 0 && words[3] && !sys(SYS_tgkill, sys(SYS_getpid), words[2], 0) ? words[2] : 0;
}

/* The word of the lock that a thread waits for, 0 when it does something else. */
static uint64_t lock_of(int thread_id, char *text, size_t size)
{
	uint64_t how;

	/* "number 0xargument 0xargument …"; "running", or with a number below 0, in no system call. */
	read_of_thread(thread_id, "syscall", text, size);
	how = word_at(text, 2) & FUTEX_CMD_MASK;
	/* Mutexes and malloc() wait so, while the word is 2; conditions, and ends of threads, otherwise. */
	if (text[0] >= '0' && text[0] <= '9' && word_at(text, 0) == SYS_futex &&
	    ((how == FUTEX_WAIT && word_at(text, 3) == 2) || how == FUTEX_LOCK_PI))
		return word_at(text, 1);
	return 0;
}

struct adsm_os_look adsm_os_look_at(int thread_id)
{
	const int self = adsm_os_thread_id();
	struct adsm_os_look look = { 0, 0 };
	char text[256];

	/* Who waits for itself goes round. */
	for (int i = 0; i < LOOK_MAX && thread_id; i++) {
		look.lock = lock_of(thread_id, text, sizeof(text));
		look.ran_ns += word_at(read_of_thread(thread_id, "schedstat", text, sizeof(text)), 0);
		thread_id = look.lock ? owner_of(look.lock) : 0;
		if (thread_id == self)
			break;
	}
	return look;
}

void adsm_os_die(int sig)
{
	const uint64_t action[4] = { 0 }, set = SIGNAL_BIT(sig);

	sys(SYS_rt_sigaction, sig, action, NULL, KERNEL_SIGSET_SIZE);
	sys(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, KERNEL_SIGSET_SIZE);
	sys(SYS_tgkill, sys(SYS_getpid), sys(SYS_gettid), sig);
	for (;;)
		sys(SYS_exit_group, 128 + sig);
}

struct thread_start {
	void (*run)(void *);
	void *arg;
	char name[16];
};

static void *thread_main(void *arg)
{
	struct thread_start start = *(struct thread_start *)arg;

	free(arg);
	sys(SYS_prctl, PR_SET_NAME, start.name);
	start.run(start.arg);
	return NULL;
}

int adsm_os_thread_start(struct adsm_thread *ret_thread, const char *name, void (*run)(void *), void *arg)
{
	struct thread_start *start = calloc(1, sizeof(*start));
	struct adsm_sigset old;
	pthread_t thread;
	sigset_t all;
	int ret;

	if (!start)
		return -ENOMEM;
	start->run = run;
	start->arg = arg;
	strncpy(start->name, name, sizeof(start->name) - 1);
	/* The C library keeps its own signals open in this mask: without them setuid() never returns. */
	sigfillset(&all);
	adsm_os_signals_block(&old);
	/* Not pthread_sigmask(), which the application may have heard of. */
	sys(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, KERNEL_SIGSET_SIZE);
	ret = -pthread_create(&thread, NULL, thread_main, start);
	adsm_os_signals_restore(&old);
	if (ret) {
		free(start);
		return ret;
	}
	ret_thread->handle = (uint64_t)thread;
	return 0;
}

void adsm_os_thread_join(struct adsm_thread *thread)
{
	ADSM_UNCANCELLED;	/* what it works on may lie on this stack */

	pthread_join((pthread_t)thread->handle, NULL);
}

/* ---- processes and files */

void adsm_os_write(int fd, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		long n = sys(SYS_write, fd, p, size);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return;
		p += n;
		size -= (size_t)n;
	}
}

/* What the processes of a start tell, in a page they share. */
struct spawn_answer {
	volatile int pid, error;	/* of the daemon, or 0; a negative errno, or 0 */
	_Atomic uint32_t given;
};

/* All the rest is prepared before. */
struct spawn {
	const char *path;
	char *const *argv;
	char **envp;
	int *fds;		/* of the daemon, in order */
	int n_fds;
	bool keep;		/* the intermediate stays */
	uintptr_t thread;	/* where this thread's own data lie */
	struct spawn_answer *answer;
};

NO_SANITIZE static void close_from(int first)
{
	struct rlimit limit = { 0 };

	if (!sys(SYS_close_range, first, ~0u, 0))
		return;
	sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
	for (rlim_t fd = (rlim_t)first; fd < limit.rlim_cur; fd++)
		sys(SYS_close, fd);
}

/* The daemon, up to exec; returns only the error that prevented it. */
NO_SANITIZE static int spawn_exec(struct spawn *spawn)
{
	const uint64_t action[4] = { 0 }, empty = 0;	/* SIG_DFL with nothing set */
	const int first = 3 + spawn->n_fds;
	int null, ret;

	sys(SYS_setsid);
	for (int sig = 1; sig <= 64; sig++)
		sys(SYS_rt_sigaction, sig, action, NULL, KERNEL_SIGSET_SIZE);
	/* First out of the way of the final numbers, then to them. */
	for (int i = 0; i < spawn->n_fds; i++) {
		ret = (int)sys(SYS_fcntl, spawn->fds[i], F_DUPFD, first);
		if (ret < 0)
			return ret;
		spawn->fds[i] = ret;
	}
	null = (int)sys(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
	if (null < 0)
		return null;
	for (int fd = 0; fd < first; fd++) {
		int from = fd < 3 ? null : spawn->fds[fd - 3];

		ret = fd == from ? 0 : (int)sys(SYS_dup3, from, fd, 0);
		if (ret < 0)
			return ret;
	}
	close_from(first);
	sys(SYS_rt_sigprocmask, SIG_SETMASK, &empty, NULL, KERNEL_SIGSET_SIZE);
	return (int)sys(SYS_execve, spawn->path, spawn->argv, spawn->envp);
}

/*
 * The intermediate stays for as long as the daemon: holding none of the application's files, and of its memory,
 * which would be kept as it is now, only what lies near its stack, its thread's data and its code.
 */
NO_SANITIZE static void spawn_keep(const struct spawn *spawn, long pid)
{
	const uintptr_t near = (uintptr_t)1 << 20, stack = (uintptr_t)__builtin_frame_address(0);
	const uintptr_t keep[] = { stack, spawn->thread, (uintptr_t)spawn_keep };
	uintptr_t end = 0;

	sys(SYS_setsid);
	sys(SYS_prctl, PR_SET_NAME, "adsm-keeper");
	close_from(0);
	atomic_store(&spawn->answer->given, 1);
	sys(SYS_futex, &spawn->answer->given, FUTEX_WAKE, 1);
	for (int i = 0; i < 3; i++) {
		uintptr_t next = UINTPTR_MAX;

		for (int k = 0; k < 3; k++)
			if (keep[k] > end && keep[k] < next)
				next = keep[k];
		if (next == UINTPTR_MAX)
			break;
		next &= ~(ADSM_PAGE_SIZE - 1);
		if (next > near + end)
			sys(SYS_munmap, end, next - near - end);
		end = next + near;
	}
	/* To the end of user memory, wherever that is. */
	for (int bits = 56; bits > 38 && sys(SYS_munmap, end, (1ul << bits) - ADSM_PAGE_SIZE - end); bits--)
		;
	while (sys(SYS_wait4, pid, NULL, __WALL, NULL) == -EINTR)
		;
}

/*
 * The intermediate: makes the daemon, waits until it has called exec or ended (CLONE_VFORK, but with
 * memory of its own), and exits. Without exec its exit signal stays 0, so nobody is told of it.
 */
NO_SANITIZE __attribute__((noreturn)) static void spawn_intermediate(struct spawn *spawn)
{
	long pid = sys(SYS_clone, CLONE_VFORK);

	if (pid == 0) {
		spawn->answer->error = spawn_exec(spawn);
	} else if (pid < 0) {
		spawn->answer->error = (int)pid;
	} else {
		spawn->answer->pid = (int)pid;
		if (spawn->keep && !spawn->answer->error)
			spawn_keep(spawn, pid);
	}
	for (;;)
		sys(SYS_exit_group, 0);
}

/* On its own because the other side of the clone, too, must not be seen by a sanitizer. */
NO_SANITIZE __attribute__((noinline)) static long spawn_start(struct spawn *spawn)
{
	long pid = sys(SYS_clone, 0);

	if (pid == 0)
		spawn_intermediate(spawn);
	return pid;
}

/*
 * Orphans come to the first process of a namespace and to a subreaper, so the daemon would become its child. An
 * intermediate that stays is one that no wait sees, which does not ask for such with __WALL or __WCLONE.
 */
static bool gets_orphans(void)
{
	int is_subreaper = 0;

	sys(SYS_prctl, PR_GET_CHILD_SUBREAPER, &is_subreaper);
	return is_subreaper || sys(SYS_getpid) == 1;
}

/* Intermediates that stayed, until they are found to have ended: at the next start. */
static int keepers[64];

static void reap_keepers(int new_keeper)
{
	for (size_t i = 0; i < sizeof(keepers) / sizeof(keepers[0]); i++) {
		if (keepers[i] && sys(SYS_wait4, keepers[i], NULL, WNOHANG | __WCLONE, NULL))
			keepers[i] = 0;
		if (!keepers[i]) {
			keepers[i] = new_keeper;
			new_keeper = 0;
		}
	}
}

int adsm_os_spawn_daemon(const char *path, char *const argv[], const int *fds, size_t n_fds,
			 int *ret_pid, int *ret_pidfd)
{
	struct spawn spawn = { .path = path, .argv = argv, .n_fds = (int)n_fds, .keep = gets_orphans(),
			       .thread = (uintptr_t)&errno };
	struct adsm_sigset old;
	size_t n_env = 0, n = 0;
	void *page = NULL;
	long pid;
	int ret;

	while (environ && environ[n_env])
		n_env++;
	spawn.envp = calloc(n_env + 1, sizeof(*spawn.envp));
	spawn.fds = calloc(n_fds + 1, sizeof(*spawn.fds));
	if (!spawn.envp || !spawn.fds) {
		ret = -ENOMEM;
		goto free_lists;
	}
	for (size_t i = 0; i < n_env; i++) {
		if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], "LD_AUDIT=", 9))
			spawn.envp[n++] = environ[i];
	}
	for (size_t i = 0; i < n_fds; i++)
		spawn.fds[i] = fds[i];
	ret = map_memory(NULL, ADSM_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0, &page);
	if (ret)
		goto free_lists;
	spawn.answer = page;
	/* No handler of the application may run in the new processes. */
	adsm_os_signals_block(&old);
	pid = spawn_start(&spawn);
	adsm_os_signals_restore(&old);
	if (pid < 0) {
		ret = (int)pid;
		goto unmap_page;
	}
	/* -ECHILD: the application took it with __WALL; then it has ended all the same. */
	do {
		if (spawn.keep)
			adsm_os_wait(&spawn.answer->given, 0, 10000000, true);
		ret = (int)sys(SYS_wait4, pid, NULL, __WALL | (spawn.keep ? WNOHANG : 0), NULL);
	} while (ret == -EINTR || (!ret && !atomic_load(&spawn.answer->given)));
	if (!ret)
		reap_keepers((int)pid);
	ret = spawn.answer->error;
	if (!ret && !spawn.answer->pid)
		ret = -ECHILD;	/* the intermediate was killed */
	if (!ret) {
		*ret_pid = spawn.answer->pid;
		*ret_pidfd = (int)sys(SYS_pidfd_open, spawn.answer->pid, 0);
		if (*ret_pidfd < 0)
			*ret_pidfd = -1;
	}
unmap_page:
	adsm_os_unmap(page, ADSM_PAGE_SIZE);
free_lists:
	free(spawn.envp);
	free(spawn.fds);
	return ret;
}
