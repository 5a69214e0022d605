/* SPDX-License-Identifier: MIT */
/*
 * device.c - the program of a cpu device: a process of its own that loads kernel modules and runs
 * launches on a pool of threads, grid block by grid block.
 *
 * The main thread answers the library's requests and ends the process when the application is gone,
 * also in the middle of a kernel. One thread takes launches in order and runs them with the others.
 */
#include "adsm_kernel.h"
#include "base/os.h"
#include "shared.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STACK_SIZE ((size_t)8 << 20)	/* kernels keep the variables of a whole block there */
#define MAX_KERNELS 65536
#define MAX_MODULES 4096
/* Waking a sleeping processor costs about as much: smaller grids are run by the dispatcher alone, and
 * after a launch the dispatcher stays awake as long for the next one. */
#define WAKE_NS 50000
#define CHUNK_MAX 64			/* blocks a thread takes at once at most */

struct kernel {
	_Atomic(adsm_kernel_run *) run;	/* NULL: free. Published last. */
	uint32_t module;
	_Atomic uint64_t block_ns;	/* how long one block took the last time */
};

struct module {
	void *handle;			/* NULL: free */
	/* Open as long as the module is loaded: the loader knows the module by the number in its path. */
	int fd;
};

static struct adsm_cpu_shared *shared;
static struct kernel kernels[MAX_KERNELS];
static uint32_t n_kernels;
static struct module modules[MAX_MODULES];
static unsigned n_threads;

/* ---- the launch in progress. Threads of the pool join it while it is open; one that counted itself in
 * before looking keeps the dispatcher from ending it. */

static struct {
	_Atomic(adsm_kernel_run *) run;
	const void *args[ADSM_CPU_MAX_ARGS];
	struct adsm_kernel_block block;
	uint64_t end, chunk;		/* blocks */
	_Alignas(64) _Atomic uint64_t next;	/* the first block nobody took */
	_Alignas(64) _Atomic uint32_t open;	/* futex: the launch's number, 0 when there is none to join */
	_Atomic uint32_t inside;	/* futex: threads of the pool in it */
} work;

static _Thread_local bool in_kernel;

/* Run blocks until none is left; returns how many. @wake_at: when to call the pool for help, 0: never. */
static uint64_t run_blocks(uint64_t wake_at)
{
	struct adsm_kernel_block block = work.block;
	uint64_t first, n = 0;

	while ((first = atomic_fetch_add(&work.next, work.chunk)) < work.end) {
		uint64_t last = work.end - first < work.chunk ? work.end : first + work.chunk;

		block.index[0] = (uint32_t)(first % block.grid[0]);
		block.index[1] = (uint32_t)(first / block.grid[0] % block.grid[1]);
		block.index[2] = (uint32_t)(first / block.grid[0] / block.grid[1]);
		n += last - first;
		in_kernel = true;
		for (; first < last; first++) {
			work.run(&block, work.args);
			if (++block.index[0] < block.grid[0])
				continue;
			block.index[0] = 0;
			if (++block.index[1] < block.grid[1])
				continue;
			block.index[1] = 0;
			block.index[2]++;
		}
		in_kernel = false;
		if (wake_at && last < work.end && adsm_os_now_ns() >= wake_at) {
			adsm_os_wake(&work.open, INT_MAX, false);
			wake_at = 0;
		}
	}
	return n;
}

