/* SPDX-License-Identifier: MIT */
/*
 * args.c - paths and small structures in shared memory. A row is a call. It is made with its arguments in ordinary
 * memory, and with the same bytes in shared memory that only the accelerator has, both in the same surroundings. Both
 * calls must have the same result and errno, and leave the same bytes and the same files.
 */
#include "surroundings.h"

#include <dlfcn.h>
#include <arpa/nameser.h>
#include <linux/capability.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/quota.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <utime.h>
#include <utmp.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

#define N_ARGS 6
#define LARGEST 1024		/* bytes of one argument */
#define GUARD 16		/* bytes around it that no call may touch */

struct arg {
	enum { VALUE, VARIABLE, TEXT, BYTES, BAD } kind;
	long value;
	const void *data;	/* NULL: filler */
	size_t size;
};

struct row {
	const char *name;
	struct arg args[N_ARGS];
	int error;		/* what must come */
	enum {
		POINTER = 1,			/* the result is one */
		STREAM = 2 | POINTER,		/* for fclose() */
		DIRECTORY = 4 | POINTER,	/* for closedir() */
		CHANGING = 8,			/* what is delivered differs from call to call */
		ANY = 16,			/* whatever this system answers, but EFAULT */
	} flags;
	void (*before)(void);
	void (*after)(void);
};

typedef long function(long, long, long, long, long, long);

#define V(x) { VALUE, (long)(x), NULL, 0 }
#define VAR(x) { VARIABLE, 0, &(x), 0 }
#define T(text) { TEXT, 0, text, sizeof(text) }
#define IN(type, ...) { BYTES, 0, &(const type)__VA_ARGS__, sizeof(type) }
#define MEM(object) { BYTES, 0, &(object), sizeof(object) }
#define OUT(type) { BYTES, 0, NULL, sizeof(type) }
#define WRONG { BAD, 0, NULL, 64 }
#define NIL V(0)

static long stream, messages, semaphores, segment;
static struct dirent **names;

/* All that a call may have done to the files. */
static uint64_t snapshot(void)
{
	DIR *dir = opendir(".");
	struct dirent *entry;
	struct timeval timeout = { 0, 0 };
	socklen_t size = sizeof(timeout);
	uint64_t sum = 0;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		char text[64] = "";
		struct stat st;
		uint64_t x;

		/* The folder above is everybody's. */
		if (!strcmp(entry->d_name, ".."))
			continue;
		CHECK(!lstat(entry->d_name, &st));
		if (!strncmp(entry->d_name, "tmp.", 4))
			entry->d_name[4] = 0;
		if (S_ISLNK(st.st_mode))
			CHECK(readlink(entry->d_name, text, sizeof(text) - 1) > 0);
		x = st.st_mode + st.st_nlink * 1000003u + (uint64_t)(S_ISDIR(st.st_mode) ? 0 : st.st_size) * 10007u;
		if (st.st_mtime <= WHEN + 1)
			x += (uint64_t)(st.st_mtime * 31 + st.st_mtim.tv_nsec);
		if (S_ISREG(st.st_mode)) {
			int fd = open(entry->d_name, O_RDONLY);

			if (fd >= 0 && getxattr(entry->d_name, "user.a", text, sizeof(text)) <= 0)
				CHECK(read(fd, text, sizeof(text)) >= 0);
			close(fd);
		}
		for (size_t i = 0; i < sizeof(entry->d_name) && entry->d_name[i]; i++)
			x = x * 131 + (unsigned char)entry->d_name[i];
		for (size_t i = 0; i < sizeof(text); i++)
			x = x * 137 + (unsigned char)text[i];
		sum += draw(&x);
	}
	closedir(dir);
	CHECK(!getsockopt(SPARE_FD, SOL_SOCKET, SO_RCVTIMEO, &timeout, &size));
	return sum + (uint64_t)timeout.tv_sec;
}

/* ---- one call, twice */

struct outcome {
	long result;
	int error;
	uint64_t files;
	bool changed[N_ARGS];
	unsigned char bytes[N_ARGS][GUARD + LARGEST + GUARD];
};

static bool lies(const struct arg *arg)
{
	return arg->kind == TEXT || arg->kind == BYTES;
}

static void fill(char *p, const struct arg *arg)
{
	memset(p - GUARD, FILLER, GUARD + arg->size + GUARD);
	if (arg->data)
		memcpy(p, arg->data, arg->size);
}

static void call(const struct row *row, char *const *at, struct outcome *ret_outcome)
{
	function *called = (function *)dlsym(RTLD_DEFAULT, row->name);
	long args[N_ARGS], result;
	struct outcome o = { .error = 0 };

	for (int i = 0; i < N_ARGS; i++)
		args[i] = lies(&row->args[i]) || row->args[i].kind == BAD ? (long)at[i] :
			row->args[i].kind == VARIABLE ? *(const long *)row->args[i].data : row->args[i].value;
	errno = 0;
	result = called(args[0], args[1], args[2], args[3], args[4], args[5]);
	o.error = errno;
	if (row->flags & POINTER) {
		o.result = result ? 100 : -1;
		for (int i = 0; i < N_ARGS; i++)
			if (lies(&row->args[i]) && result == args[i])
				o.result = i;
		if ((row->flags & STREAM) == STREAM && result)
			CHECK(!fclose((FILE *)result));
		if ((row->flags & DIRECTORY) == DIRECTORY && result)
			CHECK(!closedir((DIR *)result));
	} else {
		o.result = (int)result;
	}
	if (row->after)
		row->after();
	o.files = snapshot();
	for (int i = 0; i < N_ARGS; i++) {
		if (!lies(&row->args[i]))
			continue;
		memcpy(o.bytes[i], at[i] - GUARD, GUARD + row->args[i].size + GUARD);
		for (size_t b = 0; b < row->args[i].size; b++)
			if (o.bytes[i][GUARD + b] != (row->args[i].data ?
			    ((const unsigned char *)row->args[i].data)[b] : FILLER))
				o.changed[i] = true;
	}
	*ret_outcome = o;
}

static void compare(const struct row *row, const struct outcome *want, const struct outcome *got)
{
	bool changing = row->flags & CHANGING;

	if (row->flags & ANY ? want->result < 0 && want->error == EFAULT :
	    (want->result < 0 ? want->error : 0) != row->error)
		FAIL("%s: %ld, errno %d (%s) on ordinary memory", row->name, want->result,
		     want->error, strerror(want->error));
	if (changing ? (want->result < 0) != (got->result < 0) : want->result != got->result)
		FAIL("%s: %ld, not %ld (errno %d, %s)", row->name, got->result, want->result,
		     got->error, strerror(got->error));
	if (want->error != got->error)
		FAIL("%s: errno %d (%s), not %d", row->name, got->error, strerror(got->error),
		     want->error);
	if (want->files != got->files)
		FAIL("%s: did something else to the files", row->name);
	for (int i = 0; i < N_ARGS; i++) {
		if (want->changed[i] != got->changed[i])
			FAIL("%s: argument %d is %s", row->name, i,
			     got->changed[i] ? "changed" : "as it was");
		for (size_t b = 0; b < GUARD + row->args[i].size + GUARD; b++)
			if (lies(&row->args[i]) && want->bytes[i][b] != got->bytes[i][b] &&
			    !(changing && b >= GUARD && b < GUARD + row->args[i].size))
				FAIL("%s: byte %d of argument %d is %02x, not %02x", row->name,
				     (int)b - GUARD, i, got->bytes[i][b], want->bytes[i][b]);
	}
}

/* A page's object that is gone, and a page that never could be read. */
static char *shared, *gone, *none;
static size_t unit;

static void make_memory(void)
{
	char *p = alloc(PAGE);

	/* A block's size; where the object is one block, a page of it. */
	unit = info(p).block_size;
	shared = alloc(2 * unit * N_ARGS);
	send_away(shared);
	gone = p;
	CHECK_OK(adsmFree(p));
	none = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(none != MAP_FAILED);
}

