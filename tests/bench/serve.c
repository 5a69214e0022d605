/* SPDX-License-Identifier: MIT */
/*
 * serve.c - a server as there are many, which knows nothing of the library: for each request it accepts a connection,
 * reads what is wanted, opens, looks at and sends a file, and closes both. Usage: serve REQUESTS. It prints the
 * processor time that one took, in nanoseconds.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The program's own file will do. */
static void answer(int connection)
{
	char request[256], data[4096];
	struct stat status;
	ssize_t n;
	int file;

	if (recv(connection, request, sizeof(request), 0) <= 0)
		die("recv");
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &status))
		die("open");
	n = read(file, data, sizeof(data));
	if (n <= 0 || send(connection, memcpy(data, request, 16), (size_t)n, 0) != n)
		die("send");
	close(file);
}

static void ask(const struct sockaddr_un *address, socklen_t size, int n)
{
	char data[4096];

	for (int i = 0; i < n; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || connect(fd, (const struct sockaddr *)address, size) ||
		    send(fd, "GET / HTTP/1.1\r\n\r\n", 18, 0) != 18)
			die("connect");
		while (recv(fd, data, sizeof(data), 0) > 0)
			;
		close(fd);
	}
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1, listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct pollfd polled = { .fd = listener, .events = POLLIN };
	socklen_t size = sizeof(address.sun_family);
	struct timespec used;
	pid_t client;

	/* The system gives it a name. */
	if (listener < 0 || bind(listener, (const struct sockaddr *)&address, size) || listen(listener, 16))
		die("listen");
	size = sizeof(address);
	if (getsockname(listener, (struct sockaddr *)&address, &size))
		die("getsockname");
	client = fork();
	if (client < 0)
		die("fork");
	if (!client) {
		ask(&address, size, n);
		_exit(0);
	}
	for (int i = 0; i < n; i++) {
		int connection;

		if (poll(&polled, 1, -1) < 0)
			die("poll");
		connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (connection < 0)
			die("accept4");
		answer(connection);
		close(connection);
	}
	waitpid(client, NULL, 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	printf("%lld\n", (used.tv_sec * 1000000000ll + used.tv_nsec) / n);
	return 0;
}
