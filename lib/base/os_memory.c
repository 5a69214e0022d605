/* SPDX-License-Identifier: MIT */
/* os_memory.c - os.h on Linux: memory and its mappings. */
#include "base/os.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "base/syscall.h"

/* Newer than the headers of the oldest system we build on. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static const int prot_bits[] = {
	[ADSM_PROT_NONE] = PROT_NONE,
	[ADSM_PROT_READ] = PROT_READ,
	[ADSM_PROT_RW] = PROT_READ | PROT_WRITE,
	[ADSM_PROT_RX] = PROT_READ | PROT_EXEC,
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

/* ftruncate() that returns -EFBIG at a limit on file sizes, without the limit's signal. */
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
	/* The limit is for files on disk: raise it for this one call, as far as this process may. */
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
	/* Linux before 4.17 treats the address as a hint. */
	if (wanted && p != (void *)wanted) {
		adsm_os_unmap(p, size);
		return -EEXIST;
	}
	*ret_address = p;
	return 0;
}

/* Huge pages begin at multiples of their size, both in the file and in memory. */
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
	/* Has an effect if /sys/kernel/mm/transparent_hugepage/shmem_enabled is "advise"; else see adsm_os_huge(). */
	if (size >= ADSM_HUGE_PAGE_SIZE)
		sys(SYS_madvise, *ret_address, size, MADV_HUGEPAGE);
	/* This is a second mapping of the same bytes; one of them is enough in a core file. */
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

int adsm_os_populate(void *address, size_t size, bool write)
{
	long ret = sys(SYS_madvise, address, size, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);

	/* Not supported (before Linux 5.14): the pages come when they are used. */
	return ret == -EINVAL ? 0 : (int)ret;
}

bool adsm_os_huge(void *address, size_t size)
{
	static atomic_bool refused;

	for (char *p = address; size; p += ADSM_HUGE_PAGE_SIZE, size -= ADSM_HUGE_PAGE_SIZE) {
		long ret = atomic_load_explicit(&refused, memory_order_relaxed) ? -EINVAL : 0;

		/* Without any page in the range the system makes no huge page. */
		if (!ret)
			ret = sys(SYS_madvise, p, ADSM_PAGE_SIZE, MADV_POPULATE_WRITE);
		if (!ret)
			ret = sys(SYS_madvise, p, ADSM_HUGE_PAGE_SIZE, MADV_COLLAPSE);
		/* Not supported (before Linux 6.1) or forbidden: further tries would cost more than they bring. */
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

	/* The program has locked all its memory by mlockall(). */
	if (ret == -EINVAL && !sys(SYS_munlock, address, size))
		ret = sys(SYS_madvise, address, size, MADV_REMOVE);
	return (int)ret;
}

void adsm_os_unlock(void *address, size_t size)
{
	sys(SYS_munlock, address, size);
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

static bool is_limited(int resource)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	sys(SYS_prlimit64, 0, resource, NULL, &limit);
	return limit.rlim_cur != RLIM_INFINITY;
}

const char *adsm_os_limit(int error)
{
	/* ulimit -d: private memory that can be written, of malloc and of tables. */
	const bool data = is_limited(RLIMIT_DATA), addresses = is_limited(RLIMIT_AS);

	switch (-error) {
	case EMFILE: return " (ulimit -n)";
	case ENFILE: return " (fs.file-max)";
	case EFBIG: return " (ulimit -f)";
	case ENOMEM: return data && addresses ? " (ulimit -v, ulimit -d)" : data ? " (ulimit -d)" :
		addresses ? " (ulimit -v)" : " (vm.max_map_count, vm.overcommit_memory)";
	case EAGAIN: return data ? " (ulimit -u, ulimit -v, ulimit -d)" : " (ulimit -u, ulimit -v)";
	case EPERM: case EACCES: case ENOSYS: return " (a seccomp filter may refuse the system call)";
	}
	return "";
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
