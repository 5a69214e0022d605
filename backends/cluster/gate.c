/* SPDX-License-Identifier: MIT */
/* gate.c - wrappers of bind(), listen(), poll(), select(), accept() and connect() for a cluster's nodes and, preloaded,
 * for their launch command. */
/* With it, poll() and others are inline functions. */
#undef _FORTIFY_SOURCE

#include "gate.h"

#include "ends.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define KEY_S 30			/* time limit for a new connection to send its key, seconds */
#define CONNECT_MS 5000			/* time limit for a machine to answer */
#define MAX_SERVERS 8
#define MAX_FOUND 16			/* maximum number of connections that were accepted early */

struct gate {
	bool here, hosts, node;
	const char *started;		/* with hosts: a file that exists once all nodes have started */
	const char *key;		/* with node: the key; NULL: there is none */
};

static struct {
	bool node, all_here;
	struct adsm_cluster_end servers[MAX_SERVERS];	/* servers of the launch command, which do not know the key */
	size_t n_servers;
	char key[ADSM_CLUSTER_KEY_LENGTH + 1];
} state;

/* The current role of this process. It is read each time because a launch command may change its environment. */
static struct gate read_gate(void)
{
	const char *text = state.node ? NULL : getenv(ADSM_CLUSTER_GATE);
	struct gate gate = { .node = state.node, .key = *state.key ? state.key : NULL };

	gate.here = text && !strcmp(text, "here");
	gate.hosts = text && !strncmp(text, "hosts:", 6);
	gate.started = gate.hosts ? text + 6 : NULL;
	return gate;
}

/* ---- which connections are accepted */

/* The key has arrived before accept() returns: listen() has set TCP_DEFER_ACCEPT. The time of the comparison does not
 * depend on the bytes. */
static bool has_key(int fd, const char *key)
{
	char got[ADSM_CLUSTER_KEY_LENGTH];
	unsigned differ = 0;

	if (recv(fd, got, sizeof(got), MSG_PEEK | MSG_DONTWAIT) != sizeof(got))
		return false;
	for (size_t i = 0; i < sizeof(got); i++)
		differ |= (unsigned)(got[i] ^ key[i]);
	return !differ && recv(fd, got, sizeof(got), MSG_DONTWAIT) == sizeof(got);
}

static bool may_pass(const struct gate *gate, int fd)
{
	struct sockaddr_storage own = { 0 }, peer = { 0 };
	socklen_t own_length = sizeof(own), peer_length = sizeof(peer);
	struct adsm_cluster_end ends[2];
	int64_t user;

	if (getsockname(fd, (void *)&own, &own_length) || !adsm_cluster_end_read(&own, &ends[0]))
		return true;
	if (getpeername(fd, (void *)&peer, &peer_length) || !adsm_cluster_end_read(&peer, &ends[1]))
		return false;
	if (gate->key && !adsm_cluster_end_is_loopback(&ends[1]))
		return has_key(fd, gate->key);
	user = adsm_cluster_end_user(&ends[1], &ends[0]);
	if (user >= 0)
		return user == geteuid();
	if (adsm_cluster_end_is_own(&ends[1]))
		return false;
	return gate->hosts ? access(gate->started, F_OK) != 0 : gate->node && !state.all_here;
}

/* Is the caller a kernel? Modules of kernels are loaded by /proc/PID/fd/…. Connections of kernels are not checked. */
static bool is_kernel(const void *caller)
{
	char folder[64];
	Dl_info info;
	int n = snprintf(folder, sizeof(folder), "/proc/%d/fd/", getpid());

	return dladdr(caller, &info) && info.dli_fname && !strncmp(info.dli_fname, folder, (size_t)n);
}

static bool is_closed(const struct gate *gate)
{
	return gate->node || gate->here || gate->hosts;
}

static int next_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	static int (*next)(struct pollfd *, nfds_t, int);

	if (!next)
		next = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
	return next(fds, n, timeout);
}

/* Accept the next connection. With @checks, close those that may not pass. Without @waits, return -1 and EAGAIN if
 * there is no connection yet. */
static int accept_next(const struct gate *gate, int sock, struct sockaddr *address, socklen_t *length, int flags,
		       bool checks, bool waits)
{
	static int (*next)(int, struct sockaddr *, socklen_t *, int);
	const socklen_t room = length ? *length : 0;

	if (!next)
		next = (int (*)(int, struct sockaddr *, socklen_t *, int))dlsym(RTLD_NEXT, "accept4");
	for (;;) {
		struct pollfd polled = { .fd = sock, .events = POLLIN };
		int fd;

		if (!waits && next_poll(&polled, 1, 0) <= 0) {
			errno = EAGAIN;
			return -1;
		}
		fd = next(sock, address, length, flags);
		if (fd < 0 || !checks || may_pass(gate, fd))
			return fd;
		close(fd);
		if (length)
			*length = room;
	}
}

