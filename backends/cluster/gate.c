/* SPDX-License-Identifier: MIT */
/* gate.c - bind(), listen(), accept() and connect() of a cluster's nodes and, preloaded, of their launch command. */
#include "gate.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define KEY_S 30			/* how long a new connection may take to send its key */
#define CONNECT_MS 5000			/* for a machine to answer */
#define MAX_SERVERS 8

/* One end of a connection, IPv4 as IPv6 has it; the port by the machine's own order of bytes. */
struct end {
	uint32_t words[4];
	unsigned port;
};

struct gate {
	bool here, hosts, node;
	const char *started;		/* a file, with hosts */
	const char *key;		/* with node; NULL: there is none */
};

static struct {
	bool node, all_here;
	struct end servers[MAX_SERVERS];	/* of the launch command, which know no key */
	size_t n_servers;
	char key[ADSM_CLUSTER_KEY_LENGTH + 1];
} state;

/* What this process does, at this moment: a launch command may change its environment. */
static struct gate read_gate(void)
{
	const char *text = state.node ? NULL : getenv(ADSM_CLUSTER_GATE);
	struct gate gate = { .node = state.node, .key = *state.key ? state.key : NULL };

	gate.here = text && !strcmp(text, "here");
	gate.hosts = text && !strncmp(text, "hosts:", 6);
	gate.started = gate.hosts ? text + 6 : NULL;
	return gate;
}

/* ---- ends of connections */

static bool read_end(const struct sockaddr_storage *address, struct end *ret_end)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;

	memset(ret_end, 0, sizeof(*ret_end));
	if (address->ss_family == AF_INET) {
		ret_end->words[2] = htonl(0xffff);
		ret_end->words[3] = v4->sin_addr.s_addr;
		ret_end->port = ntohs(v4->sin_port);
	} else if (address->ss_family == AF_INET6) {
		memcpy(ret_end->words, &v6->sin6_addr, sizeof(ret_end->words));
		ret_end->port = ntohs(v6->sin6_port);
	}
	return address->ss_family == AF_INET || address->ss_family == AF_INET6;
}

static bool is_loopback(const struct end *end)
{
	if (end->words[0] || end->words[1])
		return false;
	if (end->words[2])
		return end->words[2] == htonl(0xffff) && (ntohl(end->words[3]) >> 24) == 127;
	return end->words[3] == htonl(1);
}

/* "0100007F:1F90", with 8 digits or with 32, as /proc/net has it. */
static bool parse_end(const char *text, struct end *ret_end)
{
	const size_t digits = strcspn(text, ":"), n = digits / 8;
	char word[9] = "";

	memset(ret_end, 0, sizeof(*ret_end));
	if ((digits != 8 && digits != 32) || !text[digits])
		return false;
	for (size_t i = 0; i < n; i++) {
		memcpy(word, text + 8 * i, 8);
		ret_end->words[4 - n + i] = (uint32_t)strtoul(word, NULL, 16);
	}
	if (n == 1)
		ret_end->words[2] = htonl(0xffff);
	ret_end->port = (unsigned)strtoul(text + digits + 1, NULL, 16);
	return true;
}

/* Whose is the socket of this machine that is one end of a connection, the other one being @other? -1: of nobody. */
static int64_t find_user(const struct end *end, const struct end *other)
{
	static const char *const files[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	int64_t user = -1;

	for (size_t i = 0; i < 2 && user < 0; i++) {
		FILE *file = fopen(files[i], "re");
		char line[512], texts[2][48];
		unsigned long uid;

		while (file && user < 0 && fgets(line, sizeof(line), file)) {
			struct end ends[2];

			if (sscanf(line, "%*s %47s %47s %*s %*s %*s %*s %lu", texts[0], texts[1], &uid) == 3 &&
			    parse_end(texts[0], &ends[0]) && parse_end(texts[1], &ends[1]) &&
			    !memcmp(&ends[0], end, sizeof(*end)) && !memcmp(&ends[1], other, sizeof(*other)))
				user = (int64_t)uid;
		}
		if (file)
			fclose(file);
	}
	return user;
}

/* ---- who may connect */

/* They are there when the connection is: listen() has asked for that. In a time that does not depend on the bytes. */
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
	struct end ends[2];
	int64_t user;

	if (getsockname(fd, (void *)&own, &own_length) || !read_end(&own, &ends[0]))
		return true;
	if (getpeername(fd, (void *)&peer, &peer_length) || !read_end(&peer, &ends[1]))
		return false;
	if (gate->key && !is_loopback(&ends[1]))
		return has_key(fd, gate->key);
	user = find_user(&ends[1], &ends[0]);
	if (user >= 0)
		return user == geteuid();
	return gate->hosts ? access(gate->started, F_OK) != 0 : gate->node && !state.all_here;
}

