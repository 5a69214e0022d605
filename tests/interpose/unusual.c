/* SPDX-License-Identifier: MIT */
/* unusual.c - paths and structures in shared memory: long, large, given twice, or of calls that fail half way. */
#include "surroundings.h"

#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* A path of @size bytes and its NUL. */
static void make_path(char *path, size_t size)
{
	memset(path, '/', size);
	memcpy(path, ".", 1);
	memcpy(path + size - 4, "file", 5);
}

static void long_paths(void)
{
	const size_t sizes[] = { 300, PATH_MAX - 1, PATH_MAX, PATH_MAX + 1, PATH_MAX + 2, 3 * PATH_MAX };
	const size_t size = 1 << 20;
	char *p = alloc(size), *cwd = alloc(size), *ordinary = malloc(size), *last, *end;

	send_away(p);
	prepare();
	fresh();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		make_path(p, sizes[i]);
		make_path(ordinary, sizes[i]);
		CHECK_EQ(access(ordinary, R_OK), sizes[i] < PATH_MAX ? 0 : -1);
		send_away(p);
		errno = 0;
		CHECK_EQ(access(p, R_OK), sizes[i] < PATH_MAX ? 0 : -1);
		CHECK_EQ(errno, sizes[i] < PATH_MAX ? 0 : ENAMETOOLONG);
	}
	/* One that does not end inside its object, and nothing is behind that. */
	last = p > cwd ? p : cwd;
	memset(last + size - 100, 'x', 100);
	send_away(last);
	errno = 0;
	CHECK(access(last + size - 100, R_OK) == -1 && errno == EFAULT);
	/* One without an end, in an object that does not end with a page. */
	end = alloc(5);
	memset(end, 'x', 5);
	CHECK_EQ(access(end, R_OK), -1);
	send_away(end);
	CHECK_EQ(access(end, R_OK), -1);
	/* A buffer that does not end there either, of which the call needs less. */
	for (int i = 0; i < 2; i++) {
		send_away(last);
		CHECK_EQ(readlink("link", last + size - 100, i ? 2 * PATH_MAX : PATH_MAX), 4);
		CHECK(!memcmp(last + size - 100, "filex", 5));
	}

	/* Room for more than anything delivers. */
	memset(cwd, FILLER, size);
	send_away(cwd);
	CHECK(getcwd(cwd, size) == cwd);
	CHECK(getcwd(ordinary, size) && !strcmp(cwd, ordinary));
	CHECK_EQ((unsigned char)cwd[strlen(ordinary) + 1], FILLER);
	make_path(p, 300);
	send_away(p);
	CHECK(fopen(p, p) == NULL && errno == EINVAL);
	free(ordinary);
}

#define LARGE ((size_t)1 << 20)
#define N_POLLED 10000

/* Calls whose arguments are too large for a copy on the stack. */
static long call_large(int which, char *p)
{
	socklen_t name = LARGE, option = 100000;

	switch (which) {
	case 0:
		return epoll_wait(EPOLL_FD, (struct epoll_event *)p, 8192, 0);
	case 1:
		return poll((struct pollfd *)p, N_POLLED, 0);
	case 2:
		return getsockname(CLIENT_FD, (struct sockaddr *)p, &name) ? -1 : (long)name;
	default:
		return getsockopt(SPARE_FD, SOL_SOCKET, SO_TYPE, p, &option) ? -1 : (long)option;
	}
}

static void large(void)
{
	char *p[2] = { malloc(LARGE), alloc(LARGE + PAGE) + 104 };
	struct rlimit most;

	CHECK(!getrlimit(RLIMIT_NOFILE, &most));
	most.rlim_cur = most.rlim_max;
	if (most.rlim_max < N_POLLED || setrlimit(RLIMIT_NOFILE, &most))
		skip("poll() takes fewer here");
	prepare();
	for (int which = 0; which < 4; which++) {
		long results[2];

		for (int i = 0; i < 2; i++) {
			struct pollfd *fds = (struct pollfd *)p[i];

			memset(fds, FILLER, LARGE);
			for (int fd = 0; fd < N_POLLED; fd++)
				fds[fd] = (struct pollfd){ -1, POLLIN, 5 };
			fds[0].fd = fds[N_POLLED - 1].fd = READ_FD;
			fresh();
			watch();
			if (i)
				send_away(p[i]);
			results[i] = call_large(which, p[i]);
		}
		CHECK_EQ(results[1], results[0]);
		CHECK(results[0] > 0);
		CHECK(!memcmp(p[1], p[0], LARGE));
		/* The device has them too. */
		send_away(p[1]);
		CHECK(!memcmp(p[1], p[0], LARGE));
	}
	free(p[0]);
}

