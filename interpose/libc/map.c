/* SPDX-License-Identifier: MIT */
/*
 * map.c - mappings: mprotect() and similar functions.
 *
 * The library decides what a view permits. So the program's mprotect() on an object sets a limit: the view never
 * permits more. The mapping itself stays. A call that would unmap or replace it fails with EPERM, as the system does
 * for a sealed mapping. The library itself uses the system's functions, not these wrappers. Calls by drivers go to the
 * system unchanged.
 */
#undef _FILE_OFFSET_BITS	/* mmap() and mmap64() are two names here */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "base/drivers.h"
#include "base/log.h"
#include "range.h"
#include "run/touch/mapping.h"

/* MADV_GUARD_INSTALL and MADV_GUARD_REMOVE, since Linux 6.13. Older headers lack them. */
#define GUARD_INSTALL 102
#define GUARD_REMOVE 103
/* MADV_POPULATE_READ and MADV_POPULATE_WRITE, since Linux 5.14. */
#define POPULATE_READ 22
#define POPULATE_WRITE 23
#define COLLAPSE 25		/* MADV_COLLAPSE, since Linux 6.1 */

ADSM_REALS(mprotect, pkey_mprotect, mmap, mmap64, munmap, mremap, remap_file_pages, madvise, process_madvise, mlock,
	   mlock2, munlock, shmat)

/* ---- the pages that a call concerns */

/* May a call on whole pages concern the library? False if the system will refuse the arguments. */
static inline bool concerns(const void *p, size_t size)
{
	uintptr_t start = (uintptr_t)p;

	return adsm_are_within(p, p, size) && size && start % ADSM_PAGE_SIZE == 0 &&
		size <= SIZE_MAX - ADSM_PAGE_SIZE && start <= UINTPTR_MAX - adsm_whole_pages(size);
}

/* Is a call refused that ends mappings or, with @replaces, replaces them? @where: the return address of the wrapper. */
ADSM_SLOW bool is_refused(const char *name, const void *p, size_t size, bool replaces, const void *where)
{
	uintptr_t object;
	bool any;

	if (adsm_drivers_have(where))
		return false;
	any = adsm_mapping_has((uintptr_t)p & ~(ADSM_PAGE_SIZE - 1), adsm_whole_pages(size), &object);
	if (object)
		adsm_error("%s() is refused at %s: free shared objects by adsmFree() or adsmOnceFree()", name,
			   adsm_mapping_text(object).text);
	else if (any && replaces)
		adsm_error("%s() is refused: the addresses at %p are reserved for shared objects", name, p);
	return object || (any && replaces);
}

/* MAP_FAILED, which is also how shmat() fails. */
static void *refuse(void)
{
	errno = EPERM;
	return MAP_FAILED;
}

/* A part of a call's range that lies in one object, or is of another kind (@mapping). */
struct part {
	uintptr_t start;
	size_t size;
	enum adsm_mapping mapping;
};

static bool next_part(struct part *part, uintptr_t end)
{
	part->start += part->size;
	part->size = end - part->start;
	if (part->size)
		part->mapping = adsm_mapping_at(part->start, &part->size);
	return part->size;
}

#define FOR_PARTS(part, p, length) \
	for (struct part part = { .start = (uintptr_t)(p) }; \
	     next_part(&part, (uintptr_t)(p) + adsm_whole_pages(length));)

/* ---- mprotect() */

static enum adsm_prot limit_of(int prot)
{
	return prot & PROT_WRITE ? ADSM_PROT_RW : prot & PROT_READ ? ADSM_PROT_READ : ADSM_PROT_NONE;
}

