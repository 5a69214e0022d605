/* SPDX-License-Identifier: MIT */
/*
 * waiter.c - waiter FUNCTION: a program that waits for connections and for lines as a launch command may do: a
 * listening socket that blocks, FUNCTION (poll, __poll_chk or select), then accept(). It prints its port, and of each
 * connection what was sent; for each line on its standard input it prints "line".
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../check.h"

/* What poll() is in programs that are built with _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size);

static void await(const char *function, int sock, bool ready[2])
{
	struct pollfd polled[2] = { { .fd = 0, .events = POLLIN }, { .fd = sock, .events = POLLIN } };
	fd_set set;

	if (!strcmp(function, "select")) {
		FD_ZERO(&set);
		FD_SET(0, &set);
		FD_SET(sock, &set);
		CHECK(select(sock + 1, &set, NULL, NULL, NULL) > 0);
		ready[0] = FD_ISSET(0, &set);
		ready[1] = FD_ISSET(sock, &set);
	} else {
		CHECK((strcmp(function, "poll") ? __poll_chk(polled, 2, -1, sizeof(polled)) : poll(polled, 2, -1)) > 0);
		ready[0] = polled[0].revents;
		ready[1] = polled[1].revents;
	}
	CHECK(ready[0] || ready[1]);
}

/* Connections that are there, accepted or not, are no reason to wait. */
static void check_time_limit(const char *function, int sock)
{
	struct pollfd polled = { .fd = sock, .events = POLLIN };
	struct timeval limit = { .tv_usec = 1000 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(sock, &set);
	if (!strcmp(function, "select"))
		CHECK_EQ(select(sock + 1, &set, NULL, NULL, &limit), 0);
	else
		CHECK_EQ(poll(&polled, 1, 1), 0);
}

static void take(int sock)
{
	struct sockaddr_in peer = { 0 };
	socklen_t length = sizeof(peer);
	const int fd = accept(sock, (struct sockaddr *)&peer, &length);
	char sent[64];
	ssize_t n;

	CHECK(fd >= 0 && length == sizeof(peer) && peer.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	CHECK_EQ(fcntl(fd, F_GETFD), 0);
	n = read(fd, sent, sizeof(sent) - 1);
	sent[n > 0 ? n : 0] = '\0';
	printf("connection: %s\n", sent);
	close(fd);
}

int main(int argc, char **argv)
{
	struct sockaddr_in own = { .sin_family = AF_INET };
	socklen_t length = sizeof(own);
	const int sock = socket(AF_INET, SOCK_STREAM, 0);
	char line[64];
	bool ready[2];

	CHECK(argc == 2 && sock >= 0 && !bind(sock, (struct sockaddr *)&own, length) && !listen(sock, 16));
	CHECK(!getsockname(sock, (struct sockaddr *)&own, &length));
	setvbuf(stdout, NULL, _IONBF, 0);
	check_time_limit(argv[1], sock);
	printf("%d\n", ntohs(own.sin_port));
	for (;;) {
		await(argv[1], sock, ready);
		/* Each is for the next round where both are ready. */
		if (ready[1]) {
			take(sock);
		} else {
			if (read(0, line, sizeof(line)) <= 0)
				return 0;
			printf("line\n");
		}
	}
}