#define N_MESSAGES 32
#define N_ENTRIES 1024

/* Vectors are so large that wrappers may not have them on the stack. */
static bool transfer_vectors(char *p)
{
	static struct iovec entries[N_ENTRIES], vectors[N_MESSAGES];
	static struct mmsghdr headers[N_MESSAGES];
	struct iovec whole = { p + LARGE / 4, 2 * N_ENTRIES };
	struct msghdr header = { .msg_iov = entries, .msg_iovlen = N_ENTRIES };
	int sockets[2];
	bool right;

	for (int i = 0; i < N_ENTRIES; i++)
		entries[i] = (struct iovec){ p + 6 * i, 2 };
	for (int i = 0; i < N_MESSAGES; i++) {
		vectors[i] = (struct iovec){ p + LARGE / 2 + 6 * i, 2 };
		headers[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &vectors[i], .msg_iovlen = 1 } };
	}
	right = !socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets);
	for (int i = 0; i < N_MESSAGES; i++)
		right &= send(sockets[1], "ab", 2, 0) == 2;
	right &= recvmmsg(sockets[0], headers, N_MESSAGES, MSG_DONTWAIT, NULL) == N_MESSAGES &&
		sendmmsg(sockets[1], headers, 1, 0) == 1 && recv(sockets[0], p, 2, 0) == 2 &&
		sendmsg(sockets[1], &header, 0) == 2 * N_ENTRIES && recvmsg(sockets[0], &header, 0) == 2 * N_ENTRIES &&
		writev(sockets[1], entries, N_ENTRIES) == 2 * N_ENTRIES &&
		readv(sockets[0], entries, N_ENTRIES) == 2 * N_ENTRIES &&
		process_vm_readv(getpid(), entries, N_ENTRIES, &whole, 1, 0) == 2 * N_ENTRIES &&
		process_vm_writev(getpid(), &whole, 1, entries, N_ENTRIES, 0) == 2 * N_ENTRIES;
	close(sockets[0]);
	close(sockets[1]);
	return right;
}

static void *call_in_thread(void *arg)
{
	char *p = arg;

	return getcwd(p, LARGE / 16) == p && readlink("link", p + LARGE / 2, LARGE / 16) == 4 &&
		transfer_vectors(p) ? p : NULL;
}

/* Threads that have no stack for much of what they ask for. */
static void small_stacks(void)
{
	char *p[2] = { calloc(LARGE, 1), alloc(LARGE) };
	pthread_attr_t attr;

	CHECK(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN));
	memset(p[1], 0, LARGE);
	prepare();
	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		void *result;

		fresh();
		if (i)
			send_away(p[i]);
		CHECK(!pthread_create(&thread, &attr, call_in_thread, p[i]) && !pthread_join(thread, &result));
		CHECK(result == p[i]);
	}
	CHECK(!memcmp(p[1], p[0], LARGE));
	free(p[0]);
}