static void run_launch(struct adsm_cpu_slot *slot, const uint8_t *area)
{
	static uint32_t number;
	struct kernel *kernel = &kernels[slot->kernel];
	const uint8_t *args = slot->in_area ? area : slot->args;
	uint64_t expected, n, now;
	uint32_t inside;

	work.run = kernel->run;
	for (uint32_t i = 0; i < slot->n_args; i++)
		work.args[i] = args + slot->arg_offset[i];
	memcpy(work.block.grid, slot->grid, sizeof(work.block.grid));
	memcpy(work.block.block, slot->block, sizeof(work.block.block));
	work.end = slot->first_block + slot->n_blocks;
	work.chunk = slot->n_blocks / n_threads / 16;
	if (work.chunk < 1)
		work.chunk = 1;
	if (work.chunk > CHUNK_MAX)
		work.chunk = CHUNK_MAX;
	atomic_store(&work.next, slot->first_block);

	slot->start_ns = adsm_os_now_ns();
	if (n_threads > 1 && slot->n_blocks > 1) {
		expected = atomic_load(&kernel->block_ns) * slot->n_blocks;
		number = number + 1 ? number + 1 : 1;
		atomic_store(&work.open, number);
		if (expected >= WAKE_NS)
			adsm_os_wake(&work.open, INT_MAX, false);
		now = adsm_os_now_ns();		/* the call above can take longer than the blocks */
		n = run_blocks(expected >= WAKE_NS ? 0 : now + WAKE_NS);
		if (n)
			atomic_store(&kernel->block_ns, (adsm_os_now_ns() - now) / n);
		atomic_store(&work.open, 0);
		now = adsm_os_now_ns();
		while ((inside = atomic_load(&work.inside))) {
			if (adsm_os_now_ns() - now < WAKE_NS)
				adsm_cpu_pause();
			else
				adsm_os_wait(&work.inside, inside, 0, false);
		}
	} else {
		run_blocks(0);
	}
	slot->end_ns = adsm_os_now_ns();
}

/* ---- threads */

/* By an instruction, where nobody sent it. */
static bool is_raised(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP || sig == SIGSYS;
}

/* Write down how a kernel crashed, or who ends this process: the library tells the application. */
static void crashed(int sig, siginfo_t *info, void *context)
{
	static _Atomic bool first;

	/* Another thread is writing, and will end all. */
	while (atomic_exchange(&first, true))
		pause();
	if (shared) {
		shared->crash_in_kernel = in_kernel;
		shared->crash_sent = info->si_code <= 0 ? info->si_pid != getpid() : !is_raised(sig);
		if (info->si_code <= 0 && shared->crash_sent) {
			shared->crash_sender = (uint32_t)info->si_pid;
			shared->crash_user = info->si_uid;
		}
		/* A signal that somebody sent has no address. */
		shared->crash_address = info->si_code > 0 ? (uintptr_t)info->si_addr : 0;
		atomic_store(&shared->crash_signal, (uint32_t)sig);
	}
	_exit(128 + sig);
}

/* Give the calling thread a stack for the handler: its own may have run out. */
static void prepare_thread(void)
{
	stack_t stack = { .ss_size = (size_t)64 << 10 };

	stack.ss_sp = malloc(stack.ss_size);
	if (stack.ss_sp)
		sigaltstack(&stack, NULL);
}

static void *pool_main(void *arg)
{
	uint32_t open;

	prepare_thread();
	for (;;) {
		atomic_fetch_add(&work.inside, 1);
		open = atomic_load(&work.open);
		if (open)
			run_blocks(0);
		if (atomic_fetch_sub(&work.inside, 1) == 1 && !atomic_load(&work.open))
			adsm_os_wake(&work.inside, 1, false);
		adsm_os_wait(&work.open, open, 0, false);
	}
	return NULL;
}

static void *dispatcher_main(void *arg)
{
	struct adsm_cpu_queue *queue = &shared->queue;
	/* With one processor the library could not launch while we stay awake for it. */
	uint64_t spin_ns = adsm_os_n_cpus() > 1 ? WAKE_NS : 0;

	prepare_thread();
	while (adsm_cpu_queue_next(queue, spin_ns, true)) {
		uint64_t i = atomic_load(&queue->done) % ADSM_CPU_SLOTS;

		run_launch(&shared->slots[i], shared->areas[i]);
		adsm_cpu_queue_done(queue, true);
	}
	return NULL;
}

static int start_thread(void *(*run)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ret = -pthread_create(&thread, &attr, run, NULL);
	pthread_attr_destroy(&attr);
	return ret;
}

/* ---- requests: 0 or a negative errno, with a sentence in the reply */

static int hello(const struct adsm_cpu_request *request, const int *fds, struct adsm_cpu_reply *reply)
{
	void *p;
	int ret;

	if (shared || fds[1] < 0)
		return -EPROTO;
	/* One address on both sides: the library tries again with a new process if the range is taken here. */
	ret = adsm_os_reserve(request->base, request->size, &p);
	if (!ret)
		ret = adsm_os_map(p, request->size, fds[0], 0, ADSM_PROT_RW, &p);
	if (!ret)
		ret = adsm_os_map(NULL, sizeof(*shared), fds[1], 0, ADSM_PROT_RW, &p);
	if (ret)
		return ret;
	close(fds[0]);
	close(fds[1]);
	shared = p;
	adsm_os_populate(shared, offsetof(struct adsm_cpu_shared, areas), true);
	n_threads = request->n_threads;
	ret = start_thread(dispatcher_main);
	for (unsigned i = 1; i < n_threads && !ret; i++)
		ret = start_thread(pool_main);
	return ret;
}

