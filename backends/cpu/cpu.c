/* SPDX-License-Identifier: MIT */
/*
 * cpu.c - the software accelerator, seen from the application: a process for each device (device.c),
 * whose memory is a file both processes map, the device at the CPU's addresses. Launches go through
 * a queue in shared memory, everything rare through a socket.
 */
#include "copy.h"
#include "base/descriptors.h"
#include "ended.h"
#include "list.h"
#include "base/log.h"
#include "options.h"
#include "base/os.h"
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
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
#define COLD_SIZE ((size_t)16 << 10)	/* bytes that are known to be written or not, together */
#define SPIN_NS 10000			/* awake for a kernel that ends at once, before sleeping */

struct cpu_device {
	struct adsm_device base;
	struct adsm_cpu_copy_queue copies[2];	/* by queue, from ADSM_QUEUE_TO_DEVICE */
	uint8_t *memory;		/* where this process maps what the device has at arena_base */
	uint8_t *warm;			/* for each COLD_SIZE bytes: written since they were allocated */
	uintptr_t arena_base;
	size_t arena_size;
	_Atomic uint64_t memory_used;
	struct adsm_cpu_shared *shared;
	struct adsm_mutex request_lock;	/* one request and its reply */
	struct adsm_mutex launch_lock;	/* writers of slots */
	struct adsm_thread monitor;
	int index;
	int pid;
	struct adsm_fd *sock, *pidfd;	/* pidfd: NULL where the system has none */
	uint64_t oom_kills;		/* of this control group, when it was started */
	_Atomic bool closing;
	_Atomic uint32_t lost;		/* futex; lost_text is written before */
	char lost_text[ADSM_CPU_TEXT];
};

struct cpu_memory {
	struct adsm_memory base;
	uint8_t *bytes;			/* in this process */
};

struct cpu_entry {
	struct adsm_entry base;
	struct cpu_entry *next;
	uint32_t index;
	char name[ADSM_CPU_NAME];
};

struct cpu_code {
	struct adsm_code base;
	uint32_t index;
	struct cpu_entry *entries;	/* under request_lock */
};

static int cpu_status(struct adsm_device *base)
{
	struct cpu_device *device = (struct cpu_device *)base;

	return atomic_load(&device->lost) ? adsm_fail(-ENODEV, "%s", device->lost_text) : 0;
}

/* ---- the process */

