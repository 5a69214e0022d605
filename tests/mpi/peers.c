/* SPDX-License-Identifier: MIT */
/*
 * peers.c - another process that reads and writes this one's objects by process_vm_readv() and process_vm_writev().
 * Processes that request an object's memory and then end, send something else, or lack the permission.
 */
#include <adsm.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define CHECK_MORE adsmLastError()
#include "../check.h"
#include "base/peer.h"

#define SIZE ((size_t)1 << 20)
#define N_AT_ONCE 64			/* requests that are answered at one time */
#define N_HELD 200			/* more than that */
#define NOBODY 65534

static char *self;

/* As lib/run/copy/peers.c has them. */
struct message {
	uint32_t first, n;		/* of a question: is it to be written; of an answer: an error */
	struct iovec ranges[8];
};

/* Do nothing, until the process has ended. */
static _Noreturn void pause_beside(pid_t pid)
{
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	poll(&ended, 1, -1);
	_exit(0);
}

/* What the other process does; the addresses are this one's. */
static int other(const char *what, pid_t pid, char *p)
{
	static char buffer[SIZE];
	struct iovec here = { buffer, SIZE }, there = { p, SIZE }, many[200];
	struct message message = { 1, 1, { there } };
	int fd;

	if (!strcmp(what, "read")) {
		CHECK_EQ(process_vm_readv(pid, &here, 1, &there, 1, 0), (ssize_t)SIZE);
		for (size_t i = 0; i < SIZE; i++)
			CHECK_EQ(buffer[i], 1);
	} else if (!strcmp(what, "write")) {
		memset(buffer, 2, SIZE);
		there.iov_base = p + 100;
		here.iov_len = there.iov_len = SIZE - 200;
		CHECK_EQ(process_vm_writev(pid, &here, 1, &there, 1, 0), (ssize_t)SIZE - 200);
	} else if (!strcmp(what, "ranges")) {
		/* Every second piece of some, which is more than one question may have. */
		for (int i = 0; i < 200; i++)
			many[i] = (struct iovec){ p + 1000 * i, 500 };
		memset(buffer, 3, SIZE);
		here.iov_len = 200 * 500;
		CHECK_EQ(process_vm_writev(pid, &here, 1, many, 200, 0), 200 * 500);
	} else if (!strcmp(what, "edge")) {
		/* Up to where there is no memory, as the kernel has it; and where there is none at all. */
		here.iov_len = there.iov_len = 2000;
		there.iov_base = p + SIZE - 1000;
		CHECK_EQ(process_vm_readv(pid, &here, 1, &there, 1, 0), 1000);
		there.iov_base = (char *)4096;
		CHECK_EQ(process_vm_readv(pid, &here, 1, &there, 1, 0), -1);
		CHECK_EQ(errno, EFAULT);
	} else if (!strcmp(what, "leave")) {
		fd = adsm_peer_connect(pid);
		CHECKF(fd >= 0, "%d", fd);
		CHECK_EQ(adsm_peer_send(fd, &message, 8 + sizeof(there)), 0);
		CHECK_EQ(adsm_peer_receive(fd, &message, sizeof(message), pid), (long)(8 + sizeof(there)));
		CHECK_EQ(message.first, 0);
		memset(buffer, 4, SIZE);
		CHECK_EQ(process_vm_writev(pid, &here, 1, message.ranges, 1, 0), (ssize_t)SIZE);
		_exit(0);
	} else if (!strcmp(what, "fork")) {
		/* As many writes as are answered at one time. A child has the sockets when this process ends. */
		for (size_t i = 0; i < N_AT_ONCE; i++) {
			fd = adsm_peer_connect(pid);
			CHECKF(fd >= 0, "%zu: %d", i, fd);
			message = (struct message){ 1, 1, { { p + i * 4096, 4096 } } };
			CHECK_EQ(adsm_peer_send(fd, &message, 8 + sizeof(there)), 0);
			CHECK_EQ(adsm_peer_receive(fd, &message, sizeof(message), pid), (long)(8 + sizeof(there)));
		}
		if (!fork())
			pause_beside(pid);
		_exit(0);
	} else if (!strcmp(what, "nonsense")) {
		for (int i = 0; i < 64; i++) {
			fd = adsm_peer_connect(pid);
			CHECKF(fd >= 0, "%d", fd);
			memset(buffer, 0xff * (i & 1), 1200);
			CHECK_EQ(adsm_peer_send(fd, buffer, (size_t)i * 16 + 1), 0);
			CHECKF(adsm_peer_receive(fd, buffer, SIZE, pid) <= 0, "%d", i);
			adsm_peer_close(fd);
		}
	} else if (!strcmp(what, "hold")) {
		for (int i = 0; i < N_HELD; i++)
			{
			fd = adsm_peer_connect(pid);
			CHECKF(fd >= 0, "%d: %d", i, fd);
		}
		raise(SIGSTOP);
	} else if (!strcmp(what, "stranger")) {
		CHECK_EQ(setresuid(NOBODY, NOBODY, NOBODY), 0);
		fd = adsm_peer_connect(pid);
		CHECKF(fd >= 0, "%d", fd);
		CHECKF(adsm_peer_receive(fd, buffer, SIZE, pid) <= 0, "a stranger is answered");
	} else if (!strcmp(what, "killed")) {
		CHECK_EQ(process_vm_readv(pid, &here, 1, &there, 1, 0), -1);
		CHECKF(errno == ESRCH || errno == EFAULT, "%d", errno);
	} else if (!strcmp(what, "reset")) {
		/* As the kernel does if no process answers. */
		CHECK_EQ(process_vm_readv(pid, &here, 1, &there, 1, 0), -1);
		CHECK_EQ(errno, EFAULT);
		CHECK_EQ(process_vm_writev(pid, &here, 1, &there, 1, 0), -1);
		CHECK_EQ(errno, EFAULT);
	} else {
		FAIL("%s?", what);
	}
	return 0;
}

