/* SPDX-License-Identifier: MIT */
/* surroundings.h - what calls with paths and small structures find, the same for each: files, descriptors, names. */
#ifndef INTERPOSE_SURROUNDINGS_H
#define INTERPOSE_SURROUNDINGS_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

#define FILLER 0xA5

/* Descriptors that are always there. */
enum { FILE_FD = 100, DIR_FD, OTHER_FD, READ_FD, WRITE_FD, SERVER_FD, CLIENT_FD, SPARE_FD, EPOLL_FD, INOTIFY_FD,
       TIMER_FD, FANOTIFY_FD, QUEUE_FD, ROOT_FD, PTY_FD, TTY_FD, N_FDS };

#define WHEN 1000000000		/* a time that only this test gives to files */

static char root[64], queue[32], other_queue[32], host[HOST_NAME_MAX], domain[HOST_NAME_MAX];
static bool kept[FILE_FD];	/* descriptors that were open before the first call */
static long host_size, domain_size, timer, self;
static struct rlimit core;
static cpu_set_t cpus;
static gid_t gid;
static fd_set reading, writing;
static sigset_t user1;

static inline void place(int fd, int wanted)
{
	CHECK(fd < 0 || dup2(fd, wanted) == wanted);
	if (fd >= 0)
		close(fd);
}

static inline void put(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);

	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Empty a folder. */
static void clear(const char *path)
{
	char name[PATH_MAX];
	DIR *dir = opendir(path);
	struct dirent *entry;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (entry->d_type == DT_DIR)
			clear(name);
		CHECK(!remove(name));
	}
	closedir(dir);
}

static inline void leave(void)
{
	CHECK(!chdir("/"));
	clear(root);
	CHECK(!rmdir(root));
	mq_unlink(queue);
	mq_unlink(other_queue);
	shm_unlink(queue);
}

static inline int local_socket(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
	CHECK(!bind(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

/* The same surroundings for each call. */
static inline void fresh(void)
{
	const struct sockaddr_un server = { AF_UNIX, "server" };
	const struct itimerval off = { { 0, 0 }, { 0, 0 } };
	int pipes[2], pty;

	/* What the last call opened too. */
	for (int fd = 0; fd < N_FDS; fd++)
		if (fd >= FILE_FD || !kept[fd])
			close(fd);
	CHECK(!chdir(root));
	clear(root);
	put("file", "some words in a file");
	put("other", "other words");
	CHECK(!mkdir("dir", 0755) && !mkdir("full", 0755));
	put("full/inside", "");
	CHECK(!symlink("file", "link"));

	place(open("file", O_RDWR), FILE_FD);
	place(open("dir", O_RDONLY | O_DIRECTORY), DIR_FD);
	place(open("/", O_RDONLY | O_DIRECTORY), ROOT_FD);
	place(open("other", O_RDWR), OTHER_FD);
	CHECK(!pipe(pipes) && write(pipes[1], "abc", 3) == 3);
	place(pipes[0], READ_FD);
	place(pipes[1], WRITE_FD);
	place(local_socket("server"), SERVER_FD);
	CHECK(!listen(SERVER_FD, 1));
	place(local_socket("client"), CLIENT_FD);
	CHECK(!connect(CLIENT_FD, (const struct sockaddr *)&server, sizeof(server)));
	place(socket(AF_UNIX, SOCK_STREAM, 0), SPARE_FD);
	place(epoll_create1(0), EPOLL_FD);
	place(inotify_init(), INOTIFY_FD);
	place(timerfd_create(CLOCK_MONOTONIC, 0), TIMER_FD);
	place(fanotify_init(FAN_CLASS_NOTIF, O_RDONLY), FANOTIFY_FD);
	mq_unlink(queue);
	mq_unlink(other_queue);
	place(mq_open(queue, O_CREAT | O_RDWR, 0600, &(struct mq_attr){ .mq_maxmsg = 2, .mq_msgsize = 32 }),
	      QUEUE_FD);
	pty = posix_openpt(O_RDWR | O_NOCTTY);
	if (pty >= 0 && !grantpt(pty) && !unlockpt(pty))
		place(open(ptsname(pty), O_RDWR | O_NOCTTY), TTY_FD);
	place(pty, PTY_FD);
	CHECK(!setitimer(ITIMER_REAL, &off, NULL));
	CHECK(!timer_settime((timer_t)timer, 0, &(struct itimerspec){ { 0, 0 }, { 0, 0 } }, NULL));
}

static inline void prepare(void)
{
	const char *folder = getenv("TMPDIR");
	timer_t id;

	snprintf(root, sizeof(root), "%.40s/adsm-XXXXXX", folder ? folder : "/tmp");
	CHECK(mkdtemp(root) && !chmod(root, 0755));
	atexit(leave);
	snprintf(queue, sizeof(queue), "/adsm-%d", (int)getpid());
	snprintf(other_queue, sizeof(other_queue), "/adsm-%d-other", (int)getpid());
	CHECK(!gethostname(host, sizeof(host)) && !getdomainname(domain, sizeof(domain)));
	host_size = (long)strlen(host);
	domain_size = (long)strlen(domain);
	CHECK(!getrlimit(RLIMIT_CORE, &core) && !sched_getaffinity(0, sizeof(cpus), &cpus));
	gid = getgid();
	self = (long)pthread_self();
	FD_SET(READ_FD, &reading);
	FD_SET(WRITE_FD, &writing);
	sigemptyset(&user1);
	sigaddset(&user1, SIGUSR1);
	CHECK(!pthread_sigmask(SIG_BLOCK, &user1, NULL));
	CHECK(!timer_create(CLOCK_MONOTONIC, &(struct sigevent){ .sigev_notify = SIGEV_NONE }, &id));
	timer = (long)id;
	for (int fd = 0; fd < FILE_FD; fd++)
		kept[fd] = fcntl(fd, F_GETFD) >= 0;
}

/* Only the accelerator has what is in an object. */
static inline void send_away(char *p)
{
	adsmObjectProps props;

	CALL("increment", 1, adsmInOut(p), adsmVal(0u));
	SYNC();
	props = info(p);
	if (!batch())
		CHECK_EQ(props.n_invalid, props.n_blocks);
}

static inline void watch(void)
{
	CHECK(!epoll_ctl(EPOLL_FD, EPOLL_CTL_ADD, READ_FD, &(struct epoll_event){ EPOLLIN, { .u64 = 0x1234567890 } }));
	CHECK(!epoll_ctl(EPOLL_FD, EPOLL_CTL_ADD, WRITE_FD, &(struct epoll_event){ EPOLLOUT, { .u64 = 1 } }));
}

#endif