/* The caller frees the path: it is too large for the stacks that threads may have. */
static int find_program(char **ret_path)
{
	/* Installed, in a folder of its architecture too; in a build folder: library, test. Or where it was to be. */
	static const char *const places[] = { "../libexec/adsm", "../../libexec/adsm", "../backends/cpu",
					      "../../backends/cpu" };
	static const char whole[] = ADSM_LIBEXEC "/" PROGRAM;
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

static int send_hello(struct cpu_device *device, int memory_fd, int shared_fd)
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

/* End the process, whatever it does. False: both ways to it were taken from us; it ends with the application. */
static bool end_process(struct cpu_device *device)
{
	int sock = adsm_fd_number(device->sock), pidfd = adsm_fd_number(device->pidfd);

	if (sock >= 0)
		shutdown(sock, SHUT_RDWR);	/* not close(): a child of ours may have it too */
	if (pidfd >= 0)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	return sock >= 0 || pidfd >= 0;
}

static void close_process(struct cpu_device *device)
{
	adsm_fd_drop(device->sock);
	adsm_fd_drop(device->pidfd);
	device->sock = device->pidfd = NULL;
}

static int start_once(struct cpu_device *device, const char *program, int memory_fd, int shared_fd)
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

static int start_process(struct cpu_device *device, int memory_fd, int shared_fd)
{
	char *program;
	int ret = find_program(&program);

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

/* What is known of the end of the process. */
static void describe_loss(struct cpu_device *device)
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
	struct cpu_device *device = arg;
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

/* One request and its reply: 0, the device's error, or -ENODEV when it ended. */
static int ask(struct cpu_device *device, struct adsm_cpu_request *request, const int *fds, int n_fds,
	       struct adsm_cpu_reply *ret_reply)
{
	bool sent;
	int sock, ret;

	ret = cpu_status(&device->base);
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
	return cpu_status(&device->base);
}

/* ---- open and close */

static size_t warm_size(const struct cpu_device *device)
{
	return (device->arena_size / COLD_SIZE + ADSM_PAGE_SIZE) & ~(ADSM_PAGE_SIZE - 1);
}

static int cpu_probe(void)
{
	char *program;
	int ret = find_program(&program);

	if (!ret)
		free(program);
	return ret ? ret : adsm_cpu_options.devices ? (int)adsm_cpu_options.devices : 1;
}

static int cpu_open(int index, const struct adsm_backend_config *config, struct adsm_device **ret_device)
{
	unsigned n_devices = adsm_cpu_options.devices ? adsm_cpu_options.devices : 1;
	bool unified = adsm_cpu_options.unified;
	struct cpu_device *device;
	int memory_fd = config->arena_fd, shared_fd, ret;
	void *p;

	device = aligned_alloc(_Alignof(struct cpu_device), sizeof(*device));
	if (!device)
		return -ENOMEM;
	memset(device, 0, sizeof(*device));
	device->base.backend = &adsm_backend_cpu;
	device->base.caps = (struct adsm_device_caps) {
		.given_address = true,
		.has_address = true,
		.signal_safe = true,
		.unified = unified,
		.survives = true,
		.memory_size = adsm_cpu_options.memory_size,
		.compute_units = adsm_cpu_options.threads ? adsm_cpu_options.threads : adsm_os_n_cpus(),
		.max_pending = ADSM_CPU_SLOTS,
		.max_arg_bytes = ADSM_CPU_MAX_ARG_BYTES,
	};
	if (!device->base.caps.memory_size)
		device->base.caps.memory_size = adsm_os_memory_available() / 2 / n_devices;
	adsm_format(device->base.name, sizeof(device->base.name), "cpu %d", index);
	strcpy(device->base.caps.memory, unified ? "unified" : "discrete");
	device->index = index;
	device->arena_base = config->arena_base;
	device->arena_size = config->arena_size;
	device->memory = config->alias_base;
	adsm_mutex_init(&device->request_lock);
	adsm_mutex_init(&device->launch_lock);

	if (!unified) {
		ret = adsm_fd_memory("adsm-device-memory", config->arena_size, &memory_fd);
		if (ret)
			goto free_device;
		ret = adsm_os_map(NULL, config->arena_size, memory_fd, 0, ADSM_PROT_RW, &p);
		if (ret)
			goto close_memory;
		device->memory = p;
		device->warm = adsm_os_table(warm_size(device));
		ret = device->warm ? 0 : -ENOMEM;
		if (ret)
			goto unmap_memory;
	}
	ret = adsm_fd_memory("adsm-device-queue", sizeof(*device->shared), &shared_fd);
	if (ret)
		goto unmap_warm;
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
	if (ret)
		goto end_process;
	/* The mappings are enough from here on. */
	close(shared_fd);
	if (!unified)
		close(memory_fd);
	*ret_device = &device->base;
	return 0;

end_process:
	end_process(device);
	close_process(device);
unmap_shared:
	adsm_os_unmap(device->shared, sizeof(*device->shared));
close_shared:
	close(shared_fd);
unmap_warm:
	if (!unified)
		adsm_os_unmap(device->warm, warm_size(device));
unmap_memory:
	if (!unified)
		adsm_os_unmap(device->memory, device->arena_size);
close_memory:
	if (!unified)
		close(memory_fd);
free_device:
	free(device);
	return ret;
}

static void cpu_close(struct adsm_device *base)
{
	struct cpu_device *device = (struct cpu_device *)base;

	if (!device)
		return;
	atomic_store(&device->closing, true);
	if (!end_process(device)) {
		adsm_error("cpu device %d: its process cannot be ended before this one: the program has closed "
			   "descriptors of the library's", device->index);
		return;		/* what watches it needs all the rest */
	}
	adsm_os_thread_join(&device->monitor);
	close_process(device);
	for (int i = 0; i < 2; i++)
		adsm_cpu_copy_finish(&device->copies[i]);
	adsm_os_unmap(device->shared, sizeof(*device->shared));
	if (!base->caps.unified) {
		adsm_os_unmap(device->warm, warm_size(device));
		adsm_os_unmap(device->memory, device->arena_size);
	}
	adsm_mutex_destroy(&device->request_lock);
	adsm_mutex_destroy(&device->launch_lock);
	free(device);
}

/* ---- memory */

static uint64_t cpu_memory_free(struct adsm_device *base)
{
	struct cpu_device *device = (struct cpu_device *)base;

	return base->caps.memory_size - atomic_load(&device->memory_used);
}

static int cpu_alloc(struct adsm_device *base, size_t size, uint64_t wanted, struct adsm_memory **ret_memory)
{
	struct cpu_device *device = (struct cpu_device *)base;
	uint64_t used = atomic_load(&device->memory_used), offset = wanted - device->arena_base;
	struct cpu_memory *memory;

	if (!size || (size | wanted) % ADSM_PAGE_SIZE || offset > device->arena_size ||
	    size > device->arena_size - offset)
		return adsm_fail(-EINVAL, "cpu device %d: %zu bytes at %p are not pages of the arena",
				 device->index, size, (void *)(uintptr_t)wanted);
	if (cpu_status(base))
		return -ENODEV;
	memory = malloc(sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	do {
		uint64_t left = base->caps.memory_size - used;

		if (size > left) {
			free(memory);
			return adsm_fail(-ENOMEM, "cpu device %d is full: %zu bytes asked for, %lu of %lu free",
					 device->index, size, (unsigned long)left,
					 (unsigned long)base->caps.memory_size);
		}
	} while (!atomic_compare_exchange_weak(&device->memory_used, &used, used + size));
	memory->base = (struct adsm_memory) { base, wanted, size };
	memory->bytes = device->memory + offset;
	*ret_memory = &memory->base;
	return 0;
}

static void cpu_free(struct adsm_memory *base)
{
	struct cpu_memory *memory = (struct cpu_memory *)base;
	struct cpu_device *device;
	size_t offset;

	if (!base)
		return;
	device = (struct cpu_device *)base->device;
	offset = (size_t)(memory->bytes - device->memory);
	/* Unified memory is the arena's: who owns the range gives its pages back. */
	if (!base->device->caps.unified) {
		/* Small neighbours share an entry; a copy may be looking at it. */
		for (size_t i = 0; i < (base->size + COLD_SIZE - 1) / COLD_SIZE; i++)
			__atomic_store_n(&device->warm[offset / COLD_SIZE + i], 0, __ATOMIC_RELAXED);
		adsm_os_discard(memory->bytes, base->size);
	}
	atomic_fetch_sub(&device->memory_used, base->size);
	free(memory);
}

/* ---- copies. Device memory outlives the process, so a lost device changes nothing here. */

/* Whether a part of device memory was never written, so far: a hint, and the first piece speaks for all. */
static bool is_cold(struct cpu_device *device, const void *bytes, size_t size)
{
	uint8_t *warm;

	if (!device->warm || size < COLD_SIZE)
		return false;
	warm = device->warm + (size_t)((const uint8_t *)bytes - device->memory) / COLD_SIZE;
	if (__atomic_load_n(warm, __ATOMIC_RELAXED))
		return false;
	for (size_t i = 0; i < size / COLD_SIZE; i++)
		__atomic_store_n(&warm[i], 1, __ATOMIC_RELAXED);
	return true;
}

static int run_copy(struct adsm_device *base, uint32_t direction, struct adsm_cpu_copy *copy,
		    struct adsm_device_event *ret_event)
{
	struct cpu_device *device = (struct cpu_device *)base;
	struct adsm_cpu_copy_queue *queue = &device->copies[direction - ADSM_QUEUE_TO_DEVICE];
	struct adsm_device_event event = { .queue = direction };
	int ret;

	copy->cold = direction == ADSM_QUEUE_TO_DEVICE && is_cold(device, copy->dst, copy->size);
	if (!ret_event) {
		adsm_cpu_copy_now(queue, copy);
		return 0;
	}
	ret = adsm_cpu_copy_submit(queue, copy, &event.seq);
	if (!ret)
		*ret_event = event;
	return ret;
}

/* The bytes of a part of device memory, NULL when it does not lie inside. */
static uint8_t *part(struct adsm_memory *memory, size_t offset, size_t size)
{
	if (offset > memory->size || size > memory->size - offset)
		return NULL;
	return ((struct cpu_memory *)memory)->bytes + offset;
}

static int cpu_to_device(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			 struct adsm_device_event *ret_event)
{
	struct adsm_cpu_copy copy = { .dst = part(dst, offset, size), .src = src, .size = size };

	if (!copy.dst || !src)
		return -EINVAL;
	copy.linked = copy.to_device = copy.dst != copy.src;
	return run_copy(dst->device, ADSM_QUEUE_TO_DEVICE, &copy, ret_event);
}

static int cpu_to_host(void *dst, struct adsm_memory *src, size_t offset, size_t size,
		       struct adsm_device_event *ret_event)
{
	struct adsm_cpu_copy copy = { .dst = dst, .src = part(src, offset, size), .size = size };

	copy.linked = copy.dst != copy.src;
	return copy.src ? run_copy(src->device, ADSM_QUEUE_TO_HOST, &copy, ret_event) : -EINVAL;
}

static int cpu_copy(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset,
		    size_t size, struct adsm_device_event *ret_event)
{
	struct adsm_cpu_copy copy = { .dst = part(dst, dst_offset, size),
				      .src = part(src, src_offset, size), .size = size };

	return copy.dst && copy.src ?
		run_copy(dst->device, ADSM_QUEUE_TO_DEVICE, &copy, ret_event) : -EINVAL;
}

static int cpu_fill(struct adsm_memory *dst, size_t offset, uint8_t value, size_t size,
		    struct adsm_device_event *ret_event)
{
	struct adsm_cpu_copy copy = { .dst = part(dst, offset, size), .size = size, .value = value };

	return copy.dst ? run_copy(dst->device, ADSM_QUEUE_TO_DEVICE, &copy, ret_event) : -EINVAL;
}

/* ---- events */

static struct adsm_cpu_queue *find_queue(struct cpu_device *device, struct adsm_device_event event)
{
	struct adsm_cpu_queue *queue;

	if (event.queue >= ADSM_N_QUEUES)
		return NULL;
	queue = event.queue == ADSM_QUEUE_COMPUTE ? &device->shared->queue :
		&device->copies[event.queue - ADSM_QUEUE_TO_DEVICE].queue;
	return event.seq && event.seq <= atomic_load(&queue->submitted) ? queue : NULL;
}

static int cpu_event_query(struct adsm_device *base, struct adsm_device_event event, int *ret_status)
{
	struct cpu_device *device = (struct cpu_device *)base;
	struct adsm_cpu_queue *queue = find_queue(device, event);
	/* Before the number: what was done when the device ended has been done. */
	bool lost = event.queue == ADSM_QUEUE_COMPUTE && atomic_load(&device->lost);

	if (!queue)
		return -EINVAL;
	if (atomic_load(&queue->done) >= event.seq)
		*ret_status = 0;
	else if (lost)
		*ret_status = -ENODEV;
	else
		return 0;
	return 1;
}

static int cpu_event_wait(struct adsm_device *base, struct adsm_device_event event, int *ret_status)
{
	static const _Atomic uint32_t never;
	struct cpu_device *device = (struct cpu_device *)base;
	struct adsm_cpu_queue *queue = find_queue(device, event);
	bool compute = event.queue == ADSM_QUEUE_COMPUTE;
	int ret;

	if (!queue)
		return -EINVAL;
	ret = adsm_cpu_queue_wait(queue, event.seq, compute ? &device->lost : &never, SPIN_NS, compute);
	if (ret)
		return ret;
	cpu_event_query(base, event, ret_status);
	return 0;
}

static int cpu_event_elapsed(struct adsm_device *base, struct adsm_device_event event, uint64_t *ret_ns)
{
	struct adsm_cpu_shared *shared = ((struct cpu_device *)base)->shared;
	struct adsm_cpu_slot *slot = &shared->slots[(event.seq - 1) % ADSM_CPU_SLOTS];
	uint64_t ns = slot->end_ns - slot->start_ns;

	/* After reading: the slot may have been taken for another launch meanwhile. */
	if (event.queue != ADSM_QUEUE_COMPUTE || !event.seq || atomic_load(&shared->queue.done) < event.seq ||
	    atomic_load(&shared->queue.submitted) - event.seq >= ADSM_CPU_SLOTS)
		return -EINVAL;
	*ret_ns = ns;
	return 0;
}

/* ---- modules and launches */

static int cpu_module_load(struct adsm_device *base, const struct adsm_image *image,
			   struct adsm_code **ret_code)
{
	struct cpu_device *device = (struct cpu_device *)base;
	size_t pages = (image->size + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
	struct adsm_cpu_request request = { .op = ADSM_CPU_LOAD };
	struct adsm_cpu_reply reply;
	struct cpu_code *code;
	struct adsm_fd *file;
	void *copy;
	int fd, ret;

	if (image->kind != ADSM_IMAGE_MODULE)
		return adsm_fail(-ENOEXEC, "not a kernel module: a cpu device takes what adsmcc writes");
	if (!image->size)
		return adsm_fail(-ENOEXEC, "the module is empty");
	code = calloc(1, sizeof(*code));
	if (!code)
		return -ENOMEM;
	ret = adsm_os_memfd("adsm-module", pages, &fd);
	if (!ret)
		ret = adsm_fd_keep(fd, &file);	/* other threads may close what they do not know */
	if (ret)
		goto free_code;
	fd = adsm_fd_number(file);
	ret = adsm_os_map(NULL, pages, fd, 0, ADSM_PROT_RW, &copy);
	if (ret)
		goto close_file;
	memcpy(copy, image->data, image->size);
	adsm_os_unmap(copy, pages);
	fd = adsm_fd_number(file);
	ret = ask(device, &request, &fd, 1, &reply);
	if (ret == -ENOEXEC)
		adsm_fail(ret, "cpu device %d cannot load the module: %s", device->index, reply.text);
	if (ret)
		goto close_file;
	adsm_fd_drop(file);
	code->base.device = base;
	code->index = reply.index;
	*ret_code = &code->base;
	return 0;

close_file:
	adsm_fd_drop(file);
free_code:
	free(code);
	return ret;
}

static void cpu_module_unload(struct adsm_code *base)
{
	struct cpu_code *code = (struct cpu_code *)base;
	struct adsm_cpu_request request = { .op = ADSM_CPU_UNLOAD };
	struct cpu_device *device;
	struct adsm_cpu_reply reply;
	struct cpu_entry *next;

	if (!base)
		return;
	device = (struct cpu_device *)base->device;
	request.index = code->index;
	/* Its kernels may still run. */
	while (adsm_cpu_queue_wait(&device->shared->queue, atomic_load(&device->shared->queue.submitted),
				   &device->lost, 0, true))
		;
	ask(device, &request, NULL, 0, &reply);
	for (struct cpu_entry *entry = code->entries; entry; entry = next) {
		next = entry->next;
		free(entry);
	}
	free(code);
}

static int cpu_kernel_get(struct adsm_code *base, const char *name, struct adsm_entry **ret_entry)
{
	struct cpu_code *code = (struct cpu_code *)base;
	struct cpu_device *device = (struct cpu_device *)base->device;
	struct adsm_cpu_request request = { .op = ADSM_CPU_KERNEL, .index = code->index };
	struct adsm_cpu_reply reply = { 0 };
	struct cpu_entry *entry;
	int ret;

	if (strlen(name) >= ADSM_CPU_NAME)
		return adsm_fail(-ENOENT, "the module has no kernel '%s'", name);
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	strcpy(request.name, name);
	strcpy(entry->name, name);
	ret = ask(device, &request, NULL, 0, &reply);
	if (ret) {
		free(entry);
		return ret == -ENOENT ? adsm_fail(ret, "the module has no kernel '%s'", name) : ret;
	}
	entry->base.code = base;
	entry->index = reply.index;
	adsm_mutex_lock(&device->request_lock);
	entry->next = code->entries;
	code->entries = entry;
	adsm_mutex_unlock(&device->request_lock);
	*ret_entry = &entry->base;
	return 0;
}

static int cpu_module_names(struct adsm_code *code, char **ret_names)
{
	return adsm_fail(-ENOTSUP, "a cpu device knows no kernels but those of modules that adsmcc writes");
}

static int cpu_kernel_params(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max)
{
	return cpu_module_names(entry->code, NULL);
}

/* Place the arguments' bytes; returns how many there are with what alignment adds. */
static size_t place_args(const struct adsm_launch *launch, uint32_t *offsets)
{
	size_t end = 0;

	for (size_t i = 0; i < launch->n_args; i++) {
		/* A constant is used where it lies. */
		size_t align = launch->args[i].kind == ADSM_LAUNCH_CONST ? 64 : 16;

		end = (end + align - 1) & ~(align - 1);
		offsets[i] = (uint32_t)end;
		end += launch->args[i].kind == ADSM_LAUNCH_POINTER ? sizeof(uint64_t) : launch->args[i].size;
	}
	return end;
}

static int check_launch(const struct adsm_launch *launch)
{
	uint64_t blocks, bytes = 0;

	if (launch->n_args > ADSM_CPU_MAX_ARGS)
		return adsm_fail(-EINVAL, "kernel '%s': more than %d arguments", launch->name,
				 ADSM_CPU_MAX_ARGS);
	for (size_t i = 0; i < launch->n_args; i++) {
		size_t size = launch->args[i].kind == ADSM_LAUNCH_POINTER ? 0 : launch->args[i].size;

		if (size > ADSM_CPU_MAX_ARG_BYTES - bytes)
			return adsm_fail(-EINVAL, "kernel '%s': more than %zu bytes of values and constants",
					 launch->name, ADSM_CPU_MAX_ARG_BYTES);
		bytes += size;
	}
	blocks = (uint64_t)launch->grid[0] * launch->grid[1];
	if (__builtin_mul_overflow(blocks, launch->grid[2], &blocks) || launch->first_block > blocks ||
	    launch->n_blocks > blocks - launch->first_block)
		return adsm_fail(-EINVAL, "kernel '%s': blocks outside of its grid", launch->name);
	return 0;
}

static int cpu_launch(struct adsm_entry *base, const struct adsm_launch *launch,
		      struct adsm_device_event *ret_event)
{
	struct cpu_entry *entry = (struct cpu_entry *)base;
	struct cpu_device *device = (struct cpu_device *)base->code->device;
	struct adsm_cpu_queue *queue = &device->shared->queue;
	struct adsm_device_event event = { .queue = ADSM_QUEUE_COMPUTE };
	struct adsm_cpu_slot *slot;
	uint64_t given;
	uint8_t *bytes;
	int ret, status;

	ret = check_launch(launch);
	if (ret)
		return ret;
	for (;;) {
		ret = cpu_status(&device->base);
		if (ret)
			return ret;
		adsm_mutex_lock(&device->launch_lock);
		given = atomic_load(&queue->submitted);
		if (given - atomic_load(&queue->done) < ADSM_CPU_SLOTS)
			break;
		adsm_mutex_unlock(&device->launch_lock);
		adsm_cpu_queue_wait(queue, given - ADSM_CPU_SLOTS + 1, &device->lost, SPIN_NS, true);
	}
	slot = &device->shared->slots[given % ADSM_CPU_SLOTS];
	memcpy(slot->name, entry->name, sizeof(slot->name));
	slot->kernel = entry->index;
	slot->n_args = (uint32_t)launch->n_args;
	memcpy(slot->grid, launch->grid, sizeof(slot->grid));
	memcpy(slot->block, launch->block, sizeof(slot->block));
	slot->first_block = launch->first_block;
	slot->n_blocks = launch->n_blocks;
	slot->in_area = place_args(launch, slot->arg_offset) > sizeof(slot->args);
	bytes = slot->in_area ? device->shared->areas[given % ADSM_CPU_SLOTS] : slot->args;
	for (size_t i = 0; i < launch->n_args; i++) {
		const struct adsm_launch_arg *arg = &launch->args[i];
		if (arg->kind == ADSM_LAUNCH_POINTER) {
			uint64_t address = arg->memory ? arg->memory->address + arg->offset : 0;

			memcpy(bytes + slot->arg_offset[i], &address, sizeof(address));
		} else if (arg->size) {
			memcpy(bytes + slot->arg_offset[i], arg->data, arg->size);
		}
	}
	event.seq = adsm_cpu_queue_submit(queue, true);
	adsm_mutex_unlock(&device->launch_lock);
	if (ret_event) {
		*ret_event = event;
		return 0;
	}
	status = 0;
	while ((ret = cpu_event_wait(&device->base, event, &status)) == -EINTR)
		;
	return ret ? ret : status;
}

/* ---- no driver underneath */

static int no_driver(void)
{
	return adsm_fail(-ENOTSUP, "the backend 'cpu' has no driver to share");
}

static int cpu_native(struct adsm_device *device, struct adsm_native *ret_native)
{
	return no_driver();
}

static int cpu_native_memory(struct adsm_memory *memory, void **ret_handle)
{
	return no_driver();
}

static int cpu_kernel_adopt(struct adsm_device *device, void *kernel, struct adsm_code **ret_code)
{
	return no_driver();
}

static int cpu_use_context(void *context, void *device)
{
	return no_driver();
}

static int cpu_memory_adopt(struct adsm_device *device, uint64_t address, size_t size, uint64_t wanted,
				 struct adsm_memory **ret_memory)
{
	return adsm_fail(-ENOTSUP, "%s does not take memory that the program allocated", device->name);
}

static int cpu_queue_follow(struct adsm_device *device, void *queue)
{
	return -ENOTSUP;
}

static int cpu_queue_join(struct adsm_device *device, void *const *queues, size_t n,
			  struct adsm_device_event *ret_event)
{
	return -ENOTSUP;
}

/* Its driver is this library. */
static void cpu_end(struct adsm_device *base, const char *why, bool wait)
{
}

const struct adsm_backend adsm_backend_cpu = {
	.version = ADSM_BACKEND_VERSION,
	.name = "cpu",
	.probe = cpu_probe,
	.open = cpu_open,
	.close = cpu_close,
	.end = cpu_end,
	.alloc = cpu_alloc,
	.free = cpu_free,
	.memory_free = cpu_memory_free,
	.to_device = cpu_to_device,
	.to_host = cpu_to_host,
	.copy = cpu_copy,
	.fill = cpu_fill,
	.module_load = cpu_module_load,
	.module_unload = cpu_module_unload,
	.kernel_get = cpu_kernel_get,
	.module_names = cpu_module_names,
	.kernel_params = cpu_kernel_params,
	.launch = cpu_launch,
	.event_query = cpu_event_query,
	.event_wait = cpu_event_wait,
	.event_elapsed = cpu_event_elapsed,
	.status = cpu_status,
	.native = cpu_native,
	.native_memory = cpu_native_memory,
	.kernel_adopt = cpu_kernel_adopt,
	.use_context = cpu_use_context,
	.memory_adopt = cpu_memory_adopt,
	.queue_follow = cpu_queue_follow,
	.queue_join = cpu_queue_join,
};