static void run_row(const struct row *row, bool across)
{
	static char ordinary[N_ARGS][64 + LARGEST + 64] __attribute__((aligned(64)));
	static struct outcome want, got;
	char *at[N_ARGS];

	if (!dlsym(RTLD_DEFAULT, row->name)) {
		printf("no %s here\n", row->name);
		return;
	}
	/* Its own wrapper looks at the arguments first, and meets what the system would have refused. */
	if (SANITIZED && row->error == EFAULT)
		return;
	for (int i = 0; i < N_ARGS; i++) {
		at[i] = row->args[i].kind == BAD ? none : ordinary[i] + 64;
		if (lies(&row->args[i]))
			fill(at[i], &row->args[i]);
	}
	fresh();
	if (row->before)
		row->before();
	call(row, at, &want);

	for (int i = 0; i < N_ARGS; i++) {
		size_t size = row->args[i].size, before = size / 2;

		CHECK(size <= LARGEST);
		if (row->args[i].kind == BYTES && size >= 16)
			before &= ~7ul;
		at[i] = row->args[i].kind == BAD ? gone :
			shared + (size_t)i * 2 * unit + (across ? unit - before : unit / 2);
		if (lies(&row->args[i]))
			fill(at[i], &row->args[i]);
	}
	fresh();
	if (row->before)
		row->before();
	send_away(shared);
	call(row, at, &got);
	compare(row, &want, &got);
}

static void run_rows(const struct row *rows, size_t n)
{
	make_memory();
	prepare();
	for (size_t i = 0; i < n; i++) {
		run_row(&rows[i], false);
		run_row(&rows[i], true);
	}
}

/* ---- the rows */

static void make_xattr(void)
{
	if (setxattr("file", "user.a", "value", 5, 0))
		CHECK(errno == ENOTSUP || errno == EPERM);
}

static void make_shm(void)
{
	close(shm_open(queue, O_CREAT | O_RDWR, 0600));
}

static void make_stream(void)
{
	stream = (long)fopen("/dev/null", "r");
	CHECK(stream);
}

/* Of the folder "full": itself, the one above, and what is in it. */
static void free_names(void)
{
	for (int i = 0; names && i < 3; i++)
		free(names[i]);
	free(names);
	names = NULL;
}

