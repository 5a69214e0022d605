/* SPDX-License-Identifier: MIT */
/*
 * args.c - paths and small structures: a table with a row for each function.
 *
 * The function gets copies of the memory that its arguments mean, and its changes in the copies go back. So a row
 * says of each pointer how much memory is meant, not which way it goes. Functions that the CPU runs by itself, like
 * realpath(), need no row.
 *
 * All these functions take at most six integers and pointers and return one. On x86-64 and aarch64 Linux those
 * go in registers, variadic or not, and nobody looks at more of them than there are: one type serves for all.
 * The wrappers get libc's names as assembler names, so that no header's prototype is in their way.
 */
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <utime.h>

#include "range.h"
#include "run/copy.h"
#include "run/enter.h"

/* No result in a BUFFER is longer: the largest are extended attributes. */
#define LARGEST ((size_t)64 << 10)
#define COPY_MAX (PATH_MAX + 1)
#define N_ARGS 6

typedef long function(long, long, long, long, long, long);

enum meaning {
	VALUE,
	TEXT,		/* up to its NUL */
	STRUCT,		/* @size bytes */
	ARRAY,		/* as many of @size bytes as argument @n says, a size_t */
	INT_ARRAY,	/* an int or a socklen_t */
	BUFFER,		/* bytes for a result, as many as argument @n says; it may be offered less */
	BITS,		/* argument @n, an int, of them */
	COUNTED,	/* @size bytes, and what the 32 bits say that argument @n points to */
	LOCK,		/* as the command says, argument @n */
};

struct parameter {
	unsigned char meaning, n;
	unsigned short size;
};

struct shape {
	struct adsm_real *real;
	enum { INTEGER, POINTER, ERROR } result;	/* how it fails: -1, NULL, or an errno as its result */
	struct parameter parameters[N_ARGS];
};

static size_t fcntl_size(int command)
{
	switch (command) {
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return sizeof(struct flock);
	case F_GETOWN_EX:
	case F_SETOWN_EX:
		return sizeof(struct f_owner_ex);
	case F_GET_RW_HINT:
	case F_SET_RW_HINT:
	case F_GET_FILE_RW_HINT:
	case F_SET_FILE_RW_HINT:
		return sizeof(uint64_t);
	default:
		return 0;
	}
}

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
		error = *n_arg ? adsm_io_copy(&counted, (const void *)*n_arg, sizeof(counted)) : -EINVAL;
		if (error)
			return error;
		n = size + counted;
		size = 1;
		break;
	case LOCK:
		size = fcntl_size((int)*n_arg);
		break;
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

/* What has changed in a copy goes back to @p. */
static int put_back(char *p, const char *before, const char *now, size_t size)
{
	size_t first = 0;

	while (first < size && before[first] == now[first])
		first++;
	while (size > first && before[size - 1] == now[size - 1])
		size--;
	return size > first ? adsm_io_copy(p + first, now + first, size - first) : 0;
}

/* One call: the caller's arguments, and libc's instead. */
struct copied {
	const struct shape *shape;
	long args[N_ARGS], given[N_ARGS];
	size_t sizes[N_ARGS];		/* 0: given as it is, or with another one */
	struct adsm_io large[N_ARGS];	/* too large for a copy on the stack: updated where they lie */
	struct iovec room_of_large[N_ARGS][ADSM_IO_ROOM(1)];
};

static void copied_cleanup(struct copied *copied)
{
	for (int i = 0; i < N_ARGS; i++)
		adsm_io_cleanup(&copied->large[i]);
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

		if (size < 0 && size != -EINVAL)
			return -EIO;
		/* In no live object: let the system say so. */
		copied->sizes[i] = size > 0 ? (size_t)size : 0;
		room += copied->sizes[i] && copied->sizes[i] <= COPY_MAX ? 2 * padded(copied->sizes[i]) : 0;
	}
	*ret_room = room;
	return 0;
}