static pid_t start(const char *what, pid_t of, char *p)
{
	char number[20], address[20];
	pid_t pid;

	snprintf(number, sizeof(number), "%d", of);
	snprintf(address, sizeof(address), "%p", (void *)p);
	pid = vfork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(self, self, what, number, address, NULL);
		_exit(127);
	}
	CHECK(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECKF(!status, "%x", status);
}

/* Of @every bytes the first @of are @inside, from @from to @to; all others @outside. */
static void look(const char *p, const char *what, size_t from, size_t to, size_t every, size_t of, int inside,
		 int outside)
{
	for (size_t i = 0; i < SIZE; i++) {
		int want = i >= from && i < to && i % every < of ? inside : outside;

		CHECKF(p[i] == want, "%s: byte %zu is %d, not %d", what, i, p[i], want);
	}
}

/* A process that has memory at @ret_p. */
static pid_t start_owner(const char *what, char **ret_p)
{
	char address[20] = "";
	pid_t owner;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	owner = vfork();
	if (!owner) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], STDOUT_FILENO);
		execl(self, self, what, NULL);
		_exit(127);
	}
	close(ends[1]);
	CHECK(read(ends[0], address, sizeof(address) - 1) > 0);
	close(ends[0]);
	*ret_p = (char *)strtoul(address, NULL, 16);
	return owner;
}

/* One that is asked, stops for ever, and ends. Its child has its sockets. */
static void owner_dies(void)
{
	pid_t owner, asks;
	int status;
	char *p;

	owner = start_owner("own", &p);
	kill(owner, SIGSTOP);
	asks = start("killed", owner, p);
	kill(owner, SIGKILL);
	CHECK_EQ(waitpid(owner, &status, 0), owner);
	end(asks);
}

/* A process that continues without its library: it leaves requests unread, and reports of moved bytes, too. */
static void owner_resets(void)
{
	char *p;
	pid_t owner = start_owner("reset", &p);
	int status;

	end(start("reset", owner, p));
	kill(owner, SIGKILL);
	CHECK_EQ(waitpid(owner, &status, 0), owner);
}