static const struct row files[] = {
	{ "open", .args = { T("link"), V(O_RDWR) } },
	{ "open", .args = { T("new"), V(O_RDWR | O_CREAT), V(0640) } },
	{ "open64", .args = { T("link"), V(O_RDWR) } },
	{ "__open_2", .args = { T("file"), V(O_RDWR) } },
	{ "__open64_2", .args = { T("file"), V(O_RDWR) } },
	{ "openat", .args = { V(DIR_FD), T("../file"), V(O_RDWR) } },
	{ "openat2", .args = { V(DIR_FD), T("../file"), IN(uint64_t[3], { O_RDWR }), V(24) }, .flags = ANY },
	{ "openat64", .args = { V(DIR_FD), T("new"), V(O_RDWR | O_CREAT), V(0600) } },
	{ "__openat_2", .args = { V(DIR_FD), T("../file"), V(O_RDWR) } },
	{ "__openat64_2", .args = { V(DIR_FD), T("../file"), V(O_RDWR) } },
	{ "creat", .args = { T("new"), V(0600) } },
	{ "creat64", .args = { T("file"), V(0600) } },
	{ "fopen", .args = { T("file"), T("r+") }, .flags = STREAM },
	{ "fopen64", .args = { T("new"), T("w") }, .flags = STREAM },
	{ "freopen", .args = { T("file"), T("r"), VAR(stream) }, .flags = STREAM, .before = make_stream },
	{ "freopen64", .args = { T("file"), T("r"), VAR(stream) }, .flags = STREAM, .before = make_stream },
	{ "opendir", .args = { T("full") }, .flags = DIRECTORY },
	{ "scandir", .args = { T("full"), V(&names) }, .after = free_names },
	{ "scandir64", .args = { T("full"), V(&names) }, .after = free_names },
	{ "scandirat", .args = { V(DIR_FD), T("../full"), V(&names) }, .after = free_names },
	{ "scandirat64", .args = { V(DIR_FD), T("../full"), V(&names) }, .after = free_names },
	{ "access", .args = { T("file"), V(R_OK) } },
	{ "eaccess", .args = { T("file"), V(R_OK) } },
	{ "euidaccess", .args = { T("file"), V(R_OK) } },
	{ "faccessat", .args = { V(DIR_FD), T("../file"), V(R_OK), V(0) } },
	{ "faccessat", .args = { V(DIR_FD), T("../link"), V(R_OK), V(AT_SYMLINK_NOFOLLOW | AT_EACCESS) } },
	{ "pathconf", .args = { T("file"), V(_PC_NAME_MAX) } },
	{ "chdir", .args = { T("full") } },
	{ "chroot", .args = { T("file") }, .error = ENOTDIR },
	{ "mkdir", .args = { T("new"), V(0750) } },
	{ "mkdirat", .args = { V(DIR_FD), T("../new"), V(0750) } },
	{ "rmdir", .args = { T("dir") } },
	{ "rmdir", .args = { T("full") }, .error = ENOTEMPTY },
	{ "unlink", .args = { T("file") } },
	{ "unlinkat", .args = { V(DIR_FD), T("../dir"), V(AT_REMOVEDIR) } },
	{ "remove", .args = { T("dir") } },
	{ "rename", .args = { T("file"), T("renamed") } },
	{ "renameat", .args = { V(DIR_FD), T("../file"), V(DIR_FD), T("../renamed") } },
	{ "renameat2", .args = { V(DIR_FD), T("../file"), V(DIR_FD), T("../other"), V(RENAME_EXCHANGE) },
	  .flags = ANY },
	{ "link", .args = { T("file"), T("second") } },
	{ "linkat", .args = { V(AT_FDCWD), T("link"), V(DIR_FD), T("../second"), V(AT_SYMLINK_FOLLOW) } },
	{ "symlink", .args = { T("where it points"), T("second") } },
	{ "symlinkat", .args = { T("where it points"), V(DIR_FD), T("../second") } },
	{ "readlink", .args = { T("link"), OUT(char[64]), V(64) } },
	{ "readlink", .args = { T("link"), OUT(char[64]), V(2) } },
	{ "readlinkat", .args = { V(DIR_FD), T("../link"), OUT(char[64]), V(64) } },
	{ "__readlink_chk", .args = { T("link"), OUT(char[64]), V(64), V(64) } },
	{ "__readlinkat_chk", .args = { V(DIR_FD), T("../link"), OUT(char[64]), V(64), V(64) } },
	{ "getcwd", .args = { OUT(char[256]), V(256) }, .flags = POINTER },
	{ "getcwd", .args = { OUT(char[256]), V(3) }, .error = ERANGE, .flags = POINTER },
	{ "__getcwd_chk", .args = { OUT(char[256]), V(256), V(256) }, .flags = POINTER },
	{ "truncate", .args = { T("file"), V(3) } },
	{ "truncate64", .args = { T("file"), V(300) } },
	{ "chmod", .args = { T("file"), V(0600) } },
	{ "lchmod", .args = { T("file"), V(0600) }, .flags = ANY },
	{ "fchmodat", .args = { V(DIR_FD), T("../file"), V(0600), V(0) } },
	{ "chown", .args = { T("file"), V(-1), V(-1) } },
	{ "lchown", .args = { T("link"), V(-1), V(-1) } },
	{ "fchownat", .args = { V(DIR_FD), T("../file"), V(-1), V(-1), V(0) } },
	{ "mknod", .args = { T("new"), V(S_IFREG | 0600), V(0) } },
	{ "mknodat", .args = { V(DIR_FD), T("../new"), V(S_IFREG | 0600), V(0) } },
	{ "__xmknod", .args = { V(0), T("new"), V(S_IFREG | 0600), IN(dev_t, { 0 }) } },
	{ "__xmknodat", .args = { V(0), V(DIR_FD), T("../new"), V(S_IFREG | 0600), IN(dev_t, { 0 }) } },
	{ "mkfifo", .args = { T("new"), V(0600) } },
	{ "mkfifoat", .args = { V(DIR_FD), T("../new"), V(0600) } },
	{ "mktemp", .args = { T("tmp.XXXXXX") }, .flags = POINTER | CHANGING },
	{ "mkdtemp", .args = { T("tmp.XXXXXX") }, .flags = POINTER | CHANGING },
	{ "mkdtemp", .args = { T("short") }, .error = EINVAL, .flags = POINTER },
	{ "mkstemp", .args = { T("tmp.XXXXXX") }, .flags = CHANGING },
	{ "mkstemp64", .args = { T("tmp.XXXXXX") }, .flags = CHANGING },
	{ "mkstemps", .args = { T("tmp.XXXXXX.c"), V(2) }, .flags = CHANGING },
	{ "mkstemps64", .args = { T("tmp.XXXXXX.c"), V(2) }, .flags = CHANGING },
	{ "mkostemp", .args = { T("tmp.XXXXXX"), V(O_CLOEXEC) }, .flags = CHANGING },
	{ "mkostemp64", .args = { T("tmp.XXXXXX"), V(O_CLOEXEC) }, .flags = CHANGING },
	{ "mkostemps", .args = { T("tmp.XXXXXX.c"), V(2), V(O_CLOEXEC) }, .flags = CHANGING },
	{ "mkostemps64", .args = { T("tmp.XXXXXX.c"), V(2), V(O_CLOEXEC) }, .flags = CHANGING },
	{ "ftok", .args = { T("/"), V(1) } },
	{ "ftok", .args = { T("/missing"), V(1) }, .error = ENOENT },
	{ "utime", .args = { T("file"), IN(struct utimbuf, { 5, WHEN }) } },
	{ "utimes", .args = { T("file"), IN(struct timeval[2], { { 5, 6 }, { WHEN, 7 } }) } },
	{ "lutimes", .args = { T("link"), IN(struct timeval[2], { { 5, 6 }, { WHEN, 7 } }) } },
	{ "futimesat", .args = { V(DIR_FD), T("../file"), IN(struct timeval[2], { { 5, 6 }, { WHEN, 7 } }) } },
	{ "utimensat", .args = { V(DIR_FD), T("../file"),
				 IN(struct timespec[2], { { 5, 6 }, { WHEN, 7 } }), V(0) } },
	{ "futimens", .args = { V(FILE_FD), IN(struct timespec[2], { { 5, 6 }, { WHEN, 7 } }) } },
	{ "setxattr", .args = { T("file"), T("user.a"), IN(char[5], { "value" }), V(5), V(0) }, .flags = ANY },
	{ "lsetxattr", .args = { T("file"), T("user.a"), IN(char[5], { "value" }), V(5), V(0) }, .flags = ANY },
	{ "fsetxattr", .args = { V(FILE_FD), T("user.a"), IN(char[5], { "value" }), V(5), V(0) },
	  .flags = ANY },
	{ "getxattr", .args = { T("file"), T("user.a"), OUT(char[64]), V(64) },
	  .flags = ANY, .before = make_xattr },
	{ "lgetxattr", .args = { T("file"), T("user.a"), OUT(char[64]), V(64) },
	  .flags = ANY, .before = make_xattr },
	{ "fgetxattr", .args = { V(FILE_FD), T("user.a"), OUT(char[64]), V(64) },
	  .flags = ANY, .before = make_xattr },
	{ "listxattr", .args = { T("file"), OUT(char[64]), V(64) }, .flags = ANY, .before = make_xattr },
	{ "llistxattr", .args = { T("file"), OUT(char[64]), V(64) }, .flags = ANY, .before = make_xattr },
	{ "flistxattr", .args = { V(FILE_FD), OUT(char[64]), V(64) }, .flags = ANY, .before = make_xattr },
	{ "removexattr", .args = { T("file"), T("user.a") }, .flags = ANY, .before = make_xattr },
	{ "lremovexattr", .args = { T("file"), T("user.a") }, .flags = ANY, .before = make_xattr },
	{ "fremovexattr", .args = { V(FILE_FD), T("user.a") }, .flags = ANY, .before = make_xattr },
	{ "name_to_handle_at", .args = { V(AT_FDCWD), T("/"), IN(unsigned[40], { 128 }), OUT(int), V(0) },
	  .flags = ANY },
	{ "name_to_handle_at", .args = { V(AT_FDCWD), T("/"), IN(unsigned[40], { 0 }), OUT(int), V(0) },
	  .flags = ANY },
	/* AT_HANDLE_MNT_ID_UNIQUE */
	{ "name_to_handle_at", .args = { V(AT_FDCWD), T("/"), IN(unsigned[40], { 128 }), OUT(uint64_t), V(1) },
	  .flags = ANY },
	{ "open_by_handle_at", .args = { V(DIR_FD), IN(unsigned[40], { 8, 1 }), V(O_RDONLY) }, .flags = ANY },
	{ "inotify_add_watch", .args = { V(INOTIFY_FD), T("file"), V(IN_OPEN) } },
	{ "fanotify_mark", .args = { V(FANOTIFY_FD), V(FAN_MARK_ADD), V(FAN_OPEN), V(DIR_FD), T("../file") },
	  .flags = ANY },
	{ "acct", .args = { T("dir") }, .flags = ANY },
	{ "mount", .args = { T("none"), T("missing"), T("tmpfs"), V(0), T("size=4k") }, .error = ENOENT },
	{ "umount", .args = { T("dir") }, .flags = ANY },
	{ "umount2", .args = { T("dir"), V(0) }, .flags = ANY },
	{ "swapon", .args = { T("dir"), V(0) }, .flags = ANY },
	{ "swapoff", .args = { T("dir") }, .flags = ANY },
	{ "setmntent", .args = { T("file"), T("r") }, .flags = STREAM },
	{ "memfd_create", .args = { T("name"), V(MFD_CLOEXEC) } },
	{ "mq_open", .args = { MEM(other_queue), V(O_CREAT | O_RDWR), V(0600),
		       IN(struct mq_attr, { .mq_maxmsg = 2, .mq_msgsize = 32 }) }, .flags = ANY },
	{ "mq_unlink", .args = { MEM(queue) }, .flags = ANY },
	{ "mq_setattr", .args = { V(QUEUE_FD), IN(struct mq_attr, { .mq_flags = O_NONBLOCK }),
				  OUT(struct mq_attr) }, .flags = ANY },
	{ "mq_getattr", .args = { V(QUEUE_FD), OUT(struct mq_attr) }, .flags = ANY },
	{ "mq_notify", .args = { V(QUEUE_FD), IN(struct sigevent, { .sigev_notify = SIGEV_NONE }) },
	  .flags = ANY },
	/* What the CPU does for itself. */
	{ "realpath", .args = { T("link"), OUT(char[256]) }, .flags = POINTER },
	{ "getwd", .args = { OUT(char[256]) }, .flags = POINTER },
	{ "shm_open", .args = { MEM(queue), V(O_CREAT | O_RDWR), V(0600) }, .flags = ANY },
	{ "futimes", .args = { V(FILE_FD), IN(struct timeval[2], { { 5, 6 }, { WHEN, 7 } }) } },
	{ "shm_unlink", .args = { MEM(queue) }, .flags = ANY, .before = make_shm },
};

static void lock_file(void)
{
	place(open("file", O_RDWR), OTHER_FD);
	CHECK(!fcntl(OTHER_FD, F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_start = 2, .l_len = 3 }));
}

#ifdef __x86_64__
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif

