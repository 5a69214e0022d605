/* SPDX-License-Identifier: MIT */
/*
 * driver_device.c - the driver double's side of its device: a process that this one's wait() and SIGCHLD never see,
 * and that ends with it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver_own.h"

#define PROGRAM "cuda-device"

extern char **environ;

int memory_fd = -1;
char *memory_bytes;
static int sock = -1, device_pid;
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

static int send_message(int to, const void *data, size_t size, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { (void *)(uintptr_t)data, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		CMSG_FIRSTHDR(&msg)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&msg)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&msg)->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), &fd, sizeof(int));
	}
	do
		n = syscall(SYS_sendmsg, to, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size ? 0 : ENODEV;
}

static int receive(int from, void *data, size_t size)
{
	ssize_t n;

	do
		n = syscall(SYS_recvfrom, from, data, size, 0, NULL, NULL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size ? 0 : ENODEV;
}

/* The new process: its parent ends immediately, so that no process here has a child. Raw calls only, and nothing of a
 * sanitizer's, whose locks other threads may have held. */
__attribute__((no_sanitize("thread")))
static void become_device(const char *path, char **envp, int end, int pidfd)
{
	char *argv[] = { (char *)(uintptr_t)PROGRAM, NULL };
	int null, first = pidfd >= 0 ? 5 : 4;
	uint64_t none = 0;

	syscall(SYS_setsid);
	if (syscall(SYS_clone, 0, NULL, NULL, NULL, NULL))
		syscall(SYS_exit_group, 0);
	end = (int)syscall(SYS_fcntl, end, F_DUPFD, 16);
	pidfd = pidfd < 0 ? -1 : (int)syscall(SYS_fcntl, pidfd, F_DUPFD, 16);
	null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		syscall(SYS_dup3, null, fd, 0);
	syscall(SYS_dup3, end, 3, 0);
	if (pidfd >= 0)
		syscall(SYS_dup3, pidfd, 4, 0);
	if (syscall(SYS_close_range, first, ~0u, 0))
		for (int fd = first; fd < 65536; fd++)
			syscall(SYS_close, fd);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
	/* Where addresses are not random, the same ones mean something there. */
	syscall(SYS_personality, syscall(SYS_personality, 0xffffffff) & ~ADDR_NO_RANDOMIZE);
	syscall(SYS_execve, path, argv, envp);
	syscall(SYS_exit_group, 127);
}

static int spawn(const char *path, int end)
{
	sigset_t all, old;
	size_t n = 0, n_kept = 0;
	char **envp;
	int pidfd;
	long pid;

	while (environ && environ[n])
		n++;
	envp = calloc(n + 1, sizeof(*envp));
	if (!envp)
		return ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], "LD_AUDIT=", 9))
			envp[n_kept++] = environ[i];
	}
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pid = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (!pid)
		become_device(path, envp, end, pidfd);
	while (pid > 0 && syscall(SYS_wait4, pid, NULL, __WALL, NULL) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pidfd >= 0)
		close(pidfd);
	free(envp);
	return pid < 0 ? EAGAIN : 0;
}

static int make_memory(void)
{
	void *p;

	if (memory_fd >= 0)
		return 0;
	memory_fd = memfd_create("cuda-device-memory", MFD_CLOEXEC);
	if (memory_fd < 0 || ftruncate(memory_fd, (off_t)MEMORY_FILE))
		return errno;
	p = mmap(NULL, MEMORY_FILE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory_fd, 0);
	if (p == MAP_FAILED)
		return errno;
	madvise(p, MEMORY_FILE, MADV_DONTFORK);
	memory_bytes = p;
	return 0;
}

int device_start(void)
{
	struct driver_message message = { .op = DRIVER_HELLO };
	struct driver_reply reply;
	char path[PATH_MAX], *slash;
	int pair[2], ret;
	Dl_info info;

	ret = make_memory();
	if (ret)
		return ret;
	if (!dladdr((void *)(uintptr_t)device_start, &info) || !realpath(info.dli_fname, path))
		return ENOENT;
	slash = strrchr(path, '/');
	/* A variant of the library may lie in a folder below. */
	for (int up = 0; up < 2 && slash; up++) {
		if ((size_t)(slash - path) + sizeof("/" PROGRAM) > sizeof(path))
			return ENAMETOOLONG;
		strcpy(slash, "/" PROGRAM);
		if (!access(path, X_OK))
			break;
		*slash = 0;
		slash = strrchr(path, '/');
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return errno;
	ret = spawn(path, pair[1]);
	close(pair[1]);
	if (!ret) {
		if (sock >= 0)
			close(sock);
		sock = pair[0];
		ret = device_ask(&message, memory_fd, &reply);
		device_pid = (int)reply.index;
	} else {
		close(pair[0]);
	}
	if (ret)
		driver_say("%s could not be started", path);
	counts.device_pid = ret ? 0 : device_pid;
	return ret;
}

bool device_gone(void)
{
	struct pollfd polled = { .fd = sock, .events = POLLRDHUP };

	return syscall(SYS_ppoll, &polled, 1, &(struct timespec){ 0, 0 }, NULL, 0) > 0 &&
	       polled.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

int device_ask(struct driver_message *message, int fd, struct driver_reply *ret_reply)
{
	int ret;

	memset(ret_reply, 0, sizeof(*ret_reply));
	pthread_mutex_lock(&asking);
	ret = send_message(sock, message, sizeof(*message), fd);
	if (!ret)
		ret = receive(sock, ret_reply, sizeof(*ret_reply));
	pthread_mutex_unlock(&asking);
	return ret ? ret : ret_reply->error;
}

int device_range(enum driver_op op, uint64_t address, size_t size, uint64_t offset)
{
	struct driver_message *message = calloc(1, sizeof(*message));
	struct driver_reply reply;
	int ret = ENOMEM;

	if (message) {
		message->op = op;
		message->address = address;
		message->size = size;
		message->offset = offset;
		ret = device_ask(message, -1, &reply);
	}
	free(message);
	return ret;
}

int device_worker(void)
{
	struct driver_message message = { .op = DRIVER_WORKER };
	struct driver_reply reply;
	int pair[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	ret = device_ask(&message, pair[1], &reply);
	close(pair[1]);
	if (!ret)
		return pair[0];
	close(pair[0]);
	return -1;
}

int device_run(int worker, const struct driver_message *message, struct driver_reply *ret_reply)
{
	int ret = send_message(worker, message, sizeof(*message), -1);

	return ret ? ret : receive(worker, ret_reply, sizeof(*ret_reply));
}