/* ---- waiting for connections */

/*
 * A program may wait by poll() or select() until a listening socket is readable, and then call accept(). If the socket
 * blocks and all connections were of strangers, accept() would sleep, and the program with it: MPICH's mpiexec does
 * this. So poll() and select() accept the connections of such a socket themselves. They close those of strangers, and
 * keep one that may pass for the next accept(). Open MPI's and PMIx's listening sockets do not block.
 */
static struct {
	pthread_mutex_t lock;
	_Atomic unsigned n;
	struct found {
		bool is_there;
		int sock, fd;			/* the listening socket, the connection */
		ino_t inode;			/* of @sock: its number may be reused for another socket */
		struct sockaddr_storage peer;
		socklen_t length;
	} list[MAX_FOUND];
} found = { .lock = PTHREAD_MUTEX_INITIALIZER };

static ino_t inode_of(int fd)
{
	struct stat status;

	return fstat(fd, &status) ? 0 : status.st_ino;
}

static int drop_entry(struct found *one)
{
	one->is_there = false;
	found.n--;
	return one->fd;
}

/* The entry of a socket, NULL if it has none. The lock is held. */
static struct found *entry_of(int sock)
{
	for (size_t i = 0; i < MAX_FOUND; i++) {
		struct found *const one = &found.list[i];

		if (!one->is_there || one->sock != sock)
			continue;
		if (one->inode == inode_of(sock))
			return one;
		close(drop_entry(one));
	}
	return NULL;
}

static bool has_found(int sock)
{
	bool has;

	if (!found.n)
		return false;
	pthread_mutex_lock(&found.lock);
	has = entry_of(sock);
	pthread_mutex_unlock(&found.lock);
	return has;
}

/* Returns a connection as accept4() does; -1 if none was accepted early. */
static int take_found(int sock, struct sockaddr *address, socklen_t *length, int flags)
{
	struct found *one;
	int fd = -1;

	if (!found.n)
		return -1;
	pthread_mutex_lock(&found.lock);
	one = entry_of(sock);
	if (one) {
		fd = drop_entry(one);
		if (address && length) {
			memcpy(address, &one->peer, *length < one->length ? *length : one->length);
			*length = one->length;
		}
	}
	pthread_mutex_unlock(&found.lock);
	if (fd >= 0 && !(flags & SOCK_CLOEXEC))
		fcntl(fd, F_SETFD, 0);
	if (fd >= 0 && flags & SOCK_NONBLOCK)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return fd;
}

static bool blocks_and_listens(int sock)
{
	socklen_t length = sizeof(int);
	int listens = 0;

	return !getsockopt(sock, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) && listens &&
		!(fcntl(sock, F_GETFL) & O_NONBLOCK);
}

/* Would accept() return without sleeping? @sock is readable. */
static bool is_ready(const struct gate *gate, int sock, const void *caller)
{
	bool ready = true;

	if (!blocks_and_listens(sock) || is_kernel(caller))
		return true;
	pthread_mutex_lock(&found.lock);
	for (size_t i = 0; i < MAX_FOUND; i++) {
		struct found *const one = &found.list[i];

		if (one->is_there)
			continue;
		one->length = sizeof(one->peer);
		one->fd = accept_next(gate, sock, (void *)&one->peer, &one->length, SOCK_CLOEXEC, true, false);
		one->sock = sock;
		one->inode = inode_of(sock);
		one->is_there = one->fd >= 0;
		found.n += one->is_there;
		/* accept() will return any other error. */
		ready = one->is_there || errno != EAGAIN;
		break;
	}
	pthread_mutex_unlock(&found.lock);
	return ready;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int wait_poll(struct pollfd *fds, nfds_t n, int timeout, const void *caller)
{
	const struct gate gate = read_gate();
	const int64_t end = now_ms() + timeout;

	if (!is_closed(&gate))
		return next_poll(fds, n, timeout);
	for (;;) {
		bool has = false;
		int ready;

		for (nfds_t i = 0; i < n && !has; i++)
			has = fds[i].events & POLLIN && has_found(fds[i].fd);
		ready = next_poll(fds, n, has ? 0 : timeout);
		if (ready < 0 || (!ready && !has))
			return ready;
		ready = 0;
		for (nfds_t i = 0; i < n; i++) {
			if (fds[i].events & POLLIN && has_found(fds[i].fd))
				fds[i].revents |= POLLIN;
			else if (fds[i].revents & POLLIN && !is_ready(&gate, fds[i].fd, caller))
				fds[i].revents &= ~POLLIN;
			ready += fds[i].revents != 0;
		}
		if (ready || !timeout || (timeout > 0 && now_ms() >= end))
			return ready;
		if (timeout > 0)
			timeout = (int)(end - now_ms());
	}
}

PUBLIC int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	return wait_poll(fds, n, timeout, __builtin_return_address(0));
}