static const struct row attributes[] = {
	{ "stat", .args = { T("/"), OUT(struct stat) } },
	{ "stat", .args = { T("/missing"), OUT(struct stat) }, .error = ENOENT },
	{ "stat64", .args = { T("/"), OUT(struct stat) } },
	{ "lstat", .args = { T("/"), OUT(struct stat) } },
	{ "lstat64", .args = { T("/"), OUT(struct stat) } },
	{ "fstat", .args = { V(ROOT_FD), OUT(struct stat) } },
	{ "fstat", .args = { V(-1), OUT(struct stat) }, .error = EBADF },
	{ "fstat64", .args = { V(ROOT_FD), OUT(struct stat) } },
	{ "fstatat", .args = { V(DIR_FD), T("/"), OUT(struct stat), V(0) } },
	{ "fstatat64", .args = { V(DIR_FD), T("/"), OUT(struct stat), V(0) } },
	{ "__xstat", .args = { V(STAT_VERSION), T("/"), OUT(struct stat) } },
	{ "__xstat64", .args = { V(STAT_VERSION), T("/"), OUT(struct stat) } },
	{ "__lxstat", .args = { V(STAT_VERSION), T("/"), OUT(struct stat) } },
	{ "__lxstat64", .args = { V(STAT_VERSION), T("/"), OUT(struct stat) } },
	{ "__fxstat", .args = { V(STAT_VERSION), V(ROOT_FD), OUT(struct stat) } },
	{ "__fxstat64", .args = { V(STAT_VERSION), V(ROOT_FD), OUT(struct stat) } },
	{ "__fxstatat", .args = { V(STAT_VERSION), V(DIR_FD), T("/"), OUT(struct stat), V(0) } },
	{ "__fxstatat64", .args = { V(STAT_VERSION), V(DIR_FD), T("/"), OUT(struct stat), V(0) } },
	{ "statx", .args = { V(DIR_FD), T("/"), V(0), V(STATX_BASIC_STATS), OUT(struct statx) } },
	{ "statfs", .args = { T("/proc"), OUT(struct statfs) } },
	{ "statfs64", .args = { T("/proc"), OUT(struct statfs) } },
	{ "fstatfs", .args = { V(READ_FD), OUT(struct statfs) } },
	{ "fstatfs64", .args = { V(READ_FD), OUT(struct statfs) } },
	{ "statvfs", .args = { T("/proc"), OUT(struct statvfs) } },
	{ "statvfs64", .args = { T("/proc"), OUT(struct statvfs) } },
	{ "fstatvfs", .args = { V(READ_FD), OUT(struct statvfs) } },
	{ "fcntl", .args = { V(FILE_FD), V(F_SETLK),
			     IN(struct flock, { .l_type = F_WRLCK, .l_start = 1, .l_len = 4 }) } },
	{ "fcntl", .args = { V(FILE_FD), V(F_OFD_GETLK), IN(struct flock, { .l_type = F_RDLCK }) },
	  .before = lock_file },
	{ "fcntl", .args = { V(FILE_FD), V(F_OFD_SETLK), IN(struct flock, { .l_type = F_RDLCK }) },
	  .error = EAGAIN, .before = lock_file },
	{ "fcntl64", .args = { V(FILE_FD), V(F_SETLKW), IN(struct flock, { .l_type = F_RDLCK, .l_len = 1 }) } },
	{ "fcntl", .args = { V(READ_FD), V(F_GETOWN_EX), OUT(struct f_owner_ex) } },
	{ "fcntl", .args = { V(READ_FD), V(17 /* F_GETOWNER_UIDS */), OUT(uid_t[2]) }, .flags = ANY },
	{ "sendfile", .args = { V(WRITE_FD), V(FILE_FD), IN(off_t, { 2 }), V(4) } },
	{ "sendfile64", .args = { V(WRITE_FD), V(FILE_FD), IN(off_t, { 2 }), V(4) } },
	{ "splice", .args = { V(FILE_FD), IN(off_t, { 2 }), V(WRITE_FD), NIL, V(4), V(0) } },
	{ "splice", .args = { V(READ_FD), NIL, V(FILE_FD), IN(off_t, { 2 }), V(3), V(0) } },
	{ "copy_file_range", .args = { V(FILE_FD), IN(off_t, { 2 }), V(OTHER_FD), IN(off_t, { 1 }),
				       V(4), V(0) }, .flags = ANY },
	{ "ttyname_r", .args = { V(TTY_FD), OUT(char[64]), V(64) }, .flags = CHANGING | ANY },
	{ "ioctl", .args = { V(READ_FD), V(FIONREAD), OUT(int) } },
	{ "ioctl", .args = { V(READ_FD), V(FIONBIO), IN(int, { 1 }) } },
	{ "ioctl", .args = { V(READ_FD), V(TIOCGWINSZ), OUT(struct winsize) }, .error = ENOTTY },
	{ "ioctl", .args = { V(PTY_FD), V(TIOCSWINSZ), IN(struct winsize, { 7, 8, 9, 10 }) }, .flags = ANY },
	{ "ioctl", .args = { V(PTY_FD), V(TIOCGWINSZ), OUT(struct winsize) }, .flags = ANY },
	{ "ioctl", .args = { V(TTY_FD), V(TCGETS), OUT(struct termios) }, .flags = ANY },
	{ "ioctl", .args = { V(TTY_FD), V(TIOCGPGRP), OUT(pid_t) }, .flags = ANY },
	{ "ioctl", .args = { V(PTY_FD), V(TIOCGPTN), OUT(int) }, .flags = CHANGING | ANY },
	{ "ioctl", .args = { V(FILE_FD), V(FS_IOC_GETFLAGS), OUT(int) }, .flags = ANY },
	/* A struct fiemap with 4 extents behind it: more than the request says. */
	{ "ioctl", .args = { V(FILE_FD), V(FS_IOC_FIEMAP),
			     IN(uint64_t[32], { 0, ~0ull, FIEMAP_FLAG_SYNC, 4 }) },
	  .flags = CHANGING | ANY },
	{ "tcgetattr", .args = { V(TTY_FD), OUT(struct termios) }, .flags = ANY },
};

static const struct row sockets[] = {
	{ "connect", .args = { V(SPARE_FD), IN(struct sockaddr_un, { AF_UNIX, "missing" }),
			       V(sizeof(struct sockaddr_un)) }, .error = ENOENT },
	{ "connect", .args = { V(SPARE_FD), IN(struct sockaddr_un, { AF_UNIX, "server" }),
			       V(sizeof(struct sockaddr_un)) } },
	{ "bind", .args = { V(SPARE_FD), IN(struct sockaddr_un, { AF_UNIX, "new" }),
			    V(sizeof(struct sockaddr_un)) } },
	{ "accept", .args = { V(SERVER_FD), OUT(struct sockaddr_un),
			      IN(socklen_t, { sizeof(struct sockaddr_un) }) } },
	{ "accept", .args = { V(SERVER_FD), OUT(struct sockaddr_un), IN(socklen_t, { 4 }) } },
	{ "accept", .args = { V(SERVER_FD), OUT(struct sockaddr_un), IN(socklen_t, { 0 }) } },
	{ "accept", .args = { V(SERVER_FD), NIL, NIL } },
	{ "accept", .args = { V(FILE_FD), OUT(struct sockaddr_un), IN(socklen_t, { 20 }) }, .error = ENOTSOCK },
	{ "accept4", .args = { V(SERVER_FD), OUT(struct sockaddr_un), IN(socklen_t, { 100 }),
			       V(SOCK_CLOEXEC) } },
	{ "getsockname", .args = { V(CLIENT_FD), OUT(struct sockaddr_un), IN(socklen_t, { 100 }) } },
	{ "getsockname", .args = { V(CLIENT_FD), OUT(struct sockaddr_un), IN(socklen_t, { (socklen_t)-1 }) },
	  .error = EINVAL },
	{ "getpeername", .args = { V(CLIENT_FD), OUT(struct sockaddr_un), IN(socklen_t, { 100 }) } },
	{ "getsockopt", .args = { V(SPARE_FD), V(SOL_SOCKET), V(SO_TYPE), OUT(int), IN(socklen_t, { 4 }) } },
	{ "getsockopt", .args = { V(SPARE_FD), V(SOL_SOCKET), V(SO_TYPE), OUT(int), IN(socklen_t, { 2 }) } },
	{ "setsockopt", .args = { V(SPARE_FD), V(SOL_SOCKET), V(SO_RCVTIMEO),
				  IN(struct timeval, { 7, 0 }), V(sizeof(struct timeval)) } },
	{ "socketpair", .args = { V(AF_UNIX), V(SOCK_STREAM), V(0), OUT(int[2]) } },
	{ "socketpair", .args = { V(AF_INET), V(SOCK_STREAM), V(0), OUT(int[2]) }, .error = EOPNOTSUPP },
	{ "pipe", .args = { OUT(int[2]) } },
	{ "pipe2", .args = { OUT(int[2]), V(O_CLOEXEC) } },
	{ "pipe2", .args = { OUT(int[2]), V(-1) }, .error = EINVAL },
};

