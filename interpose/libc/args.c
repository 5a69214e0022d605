/* SPDX-License-Identifier: MIT */
/* args.c - see args.h; and ioctl(), whose row would depend on the request. */
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "args.h"
#include "loan.h"
#include "run/copy/copy.h"
#include "run/copy/part.h"
#include "run/wait/enter.h"
#include "run/touch/mapping.h"

/* No result in a BUFFER is longer: the largest are extended attributes. */
#define LARGEST ((size_t)64 << 10)
#define COPY_MAX (PATH_MAX + 1)

/* With its NUL; PATH_MAX + 1: longer than any the system takes. Read piece by piece: most are short. */
static long text_size(const char *text)
{
	char piece[256];
	long size = 0;

	while (size <= PATH_MAX) {
		long n = adsm_io_copy_string(piece, text + size, sizeof(piece));

		if (n <= 0)
			return n;
		size += n;
		if (!piece[n - 1])
			return size;
	}
	return PATH_MAX + 1;
}

/* Bytes that argument @i means; 0: the argument stays as it is. A negative errno. */
static long meant(const struct shape *shape, long *args, int i)
{
	const struct parameter *parameter = &shape->parameters[i];
	long *n_arg = &args[parameter->n];
	size_t n = 1, size = parameter->size;
	uint32_t counted;
	long sized;
	int error;

	if (!adsm_may_be_shared((const void *)args[i], 1))
		return 0;
	switch ((enum meaning)parameter->meaning) {
	case VALUE:
		return 0;
	case TEXT:
		return text_size((const char *)args[i]);
	case STRUCT:
		break;
	case BUFFER:
		if ((size_t)*n_arg > LARGEST)
			*n_arg = LARGEST;
		/* fall through */
	case ARRAY:
		n = (size_t)*n_arg;
		break;
	case INT_ARRAY:
		n = (unsigned)*n_arg;
		break;
	case BITS:
		n = ((unsigned)*n_arg + 63ul) / 64;
		break;
	case COUNTED:
		error = *n_arg ? adsm_range_take(&counted, (const void *)*n_arg, sizeof(counted)) : -EINVAL;
		if (error)
			return error;
		n = size + counted;
		size = 1;
		break;
	case SIZED:
		sized = adsm_args_sized(size, i, parameter->n, args);
		return sized == SIZED_TEXT ? text_size((const char *)args[i]) : sized;
	}
	return size && n <= SSIZE_MAX / size ? (long)(n * size) : 0;
}

static long failed(const struct shape *shape)
{
	if (shape->result == ERROR)
		return EIO;
	errno = EIO;
	return shape->result == POINTER ? 0 : -1;
}

/* ---- memory that the call can use only in part */

/*
 * The program has closed a part of what a call is offered, or the object ends there. A call that needs less succeeds
 * with ordinary memory. So it gets a copy of what can be used, in pages that permit the same as the program's, with a
 * closed page behind them. A way out by longjmp() leaves them behind.
 */
struct partial {
	char *pages;			/* NULL: none */
	size_t size;
};

static void partial_end(struct partial *partial)
{
	if (partial->pages)
		adsm_os_unmap(partial->pages, partial->size);
}