ADSM_SLOW int protect_parts(void *p, size_t size, int prot)
{
	/* Other bits, and those for stacks, are the system's to refuse; then nothing changes. */
	if (prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC | 8 /* PROT_SEM */))
		return real(mprotect)(p, size, prot);
	FOR_PARTS(part, p, size) {
		int error = 0;

		if (part.mapping == ADSM_MAPPING_OTHER && real(mprotect)((void *)part.start, part.size, prot))
			return -1;
		if (part.mapping == ADSM_MAPPING_CLOSED)
			return adsm_refuse(ENOMEM);
		if (part.mapping == ADSM_MAPPING_OBJECT && prot & PROT_EXEC) {
			adsm_error("mprotect() is refused at %s: shared objects cannot be executed",
				   adsm_mapping_text(part.start).text);
			return adsm_refuse(EACCES);
		}
		if (part.mapping == ADSM_MAPPING_OBJECT)
			error = adsm_mapping_protect(part.start, part.size, limit_of(prot));
		if (error == -ENOTSUP)
			adsm_error("mprotect() is refused at %s: the engine cannot make the object read-only; "
				   "ADSM_ENGINE=sigsegv can", adsm_mapping_text(part.start).text);
		if (error)
			return adsm_refuse(-error);
	}
	return 0;
}

ADSM_WRAPPER int mprotect(void *p, size_t size, int prot)
{
	if (__builtin_expect(concerns(p, size), 0) && !adsm_drivers_have(__builtin_return_address(0)))
		return protect_parts(p, size, prot);
	return real(mprotect)(p, size, prot);
}

/* Protection keys other than 0 are refused. A thread without the right to a key would get a SIGSEGV that the library
 * knows nothing about. And the alias has no key, so system calls would not be checked. */
ADSM_WRAPPER int pkey_mprotect(void *p, size_t size, int prot, int key)
{
	uintptr_t object;

	if (!concerns(p, size) || !adsm_mapping_has((uintptr_t)p, adsm_whole_pages(size), &object))
		return real(pkey_mprotect)(p, size, prot, key);
	/* Key 0 is the default of all pages: this is a plain mprotect(). */
	if (key == -1 || key == 0)
		return protect_parts(p, size, prot);
	if (object)
		adsm_error("pkey_mprotect() is refused at %s: shared objects cannot have a protection key",
			   adsm_mapping_text(object).text);
	else
		adsm_error("pkey_mprotect() is refused: the addresses at %p are reserved for shared objects", p);
	return adsm_refuse(EINVAL);
}

/* ---- calls that end or replace mappings */

#define MMAP(name)												\
	ADSM_WRAPPER void *name(void *p, size_t size, int prot, int flags, int fd, off64_t offset)		\
	{													\
		if (flags & MAP_FIXED && !(flags & MAP_FIXED_NOREPLACE) && adsm_are_within(p, p, size) &&	\
		    is_refused("mmap", p, size, true, __builtin_return_address(0)))				\
			return refuse();									\
		return real(name)(p, size, prot, flags, fd, offset);						\
	}
MMAP(mmap)
MMAP(mmap64)

/* No object is in the range. Pages that the library has reserved count as not mapped: munmap() leaves them. */
ADSM_SLOW int unmap_parts(void *p, size_t size)
{
	FOR_PARTS(part, p, size)
		if (part.mapping == ADSM_MAPPING_OTHER && real(munmap)((void *)part.start, part.size))
			return -1;
	return 0;
}

ADSM_WRAPPER int munmap(void *p, size_t size)
{
	const void *where = __builtin_return_address(0);

	if (__builtin_expect(!concerns(p, size), 1) || adsm_drivers_have(where))
		return real(munmap)(p, size);
	return is_refused("munmap", p, size, false, where) ? adsm_refuse(EPERM) : unmap_parts(p, size);
}