/* Programs that are built with _FORTIFY_SOURCE call this instead of poll(). */
PUBLIC int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size);
PUBLIC int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	if (size / sizeof(*fds) < n) {
		errno = EFAULT;
		return -1;
	}
	return wait_poll(fds, n, timeout, __builtin_return_address(0));
}

PUBLIC int select(int n, fd_set *read, fd_set *write, fd_set *except, struct timeval *timeout)
{
	static int (*next)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	const size_t size = ((size_t)n + NFDBITS - 1) / NFDBITS * sizeof(fd_mask);
	fd_set *const sets[3] = { read, write, except }, wanted[3];
	const struct gate gate = read_gate();

	if (!next)
		next = (int (*)(int, fd_set *, fd_set *, fd_set *, struct timeval *))dlsym(RTLD_NEXT, "select");
	if (!read || n <= 0 || n > FD_SETSIZE || !is_closed(&gate))
		return next(n, read, write, except, timeout);
	for (int i = 0; i < 3; i++) {
		if (sets[i])
			memcpy(&wanted[i], sets[i], size);
	}
	for (;;) {
		struct timeval none = { 0 };
		bool has = false;
		int ready;

		for (int fd = 0; fd < n && !has; fd++)
			has = FD_ISSET(fd, read) && has_found(fd);
		ready = next(n, read, write, except, has ? &none : timeout);
		if (ready < 0 || (!ready && !has))
			return ready;
		for (int fd = 0; fd < n; fd++) {
			const bool was = FD_ISSET(fd, read);

			if (!FD_ISSET(fd, &wanted[0]))
				continue;
			if (has_found(fd))
				FD_SET(fd, read);
			else if (was && !is_ready(&gate, fd, __builtin_return_address(0)))
				FD_CLR(fd, read);
			ready += FD_ISSET(fd, read) - was;
		}
		/* select() has subtracted the elapsed time from *timeout. */
		if (ready || (timeout && !timeout->tv_sec && !timeout->tv_usec))
			return ready;
		for (int i = 0; i < 3; i++) {
			if (sets[i])
				memcpy(sets[i], &wanted[i], size);
		}
	}
}

static int accept_one(int sock, struct sockaddr *address, socklen_t *length, int flags, const void *caller)
{
	const struct gate gate = read_gate();
	const int fd = take_found(sock, address, length, flags);

	return fd >= 0 ? fd : accept_next(&gate, sock, address, length, flags,
					  is_closed(&gate) && !is_kernel(caller), true);
}

PUBLIC int accept4(int sock, struct sockaddr *address, socklen_t *length, int flags)
{
	return accept_one(sock, address, length, flags, __builtin_return_address(0));
}

PUBLIC int accept(int sock, struct sockaddr *address, socklen_t *length)
{
	return accept_one(sock, address, length, 0, __builtin_return_address(0));
}

/* ---- a launch command */

PUBLIC int bind(int sock, const struct sockaddr *address, socklen_t length)
{
	static int (*next)(int, const struct sockaddr *, socklen_t);
	const struct gate gate = read_gate();
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (!next)
		next = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "bind");
	if (gate.here && length >= sizeof(v4) && address->sa_family == AF_INET) {
		memcpy(&v4, address, sizeof(v4));
		if (v4.sin_addr.s_addr == htonl(INADDR_ANY)) {
			v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
			return next(sock, (void *)&v4, sizeof(v4));
		}
	}
	if (gate.here && length >= sizeof(v6) && address->sa_family == AF_INET6) {
		memcpy(&v6, address, sizeof(v6));
		if (IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr)) {
			v6.sin6_addr = in6addr_loopback;
			return next(sock, (void *)&v6, sizeof(v6));
		}
	}
	return next(sock, address, length);
}

/* ---- nodes */

