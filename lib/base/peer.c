/* SPDX-License-Identifier: MIT */
/* peer.c - see peer.h. By system calls that no wrapper intercepts, as the caller may be in a wrapper itself. */
#include "base/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "base/os.h"
#include "base/syscall.h"

#define PREFIX "adsm-peer-"
#define NAME_LENGTH 5		/* characters that the system chooses */
/* seconds without a message after which the library checks whether the process still runs */
#define LOOK_S 1

static int open_socket(void)
{
	return adsm_fd_lift((int)sys(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

int adsm_peer_listen(int *ret_fd, char ret_thread[ADSM_PEER_THREAD_SIZE])
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(address);
	int fd = open_socket(), error;

	if (fd < 0)
		return fd;
	/* Without a name the system chooses one. */
	error = (int)sys(SYS_bind, fd, &address, sizeof(address.sun_family));
	if (!error)
		error = (int)sys(SYS_listen, fd, SOMAXCONN);
	if (!error)
		error = (int)sys(SYS_getsockname, fd, &address, &size);
	if (!error && size != offsetof(struct sockaddr_un, sun_path) + 1 + NAME_LENGTH)
		error = -EADDRNOTAVAIL;
	if (error) {
		adsm_peer_close(fd);
		return error;
	}
	adsm_format(ret_thread, ADSM_PEER_THREAD_SIZE, PREFIX "%.*s", NAME_LENGTH, address.sun_path + 1);
	*ret_fd = fd;
	return 0;
}

static int peer_credentials(int fd, struct ucred *ret_credentials)
{
	socklen_t size = sizeof(*ret_credentials);

	return (int)sys(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, ret_credentials, &size);
}

int adsm_peer_accept(int fd)
{
	int sock = adsm_fd_lift((int)sys(SYS_accept4, fd, NULL, NULL, SOCK_CLOEXEC));
	struct ucred other = { 0 };

	if (sock >= 0 && (peer_credentials(sock, &other) || (other.uid && other.uid != (uid_t)sys(SYS_geteuid)))) {
		adsm_peer_close(sock);
		return -EPERM;
	}
	return sock;
}

int adsm_peer_shut(int fd)
{
	return (int)sys(SYS_shutdown, fd, SHUT_RDWR);
}

void adsm_peer_close(int fd)
{
	sys(SYS_close, fd);
}

int adsm_peer_process(int fd)
{
	struct ucred other = { 0 };

	return peer_credentials(fd, &other) ? 0 : other.pid;
}

/* ---- finding a process's socket */

/* An entry of a directory, as the system returns it. */
struct entry {
	uint64_t inode, offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

/* Is this the thread that answers? If so, the name of its socket is stored in @address. */
static bool answers(int pid, const char *thread, struct sockaddr_un *address)
{
	char path[64], name[32];

	adsm_format(path, sizeof(path), "/proc/%d/task/%s/comm", pid, thread);
	adsm_os_read_text(path, name, sizeof(name));
	if (strncmp(name, PREFIX, strlen(PREFIX)) || strlen(name) < strlen(PREFIX) + NAME_LENGTH)
		return false;
	memcpy(address->sun_path + 1, name + strlen(PREFIX), NAME_LENGTH);
	return true;
}

static bool find_address(int pid, struct sockaddr_un *address)
{
	_Alignas(struct entry) char buffer[1024];
	char path[32];
	bool found = false;
	long n = 1;
	int fd;

	adsm_format(path, sizeof(path), "/proc/%d/task", pid);
	fd = adsm_fd_lift((int)sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (fd < 0)
		return false;
	while (!found && (n = sys(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0)
		for (long at = 0; !found && at < n; at += ((struct entry *)(buffer + at))->size)
			found = answers(pid, ((struct entry *)(buffer + at))->name, address);
	adsm_peer_close(fd);
	return found;
}

int adsm_peer_connect(int pid)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred other = { 0 };
	int fd, error;

	if (!find_address(pid, &address))
		return -ENOENT;
	fd = open_socket();
	if (fd < 0)
		return fd;
	do
		error = (int)sys(SYS_connect, fd, &address, offsetof(struct sockaddr_un, sun_path) + 1 + NAME_LENGTH);
	while (error == -EINTR);
	if (!error && (peer_credentials(fd, &other) || other.pid != pid))
		error = -ENOENT;
	if (!error)
		return fd;
	adsm_peer_close(fd);
	return error == -ECONNREFUSED ? -ENOENT : error;
}

/* ---- messages */

int adsm_peer_send(int fd, const void *data, size_t size)
{
	long n;

	do
		n = sys(SYS_sendto, fd, data, size, MSG_NOSIGNAL, NULL, 0);
	while (n == -EINTR);
	return n < 0 ? (int)n : 0;
}

/* A process that has ended has no memory. The contents at the address do not matter. */
bool adsm_peer_runs(int pid)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)ADSM_PAGE_SIZE, 1 };

	return sys(SYS_process_vm_readv, pid, &here, 1, &there, 1, 0) != -ESRCH;
}

long adsm_peer_receive(int fd, void *data, size_t size, int pid)
{
	long n;

	/* The socket alone does not show the other process's end: a child that it has forked may have the socket
	 * too. */
	while (pid) {
		struct pollfd wanted = { .fd = fd, .events = POLLIN };
		struct timespec patience = { .tv_sec = LOOK_S };

		n = sys(SYS_ppoll, &wanted, 1, &patience, NULL, KERNEL_SIGSET_SIZE);
		if (n > 0)
			break;
		if ((n < 0 && n != -EINTR) || (!n && !adsm_peer_runs(pid)))
			return n ? n : -ESRCH;
	}
	do
		n = sys(SYS_recvfrom, fd, data, size, 0, NULL, NULL);
	while (n == -EINTR);
	return n;
}