ADSM_WRAPPER void *mremap(void *p, size_t size, size_t new_size, int flags, ...)
{
	const void *where = __builtin_return_address(0);
	void *to = NULL;

	if (flags & (MREMAP_FIXED | 4 /* MREMAP_DONTUNMAP */)) {
		va_list args;

		va_start(args, flags);
		to = va_arg(args, void *);
		va_end(args);
	}
	/* Nothing moves: the size in pages stays. */
	if (adsm_whole_pages(size) == adsm_whole_pages(new_size) && size && !(flags & ~MREMAP_MAYMOVE))
		return real(mremap)(p, size, new_size, flags);
	/* Size 0 asks for a second mapping of the same pages. */
	if ((adsm_are_within(p, p, size + 1) && is_refused("mremap", p, size ? size : 1, true, where)) ||
	    (flags & MREMAP_FIXED && adsm_are_within(to, to, new_size) &&
	     is_refused("mremap", to, new_size, true, where)))
		return refuse();
	return real(mremap)(p, size, new_size, flags, to);
}

ADSM_WRAPPER int remap_file_pages(void *p, size_t size, int prot, size_t page, int flags)
{
	if (adsm_are_within(p, p, size) && is_refused("remap_file_pages", p, size, true, __builtin_return_address(0)))
		return adsm_refuse(EPERM);
	return real(remap_file_pages)(p, size, prot, page, flags);
}

ADSM_WRAPPER void *shmat(int id, const void *p, int flags)
{
	struct shmid_ds segment;

	if (p && flags & SHM_REMAP && !adsm_range_idle() && !shmctl(id, IPC_STAT, &segment) &&
	    adsm_are_within(p, p, segment.shm_segsz) &&
	    is_refused("shmat", p, segment.shm_segsz, true, __builtin_return_address(0)))
		return refuse();
	return real(shmat)(id, p, flags);
}

#if __GLIBC_PREREQ(2, 43)
ADSM_REAL(mseal);

/* The library itself changes the mappings of objects. */
ADSM_WRAPPER int mseal(void *p, size_t size, unsigned long flags)
{
	if (adsm_are_within(p, p, size) && is_refused("mseal", p, size, true, __builtin_return_address(0)))
		return adsm_refuse(EPERM);
	return real(mseal)(p, size, flags);
}
#endif

/* ---- advice */

static int advise_object(const struct part *part, int advice)
{
	switch (advice) {
	case MADV_DOFORK:		/* ignored: the child of a fork has no objects */
		return 0;
	case MADV_REMOVE:
		return adsm_mapping_clear(part->start, part->size);
	case POPULATE_READ:
	case POPULATE_WRITE:
		return adsm_mapping_open(part->start, part->size, advice == POPULATE_WRITE);
	case GUARD_INSTALL:		/* refused: the next object in this place would inherit the guards */
	case GUARD_REMOVE:
		return -EINVAL;
	default:			/* advice that does not change the contents of the pages */
		return real(madvise)((void *)part->start, part->size, advice) ? -errno : 0;
	}
}

ADSM_SLOW int advise_parts(void *p, size_t size, int advice)
{
	bool holes = false;

	adsm_io_look_back(ADSM_STACK());
	FOR_PARTS(part, p, size) {
		int error = 0;

		if (part.mapping == ADSM_MAPPING_OBJECT)
			error = advise_object(&part, advice);
		else if (part.mapping == ADSM_MAPPING_OTHER && real(madvise)((void *)part.start, part.size, advice))
			error = -errno;
		/* At pages that are not mapped the system continues, except for the two POPULATE advices. */
		holes |= part.mapping == ADSM_MAPPING_CLOSED || error == -ENOMEM;
		if ((error && error != -ENOMEM) || (holes && (advice == POPULATE_READ || advice == POPULATE_WRITE)))
			return adsm_refuse(error ? -error : ENOMEM);
	}
	return holes ? adsm_refuse(ENOMEM) : 0;
}

ADSM_WRAPPER int madvise(void *p, size_t size, int advice)
{
	if (__builtin_expect(concerns(p, size), 0) && !adsm_drivers_have(__builtin_return_address(0)))
		return advise_parts(p, size, advice);
	return real(madvise)(p, size, advice);
}