static const struct pollfd polled[] = { { READ_FD, POLLIN, -1 }, { -1, POLLIN, 9 }, { WRITE_FD, POLLOUT, 0 } };

static const struct row readiness[] = {
	{ "poll", .args = { MEM(polled), V(3), V(0) } },
	{ "poll", .args = { IN(struct pollfd[1], { { EPOLL_FD, POLLIN, 5 } }), V(1), V(1) } },
	{ "poll", .args = { OUT(struct pollfd[1]), V(0), V(0) } },
	{ "__poll_chk", .args = { IN(struct pollfd[1], { { READ_FD, POLLIN, 0 } }), V(1), V(0), V(8) } },
	{ "select", .args = { V(N_FDS), MEM(reading), MEM(writing), MEM(reading),
			      IN(struct timeval, { 0, 0 }) } },
	{ "select", .args = { V(N_FDS), NIL, MEM(writing), NIL, IN(struct timeval, { 9, 0 }) },
	  .flags = CHANGING },
	{ "select", .args = { V(-1), MEM(reading), MEM(writing), NIL, NIL }, .error = EINVAL },
	{ "epoll_ctl", .args = { V(EPOLL_FD), V(EPOLL_CTL_ADD), V(READ_FD),
				 IN(struct epoll_event, { EPOLLIN, { .u64 = 7 } }) } },
	{ "epoll_ctl", .args = { V(EPOLL_FD), V(EPOLL_CTL_DEL), V(READ_FD), NIL }, .before = watch },
	{ "epoll_wait", .args = { V(EPOLL_FD), OUT(struct epoll_event[4]), V(4), V(0) }, .before = watch },
	{ "epoll_wait", .args = { V(EPOLL_FD), OUT(struct epoll_event[4]), V(0), V(0) },
	  .error = EINVAL, .before = watch },
};

static void arm(void)
{
	const struct itimerspec later = { { 0, 0 }, { 1000, 0 } };

	CHECK(!setitimer(ITIMER_REAL, &(struct itimerval){ { 3, 0 }, { 1000, 0 } }, NULL));
	CHECK(!timer_settime((timer_t)timer, 0, &later, NULL) && !timerfd_settime(TIMER_FD, 0, &later, NULL));
}

static const struct row timers[] = {
	{ "nanosleep", .args = { IN(struct timespec, { 0, 1000 }), OUT(struct timespec) } },
	{ "nanosleep", .args = { IN(struct timespec, { 0, -1 }), OUT(struct timespec) }, .error = EINVAL },
	{ "thrd_sleep", .args = { IN(struct timespec, { 0, 1000 }), OUT(struct timespec) } },
	{ "thrd_sleep", .args = { IN(struct timespec, { 0, -1 }), OUT(struct timespec) } },
	{ "clock_nanosleep", .args = { V(CLOCK_MONOTONIC), V(0), IN(struct timespec, { 0, 1000 }),
				       OUT(struct timespec) } },
	{ "clock_nanosleep", .args = { V(CLOCK_MONOTONIC), V(0), IN(struct timespec, { 0, -1 }),
				       OUT(struct timespec) } },
	{ "clock_gettime", .args = { V(CLOCK_REALTIME), OUT(struct timespec) }, .flags = CHANGING },
	{ "clock_gettime", .args = { V(CLOCK_THREAD_CPUTIME_ID), OUT(struct timespec) }, .flags = CHANGING },
	{ "clock_gettime", .args = { V(-1000), OUT(struct timespec) }, .error = EINVAL },
	{ "clock_settime", .args = { V(CLOCK_REALTIME), IN(struct timespec, { 0, -1 }) }, .error = EINVAL },
	{ "clock_getres", .args = { V(CLOCK_THREAD_CPUTIME_ID), OUT(struct timespec) } },
	{ "gettimeofday", .args = { OUT(struct timeval), NIL }, .flags = CHANGING },
	{ "adjtimex", .args = { IN(struct timex, { 0 }) }, .flags = CHANGING | ANY },
	{ "ntp_adjtime", .args = { IN(struct timex, { 0 }) }, .flags = CHANGING | ANY },
	{ "clock_adjtime", .args = { V(CLOCK_REALTIME), IN(struct timex, { 0 }) }, .flags = CHANGING | ANY },
	{ "getitimer", .args = { V(ITIMER_REAL), OUT(struct itimerval) }, .flags = CHANGING, .before = arm },
	{ "setitimer", .args = { V(ITIMER_REAL), IN(struct itimerval, { { 0, 0 }, { 1000, 0 } }),
				 OUT(struct itimerval) } },
	{ "setitimer", .args = { V(ITIMER_REAL), IN(struct itimerval, { { 0, 0 }, { 0, -1 } }),
				 OUT(struct itimerval) }, .error = EINVAL },
	{ "timer_create", .args = { V(CLOCK_MONOTONIC),
				    IN(struct sigevent, { .sigev_notify = SIGEV_NONE }), OUT(timer_t) },
	  .flags = CHANGING },
	{ "timer_gettime", .args = { VAR(timer), OUT(struct itimerspec) }, .flags = CHANGING, .before = arm },
	{ "timer_settime", .args = { VAR(timer), V(0),
				     IN(struct itimerspec, { { 0, 0 }, { 9, 0 } }), OUT(struct itimerspec) },
	  .flags = CHANGING, .before = arm },
	{ "timerfd_gettime", .args = { V(TIMER_FD), OUT(struct itimerspec) },
	  .flags = CHANGING, .before = arm },
	{ "timerfd_settime", .args = { V(TIMER_FD), V(0),
				       IN(struct itimerspec, { { 0, 0 }, { 9, 0 } }), OUT(struct itimerspec) } },
	{ "times", .args = { OUT(struct tms) }, .flags = CHANGING },
};

static void raise_user1(void)
{
	CHECK(!raise(SIGUSR1));
}

static void take_user1(void)
{
	sigtimedwait(&user1, NULL, &(struct timespec){ 0, 0 });
}

/* -1, which hinders no other process, if the system has none. */
static void make_ipc(void)
{
	messages = msgget(IPC_PRIVATE, 0600);
	semaphores = semget(IPC_PRIVATE, 2, 0600);
	segment = shmget(IPC_PRIVATE, PAGE, 0600);
}

static void remove_ipc(void)
{
	msgctl((int)messages, IPC_RMID, NULL);
	semctl((int)semaphores, 0, IPC_RMID);
	shmctl((int)segment, IPC_RMID, NULL);
}

static char stacks[2][64 << 10];
static stack_t old_stack;

