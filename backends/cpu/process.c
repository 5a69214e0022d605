/* SPDX-License-Identifier: MIT */
/* process.c - the process of a cpu device, seen from the application: found, started, asked, watched and ended. */
#include "process.h"

#include "base/descriptors.h"
#include "base/log.h"
#include "ended.h"
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_send_signal 424
#define SYS_pidfd_open 434
#endif

#define PROGRAM "adsm-cpu-device"
#define MAX_STARTS 8			/* each has a new layout of addresses */
#define HELLO_TIMEOUT_MS 10000

int adsm_cpu_status(struct adsm_device *base)
{
	struct adsm_cpu_device *device = (struct adsm_cpu_device *)base;

	return atomic_load(&device->lost) ? adsm_fail(-ENODEV, "%s", device->lost_text) : 0;
}

int adsm_cpu_find_program(char **ret_path)
{
	/* Installed, in a folder of the architecture, too; from the library and from a test in a build folder. */
	static const char *const places[] = { "../libexec/adsm", "../../libexec/adsm", "../backends/cpu",
					      "../../backends/cpu" };
	static const char whole[] = ADSM_LIBEXEC "/" PROGRAM;	/* else: where it was to be installed */
	const char *option = adsm_cpu_options.device;
	char *path;
	size_t length;
	int ret;

	if (option && *option) {
		if (access(option, X_OK))
			return adsm_fail(-ENOENT, "ADSM_CPU_DEVICE: '%s' is not a program", option);
		*ret_path = strdup(option);
		return *ret_path ? 0 : -ENOMEM;
	}
	path = malloc(PATH_MAX);
	if (!path)
		return -ENOMEM;
	*ret_path = path;
	ret = adsm_os_library_dir(path, PATH_MAX);
	if (ret) {
		free(path);
		return adsm_fail(ret, "the folder of the library is not known; set ADSM_CPU_DEVICE");
	}
	length = strlen(path);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if ((size_t)adsm_format(path + length, PATH_MAX - length, "/%s/%s", places[i], PROGRAM) <
		    PATH_MAX - length && !access(path, X_OK))
			return 0;
	}
	if (!access(whole, X_OK)) {
		adsm_format(path, PATH_MAX, "%s", whole);
		return 0;
	}
	path[length] = '\0';
	ret = adsm_fail(-ENOENT, "there is no %s in %s, %s, %s or %s beside %s, nor in %s; set ADSM_CPU_DEVICE",
			PROGRAM, places[0], places[1], places[2], places[3], path, ADSM_LIBEXEC);
	free(path);
	return ret;
}