/* Kernels are files that the process has no other name for: what they connect to is their own affair. */
static bool is_kernel(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname && !strncmp(info.dli_fname, "/proc/self/fd/", 14);
}

static int take(int sock, struct sockaddr *address, socklen_t *length, int flags, const void *caller)
{
	static int (*next)(int, struct sockaddr *, socklen_t *, int);
	const socklen_t room = length ? *length : 0;
	const struct gate gate = read_gate();

	if (!next)
		next = (int (*)(int, struct sockaddr *, socklen_t *, int))dlsym(RTLD_NEXT, "accept4");
	for (;;) {
		const int fd = next(sock, address, length, flags);

		if (fd < 0 || (!gate.node && !gate.here && !gate.hosts) || is_kernel(caller) || may_pass(&gate, fd))
			return fd;
		close(fd);
		if (length)
			*length = room;
	}
}

PUBLIC int accept4(int sock, struct sockaddr *address, socklen_t *length, int flags)
{
	return take(sock, address, length, flags, __builtin_return_address(0));
}

PUBLIC int accept(int sock, struct sockaddr *address, socklen_t *length)
{
	return take(sock, address, length, 0, __builtin_return_address(0));
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
	struct end end;

	if (!next)
		next = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");
	/* With room for strangers who say nothing. */
	if (gate.key && !is_kernel(__builtin_return_address(0)) && !getsockname(sock, (void *)&own, &length) &&
	    read_end(&own, &end) && !setsockopt(sock, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds)))
		backlog = backlog < SOMAXCONN ? SOMAXCONN : backlog;
	return next(sock, backlog);
}

/* Wait for the connection. 0, or -1 with errno. */
static int finish_connect(int sock)
{
	struct pollfd polled = { .fd = sock, .events = POLLOUT };
	socklen_t length = sizeof(int);
	int error = 0, n;

	while ((n = poll(&polled, 1, CONNECT_MS)) < 0 && errno == EINTR)
		;
	if (!n)
		error = ETIMEDOUT;
	else if (n < 0 || getsockopt(sock, SOL_SOCKET, SO_ERROR, &error, &length))
		error = errno;
	errno = error;
	return error ? -1 : 0;
}

static bool is_server(const struct end *end)
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
	struct end end;

	if (!next)
		next = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
	ret = next(sock, address, length);
	if (!gate.key || (ret && errno != EINPROGRESS) || length > sizeof(to))
		return ret;
	memcpy(&to, address, length);
	if (!read_end(&to, &end) || is_loopback(&end) || is_server(&end) || is_kernel(__builtin_return_address(0)) ||
	    getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &type_length) || type != SOCK_STREAM) {
		if (ret)
			errno = EINPROGRESS;
		return ret;
	}
	if (ret && finish_connect(sock))
		return -1;
	/* There is room for it: it is the first that goes. */
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

	return are_same("OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE") ||
		are_same("MPI_LOCALNRANKS", "PMI_SIZE") || (machines && !strcmp(machines, "1"));
}

/* What Open MPI 5 tells its processes of the launch command's part on this machine: "name;tcp4://10.0.0.1:1234". */
static void find_servers(void)
{
	for (char **entry = environ; *entry && state.n_servers < MAX_SERVERS; entry++) {
		struct sockaddr_storage address = { .ss_family = AF_INET };
		struct sockaddr_in *v4 = (void *)&address;
		char host[64];
		unsigned port;
		const char *at = strncmp(*entry, "PMIX_SERVER_URI", 15) ? NULL : strstr(*entry, ";tcp4://");

		if (!at || sscanf(at, ";tcp4://%63[0-9.]:%u", host, &port) != 2 ||
		    inet_pton(AF_INET, host, &v4->sin_addr) != 1)
			continue;
		v4->sin_port = htons((uint16_t)port);
		read_end(&address, &state.servers[state.n_servers++]);
	}
}

/* A launch command's sockets, which it has left open for its children. */
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
