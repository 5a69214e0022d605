/* SPDX-License-Identifier: MIT */
/* process.c - the process of a device, seen from the application: finding its program, starting it, requests, watching
 * and ending it. */
#include "process.h"

#include "base/descriptors.h"
#include "base/log.h"
#include "ended.h"
#include "greet.h"
#include "line.h"

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

#define MAX_STARTS 8			/* each start has a new layout of addresses */
#define MAX_KEPT_STARTS 3		/* for keepers, which start more slowly */
#define HELLO_MS 60000			/* only for a process that hangs: one that has ended is detected immediately */
#define TIMEOUT_MS 10000
#define WONDER_MS 500

int adsm_process_status(struct adsm_device *base)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;

	return atomic_load(&device->lost) ? adsm_fail(-ENODEV, "%s", device->lost_text) : 0;
}

int adsm_process_find_program(const struct adsm_process_kind *kind, const char *chosen, char **ret_path)
{
	/* First the paths after installation, where the library's folder may be one of the architecture; then those in
	 * a build folder, for the library and for a test. */
	const char *const folders[] = { "libexec/adsm", kind->folder };
	/* At last: the folder that the library was configured to be installed with. */
	char installed[sizeof(ADSM_LIBEXEC) + 64];
	char *path;
	size_t length;
	int ret;

	if (*chosen) {
		if (access(chosen, X_OK))
			return adsm_fail(-ENOENT, "%s: '%s' is not an executable file", kind->program_option, chosen);
		*ret_path = strdup(chosen);
		return *ret_path ? 0 : -ENOMEM;
	}
	path = malloc(PATH_MAX);
	if (!path)
		return -ENOMEM;
	*ret_path = path;
	ret = adsm_os_library_dir(path, PATH_MAX);
	if (ret) {
		free(path);
		return adsm_fail(ret, "the library cannot find its own folder%s; set %s",
				 access("/proc/self/maps", R_OK) ? ": /proc is not mounted" : "",
				 kind->program_option);
	}
	length = strlen(path);
	for (int i = 0; i < 4; i++) {
		if ((size_t)adsm_format(path + length, PATH_MAX - length, "/%s/%s/%s", i % 2 ? "../.." : "..",
					folders[i / 2], kind->program) < PATH_MAX - length && !access(path, X_OK))
			return 0;
	}
	adsm_format(installed, sizeof(installed), "%s/%s", ADSM_LIBEXEC, kind->program);
	if (!access(installed, X_OK)) {
		strcpy(path, installed);
		return 0;
	}
	path[length] = '\0';
	ret = adsm_fail(-ENOENT, "the program %s does not exist in ../%s, ../../%s, ../%s or ../../%s relative to %s, "
			"nor in %s; set %s", kind->program, folders[0], folders[0], folders[1], folders[1], path,
			ADSM_LIBEXEC, kind->program_option);
	free(path);
	return ret;
}

int adsm_process_check_program(const struct adsm_process_kind *kind, const char *chosen)
{
	char *path;
	int ret = adsm_process_find_program(kind, chosen, &path);

	if (!ret)
		free(path);
	return ret;
}

/* Wait until there is an answer. Returns the result of poll(). */
static int await_answer(struct adsm_process_device *device, int sock)
{
	const uint64_t start_ns = adsm_os_now_ns();
	const unsigned limit = (unsigned)(device->hello_ms ? device->hello_ms : HELLO_MS);
	struct pollfd polled = { .fd = sock, .events = POLLIN };
	unsigned ms;
	int n;

	do {
		n = poll(&polled, 1, WONDER_MS);
		ms = (unsigned)((adsm_os_now_ns() - start_ns) / 1000000);
		if (!n && device->kind->waiting)
			device->kind->waiting(device, ms);
	} while ((n < 0 && errno == EINTR) || (!n && ms < limit));
	if (device->kind->waiting)
		device->kind->waiting(device, 0);
	return n;
}