static int send_hello(struct adsm_cpu_device *device, int memory_fd, int shared_fd)
{
	const struct adsm_cpu_request request = {
		.version = ADSM_CPU_VERSION, .op = ADSM_CPU_HELLO,
		.n_threads = device->base.caps.compute_units,
		.base = device->arena_base, .size = device->arena_size,
	};
	const int fds[] = { memory_fd, shared_fd };
	const int sock = adsm_fd_number(device->sock);
	struct pollfd polled = { .fd = sock, .events = POLLIN };
	struct adsm_cpu_reply reply;
	int ret, n;

	ret = adsm_cpu_send(sock, &request, sizeof(request), fds, 2);
	if (ret)
		return ret;
	do
		n = poll(&polled, 1, HELLO_TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	ret = adsm_cpu_receive(sock, &reply, sizeof(reply), NULL);
	if (ret)
		return ret;
	return reply.version == ADSM_CPU_VERSION ? reply.error : -EPROTO;
}

/* End the process, whatever it does. False: both ways to it were taken from us: it ends with the application. */
static bool end_process(struct adsm_cpu_device *device)
{
	int sock = adsm_fd_number(device->sock), pidfd = adsm_fd_number(device->pidfd);

	if (sock >= 0)
		shutdown(sock, SHUT_RDWR);	/* not close(): a child of ours may have the socket, too */
	if (pidfd >= 0)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	return sock >= 0 || pidfd >= 0;
}

static void close_process(struct adsm_cpu_device *device)
{
	adsm_fd_drop(device->sock);
	adsm_fd_drop(device->pidfd);
	device->sock = device->pidfd = NULL;
}

static int start_once(struct adsm_cpu_device *device, const char *program, int memory_fd, int shared_fd)
{
	char *const argv[] = { (char *)(uintptr_t)PROGRAM, NULL };
	int pair[2], fds[2], n_fds = 1, pidfd, ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	fds[0] = adsm_fd_lift(pair[1]);
	ret = adsm_fd_keep(pair[0], &device->sock);
	if (!ret && fds[0] < 0)
		ret = fds[0];
	if (ret)
		goto close_end;
	fds[1] = adsm_fd_lift((int)syscall(SYS_pidfd_open, getpid(), 0));
	if (fds[1] >= 0)
		n_fds = 2;
	ret = adsm_os_spawn_daemon(program, argv, fds, (size_t)n_fds, &device->pid, &pidfd);
	if (n_fds == 2)
		close(fds[1]);
	if (!ret && pidfd >= 0)
		ret = adsm_fd_keep(pidfd, &device->pidfd);
	if (!ret)
		ret = send_hello(device, memory_fd, shared_fd);
	if (ret)
		end_process(device);
close_end:
	if (fds[0] >= 0)
		close(fds[0]);
	if (ret)
		close_process(device);
	return ret;
}

static int start_process(struct adsm_cpu_device *device, int memory_fd, int shared_fd)
{
	char *program;
	int ret = adsm_cpu_find_program(&program);

	if (ret)
		return ret;
	for (int i = 0; i < MAX_STARTS; i++) {
		ret = start_once(device, program, memory_fd, shared_fd);
		if (ret != -EEXIST)
			break;
	}
	if (ret == -EEXIST)
		ret = adsm_fail(-ENODEV, "cpu device %d: %zu bytes at %p are taken in its process, %d times "
				"in a row; set ADSM_ARENA", device->index, device->arena_size,
				(void *)device->arena_base, MAX_STARTS);
	else if (ret == -EPROTO || ret == -EPIPE || ret == -ETIMEDOUT)
		ret = adsm_fail(-ENODEV, "cpu device %d: %s does not answer as this version of the library "
				"expects", device->index, program);
	else if (ret)
		ret = adsm_fail(ret, "cpu device %d: %s could not be started: %s%s", device->index, program,
				strerror(-ret), ret == -EMFILE ? " (ulimit -n)" : ret == -ENOMEM ? " (ulimit -v)" :
				ret == -EAGAIN ? " (ulimit -u, ulimit -v)" : "");
	free(program);
	return ret;
}

/* Write down all that is known of the end of the process. */
static void describe_loss(struct adsm_cpu_device *device)
{
	struct adsm_cpu_shared *shared = device->shared;
	uint64_t done = atomic_load(&shared->queue.done);
	int n;
	bool busy = done < atomic_load(&shared->queue.submitted);
	const char *kernel = busy ? shared->slots[done % ADSM_CPU_SLOTS].name : "", *name;
	int number = (int)atomic_load(&shared->crash_signal);
	char *text = device->lost_text, how[ADSM_CPU_TEXT];

	name = number && sigabbrev_np(number) ? sigabbrev_np(number) : "";
	if (number && !shared->crash_sent && shared->crash_in_kernel) {
		adsm_format(text, ADSM_CPU_TEXT, "cpu device %d: kernel '%s' crashed with SIG%s at address %p",
			    device->index, kernel, name, (void *)shared->crash_address);
		return;
	}
	if (number && !shared->crash_sent) {
		adsm_format(text, ADSM_CPU_TEXT, "cpu device %d: the device process (pid %d) crashed with SIG%s "
			    "at address %p, in no kernel", device->index, device->pid, name,
			    (void *)shared->crash_address);
		return;
	}
	if (number) {
		n = adsm_format(how, sizeof(how), "was ended by ");
		adsm_cpu_who_sent(number, (pid_t)shared->crash_sender, shared->crash_user, how + n,
				  sizeof(how) - (size_t)n);
	} else {
		adsm_cpu_how_ended(device->pid, adsm_fd_number(device->pidfd), device->oom_kills, how, sizeof(how));
	}
	adsm_format(text, ADSM_CPU_TEXT, "cpu device %d: the device process (pid %d) %s%s%s%s", device->index,
		    device->pid, how, busy ? ", while kernel '" : "", kernel, busy ? "' ran" : "");
}

static bool has_moved(const struct adsm_fd *own, int from)
{
	int fd = adsm_fd_number(own);

	return fd >= 0 && fd != from;
}

static void watch(void *arg)
{
	struct adsm_cpu_device *device = arg;
	struct pollfd polled[] = { { .events = POLLRDHUP }, { .events = POLLIN } };
	bool closed, again;

	/*
	 * While it waits it has both, whatever becomes of the numbers; what is gone before that is an end, too. One
	 * that moved just before may have left its number to another file: that is asked again.
	 */
	do {
		polled[0].fd = adsm_fd_number(device->sock);
		polled[1].fd = adsm_fd_number(device->pidfd);
		closed = polled[0].fd < 0;
		again = !closed && ((poll(polled, 2, -1) < 0 && errno == EINTR) ||
				    has_moved(device->sock, polled[0].fd) ||
				    has_moved(device->pidfd, polled[1].fd));
	} while (again);
	if (atomic_load(&device->closing))
		return;
	/* A process that only closed its socket must not write on; requests must not wait on. */
	end_process(device);
	polled[1].fd = adsm_fd_number(device->pidfd);
	if (polled[1].fd >= 0)
		poll(&polled[1], 1, HELLO_TIMEOUT_MS);
	if (closed)
		adsm_format(device->lost_text, sizeof(device->lost_text), "cpu device %d: the device process (pid %d) "
			    "has ended: the program has closed the library's descriptor that it listens to",
			    device->index, device->pid);
	else
		describe_loss(device);
	adsm_error("%s", device->lost_text);
	atomic_store(&device->base.lost, device->lost_text);
	atomic_store(&device->lost, 1);
	adsm_os_wake(&device->lost, INT_MAX, false);
	adsm_cpu_queue_tick(&device->shared->queue, true);
}

int adsm_cpu_process_start(struct adsm_cpu_device *device, int memory_fd)
{
	int shared_fd, ret;
	void *p;

	ret = adsm_fd_memory("adsm-device-queue", sizeof(*device->shared), &shared_fd);
	if (ret)
		return ret;
	ret = adsm_os_map(NULL, sizeof(*device->shared), shared_fd, 0, ADSM_PROT_RW, &p);
	if (ret)
		goto close_shared;
	device->shared = p;
	device->oom_kills = adsm_os_oom_kills();
	adsm_os_populate(p, offsetof(struct adsm_cpu_shared, areas), true);
	ret = start_process(device, memory_fd, shared_fd);
	if (ret)
		goto unmap_shared;
	ret = adsm_os_thread_start(&device->monitor, "adsm-monitor", watch, device);
	if (!ret)
		goto close_shared;	/* the mapping is enough from here on */
	end_process(device);
	close_process(device);
unmap_shared:
	adsm_os_unmap(device->shared, sizeof(*device->shared));
close_shared:
	close(shared_fd);
	return ret;
}

bool adsm_cpu_process_stop(struct adsm_cpu_device *device)
{
	atomic_store(&device->closing, true);
	if (!end_process(device)) {
		adsm_error("cpu device %d: its process cannot be ended before this one: the program has closed "
			   "descriptors of the library's", device->index);
		return false;
	}
	adsm_os_thread_join(&device->monitor);
	close_process(device);
	adsm_os_unmap(device->shared, sizeof(*device->shared));
	return true;
}

int adsm_cpu_ask(struct adsm_cpu_device *device, struct adsm_cpu_request *request, const int *fds, int n_fds,
	       struct adsm_cpu_reply *ret_reply)
{
	bool sent;
	int sock, ret;

	ret = adsm_cpu_status(&device->base);
	if (ret)
		return ret;
	request->version = ADSM_CPU_VERSION;
	adsm_mutex_lock(&device->request_lock);
	/* Not before: while others' requests were served the program may have wanted the number. */
	sock = adsm_fd_number(device->sock);
	ret = sock < 0 ? sock : adsm_cpu_send(sock, request, sizeof(*request), fds, n_fds);
	sent = !ret;
	if (sent)
		ret = adsm_cpu_receive(sock, ret_reply, sizeof(*ret_reply), NULL);
	adsm_mutex_unlock(&device->request_lock);
	if (!sent && ret == -EBADF)
		return adsm_fail(ret, "cpu device %d: its process cannot be asked: the program has closed a "
				 "descriptor of the library's", device->index);
	if (!ret)
		return ret_reply->error;
	/* The monitor is about to say why. */
	end_process(device);
	while (!atomic_load(&device->lost))
		adsm_os_wait(&device->lost, 0, 0, false);
	return adsm_cpu_status(&device->base);
}