/* The loan becomes as long as what can be read. -EFAULT: nothing can. */
static int partial_begin(struct partial *partial, struct adsm_loan *loan)
{
	const char *own = (const char *)*loan->argument;
	size_t offset = (uintptr_t)own & (ADSM_PAGE_SIZE - 1), room_size, writable;
	char *room;
	int error;

	loan->size = adsm_copy_usable(own, loan->size, ADSM_PROT_READ);
	if (!loan->size)
		return -EFAULT;
	writable = adsm_copy_usable(own, loan->size, ADSM_PROT_RW);
	writable = writable ? adsm_whole_pages(offset + writable) : 0;
	room_size = adsm_whole_pages(offset + loan->size);
	partial->size = 2 * room_size + ADSM_PAGE_SIZE;
	room = mmap(NULL, partial->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return -ENOMEM;
	partial->pages = room;
	error = adsm_loan_begin(loan, room, room + room_size + offset, adsm_io_copy);
	if (!error && (mprotect(room + room_size + writable, room_size - writable, PROT_READ) ||
		       mprotect(room + 2 * room_size, ADSM_PAGE_SIZE, PROT_NONE)))
		error = -errno;
	return error;
}

/* ---- calls by rows */

/* One call: the caller's arguments, and libc's instead. */
struct copied {
	const struct shape *shape;
	long args[N_ARGS], given[N_ARGS];
	struct adsm_loan loans[N_ARGS];	/* own NULL: given as it is, or with another one */
	struct adsm_io large[N_ARGS];	/* too large for a copy on the stack: updated where they lie */
	struct iovec room_of_large[N_ARGS][ADSM_IO_ROOM(1)];
	struct partial partials[N_ARGS];
};

static void copied_cleanup(struct copied *copied)
{
	for (int i = 0; i < N_ARGS; i++) {
		adsm_io_cleanup(&copied->large[i]);
		partial_end(&copied->partials[i]);
	}
}

/* Room for one copy, a NUL behind it. */
static size_t padded(size_t size)
{
	return (size + sizeof(max_align_t)) / sizeof(max_align_t) * sizeof(max_align_t);
}

/* How much is meant by each, and how much room the copies need. */
static int measure(struct copied *copied, size_t *ret_room)
{
	size_t room = 0;

	for (int i = 0; i < N_ARGS; i++) {
		long size = meant(copied->shape, copied->args, i);

		if (size < 0 && size != -EINVAL && size != -EFAULT)
			return -EIO;
		/* In no live object, or closed by the program: let the system say so. */
		copied->loans[i].size = size > 0 ? (size_t)size : 0;
		room += size > 0 && size <= COPY_MAX ? 2 * padded((size_t)size) : 0;
	}
	*ret_room = room;
	return 0;
}

/* Is the size what the program offers, of which the call may need less? And can the call use a part of it only? */
static bool is_partial(const struct parameter *parameter, const char *p, size_t size)
{
	const enum meaning meaning = parameter->meaning;

	return (meaning == BUFFER || meaning == ARRAY || meaning == INT_ARRAY || meaning == COUNTED) &&
		adsm_copy_usable(p, size, ADSM_PROT_RW) - 1 < size - 1;
}

/* @room: two copies of each argument's memory. */
static int copy_in(struct copied *copied, char *room)
{
	for (int i = 0; i < N_ARGS; i++) {
		struct adsm_loan *loan = &copied->loans[i];
		size_t size = loan->size, room_size = padded(size);
		void *p = (void *)copied->args[i];
		int error, same = 0;

		copied->given[i] = copied->args[i];
		if (!size)
			continue;
		/* Memory that is given twice is copied once. */
		while (copied->args[same] != copied->args[i] || copied->loans[same].size != size)
			same++;
		copied->given[i] = copied->given[same];
		if (same < i)
			continue;
		loan->argument = (adsm_word *)&copied->given[i];
		if (is_partial(&copied->shape->parameters[i], p, size)) {
			error = partial_begin(&copied->partials[i], loan);
			if (error)
				return error;
			continue;
		}
		if (adsm_mapping_stays(p, size))
			continue;
		if (size > COPY_MAX) {
			/* Memory in several pieces ends outside of shared memory: the system has to say so. */
			loan->own = p;
			error = adsm_range_begin(&copied->large[i], &p, size, copied->room_of_large[i], ADSM_UPDATE);
			copied->given[i] = (long)p;
			if (error)
				return error;
			continue;
		}
		error = adsm_loan_begin(loan, room, room + room_size, adsm_io_copy);
		if (error && error != -EINVAL && error != -EFAULT)
			return error;
		if (!error) {
			loan->lent[size] = 0;
			room += 2 * room_size;
		}
	}
	return 0;
}

/* Give back what libc has changed; a result that is in a copy becomes the caller's address. */
static int copy_out(struct copied *copied, long *result)
{
	for (int i = 0; i < N_ARGS; i++) {
		struct adsm_loan *loan = &copied->loans[i];
		const long given = copied->given[i];

		if (!loan->own)
			continue;
		if (loan->lent ? adsm_loan_end(loan, adsm_io_copy) :
		    adsm_io_end(&copied->large[i], loan->size))
			return -EIO;
		if (copied->shape->result == POINTER && *result == given)
			*result = copied->args[i];
	}
	return 0;
}

__attribute__((noinline)) long adsm_args_call(long a, long b, long c, long d, long e, long f,
					      const struct shape *shape)
{
	function *libc = adsm_real_get(shape->real);

	/* The first time, maybe: libc's function was not known. */
	if (!atomic_load_explicit(&adsm_shared_range.size, memory_order_relaxed))
		return libc(a, b, c, d, e, f);

	struct copied copied ADSM_CLEANUP(copied_cleanup) = { .shape = shape, .args = { a, b, c, d, e, f } };
	const long *given = copied.given;
	size_t size;
	long result;

	adsm_io_look_back(ADSM_STACK());
	if (measure(&copied, &size))
		return failed(shape);

	/* On the stack: these are cancellation points. */
	_Alignas(max_align_t) char room[size + 1];

	if (copy_in(&copied, room))
		return failed(shape);
	result = libc(given[0], given[1], given[2], given[3], given[4], given[5]);
	return copy_out(&copied, &result) ? failed(shape) : result;
}

/*
 * ioctl() does not tell how much memory it means: its request says a size at best, and arrays may follow. So it gets a
 * copy of the rest of its object, up to a limit, at the end of memory: an access beyond is a fault of the system's, as
 * before. None of these calls is one of cancellation.
 */
#define IOCTL_LARGEST ((size_t)16 << 10)	/* more than a request can say */

static __attribute__((noinline)) long ioctl_copied(function *libc, long fd, long request, char *p)
{
	struct partial partial ADSM_CLEANUP(partial_end) = { NULL, 0 };
	size_t offset = (uintptr_t)p & (ADSM_PAGE_SIZE - 1), most = adsm_whole_pages(offset + IOCTL_LARGEST) - offset;
	struct adsm_object *object;
	struct adsm_sigset old;
	struct adsm_loan loan;
	char *given = p;
	size_t size;
	long result;
	int error;

	adsm_io_look_back(ADSM_STACK());
	object = adsm_object_enter(p, &old);
	if (!object)
		return libc(fd, request, (long)p, 0, 0, 0);
	size = object->start + object->size - (uintptr_t)p;
	adsm_home_unlock(object->home, &old);
	loan = (struct adsm_loan)ADSM_LOAN(given, size < most ? size : most);
	error = partial_begin(&partial, &loan);
	if (error == -EFAULT)
		return libc(fd, request, (long)p, 0, 0, 0);
	if (error)
		return adsm_refuse(EIO);
	result = libc(fd, request, (long)given, 0, 0, 0);
	return adsm_loan_end(&loan, adsm_io_copy) ? adsm_refuse(EIO) : result;
}

ADSM_REAL(ioctl);
ADSM_WRAPPER function adsm_args_ioctl __asm__("ioctl");
long adsm_args_ioctl(long fd, long request, long p, long d, long e, long f)
{
	function *libc = adsm_real_get(&real_ioctl);

	if (adsm_may_be_shared((const void *)p, 1))
		return ioctl_copied(libc, fd, request, (char *)p);
	return libc(fd, request, p, d, e, f);
}