static void set_stack(void)
{
	CHECK(!sigaltstack(&(stack_t){ .ss_sp = stacks[0], .ss_size = sizeof(stacks[0]) }, &old_stack));
}

static void restore_stack(void)
{
	CHECK(!sigaltstack(&old_stack, NULL));
}

static const struct row process[] = {
	{ "getrlimit", .args = { V(RLIMIT_NOFILE), OUT(struct rlimit) } },
	{ "getrlimit64", .args = { V(RLIMIT_NOFILE), OUT(struct rlimit) } },
	{ "setrlimit", .args = { V(RLIMIT_CORE), MEM(core) } },
	{ "setrlimit", .args = { V(RLIMIT_CORE), IN(struct rlimit, { 2, 1 }) }, .error = EINVAL },
	{ "setrlimit64", .args = { V(RLIMIT_CORE), MEM(core) } },
	{ "prlimit", .args = { V(0), V(RLIMIT_CORE), MEM(core), OUT(struct rlimit) } },
	{ "prlimit64", .args = { V(0), V(RLIMIT_CORE), MEM(core), OUT(struct rlimit) } },
	{ "getrusage", .args = { V(RUSAGE_SELF), OUT(struct rusage) }, .flags = CHANGING },
	{ "setgroups", .args = { V(1), MEM(gid) }, .flags = ANY },
	{ "getgroups", .args = { V(64), OUT(gid_t[64]) } },
	{ "__getgroups_chk", .args = { V(64), OUT(gid_t[64]), V(sizeof(gid_t[64])) } },
	{ "getgroups", .args = { V(-1), OUT(gid_t[64]) }, .error = EINVAL },
	{ "getresuid", .args = { OUT(uid_t), OUT(uid_t), OUT(uid_t) } },
	{ "getresgid", .args = { OUT(gid_t), OUT(gid_t), OUT(gid_t) } },
	{ "sched_getaffinity", .args = { V(0), V(sizeof(cpus)), OUT(cpu_set_t) } },
	{ "sched_setaffinity", .args = { V(0), V(sizeof(cpus)), MEM(cpus) } },
	{ "sched_setaffinity", .args = { V(0), V(sizeof(cpus)), IN(cpu_set_t, { { 0 } }) }, .error = EINVAL },
	{ "sched_getparam", .args = { V(0), OUT(struct sched_param) } },
	{ "sched_setparam", .args = { V(0), IN(struct sched_param, { 0 }) } },
	{ "sched_setparam", .args = { V(0), IN(struct sched_param, { 1 }) }, .error = EINVAL },
	{ "sched_setscheduler", .args = { V(0), V(SCHED_OTHER), IN(struct sched_param, { 0 }) } },
	{ "sched_rr_get_interval", .args = { V(0), OUT(struct timespec) }, .flags = CHANGING },
	{ "pthread_getaffinity_np", .args = { VAR(self), V(sizeof(cpus)), OUT(cpu_set_t) } },
	{ "pthread_setaffinity_np", .args = { VAR(self), V(sizeof(cpus)), MEM(cpus) } },
	{ "pthread_setschedparam", .args = { VAR(self), V(SCHED_OTHER), IN(struct sched_param, { 0 }) } },
	{ "pthread_getname_np", .args = { VAR(self), OUT(char[16]), V(16) } },
	{ "pthread_setname_np", .args = { VAR(self), T("renamed") } },
	{ "pthread_getname_np", .args = { VAR(self), OUT(char[16]), V(16) } },
	{ "pthread_setname_np", .args = { VAR(self), T("a name that is too long") } },
	{ "semop", .args = { VAR(semaphores), IN(struct sembuf[2], { { 0, 1, 0 }, { 1, 1, 0 } }), V(2) },
	  .flags = ANY, .before = make_ipc, .after = remove_ipc },
	{ "semop", .args = { VAR(semaphores), IN(struct sembuf[2], { { 0, 1, 0 }, { 1, -1, IPC_NOWAIT } }), V(2) },
	  .flags = ANY, .before = make_ipc, .after = remove_ipc },
	{ "semtimedop", .args = { VAR(semaphores), IN(struct sembuf, { 0, -1, 0 }), V(1),
				  IN(struct timespec, { 0, 1000 }) },
	  .flags = ANY, .before = make_ipc, .after = remove_ipc },
	{ "msgctl", .args = { VAR(messages), V(IPC_STAT), OUT(struct msqid_ds) },
	  .flags = CHANGING | ANY, .before = make_ipc, .after = remove_ipc },
	{ "shmctl", .args = { VAR(segment), V(IPC_STAT), OUT(struct shmid_ds) },
	  .flags = CHANGING | ANY, .before = make_ipc, .after = remove_ipc },
	{ "sigaltstack", .args = { IN(stack_t, { .ss_sp = stacks[1], .ss_size = sizeof(stacks[1]) }), OUT(stack_t) },
	  .before = set_stack, .after = restore_stack },
	{ "sigaltstack", .args = { IN(stack_t, { .ss_sp = stacks[1], .ss_size = 1 }), OUT(stack_t) },
	  .error = ENOMEM, .before = set_stack, .after = restore_stack },
	{ "sigpending", .args = { OUT(sigset_t) }, .before = raise_user1, .after = take_user1 },
	{ "sigwait", .args = { MEM(user1), OUT(int) }, .before = raise_user1 },
	{ "sigwaitinfo", .args = { MEM(user1), OUT(siginfo_t) }, .before = raise_user1 },
	{ "sigtimedwait", .args = { MEM(user1), OUT(siginfo_t), IN(struct timespec, { 9, 0 }) },
	  .before = raise_user1 },
	{ "sigtimedwait", .args = { MEM(user1), OUT(siginfo_t), IN(struct timespec, { 0, 1 }) },
	  .error = EAGAIN },
	{ "signalfd", .args = { V(-1), MEM(user1), V(0) } },
	{ "uname", .args = { OUT(struct utsname) } },
	{ "sysinfo", .args = { OUT(struct sysinfo) }, .flags = CHANGING },
	{ "sethostname", .args = { MEM(host), VAR(host_size) }, .flags = ANY },
	{ "setdomainname", .args = { MEM(domain), VAR(domain_size) }, .flags = ANY },
	{ "gethostname", .args = { OUT(char[65]), V(65) } },
	{ "getdomainname", .args = { OUT(char[65]), V(65) } },
};

/* ---- what other functions hand to the system, or to the network, as it is */

static long child, pidfd, resolver;
static char pages[4 * PAGE] __attribute__((aligned(4096)));

static long filesystem;

/* One that is being made; -1 if the system does not permit that. */
static void make_filesystem(void)
{
	int (*libc)(const char *, unsigned) = (int (*)(const char *, unsigned))dlsym(RTLD_DEFAULT, "fsopen");

	filesystem = libc ? libc("tmpfs", 0) : -1;
}

static void end_filesystem(void)
{
	close((int)filesystem);
}

/* Stopped, and traced by this process. */
static void make_child(void)
{
	int status;

	child = fork();
	CHECK(child >= 0);
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	CHECK(waitpid((pid_t)child, &status, 0) == child && WIFSTOPPED(status));
}

static void end_child(void)
{
	int status;

	CHECK(!kill((pid_t)child, SIGKILL));
	CHECK(waitpid((pid_t)child, &status, 0) == child);
}

static void make_pidfd(void)
{
	pidfd = syscall(SYS_pidfd_open, getpid(), 0);
}

static void end_pidfd(void)
{
	close((int)pidfd);
	take_user1();
}

static void rewind_folder(void)
{
	CHECK(!lseek(DIR_FD, 0, SEEK_SET));
}

static void use_records(void)
{
	CHECK(!utmpname("file"));
	setutent();
}

static void make_resolver(void)
{
	CHECK(!res_init());
	resolver = (long)&_res;
}

/* No name: nothing is asked. */
#define ANSWER OUT(unsigned char[100]), V(100)