/* Size of the backend's part of shared->extra, in whole pages. */
static size_t own_size(const struct adsm_process_device *device)
{
	return (device->extra + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
}

static size_t extra_size(const struct adsm_process_device *device)
{
	return own_size(device) + adsm_live_bytes(device->arena_size);
}

/* Wait for the next message of the program. Returns -EPROTO if it has another size. */
static int receive_answer(struct adsm_process_device *device, void *message, size_t size)
{
	const int sock = adsm_fd_number(device->sock), n = await_answer(device, sock);

	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	return adsm_process_receive(sock, message, size, NULL);
}

/* Is the program of the library's version? Programs that do not greet are older: -EPROTO. */
static int check_version(struct adsm_process_device *device, const char *program, char *ret_text)
{
	struct adsm_process_greeting greeting;
	int ret = receive_answer(device, &greeting, sizeof(greeting));

	if (!ret && greeting.magic != ADSM_PROCESS_MAGIC)
		ret = -EPROTO;
	if (ret || !strncmp(greeting.version, adsm_process_version, ADSM_PROCESS_VERSION))
		return ret;
	adsm_format(ret_text, ADSM_PROCESS_TEXT, "%s has version %.*s, but the library has version %s; they must be "
		    "from the same build", program, ADSM_PROCESS_VERSION - 1, greeting.version, adsm_process_version);
	return -ENODEV;
}

/* @ret_text: the error text of the process, or "". */
static int send_hello(struct adsm_process_device *device, const char *program, int memory_fd, int shared_fd,
		      char *ret_text)
{
	const struct adsm_process_request request = {
		.op = ADSM_PROCESS_HELLO, .n_threads = device->base.caps.compute_units,
		.base = device->arena_base, .size = device->arena_size, .extra = extra_size(device),
	};
	const int fds[] = { memory_fd, shared_fd };
	struct adsm_process_reply reply;
	int ret;

	ret = adsm_process_send(adsm_fd_number(device->sock), &request, sizeof(request), fds, 2);
	if (!ret)
		ret = check_version(device, program, ret_text);
	if (!ret)
		ret = receive_answer(device, &reply, sizeof(reply));
	if (ret)
		return ret;
	strcpy(ret_text, reply.text);
	return reply.error;
}

/* End the process in any state. Returns false if the program has closed both descriptors for it: then the process ends
 * together with the application. */
static bool end_process(struct adsm_process_device *device)
{
	int sock = adsm_fd_number(device->sock), pidfd = adsm_fd_number(device->pidfd);
	struct pollfd polled = { .fd = pidfd, .events = POLLIN };

	if (sock >= 0)
		shutdown(sock, SHUT_RDWR);	/* not close(): a child of the application may have the socket, too */
	if (device->kind->keeper_ms && pidfd >= 0)
		poll(&polled, 1, device->kind->keeper_ms);
	if (pidfd >= 0)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	return sock >= 0 || pidfd >= 0;
}

static void close_process(struct adsm_process_device *device)
{
	adsm_fd_drop(device->sock);
	adsm_fd_drop(device->pidfd);
	device->sock = device->pidfd = NULL;
}

/* The process closed its socket before it answered. Returns -ENODEV with a text if it was killed, else -EPIPE. */
static int say_killed(struct adsm_process_device *device, const char *program, char *ret_text)
{
	struct pollfd polled = { .fd = adsm_fd_number(device->pidfd), .events = POLLIN };
	char how[ADSM_PROCESS_TEXT / 2];

	if (polled.fd < 0 || poll(&polled, 1, WONDER_MS) <= 0)
		return -EPIPE;
	adsm_process_how_ended(device->pid, polled.fd, device->oom_kills, device->kind->memory_option, how,
			       sizeof(how));
	if (strncmp(how, "was killed", strlen("was killed")))
		return -EPIPE;
	adsm_format(ret_text, ADSM_PROCESS_TEXT, "%s (pid %d) %s before it answered", program, device->pid, how);
	return -ENODEV;
}

static int start_once(struct adsm_process_device *device, const char *program, int memory_fd, int shared_fd,
		      char *ret_text)
{
	char *const argv[] = { (char *)(uintptr_t)device->kind->program, NULL };
	const bool keeper = device->kind->keeper_ms;
	int pair[2], fds[] = { -1, -1, shared_fd }, pidfd, ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	fds[0] = adsm_fd_lift(pair[1]);
	ret = adsm_fd_keep(pair[0], &device->sock);
	if (!ret && fds[0] < 0)
		ret = fds[0];
	if (!ret) {
		fds[1] = (int)syscall(SYS_pidfd_open, getpid(), 0);
		fds[1] = fds[1] < 0 ? -errno : adsm_fd_lift(fds[1]);
	}
	/* A keeper needs the pidfd to detect the application's end. A device program works without it. */
	if (!ret && keeper && fds[1] < 0)
		ret = fds[1];
	if (!ret)
		ret = adsm_os_spawn_daemon(program, device->argv ? device->argv : argv, fds,
					   fds[1] < 0 ? 1 : keeper ? 3 : 2, &device->pid, &pidfd);
	/* Close these before waiting for the answer: while the other end is open here, its close is not detected. */
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (!ret && pidfd >= 0)
		ret = adsm_fd_keep(pidfd, &device->pidfd);
	if (!ret)
		ret = send_hello(device, program, memory_fd, shared_fd, ret_text);
	if (ret == -EPIPE && !*adsm_process_said_end(device->shared))
		ret = say_killed(device, program, ret_text);
	if (ret) {
		end_process(device);
		close_process(device);
	}
	return ret;
}

static int start_process(struct adsm_process_device *device, int memory_fd, int shared_fd)
{
	const int max_starts = device->kind->keeper_ms ? MAX_KEPT_STARTS : MAX_STARTS;
	char *program, text[ADSM_PROCESS_TEXT] = "";
	int ret = adsm_process_find_program(device->kind, device->program, &program);

	if (ret)
		return ret;
	for (int i = 0; i < max_starts; i++) {
		*text = '\0';	/* the reason of the start before */
		ret = start_once(device, program, memory_fd, shared_fd, text);
		if (ret != -EEXIST)
			break;
	}
	/* The process may have reported its end after the request and before the answer. */
	if (ret == -EPIPE && *adsm_process_said_end(device->shared)) {
		strcpy(text, adsm_process_said_end(device->shared));
		ret = -ENODEV;
	}
	if (ret && *text)
		ret = adsm_fail(ret == -EEXIST ? -ENODEV : ret, "%s: %s%s", device->title, text,
				ret == -EEXIST ? "; set ADSM_ARENA" : "");
	else if (ret == -EEXIST)
		ret = adsm_fail(-ENODEV, "%s: %zu bytes at %p are already in use in the device process, at %d starts "
				"in a row; set ADSM_ARENA", device->title, device->arena_size,
				(void *)device->arena_base, max_starts);
	else if (ret == -EPROTO || ret == -EPIPE || ret == -ETIMEDOUT)
		ret = adsm_fail(-ENODEV, "%s: %s did not answer, or its answer is not valid for the library's version, "
				"%s", device->title, program, adsm_process_version);
	else if (ret)
		ret = adsm_fail(ret, "%s: %s could not be started: %s%s", device->title, program, strerror(-ret),
				adsm_os_limit(ret));
	free(program);
	return ret;
}

/* Describe where in the source the kernel crashed. */
static void describe_place(struct adsm_process_device *device, char *ret_text, size_t size)
{
	const struct adsm_process_crash *crash = &device->shared->crash;
	struct adsm_process_line *line = NULL;
	const struct adsm_process_code *code;

	adsm_mutex_lock(&device->request_lock);
	for (code = device->codes; code && code->index + 1 != crash->module; code = code->next)
		;
	if (code)
		line = adsm_process_line_begin(code->image->data, code->image->size, code->ptx, crash->offset);
	adsm_mutex_unlock(&device->request_lock);
	adsm_process_line_end(line, ret_text, size);
	if (code && !*ret_text)
		adsm_format(ret_text, size, ", at 0x%lx of its module", (unsigned long)crash->offset);
}

/* Write lost_text after a crash in a kernel. */
static void describe_crash(struct adsm_process_device *device, const char *kernel)
{
	const struct adsm_process_crash *crash = &device->shared->crash;
	char how[ADSM_PROCESS_TEXT], block[64] = "";

	if (crash->is_said) {
		adsm_format(device->lost_text, ADSM_PROCESS_TEXT, "%s: kernel '%s', %s%s", device->title, kernel,
			    crash->why, crash->place);
		return;
	}
	describe_place(device, how, sizeof(how));
	if (crash->has_block)
		adsm_format(block, sizeof(block), ", in block (%u, %u, %u)", crash->block[0], crash->block[1],
			    crash->block[2]);
	adsm_format(device->lost_text, ADSM_PROCESS_TEXT, "%s: kernel '%s' crashed with SIG%s at address %p%s%s%s%s",
		    device->title, kernel, sigabbrev_np((int)atomic_load(&crash->signal)), (void *)crash->address,
		    crash->place, crash->why, block, how);
}

/* The name of a kernel that was running, or, if the device recorded its launch, of the one that crashed; "": none. */
static const char *find_kernel(struct adsm_process_shared *shared, bool *ret_busy)
{
	const uint64_t launch = shared->crash.launch;
	const char *kernel = "";

	*ret_busy = false;
	for (uint32_t lane = 0; lane < ADSM_PROCESS_LANES && !*ret_busy; lane++) {
		struct adsm_process_queue *queue = adsm_process_lane(shared, lane);
		const uint64_t done = atomic_load(&queue->done);

		*ret_busy = done < atomic_load(&queue->submitted);
		if (*ret_busy)
			kernel = shared->slots[adsm_process_slot_of(shared, lane, done + 1)].name;
	}
	return launch ? shared->slots[(launch - 1) % ADSM_PROCESS_SLOTS].name : kernel;
}

/* Write lost_text: all that is known of the end of the process. */
static void describe_loss(struct adsm_process_device *device)
{
	struct adsm_process_shared *shared = device->shared;
	bool busy;
	const char *kernel = find_kernel(shared, &busy), *said = adsm_process_said_end(shared);
	const struct adsm_process_crash *crash = &shared->crash;
	const uint32_t number = atomic_load(&crash->signal);
	char how[ADSM_PROCESS_TEXT];
	int n;

	if (number && !crash->sent && crash->in_kernel) {
		describe_crash(device, kernel);
		return;
	}
	if (*said) {
		adsm_format(how, sizeof(how), "%s", said);
		/* Mostly the reason has nothing to do with the kernel; if it has, it contains the kernel's name. */
		busy = busy && !strstr(said, kernel);
	} else {
		n = adsm_format(how, sizeof(how), "the device process (pid %d) ", device->pid);
		if (number)
			adsm_process_how_crashed(crash, how + n, sizeof(how) - (size_t)n);
		else
			adsm_process_how_ended(device->pid, adsm_fd_number(device->pidfd), device->oom_kills,
					       device->kind->memory_option, how + n, sizeof(how) - (size_t)n);
		busy = busy && (!number || crash->sent);
	}
	adsm_format(device->lost_text, ADSM_PROCESS_TEXT, "%s: %s%s%s%s", device->title, how,
		    busy ? ", while kernel '" : "", busy ? kernel : "", busy ? "' ran" : "");
}

static bool has_moved(const struct adsm_fd *own, int from)
{
	int fd = adsm_fd_number(own);

	return fd >= 0 && fd != from;
}

static void watch(void *arg)
{
	struct adsm_process_device *device = arg;
	struct pollfd polled[] = { { .events = POLLRDHUP }, { .events = POLLIN } };
	bool closed, again;

	/*
	 * poll() keeps the two files, even if the program closes or moves the descriptors meanwhile. A descriptor that
	 * is closed before poll() counts as the end of the process. If a descriptor moved just before poll(), its old
	 * number may be another file: then poll again.
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
	/* A process that only closed its socket must not write any more, and requests must not wait for it. */
	end_process(device);
	polled[1].fd = adsm_fd_number(device->pidfd);
	if (polled[1].fd >= 0)
		poll(&polled[1], 1, TIMEOUT_MS);
	if (closed)
		adsm_format(device->lost_text, sizeof(device->lost_text), "%s: the device process (pid %d) has ended: "
			    "the program closed the descriptor that connects the library with it", device->title,
			    device->pid);
	else
		describe_loss(device);
	adsm_error("%s", device->lost_text);
	atomic_store(&device->base.lost, device->lost_text);
	for (uint32_t lane = 0; lane < ADSM_PROCESS_LANES; lane++)
		adsm_process_queue_lose(adsm_process_lane(device->shared, lane), &device->lost);
	if (device->when_lost)
		device->when_lost();
}

static size_t shared_size(const struct adsm_process_device *device)
{
	return sizeof(*device->shared) + extra_size(device);
}

int adsm_process_start(struct adsm_process_device *device, int memory_fd)
{
	int shared_fd, ret;
	void *p;

	ret = adsm_fd_memory("adsm-device-queue", shared_size(device), &shared_fd);
	if (ret)
		return ret;
	ret = adsm_os_map(NULL, shared_size(device), shared_fd, 0, ADSM_PROT_RW, &p);
	if (ret)
		goto close_shared;
	device->shared = p;
	adsm_live_start(&device->live, device->shared->extra + own_size(device), device->arena_size);
	atomic_store(&device->shared->room.size, device->base.caps.memory_size);
	device->oom_kills = adsm_os_oom_kills();
	adsm_os_populate(p, offsetof(struct adsm_process_shared, areas), true);
	ret = start_process(device, memory_fd, shared_fd);
	if (ret)
		goto unmap_shared;
	ret = adsm_os_thread_start(&device->monitor, "adsm-monitor", watch, device);
	if (!ret)
		goto close_shared;	/* from here on the mapping is enough */
	end_process(device);
	close_process(device);
unmap_shared:
	adsm_os_unmap(device->shared, shared_size(device));
close_shared:
	close(shared_fd);
	return ret;
}

bool adsm_process_stop(struct adsm_process_device *device)
{
	atomic_store(&device->closing, true);
	if (!end_process(device)) {
		adsm_error("%s: the library cannot end the device process before the program ends: the program closed "
			   "the library's descriptors", device->title);
		return false;
	}
	adsm_os_thread_join(&device->monitor);
	close_process(device);
	return true;
}

void adsm_process_unmap(struct adsm_process_device *device)
{
	adsm_os_unmap(device->shared, shared_size(device));
}

int adsm_process_ask(struct adsm_process_device *device, struct adsm_process_request *request, const int *fds,
		     int n_fds, struct adsm_process_reply *ret_reply)
{
	bool sent;
	int sock, ret;

	ret = adsm_process_status(&device->base);
	if (ret)
		return ret;
	adsm_mutex_lock(&device->request_lock);
	/* Read the number after locking: it may have changed while another request was being served. */
	sock = adsm_fd_number(device->sock);
	ret = sock < 0 ? sock : adsm_process_send(sock, request, sizeof(*request), fds, n_fds);
	sent = !ret;
	if (sent)
		ret = adsm_process_receive(sock, ret_reply, sizeof(*ret_reply), NULL);
	adsm_mutex_unlock(&device->request_lock);
	if (!sent && ret == -EBADF)
		return adsm_fail(ret, "%s: the library cannot reach the device process: the program closed a "
				 "descriptor of the library", device->title);
	if (!ret)
		return ret_reply->error;
	/* The monitor will soon record the reason. */
	end_process(device);
	adsm_os_await(&device->lost, false);
	return adsm_process_status(&device->base);
}