/* Advice that changes no contents. The system permits no other advice to another process. */
static bool is_for_others(int advice)
{
	return advice == MADV_WILLNEED || advice == MADV_COLD || advice == MADV_PAGEOUT || advice == COLLAPSE;
}

/* Since Linux 6.13 a process may give itself any advice. */
ADSM_SLOW ssize_t advise_vector(int process, const struct iovec *vector, size_t n, int advice, unsigned flags)
{
	struct adsm_room room ADSM_CLEANUP(adsm_room_end);
	struct iovec *own = adsm_room_begin(&room, n);
	ssize_t done, most = INT_MAX & ~(ssize_t)(ADSM_PAGE_SIZE - 1);	/* as in the system */
	int saved_errno = errno, error;

	adsm_io_look_back(ADSM_STACK());
	if (!own)
		return adsm_refuse(ENOMEM);
	error = adsm_range_take(own, vector, n * sizeof(*own));
	if (error)
		return adsm_range_refuse(error);
	if (is_for_others(advice))
		return real(process_madvise)(process, own, n, advice, flags);
	/* Without ranges, this only asks whether the advice is permitted. Then the process is this one. */
	done = real(process_madvise)(process, own, 0, advice, flags);
	for (size_t i = 0; done >= 0 && i < n; i++) {
		size_t left = (size_t)(most - done), size = own[i].iov_len < left ? own[i].iov_len : left;
		void *p = own[i].iov_base;

		if (concerns(p, size) ? advise_parts(p, size, advice) : real(madvise)(p, size, advice)) {
			errno = done ? saved_errno : errno;
			return done ? done : -1;
		}
		done += (ssize_t)size;
	}
	return done;
}

ADSM_WRAPPER ssize_t process_madvise(int process, const struct iovec *vector, size_t n, int advice, unsigned flags)
{
	return adsm_vector_shared(vector, n) && !adsm_drivers_have(__builtin_return_address(0)) ?
		advise_vector(process, vector, n, advice, flags) :
		real(process_madvise)(process, vector, n, advice, flags);
}

/* ---- mlock(): locks the pages behind a view, whatever the view permits now */

static int lock_now(const void *p, size_t size, unsigned flags, bool locks)
{
	return !locks ? real(munlock)(p, size) : flags ? real(mlock2)(p, size, flags) : real(mlock)(p, size);
}

ADSM_SLOW int lock_parts(const void *p, size_t size, unsigned flags, bool locks)
{
	uintptr_t start = (uintptr_t)p & ~(ADSM_PAGE_SIZE - 1);

	FOR_PARTS(part, start, (uintptr_t)p + size - start) {
		const void *memory = (void *)part.start;

		if (part.mapping == ADSM_MAPPING_OBJECT)
			memory = adsm_mapping_memory(part.start, part.size, locks);
		if (!memory || part.mapping == ADSM_MAPPING_CLOSED)
			return adsm_refuse(ENOMEM);
		if (lock_now(memory, part.size, flags, locks))
			return -1;
	}
	return 0;
}

static inline bool locks_ours(const void *p, size_t size)
{
	uintptr_t start = (uintptr_t)p & ~(ADSM_PAGE_SIZE - 1);

	return size <= UINTPTR_MAX - (uintptr_t)p && concerns((const void *)start, (uintptr_t)p + size - start);
}

#ifndef __clang__
/* glibc 2.41 declares that these functions do not access the memory. So gcc 14 warns that @p is uninitialized. */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

ADSM_WRAPPER int mlock(const void *p, size_t size)
{
	return locks_ours(p, size) ? lock_parts(p, size, 0, true) : real(mlock)(p, size);
}

ADSM_WRAPPER int mlock2(const void *p, size_t size, unsigned flags)
{
	return locks_ours(p, size) ? lock_parts(p, size, flags, true) : real(mlock2)(p, size, flags);
}

ADSM_WRAPPER int munlock(const void *p, size_t size)
{
	return locks_ours(p, size) ? lock_parts(p, size, 0, false) : real(munlock)(p, size);
}