static const struct row others[] = {
	{ "__ttyname_r_chk", .args = { V(TTY_FD), OUT(char[64]), V(64), V(64) }, .flags = CHANGING | ANY },
	{ "getdirentries", .args = { V(DIR_FD), OUT(char[1024]), V(1024), IN(off_t, { 0 }) },
	  .flags = CHANGING, .before = rewind_folder },
	{ "getdirentries64", .args = { V(DIR_FD), OUT(char[1024]), V(1024), IN(off_t, { 0 }) },
	  .flags = CHANGING, .before = rewind_folder },
	{ "quotactl", .args = { V(QCMD(Q_GETFMT, USRQUOTA)), T("missing"), V(0), OUT(uint32_t) }, .flags = ANY },
	{ "quotactl", .args = { V(QCMD(Q_QUOTAON, USRQUOTA)), T("missing"), V(0), T("file") }, .flags = ANY },
	{ "pivot_root", .args = { T("dir"), T("dir") }, .flags = ANY },
	{ "fsopen", .args = { T("no such file system"), V(0) }, .flags = ANY },
	{ "fsconfig", .args = { VAR(filesystem), V(1), T("size"), T("1M"), V(0) }, .flags = ANY,
	  .before = make_filesystem, .after = end_filesystem },
	{ "fsconfig", .args = { VAR(filesystem), V(2), T("size"), OUT(char[40]), V(40) }, .flags = ANY,
	  .before = make_filesystem, .after = end_filesystem },
	{ "fsconfig", .args = { VAR(filesystem), V(2), T("size"), OUT(char[40]), V(-1) }, .flags = ANY,
	  .before = make_filesystem, .after = end_filesystem },
	{ "fsconfig", .args = { VAR(filesystem), V(2), T("size"), OUT(char[40]), V(-2) }, .flags = ANY,
	  .before = make_filesystem, .after = end_filesystem },
	{ "fsconfig", .args = { VAR(filesystem), V(1l << 32 | 1), T("size"), T("1M"), V(0) }, .flags = ANY,
	  .before = make_filesystem, .after = end_filesystem },
	{ "fspick", .args = { V(AT_FDCWD), T("file"), V(0) }, .flags = ANY },
	{ "move_mount", .args = { V(AT_FDCWD), T("missing"), V(AT_FDCWD), T("missing"), V(0) }, .flags = ANY },
	{ "open_tree", .args = { V(AT_FDCWD), T("file"), V(0) }, .flags = ANY },
	{ "mount_setattr", .args = { V(AT_FDCWD), T("missing"), V(0), IN(uint64_t[4], { 0 }), V(32) }, .flags = ANY },
	{ "updwtmp", .args = { T("file"), IN(struct utmp, { .ut_type = 7 }) }, .flags = CHANGING | ANY },
	{ "updwtmpx", .args = { T("file"), IN(struct utmp, { .ut_type = 7 }) }, .flags = CHANGING | ANY },
	{ "pututline", .args = { IN(struct utmp, { .ut_type = 7, .ut_id = "a" }) },
	  .flags = POINTER | ANY, .before = use_records, .after = endutent },
	{ "pututxline", .args = { IN(struct utmp, { .ut_type = 7, .ut_id = "b" }) },
	  .flags = POINTER | ANY, .before = use_records, .after = endutent },
	{ "semctl", .args = { VAR(semaphores), V(0), V(GETALL), OUT(unsigned short[2]) },
	  .flags = ANY, .before = make_ipc, .after = remove_ipc },
	{ "semctl", .args = { VAR(semaphores), V(0), V(SETALL), IN(unsigned short[2], { 3, 4 }) },
	  .flags = ANY, .before = make_ipc, .after = remove_ipc },
	{ "semctl", .args = { VAR(semaphores), V(0), V(IPC_STAT), OUT(struct semid_ds) },
	  .flags = CHANGING | ANY, .before = make_ipc, .after = remove_ipc },
	{ "prctl", .args = { V(PR_GET_NAME), OUT(char[16]) } },
	{ "prctl", .args = { V(PR_SET_NAME), T("a name") } },
	{ "prctl", .args = { V(PR_SET_NAME), T("a name that is longer than the system takes") } },
	{ "prctl", .args = { V(PR_GET_PDEATHSIG), OUT(int) } },
	{ "prctl", .args = { V(PR_GET_CHILD_SUBREAPER), OUT(int) } },
	{ "prctl", .args = { V(PR_GET_TID_ADDRESS), OUT(void *) }, .flags = ANY },
	{ "prctl", .args = { V(PR_GET_PDEATHSIG), WRONG }, .error = EFAULT },
	{ "arch_prctl", .args = { V(0x1003), OUT(long) } },
	{ "__arch_prctl", .args = { V(0x1003), OUT(long) } },
	{ "arch_prctl", .args = { V(1l << 32 | 0x1003), OUT(long) } },
	{ "arch_prctl", .args = { V(0x1021), OUT(uint64_t) }, .flags = ANY },
	{ "arch_prctl", .args = { V(0x4001), OUT(uint64_t) }, .flags = ANY },
	{ "modify_ldt", .args = { V(0), OUT(char[64]), V(64) }, .flags = ANY },
	{ "ptrace", .args = { V(PTRACE_GETSIGINFO), VAR(child), NIL, OUT(siginfo_t) },
	  .flags = CHANGING, .before = make_child, .after = end_child },
	{ "ptrace", .args = { V(PTRACE_GETEVENTMSG), VAR(child), NIL, OUT(long) },
	  .flags = CHANGING | ANY, .before = make_child, .after = end_child },
#ifdef __x86_64__
	{ "ptrace", .args = { V(PTRACE_GETREGS), VAR(child), NIL, OUT(struct user_regs_struct) },
	  .flags = CHANGING, .before = make_child, .after = end_child },
#endif
	{ "ptrace", .args = { V(0x420f), VAR(child), V(24), OUT(char[24]) },
	  .flags = CHANGING | ANY, .before = make_child, .after = end_child },
	{ "ptrace", .args = { V(0x4211), VAR(child), V(32), OUT(char[32]) },
	  .flags = ANY, .before = make_child, .after = end_child },
	{ "ptrace", .args = { V(0x420c), VAR(child), V(0), OUT(uint64_t) },
	  .flags = ANY, .before = make_child, .after = end_child },
	{ "ptrace", .args = { V(PTRACE_GETSIGMASK), VAR(child), V(8), OUT(uint64_t) },
	  .flags = CHANGING, .before = make_child, .after = end_child },
	{ "capget", .args = { IN(struct __user_cap_header_struct, { _LINUX_CAPABILITY_VERSION_3, 0 }),
			      OUT(struct __user_cap_data_struct[2]) } },
	{ "capset", .args = { IN(struct __user_cap_header_struct, { 0, 0 }),
			      IN(struct __user_cap_data_struct[2], { { 0 } }) }, .error = EINVAL },
	{ "init_module", .args = { OUT(char[16]), V(16), T("") }, .flags = ANY },
	{ "delete_module", .args = { T("no such module"), V(0) }, .flags = ANY },
	{ "klogctl", .args = { V(3), OUT(char[1000]), V(1000) }, .flags = CHANGING | ANY },
	{ "settimeofday", .args = { IN(struct timeval, { 0, -1 }), NIL }, .error = EINVAL },
	{ "timespec_get", .args = { OUT(struct timespec), V(TIME_UTC) }, .flags = CHANGING },
	{ "timespec_getres", .args = { OUT(struct timespec), V(TIME_UTC) } },
	{ "getcpu", .args = { OUT(unsigned), OUT(unsigned) }, .flags = CHANGING },
	{ "mincore", .args = { V(pages), V(4 * PAGE), OUT(char[4]) }, .flags = CHANGING },
	{ "mincore", .args = { V(pages + 1), V(PAGE), OUT(char[1]) }, .error = EINVAL },
	{ "process_madvise", .args = { VAR(pidfd), IN(struct iovec, { pages, PAGE }), V(1), V(MADV_COLD), V(0) },
	  .flags = ANY, .before = make_pidfd, .after = end_pidfd },
	{ "pidfd_send_signal", .args = { VAR(pidfd), V(SIGUSR1),
					 IN(siginfo_t, { .si_signo = SIGUSR1, .si_code = SI_QUEUE }), V(0) },
	  .flags = ANY, .before = make_pidfd, .after = end_pidfd },
	{ "openpty", .args = { OUT(int), OUT(int), NIL, NIL, IN(struct winsize, { 7, 9, 0, 0 }) },
	  .flags = CHANGING | ANY },
	{ "sched_getattr", .args = { V(0), OUT(char[56]), V(56), V(0) } },
	{ "sched_setattr", .args = { V(0), IN(uint32_t[14], { 56, SCHED_OTHER }), V(0) } },
	{ "sched_setattr", .args = { V(0), IN(uint32_t[14], { 0, SCHED_OTHER }), V(0) } },
	{ "res_query", .args = { T("a..b"), V(ns_c_in), V(ns_t_a), ANSWER }, .flags = ANY },
	{ "res_search", .args = { T("a..b."), V(ns_c_in), V(ns_t_a), ANSWER }, .flags = ANY },
	{ "res_querydomain", .args = { T("a..b"), T("c"), V(ns_c_in), V(ns_t_a), ANSWER }, .flags = ANY },
	{ "res_send", .args = { OUT(char[40]), V(40), OUT(char[4]), V(4) }, .error = EINVAL },
	{ "res_nquery", .args = { VAR(resolver), T("a..b"), V(ns_c_in), V(ns_t_a), ANSWER },
	  .flags = ANY, .before = make_resolver },
	{ "res_nsearch", .args = { VAR(resolver), T("a..b."), V(ns_c_in), V(ns_t_a), ANSWER },
	  .flags = ANY, .before = make_resolver },
	{ "res_nsend", .args = { VAR(resolver), OUT(char[40]), V(40), OUT(char[4]), V(4) },
	  .error = EINVAL, .before = make_resolver },
	{ "__open", .args = { T("link"), V(O_RDWR) } },
	{ "__open64", .args = { T("new"), V(O_RDWR | O_CREAT), V(0600) } },
	{ "__mq_open_2", .args = { T("/no such queue"), V(O_RDWR) }, .flags = ANY },
	{ "__statfs", .args = { T("file"), OUT(struct statfs) }, .flags = CHANGING },
	{ "__fcntl", .args = { V(FILE_FD), V(F_GETLK), IN(struct flock, { .l_type = F_RDLCK }) } },
	{ "__connect", .args = { V(SPARE_FD), IN(struct sockaddr_un, { AF_UNIX, "missing" }),
				 V(sizeof(struct sockaddr_un)) }, .error = ENOENT },
	{ "__pipe", .args = { OUT(int[2]) } },
	{ "__poll", .args = { MEM(polled), V(3), V(0) } },
	{ "__select", .args = { V(N_FDS), MEM(reading), MEM(writing), MEM(reading), IN(struct timeval, { 0, 0 }) } },
	{ "__nanosleep", .args = { IN(struct timespec, { 0, -1 }), OUT(struct timespec) }, .error = EINVAL },
	{ "__gettimeofday", .args = { OUT(struct timeval), NIL }, .flags = CHANGING },
	{ "__adjtimex", .args = { IN(struct timex, { 0 }) }, .flags = CHANGING | ANY },
	{ "__sched_getparam", .args = { V(0), OUT(struct sched_param) } },
	{ "__sched_setscheduler", .args = { V(0), V(SCHED_OTHER), IN(struct sched_param, { 0 }) } },
	{ "__wait", .args = { OUT(int) }, .error = ECHILD },
	{ "__waitpid", .args = { V(-1), OUT(int), V(0) }, .error = ECHILD },
};