/* @room: two copies of each argument's memory: one stays as it was, one is given. */
static int copy_in(struct copied *copied, char *room)
{
	for (int i = 0; i < N_ARGS; i++) {
		size_t size = copied->sizes[i], room_size = padded(size);
		void *p = (void *)copied->args[i];
		int error, same = 0;

		copied->given[i] = copied->args[i];
		if (!size)
			continue;
		/* Memory that is given twice is copied once. */
		while (copied->args[same] != copied->args[i] || copied->sizes[same] != size)
			same++;
		if (same < i) {
			copied->given[i] = copied->given[same];
			copied->sizes[i] = 0;
			continue;
		}
		if (size > COPY_MAX) {
			/* Memory in several pieces ends outside of shared memory: the system has to say so. */
			error = adsm_range_begin(&copied->large[i], &p, size, copied->room_of_large[i], ADSM_UPDATE);
			copied->given[i] = (long)p;
			if (error)
				return error;
			continue;
		}
		error = adsm_io_copy(room, p, size);
		if (error && error != -EINVAL)
			return error;
		if (error) {
			copied->sizes[i] = 0;
			continue;
		}
		room[size] = 0;
		memcpy(room + room_size, room, size + 1);
		copied->given[i] = (long)(room + room_size);
		room += 2 * room_size;
	}
	return 0;
}

/* Give back what libc has changed; a result that is in a copy becomes the caller's address. */
static int copy_out(struct copied *copied, long *result)
{
	for (int i = 0; i < N_ARGS; i++) {
		const char *now = (const char *)copied->given[i];
		size_t size = copied->sizes[i];

		if (!size)
			continue;
		if (size > COPY_MAX ? adsm_io_end(&copied->large[i], size) :
		    put_back((char *)copied->args[i], now - padded(size), now, size))
			return -EIO;
		if (copied->shape->result == POINTER && *result == copied->given[i])
			*result = copied->args[i];
	}
	return 0;
}