PUBLIC int listen(int sock, int backlog)
{
	static int (*next)(int, int);
	const struct gate gate = read_gate();
	struct sockaddr_storage own = { 0 };
	socklen_t length = sizeof(own);
	const int seconds = KEY_S;
	struct adsm_cluster_end end;

	if (!next)
		next = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");
	/* A long queue: strangers that send nothing must not fill it. */
	if (gate.key && !is_kernel(__builtin_return_address(0)) && !getsockname(sock, (void *)&own, &length) &&
	    adsm_cluster_end_read(&own, &end) &&
	    !setsockopt(sock, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds)))
		backlog = backlog < SOMAXCONN ? SOMAXCONN : backlog;
	return next(sock, backlog);
}

/* Wait until the connection is established. Returns 0, or -1 with errno. */
static int finish_connect(int sock)
{
	struct pollfd polled = { .fd = sock, .events = POLLOUT };
	socklen_t length = sizeof(int);
	int error = 0, n;

	while ((n = next_poll(&polled, 1, CONNECT_MS)) < 0 && errno == EINTR)
		;
	if (!n)
		error = ETIMEDOUT;
	else if (n < 0 || getsockopt(sock, SOL_SOCKET, SO_ERROR, &error, &length))
		error = errno;
	errno = error;
	return error ? -1 : 0;
}

static bool is_server(const struct adsm_cluster_end *end)
{
	for (size_t i = 0; i < state.n_servers; i++) {
		if (!memcmp(&state.servers[i], end, sizeof(*end)))
			return true;
	}
	return false;
}

PUBLIC int connect(int sock, const struct sockaddr *address, socklen_t length)
{
	static int (*next)(int, const struct sockaddr *, socklen_t);
	const struct gate gate = read_gate();
	struct sockaddr_storage to = { 0 };
	socklen_t type_length = sizeof(int);
	int type = 0, ret;
	struct adsm_cluster_end end;

	if (!next)
		next = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
	ret = next(sock, address, length);
	if (!gate.key || (ret && errno != EINPROGRESS) || length > sizeof(to))
		return ret;
	memcpy(&to, address, length);
	if (!adsm_cluster_end_read(&to, &end) || adsm_cluster_end_is_loopback(&end) || is_server(&end) ||
	    is_kernel(__builtin_return_address(0)) ||
	    getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &type_length) || type != SOCK_STREAM) {
		if (ret)
			errno = EINPROGRESS;
		return ret;
	}
	if (ret && finish_connect(sock))
		return -1;
	/* send() does not block: the buffer of a new connection is empty. */
	return send(sock, gate.key, ADSM_CLUSTER_KEY_LENGTH, MSG_NOSIGNAL) == ADSM_CLUSTER_KEY_LENGTH ? 0 : -1;
}

/* ---- the start */

static bool are_same(const char *some, const char *all)
{
	const char *texts[] = { getenv(some), getenv(all) };

	return texts[0] && texts[1] && !strcmp(texts[0], texts[1]);
}

bool adsm_cluster_all_here(void)
{
	const char *const machines = getenv("SLURM_STEP_NUM_NODES");

	/* In an allocation of Slurm, mpirun and mpiexec pass on the variables of a step that is not the job's: of the
	 * program's own, or of the step that starts their daemon on each machine. */
	if (getenv("OMPI_COMM_WORLD_SIZE") || getenv("MPI_LOCALNRANKS"))
		return are_same("OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE") ||
			are_same("MPI_LOCALNRANKS", "PMI_SIZE");
	return machines && !strcmp(machines, "1");
}

/* Find the launch command's servers on this machine; Open MPI 5 passes their addresses in the environment. */
static void find_servers(void)
{
	for (char **entry = environ; *entry && state.n_servers < MAX_SERVERS; entry++) {
		if (!strncmp(*entry, "PMIX_SERVER_URI", 15) &&
		    adsm_cluster_end_of_uri(*entry, &state.servers[state.n_servers]))
			state.n_servers++;
	}
}

/* Close the listening sockets that a launch command has left open for its children. */
static void close_listening(void)
{
	for (int fd = 3; fd < 64; fd++) {
		socklen_t length = sizeof(int);
		int listens = 0;

		if (!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) && listens)
			close(fd);
	}
}

void adsm_cluster_gate_start(void)
{
	const char *const key = getenv(ADSM_CLUSTER_KEY);

	close_listening();
	find_servers();
	state.all_here = adsm_cluster_all_here();
	if (key && strlen(key) == ADSM_CLUSTER_KEY_LENGTH && !state.all_here)
		strcpy(state.key, key);
	state.node = true;
	unsetenv(ADSM_CLUSTER_KEY);
	unsetenv(ADSM_CLUSTER_GATE);
	unsetenv("LD_PRELOAD");
}