static int reset(void)
{
	void *closed = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static char open[SIZE];
	char name[ADSM_PEER_THREAD_SIZE];
	struct message message;
	struct pollfd unread = { .events = POLLIN };
	int door;

	CHECK_EQ(adsm_peer_listen(&door, name), 0);
	CHECK(!prctl(PR_SET_NAME, name));
	printf("%p", closed);
	fflush(stdout);
	for (;;) {
		unread.fd = adsm_peer_accept(door);
		CHECKF(unread.fd >= 0, "%d", unread.fd);
		CHECK_EQ(poll(&unread, 1, -1), 1);
		CHECK(recv(unread.fd, &message, sizeof(message), MSG_PEEK) > 0);
		if (message.first) {
			adsm_peer_receive(unread.fd, &message, sizeof(message), 0);
			message = (struct message){ 0, 1, { { open, SIZE } } };
			CHECK_EQ(adsm_peer_send(unread.fd, &message, 8 + sizeof(struct iovec)), 0);
			CHECK_EQ(poll(&unread, 1, -1), 1);
		}
		adsm_peer_close(unread.fd);
	}
}

static int own(void)
{
	char *p;

	CHECK(!setenv("PMI_RANK", "0", 1));
	p = adsmAlloc(SIZE);
	CHECK(p);
	CHECK_OK(adsmMemset(p, 1, SIZE));
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	printf("%p", (void *)p);
	fflush(stdout);
	for (;;)
		pause();
}

/* The program closes the socket by a system call, at which a thread of the library is asleep: the stop wakes it. */
static void program_closes(void)
{
	int n_closed = 0, listens;
	char *p = adsmAlloc(SIZE);

	CHECK(p);
	CHECK_OK(adsmMemset(p, 1, SIZE));
	end(start("read", getpid(), p));
	CHECK_OK(adsmFree(p));
	for (int fd = 3; fd < 1024; fd++) {
		socklen_t size = sizeof(listens);

		if (!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) && listens)
			n_closed += !syscall(SYS_close, fd);
	}
	CHECK_EQ(n_closed, 1);
	CHECK_OK(adsmShutdown());
}

int main(int argc, char **argv)
{
	char *p;
	pid_t held;
	int status;

	self = argv[0];
	if (argc == 2)
		return strcmp(argv[1], "own") ? reset() : own();
	if (argc > 2)
		return other(argv[1], atoi(argv[2]), (char *)strtoul(argv[3], NULL, 16));
	CHECK(!setenv("PMI_RANK", "0", 1));
	p = adsmAlloc(SIZE);
	CHECK(p);
	CHECK_OK(adsmMemset(p, 1, SIZE));
	end(start("read", getpid(), p));
	CHECK_OK(adsmMemset(p, 1, SIZE));
	end(start("write", getpid(), p));
	look(p, "written", 100, SIZE - 100, SIZE, SIZE, 2, 1);
	CHECK_OK(adsmMemset(p, 1, SIZE));
	end(start("ranges", getpid(), p));
	look(p, "written in pieces", 0, 200 * 1000, 1000, 500, 3, 1);
	CHECK_OK(adsmMemset(p, 1, SIZE));
	end(start("edge", getpid(), p));
	end(start("leave", getpid(), p));
	end(start("nonsense", getpid(), p));
	if (!geteuid())
		end(start("stranger", getpid(), p));
	held = start("hold", getpid(), p);
	CHECK_EQ(waitpid(held, &status, WUNTRACED), held);
	CHECK(WIFSTOPPED(status));
	/* What was left behind ends by itself; later requests wait until then. */
	kill(held, SIGKILL);
	CHECK_EQ(waitpid(held, &status, 0), held);
	CHECK_OK(adsmMemset(p, 1, SIZE));
	end(start("read", getpid(), p));
	/* The writes end although a child has their sockets, and nothing has changed. */
	end(start("fork", getpid(), p));
	end(start("read", getpid(), p));
	held = start("hold", getpid(), p);
	CHECK_EQ(waitpid(held, &status, WUNTRACED), held);
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmShutdown());
	kill(held, SIGKILL);
	waitpid(held, &status, 0);
	program_closes();
	owner_dies();
	owner_resets();
	return 0;
}