static int load(int fd, struct adsm_cpu_reply *reply)
{
	char path[64];
	uint32_t i = 0;

	if (fd < 0)
		return -EPROTO;
	while (i < MAX_MODULES && modules[i].handle)
		i++;
	if (i == MAX_MODULES) {
		close(fd);
		return -ENOSPC;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	modules[i].handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!modules[i].handle) {
		snprintf(reply->text, sizeof(reply->text), "%s", dlerror());
		close(fd);
		return -ENOEXEC;
	}
	modules[i].fd = fd;
	reply->index = i;
	return 0;
}

static int unload(uint32_t index)
{
	if (index >= MAX_MODULES || !modules[index].handle)
		return -EINVAL;
	for (uint32_t i = 0; i < n_kernels; i++) {
		if (kernels[i].module == index)
			kernels[i].run = NULL;
	}
	dlclose(modules[index].handle);
	close(modules[index].fd);
	modules[index].handle = NULL;
	return 0;
}

static int kernel(const struct adsm_cpu_request *request, struct adsm_cpu_reply *reply)
{
	char symbol[ADSM_CPU_NAME + 16];
	uint32_t i = 0;
	void *run;

	if (request->index >= MAX_MODULES || !modules[request->index].handle)
		return -EINVAL;
	snprintf(symbol, sizeof(symbol), "adsm_run_%s", request->name);
	run = dlsym(modules[request->index].handle, symbol);
	if (!run)
		return -ENOENT;
	while (i < n_kernels && kernels[i].run)
		i++;
	if (i == MAX_KERNELS)
		return -ENOSPC;
	if (i == n_kernels)
		n_kernels++;
	kernels[i].module = request->index;
	kernels[i].block_ns = WAKE_NS;
	kernels[i].run = (adsm_kernel_run *)(uintptr_t)run;
	reply->index = i;
	return 0;
}

int main(void)
{
	/* Signals that kernels raise, and all others that would end this process and can be caught. */
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGHUP, SIGINT,
				       SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ,
				       SIGVTALRM, SIGPROF };
	struct sigaction action = { .sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	bool watched = fcntl(ADSM_CPU_APPLICATION, F_GETFD) >= 0;
	struct pollfd polled[] = {
		{ .fd = ADSM_CPU_SOCKET, .events = POLLIN },
		/* A child of the application may keep the socket's other end open. */
		{ .fd = watched ? ADSM_CPU_APPLICATION : -1, .events = POLLIN },
	};

	prctl(PR_SET_NAME, "adsm-cpu-device");
	prepare_thread();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	for (;;) {
		struct adsm_cpu_request request;
		struct adsm_cpu_reply reply = { .version = ADSM_CPU_VERSION };
		int fds[ADSM_CPU_MAX_FDS];

		if (poll(polled, 2, -1) < 0)
			continue;
		/* _exit(): kernels may still run, and no destructor may run beside them. */
		if (polled[1].revents || adsm_cpu_receive(ADSM_CPU_SOCKET, &request, sizeof(request), fds))
			_exit(0);
		if (request.version != ADSM_CPU_VERSION) {
			reply.error = -EPROTO;
		} else {
			switch (request.op) {
			case ADSM_CPU_HELLO:
				reply.error = hello(&request, fds, &reply);
				break;
			case ADSM_CPU_LOAD:
				reply.error = load(fds[0], &reply);
				break;
			case ADSM_CPU_UNLOAD:
				reply.error = unload(request.index);
				break;
			case ADSM_CPU_KERNEL:
				reply.error = kernel(&request, &reply);
				break;
			default:
				reply.error = -EPROTO;
			}
		}
		if (adsm_cpu_send(ADSM_CPU_SOCKET, &reply, sizeof(reply), NULL, 0))
			_exit(0);
	}
}
