/* SPDX-License-Identifier: MIT */
/* device.c - the device of the driver double: a process that maps device memory at the driver's addresses, and runs
 * kernels natively. A kernel that crashes ends its launch, not the process. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adsm_kernel.h"
#include "driver_own.h"

#define SOCKET 3
#define APPLICATION 4			/* pidfd, where the system has them */
#define MAX_IMAGES 4096
#define MAX_KERNELS 65536
#define STACK_SIZE ((size_t)16 << 20)

static int memory = -1;
static struct {
	void *handle;
	int fd;				/* the loader knows it by the number in its path */
} images[MAX_IMAGES];
static adsm_kernel_run *kernels[MAX_KERNELS];
static uint32_t n_kernels;

static _Thread_local sigjmp_buf out;
static _Thread_local volatile sig_atomic_t in_kernel;
static _Thread_local volatile uintptr_t fault_address;

static void crashed(int sig, siginfo_t *info, void *context)
{
	if (!in_kernel) {
		signal(sig, SIG_DFL);
		return;
	}
	in_kernel = 0;
	fault_address = info->si_code > 0 ? (uintptr_t)info->si_addr : 0;
	siglongjmp(out, sig);
}

/* A socket's message and its descriptor, -1. */
static int receive(int sock, void *data, size_t size, int *ret_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { data, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *header;
	ssize_t n;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*ret_fd = -1;
	header = CMSG_FIRSTHDR(&msg);
	if (n >= 0 && header && header->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
	return n == (ssize_t)size ? 0 : EPIPE;
}

static CUresult result_of(int sig)
{
	switch (sig) {
	case SIGSEGV:
	case SIGBUS:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case SIGILL:
	case SIGTRAP:
		return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	default:
		return CUDA_ERROR_LAUNCH_FAILED;
	}
}

static void launch(const struct driver_message *message, struct driver_reply *reply)
{
	struct adsm_kernel_block block;
	const void *args[DRIVER_PARAMS_MAX];
	int sig;

	memcpy(block.grid, message->grid, sizeof(block.grid));
	memcpy(block.block, message->block, sizeof(block.block));
	for (uint32_t i = 0; i < message->n_params; i++) {
		args[i] = message->params + message->param_offset[i];
		if (message->param_const[i])
			memcpy(&args[i], args[i], sizeof(args[i]));
	}
	sig = sigsetjmp(out, 1);
	if (sig) {
		reply->error = result_of(sig);
		reply->address = fault_address;
		return;
	}
	in_kernel = 1;
	for (block.index[2] = 0; block.index[2] < block.grid[2]; block.index[2]++)
		for (block.index[1] = 0; block.index[1] < block.grid[1]; block.index[1]++)
			for (block.index[0] = 0; block.index[0] < block.grid[0]; block.index[0]++)
				kernels[message->index](&block, args);
	in_kernel = 0;
}

static void *worker(void *arg)
{
	int sock = (int)(intptr_t)arg, fd;
	stack_t stack = { .ss_size = (size_t)64 << 10 };
	struct driver_message *message = malloc(sizeof(*message));

	stack.ss_sp = malloc(stack.ss_size);
	if (!message || !stack.ss_sp)
		_exit(1);
	sigaltstack(&stack, NULL);
	while (!receive(sock, message, sizeof(*message), &fd)) {
		struct driver_reply reply = { 0 };

		launch(message, &reply);
		if (send(sock, &reply, sizeof(reply), MSG_NOSIGNAL) != sizeof(reply))
			break;
	}
	close(sock);
	free(message);
	/* The alternate stack stays until the thread is gone. */
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	free(stack.ss_sp);
	return NULL;
}

static int start_worker(int fd)
{
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ret = pthread_create(&thread, &attr, worker, (void *)(intptr_t)fd);
	pthread_attr_destroy(&attr);
	return ret;
}

static int map(const struct driver_message *message, int prot, int flags, int fd)
{
	void *wanted = (void *)(uintptr_t)message->address;
	void *p = mmap(wanted, message->size, prot, flags, fd, (off_t)message->offset);

	if (p == MAP_FAILED)
		return errno;
	if (p == wanted)
		return 0;
	munmap(p, message->size);
	return EEXIST;
}

static int load(int fd, struct driver_reply *reply)
{
	char path[64];
	uint32_t i = 0;

	while (i < MAX_IMAGES && images[i].handle)
		i++;
	if (i == MAX_IMAGES || fd < 0)
		return ENOSPC;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	images[i].handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!images[i].handle) {
		snprintf(reply->text, sizeof(reply->text), "%s", dlerror());
		return ENOEXEC;
	}
	images[i].fd = fd;
	reply->index = i;
	return 0;
}

static int kernel(const struct driver_message *message, struct driver_reply *reply)
{
	char symbol[96];
	void *run;

	snprintf(symbol, sizeof(symbol), "adsm_run_%.63s", message->name);
	run = dlsym(images[message->index].handle, symbol);
	if (!run)
		return ENOENT;
	if (n_kernels == MAX_KERNELS)
		return ENOSPC;
	kernels[n_kernels] = (adsm_kernel_run *)(uintptr_t)run;
	reply->index = n_kernels++;
	return 0;
}

/* A variable that has its pages for itself can be memory of the device's, too. */
static int global(const struct driver_message *message, struct driver_reply *reply)
{
	char *p = dlsym(images[message->index].handle, message->name), *bytes = (char *)(uintptr_t)message->address;
	const ElfW(Sym) *symbol;
	Dl_info info;
	size_t size;

	if (!p || !dladdr1(p, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || !symbol->st_size)
		return ENOENT;
	size = (symbol->st_size + PAGE - 1) / PAGE * PAGE;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || (uintptr_t)p % PAGE || symbol->st_size % PAGE)
		return ENOENT;
	reply->index = (uint32_t)symbol->st_size;
	if (!bytes)
		return 0;
	memcpy(bytes, p, size);
	return mmap(p, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, (off_t)message->offset) ==
		MAP_FAILED ? errno : 0;
}

static int answer(const struct driver_message *message, int fd, struct driver_reply *reply)
{
	const int shared = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
	const int reserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	int ret;

	switch (message->op) {
	case DRIVER_HELLO:
		memory = fd;
		reply->index = (uint32_t)getpid();
		return 0;
	case DRIVER_RESERVE:
		return map(message, PROT_NONE, reserved | MAP_FIXED_NOREPLACE, -1);
	case DRIVER_UNRESERVE:
		return munmap((void *)(uintptr_t)message->address, message->size) ? errno : 0;
	case DRIVER_MAP:
		ret = map(message, PROT_READ | PROT_WRITE, shared, fd < 0 ? memory : fd);
		if (fd >= 0)
			close(fd);
		return ret;
	case DRIVER_UNMAP:
		return map(message, PROT_NONE, reserved | MAP_FIXED, -1);
	case DRIVER_LOAD:
		ret = load(fd, reply);
		if (ret && fd >= 0)
			close(fd);
		return ret;
	case DRIVER_UNLOAD:
		dlclose(images[message->index].handle);
		close(images[message->index].fd);
		images[message->index].handle = NULL;
		return 0;
	case DRIVER_KERNEL:
		return kernel(message, reply);
	case DRIVER_GLOBAL:
		return global(message, reply);
	case DRIVER_WORKER:
		return start_worker(fd);
	default:
		return EPROTO;
	}
}

int main(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP };
	static struct driver_message message;
	struct sigaction action = { .sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	struct pollfd polled[] = {
		{ .fd = SOCKET, .events = POLLIN },
		/* A child of the application may keep the socket's other end open. */
		{ .fd = fcntl(APPLICATION, F_GETFD) >= 0 ? APPLICATION : -1, .events = POLLIN },
	};

	prctl(PR_SET_NAME, DRIVER_DEVICE_NAME);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	for (;;) {
		struct driver_reply reply = { 0 };
		int fd;

		if (poll(polled, 2, -1) < 0)
			continue;
		/* _exit(): kernels may still run. */
		if (polled[1].revents || receive(SOCKET, &message, sizeof(message), &fd))
			_exit(0);
		reply.error = answer(&message, fd, &reply);
		if (send(SOCKET, &reply, sizeof(reply), MSG_NOSIGNAL) != sizeof(reply))
			_exit(0);
	}
}