/* One thing given twice. */
static void same_twice(void)
{
	struct timespec *nap = alloc(PAGE);
	struct itimerval *it = alloc(PAGE);
	fd_set *set = alloc(PAGE), wanted;
	void *volatile again;	/* behind the compiler's back */
	struct timeval none_left = { 0, 0 };

	send_away((char *)nap);
	prepare();
	fresh();
	*nap = (struct timespec){ 0, 1000 };
	send_away((char *)nap);
	CHECK_EQ(nanosleep(nap, nap), 0);
	CHECK(nap->tv_sec == 0 && nap->tv_nsec == 1000);
	*it = (struct itimerval){ { 0, 0 }, { 1000, 0 } };
	send_away((char *)it);
	again = it;
	CHECK_EQ(setitimer(ITIMER_REAL, it, again), 0);
	CHECK_EQ(it->it_value.tv_sec, 0);

	/* Writable, but not readable: the second set's answer is the one that stays. */
	FD_ZERO(&wanted);
	FD_SET(WRITE_FD, &wanted);
	memcpy(set, &wanted, sizeof(wanted));
	send_away((char *)set);
	again = set;
	CHECK_EQ(select(N_FDS, set, again, NULL, &none_left), 1);
	CHECK(!memcmp(set, &wanted, sizeof(wanted)));
}

static void on_alarm(int signal)
{
}

/* What a call that fails has delivered. */
static void interrupted(void)
{
	const struct itimerval often = { { 0, 10000 }, { 0, 10000 } };
	struct sigaction action = { .sa_handler = on_alarm };
	struct timespec *nap = alloc(2 * PAGE), *left = nap + 300;

	CHECK(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &often, NULL));
	for (int i = 0; i < 2; i++) {
		*nap = (struct timespec){ 1000, 0 };
		*left = (struct timespec){ 0, 0 };
		send_away((char *)nap);
		errno = 0;
		if (i == 0)
			CHECK(nanosleep(nap, left) == -1 && errno == EINTR);
		else
			CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, nap, left), EINTR);
		CHECK(left->tv_sec > 0 && left->tv_sec < 1000);
		CHECK_EQ(nap->tv_sec, 1000);
	}
}

static void clocks(void)
{
	struct timespec *now = alloc(PAGE), before, after;
	struct timeval *day = alloc(PAGE);

	send_away((char *)now);
	send_away((char *)day);
	CHECK(!clock_gettime(CLOCK_REALTIME, &before));
	CHECK(!clock_gettime(CLOCK_REALTIME, now) && !gettimeofday(day, NULL));
	CHECK(!clock_gettime(CLOCK_REALTIME, &after));
	CHECK(now->tv_sec >= before.tv_sec && now->tv_sec <= after.tv_sec);
	CHECK(day->tv_sec >= before.tv_sec && day->tv_sec <= after.tv_sec);
	CHECK(now->tv_nsec >= 0 && now->tv_nsec < 1000000000 && day->tv_usec >= 0 && day->tv_usec < 1000000);
}

static pid_t one_child(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		_exit(0);
	return pid;
}

/* Memory that only the device has, and that does not come. */
static void *lacking(void)
{
	char *p = alloc(PAGE);

	memset(p, 0, PAGE);
	send_away(p);
	return p;
}

/* If a transfer fails, that is no EFAULT. */
static void failed_transfers(void)
{
	const int epoll = epoll_create1(0);
	struct epoll_event event;
	pid_t pid;

	set("wrap", "fail=1,ops=to_host");
#define FAILS(call) do { errno = 0; CHECK_EQ(call, -1); CHECK_EQ(errno, EIO); } while (0)
	FAILS(wait(one_child() > 0 ? lacking() : NULL));
	FAILS(waitpid(one_child(), lacking(), 0));
	FAILS(wait4(one_child(), NULL, 0, lacking()));
	pid = one_child();
	FAILS(waitid(P_PID, (id_t)pid, lacking(), WEXITED));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	FAILS(sigaltstack(NULL, lacking()));
	FAILS(sigaltstack(lacking(), NULL));
	FAILS(ppoll(NULL, 0, lacking(), NULL));
	FAILS(pselect(0, NULL, NULL, NULL, lacking(), NULL));
	FAILS(epoll_pwait2(epoll, &event, 1, lacking(), NULL));
	FAILS(stat("/", lacking()));
	FAILS(access(lacking(), F_OK));
}

static const struct conform_case cases[] = {
	CASE("long-paths", long_paths),
	CASE("large", large),
	CASE("small-stacks", small_stacks),
	CASE("same-twice", same_twice),
	CASE("interrupted", interrupted),
	CASE("clocks", clocks),
	FAULT_CASE("failed-transfers", failed_transfers),
};
CONFORM_MAIN(cases)