static __attribute__((noinline)) long call_copied(long a, long b, long c, long d, long e, long f,
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

/* A wrapper for each row: the check, and libc's function. */
#define ROW(name, result, ...)								\
	ADSM_REAL(name);								\
	static const struct shape shape_##name = { &real_##name, result, { __VA_ARGS__ } }; \
	ADSM_WRAPPER function adsm_args_##name __asm__(#name);				\
	long adsm_args_##name(long a, long b, long c, long d, long e, long f)		\
	{										\
		return call(&shape_##name, a, b, c, d, e, f);				\
	}

static inline __attribute__((always_inline)) bool is_meant(const struct parameter *parameter, long arg)
{
	return parameter->meaning != VALUE && adsm_may_be_shared((const void *)arg, 1);
}

static inline __attribute__((always_inline)) long call(const struct shape *shape, long a, long b, long c, long d,
						       long e, long f)
{
	function *libc = atomic_load_explicit(&shape->real->function, memory_order_relaxed);
	const struct parameter *are = shape->parameters;

	if (!libc || is_meant(&are[0], a) || is_meant(&are[1], b) || is_meant(&are[2], c) ||
	    is_meant(&are[3], d) || is_meant(&are[4], e) || is_meant(&are[5], f))
		return call_copied(a, b, c, d, e, f, shape);
	return libc(a, b, c, d, e, f);
}

#define V { VALUE, 0, 0 }
#define S { TEXT, 0, 0 }
#define P(type) { STRUCT, 0, sizeof(type) }
#define A(n, type) { ARRAY, n, sizeof(type) }
#define I(n, type) { INT_ARRAY, n, sizeof(type) }
#define B(n) { BUFFER, n, 1 }

/* files: paths */
ROW(open, INTEGER, S)
ROW(open64, INTEGER, S)
ROW(__open_2, INTEGER, S)
ROW(__open64_2, INTEGER, S)
ROW(openat, INTEGER, V, S)
ROW(openat64, INTEGER, V, S)
ROW(__openat_2, INTEGER, V, S)
ROW(__openat64_2, INTEGER, V, S)
ROW(creat, INTEGER, S)
ROW(creat64, INTEGER, S)
ROW(fopen, POINTER, S)
ROW(fopen64, POINTER, S)
ROW(freopen, POINTER, S)
ROW(freopen64, POINTER, S)
ROW(opendir, POINTER, S)
ROW(scandir, INTEGER, S)
ROW(scandir64, INTEGER, S)
ROW(scandirat, INTEGER, V, S)
ROW(scandirat64, INTEGER, V, S)
ROW(access, INTEGER, S)
ROW(eaccess, INTEGER, S)
ROW(euidaccess, INTEGER, S)
ROW(faccessat, INTEGER, V, S)
ROW(pathconf, INTEGER, S)
ROW(chdir, INTEGER, S)
ROW(chroot, INTEGER, S)
ROW(mkdir, INTEGER, S)
ROW(mkdirat, INTEGER, V, S)
ROW(rmdir, INTEGER, S)
ROW(unlink, INTEGER, S)
ROW(unlinkat, INTEGER, V, S)
ROW(remove, INTEGER, S)
ROW(rename, INTEGER, S, S)
ROW(renameat, INTEGER, V, S, V, S)
ROW(renameat2, INTEGER, V, S, V, S)
ROW(link, INTEGER, S, S)
ROW(linkat, INTEGER, V, S, V, S)
ROW(symlink, INTEGER, S, S)
ROW(symlinkat, INTEGER, S, V, S)
ROW(readlink, INTEGER, S, B(2))
ROW(readlinkat, INTEGER, V, S, B(3))
ROW(__readlink_chk, INTEGER, S, B(2))
ROW(__readlinkat_chk, INTEGER, V, S, B(3))
ROW(getcwd, POINTER, B(1))
ROW(__getcwd_chk, POINTER, B(1))
ROW(truncate, INTEGER, S)
ROW(truncate64, INTEGER, S)
ROW(chmod, INTEGER, S)
ROW(lchmod, INTEGER, S)
ROW(fchmodat, INTEGER, V, S)
ROW(chown, INTEGER, S)
ROW(lchown, INTEGER, S)
ROW(fchownat, INTEGER, V, S)
ROW(mknod, INTEGER, S)
ROW(mknodat, INTEGER, V, S)
ROW(__xmknod, INTEGER, V, S)
ROW(__xmknodat, INTEGER, V, V, S)
ROW(mkfifo, INTEGER, S)
ROW(mkfifoat, INTEGER, V, S)
ROW(mktemp, POINTER, S)
ROW(mkdtemp, POINTER, S)
ROW(mkstemp, INTEGER, S)
ROW(mkstemp64, INTEGER, S)
ROW(mkstemps, INTEGER, S)
ROW(mkstemps64, INTEGER, S)
ROW(mkostemp, INTEGER, S)
ROW(mkostemp64, INTEGER, S)
ROW(mkostemps, INTEGER, S)
ROW(mkostemps64, INTEGER, S)
ROW(ftok, INTEGER, S)
ROW(utime, INTEGER, S, P(struct utimbuf))
ROW(utimes, INTEGER, S, P(struct timeval[2]))
ROW(lutimes, INTEGER, S, P(struct timeval[2]))
ROW(futimesat, INTEGER, V, S, P(struct timeval[2]))
ROW(utimensat, INTEGER, V, S, P(struct timespec[2]))
ROW(futimens, INTEGER, V, P(struct timespec[2]))
ROW(setxattr, INTEGER, S, S, A(3, char))
ROW(lsetxattr, INTEGER, S, S, A(3, char))
ROW(fsetxattr, INTEGER, V, S, A(3, char))
ROW(getxattr, INTEGER, S, S, B(3))
ROW(lgetxattr, INTEGER, S, S, B(3))
ROW(fgetxattr, INTEGER, V, S, B(3))
ROW(listxattr, INTEGER, S, B(2))
ROW(llistxattr, INTEGER, S, B(2))
ROW(flistxattr, INTEGER, V, B(2))
ROW(removexattr, INTEGER, S, S)
ROW(lremovexattr, INTEGER, S, S)
ROW(fremovexattr, INTEGER, V, S)
ROW(name_to_handle_at, INTEGER, V, S, { COUNTED, 2, 8 }, P(int))
ROW(open_by_handle_at, INTEGER, V, { COUNTED, 1, 8 })
ROW(inotify_add_watch, INTEGER, V, S)
ROW(fanotify_mark, INTEGER, V, V, V, V, S)
ROW(acct, INTEGER, S)
ROW(mount, INTEGER, S, S, S, V, S)
ROW(umount, INTEGER, S)
ROW(umount2, INTEGER, S)
ROW(swapon, INTEGER, S)
ROW(swapoff, INTEGER, S)
ROW(setmntent, POINTER, S)
ROW(memfd_create, INTEGER, S)
ROW(mq_open, INTEGER, S, V, V, P(struct mq_attr))
ROW(mq_unlink, INTEGER, S)
ROW(mq_setattr, INTEGER, V, P(struct mq_attr), P(struct mq_attr))
ROW(mq_getattr, INTEGER, V, P(struct mq_attr))
ROW(mq_notify, INTEGER, V, P(struct sigevent))

/* files: what they are like, locks, positions */
ROW(stat, INTEGER, S, P(struct stat))
ROW(stat64, INTEGER, S, P(struct stat))
ROW(lstat, INTEGER, S, P(struct stat))
ROW(lstat64, INTEGER, S, P(struct stat))
ROW(fstat, INTEGER, V, P(struct stat))
ROW(fstat64, INTEGER, V, P(struct stat))
ROW(fstatat, INTEGER, V, S, P(struct stat))
ROW(fstatat64, INTEGER, V, S, P(struct stat))
ROW(__xstat, INTEGER, V, S, P(struct stat))
ROW(__xstat64, INTEGER, V, S, P(struct stat))
ROW(__lxstat, INTEGER, V, S, P(struct stat))
ROW(__lxstat64, INTEGER, V, S, P(struct stat))
ROW(__fxstat, INTEGER, V, V, P(struct stat))
ROW(__fxstat64, INTEGER, V, V, P(struct stat))
ROW(__fxstatat, INTEGER, V, V, S, P(struct stat))
ROW(__fxstatat64, INTEGER, V, V, S, P(struct stat))
ROW(statx, INTEGER, V, S, V, V, P(struct statx))
ROW(statfs, INTEGER, S, P(struct statfs))
ROW(statfs64, INTEGER, S, P(struct statfs))
ROW(fstatfs, INTEGER, V, P(struct statfs))
ROW(fstatfs64, INTEGER, V, P(struct statfs))
ROW(statvfs, INTEGER, S, P(struct statvfs))
ROW(statvfs64, INTEGER, S, P(struct statvfs))
ROW(fcntl, INTEGER, V, V, { LOCK, 1, 0 })
ROW(fcntl64, INTEGER, V, V, { LOCK, 1, 0 })
ROW(sendfile, INTEGER, V, V, P(off_t))
ROW(sendfile64, INTEGER, V, V, P(off_t))
ROW(splice, INTEGER, V, P(off_t), V, P(off_t))
ROW(copy_file_range, INTEGER, V, P(off_t), V, P(off_t))
ROW(ttyname_r, ERROR, V, B(2))

/* sockets, pipes, readiness */
ROW(connect, INTEGER, V, I(2, char))
ROW(bind, INTEGER, V, I(2, char))
ROW(accept, INTEGER, V, { COUNTED, 2, 0 }, P(socklen_t))
ROW(accept4, INTEGER, V, { COUNTED, 2, 0 }, P(socklen_t))
ROW(getsockname, INTEGER, V, { COUNTED, 2, 0 }, P(socklen_t))
ROW(getpeername, INTEGER, V, { COUNTED, 2, 0 }, P(socklen_t))
ROW(getsockopt, INTEGER, V, V, V, { COUNTED, 4, 0 }, P(socklen_t))
ROW(setsockopt, INTEGER, V, V, V, I(4, char))
ROW(socketpair, INTEGER, V, V, V, P(int[2]))
ROW(pipe, INTEGER, P(int[2]))
ROW(pipe2, INTEGER, P(int[2]))
ROW(poll, INTEGER, A(1, struct pollfd))
ROW(__poll_chk, INTEGER, A(1, struct pollfd))
ROW(select, INTEGER, V, { BITS, 0, 8 }, { BITS, 0, 8 }, { BITS, 0, 8 }, P(struct timeval))
ROW(epoll_ctl, INTEGER, V, V, V, P(struct epoll_event))
ROW(epoll_wait, INTEGER, V, I(2, struct epoll_event))

ROW(semop, INTEGER, V, A(2, struct sembuf))
ROW(semtimedop, INTEGER, V, A(2, struct sembuf), V, P(struct timespec))
ROW(msgctl, INTEGER, V, V, P(struct msqid_ds))
ROW(shmctl, INTEGER, V, V, P(struct shmid_ds))

/* time */
ROW(nanosleep, INTEGER, P(struct timespec), P(struct timespec))
ROW(thrd_sleep, INTEGER, P(struct timespec), P(struct timespec))
ROW(clock_nanosleep, ERROR, V, V, P(struct timespec), P(struct timespec))
ROW(clock_gettime, INTEGER, V, P(struct timespec))
ROW(clock_settime, INTEGER, V, P(struct timespec))
ROW(clock_getres, INTEGER, V, P(struct timespec))
ROW(gettimeofday, INTEGER, P(struct timeval), P(struct timezone))
ROW(adjtimex, INTEGER, P(struct timex))
ROW(ntp_adjtime, INTEGER, P(struct timex))
ROW(clock_adjtime, INTEGER, V, P(struct timex))
ROW(getitimer, INTEGER, V, P(struct itimerval))
ROW(setitimer, INTEGER, V, P(struct itimerval), P(struct itimerval))
ROW(timer_gettime, INTEGER, V, P(struct itimerspec))
ROW(timer_settime, INTEGER, V, V, P(struct itimerspec), P(struct itimerspec))
ROW(timerfd_gettime, INTEGER, V, P(struct itimerspec))
ROW(timerfd_settime, INTEGER, V, V, P(struct itimerspec), P(struct itimerspec))
ROW(times, INTEGER, P(struct tms))

/* the process, its threads and the system */
ROW(getrlimit, INTEGER, V, P(struct rlimit))
ROW(getrlimit64, INTEGER, V, P(struct rlimit))
ROW(setrlimit, INTEGER, V, P(struct rlimit))
ROW(setrlimit64, INTEGER, V, P(struct rlimit))
ROW(prlimit, INTEGER, V, V, P(struct rlimit), P(struct rlimit))
ROW(prlimit64, INTEGER, V, V, P(struct rlimit), P(struct rlimit))
ROW(getrusage, INTEGER, V, P(struct rusage))
ROW(getgroups, INTEGER, V, I(0, gid_t))
ROW(__getgroups_chk, INTEGER, V, I(0, gid_t))
ROW(setgroups, INTEGER, V, A(0, gid_t))
ROW(getresuid, INTEGER, P(uid_t), P(uid_t), P(uid_t))
ROW(getresgid, INTEGER, P(gid_t), P(gid_t), P(gid_t))
ROW(sched_getaffinity, INTEGER, V, V, A(1, char))
ROW(sched_setaffinity, INTEGER, V, V, A(1, char))
ROW(sched_getparam, INTEGER, V, P(struct sched_param))
ROW(sched_setparam, INTEGER, V, P(struct sched_param))
ROW(sched_setscheduler, INTEGER, V, V, P(struct sched_param))
ROW(sched_rr_get_interval, INTEGER, V, P(struct timespec))
ROW(pthread_getaffinity_np, ERROR, V, V, A(1, char))
ROW(pthread_setaffinity_np, ERROR, V, V, A(1, char))
ROW(pthread_setschedparam, ERROR, V, V, P(struct sched_param))
ROW(pthread_getname_np, ERROR, V, B(2))
ROW(pthread_setname_np, ERROR, V, S)
ROW(sigpending, INTEGER, P(sigset_t))
ROW(sigwait, ERROR, P(sigset_t), P(int))
ROW(sigwaitinfo, INTEGER, P(sigset_t), P(siginfo_t))
ROW(sigtimedwait, INTEGER, P(sigset_t), P(siginfo_t), P(struct timespec))
ROW(signalfd, INTEGER, V, P(sigset_t))
ROW(uname, INTEGER, P(struct utsname))
ROW(sysinfo, INTEGER, P(struct sysinfo))
ROW(sethostname, INTEGER, A(1, char))
ROW(setdomainname, INTEGER, A(1, char))

/*
 * ioctl() does not tell how much memory it means: its request says a size at best, and arrays may follow. So it gets a
 * copy of the rest of its object, up to a limit, at the end of memory: an access beyond is a fault of
 * the system's, as before. A way out by longjmp() leaves the copy behind; none of these calls is one of cancellation.
 */
#define IOCTL_LARGEST ((size_t)16 << 10)	/* more than a request can say */

static __attribute__((noinline)) long ioctl_copied(function *libc, long fd, long request, char *p)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(p, &old);
	size_t size, room_size;
	char *room, *copy;
	long result;
	int error;

	if (!object)
		return libc(fd, request, (long)p, 0, 0, 0);
	size = object->start + object->size - (uintptr_t)p;
	adsm_home_unlock(object->home, &old);
	size = size < IOCTL_LARGEST ? size : IOCTL_LARGEST;
	room_size = (2 * size + ADSM_PAGE_SIZE - 1) / ADSM_PAGE_SIZE * ADSM_PAGE_SIZE;
	room = mmap(NULL, room_size + ADSM_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return adsm_refuse(EIO);
	copy = room + room_size - size;
	error = mprotect(room + room_size, ADSM_PAGE_SIZE, PROT_NONE) ? -errno : adsm_io_copy(copy, p, size);
	memcpy(copy - size, copy, size);
	result = error ? -1 : libc(fd, request, (long)copy, 0, 0, 0);
	if (!error)
		error = put_back(p, copy - size, copy, size);
	adsm_os_unmap(room, room_size + ADSM_PAGE_SIZE);
	return error ? adsm_refuse(EIO) : result;
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