/* A pointer to where an object was is one to nowhere. */
static const struct row errors[] = {
	{ "open", .args = { WRONG, V(O_RDONLY) }, .error = EFAULT },
	{ "stat", .args = { WRONG, OUT(struct stat) }, .error = EFAULT },
	{ "stat", .args = { T("/"), WRONG }, .error = EFAULT },
	{ "rename", .args = { T("file"), WRONG }, .error = EFAULT },
	{ "readlink", .args = { T("link"), WRONG, V(64) }, .error = EFAULT },
	{ "fopen", .args = { WRONG, T("r") }, .error = EFAULT, .flags = POINTER },
	{ "getcwd", .args = { WRONG, V(64) }, .error = EFAULT, .flags = POINTER },
	{ "connect", .args = { V(SPARE_FD), WRONG, V(20) }, .error = EFAULT },
	{ "getsockname", .args = { V(SPARE_FD), OUT(struct sockaddr_un), WRONG }, .error = EFAULT },
	{ "getsockname", .args = { V(SPARE_FD), WRONG, IN(socklen_t, { 100 }) }, .error = EFAULT },
	{ "pipe", .args = { WRONG }, .error = EFAULT },
	{ "poll", .args = { WRONG, V(1), V(0) }, .error = EFAULT },
	{ "epoll_wait", .args = { V(EPOLL_FD), WRONG, V(4), V(0) }, .error = EFAULT, .before = watch },
	{ "nanosleep", .args = { WRONG, NIL }, .error = EFAULT },
	{ "uname", .args = { WRONG }, .error = EFAULT },
	{ "fcntl", .args = { V(FILE_FD), V(F_GETLK), WRONG }, .error = EFAULT },
	{ "ioctl", .args = { V(READ_FD), V(FIONREAD), WRONG }, .error = EFAULT },
	/* The size of another argument; a vector; what is beside an object. */
	{ "getsockopt", .args = { V(SPARE_FD), V(SOL_SOCKET), V(SO_TYPE), OUT(int), V(8) }, .error = EFAULT },
	{ "getsockname", .args = { V(SPARE_FD), OUT(struct sockaddr_un), V(8) }, .error = EFAULT },
	{ "name_to_handle_at", .args = { V(DIR_FD), T("../file"), V(8), OUT(int), V(0) }, .error = EFAULT },
	{ "execve", .args = { T("/bin/true"), V(8), NIL }, .error = EFAULT },
	{ "execv", .args = { T("/bin/true"), V(8) }, .error = EFAULT },
	{ "execve", .args = { T("/bin/true"), NIL, V(8) }, .error = EFAULT },
	{ "ppoll", .args = { OUT(struct pollfd), V(0), IN(struct timespec, { 0, 0 }), V(8) }, .error = EFAULT },
	{ "open", .args = { T(""), V(O_RDONLY) }, .error = ENOENT },
	{ "open", .args = { T("missing"), V(O_RDONLY) }, .error = ENOENT },
	{ "open", .args = { T("file/below"), V(O_RDONLY) }, .error = ENOTDIR },
	{ "mkdir", .args = { T("dir"), V(0700) }, .error = EEXIST },
	{ "openat", .args = { V(-1), T("file"), V(O_RDONLY) }, .error = EBADF },
	{ "fopen", .args = { T("file"), T("?") }, .error = EINVAL, .flags = POINTER },
};

#define CALLS(rows) static void run_##rows(void) { run_rows(rows, sizeof(rows) / sizeof((rows)[0])); }
CALLS(files)
CALLS(attributes)
CALLS(sockets)
CALLS(readiness)
CALLS(timers)
CALLS(process)
CALLS(others)
CALLS(errors)

static const struct conform_case cases[] = {
	CASE("files", run_files),
	CASE("attributes", run_attributes),
	CASE("sockets", run_sockets),
	CASE("readiness", run_readiness),
	CASE("times", run_timers),
	CASE("process", run_process),
	CASE("others", run_others),
	CASE("errors", run_errors),
};
CONFORM_MAIN(cases)
