/* SPDX-License-Identifier: MIT */
/* errors.c - calls that fail set an error text; a failure has no other effects. */
#include "adsm_cuda.h"
#include "adsm_lend.h"
#include "adsm_once.h"
#include "adsm_opencl.h"
#include "conform.h"

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 1000u

static void modules(void)
{
	char path[64];
	int fd = memfd_create("text", MFD_CLOEXEC);
	FILE *file;
	long size;
	char *image;
	adsmModule *module;

	CHECK_NULL(adsmModuleLoad("/nowhere/kernels.adsm"), ENOENT);
	CHECK_SAYS("/nowhere/kernels.adsm");
	/* The first error text stays if the program passes the NULL on without a check. */
	CHECK_NULL(adsmKernelGet(adsmModuleLoad("/nowhere/kernels.adsm"), "add"), EINVAL);
	CHECK_SAYS("/nowhere/kernels.adsm");
	CHECK_ERROR(adsmCall(NULL, adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmPtr(NULL)), EINVAL);
	CHECK_SAYS("/nowhere/kernels.adsm");
	CHECK_NULL(adsmAlloc(0), EINVAL);
	CHECK_ERROR(adsmCall(NULL, adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmPtr(NULL)), EINVAL);
	CHECK_SAYS("not a kernel");
	CHECK_EQ(write(fd, "no kernels in here\n", 19), 19);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK_NULL(adsmModuleLoad(path), ENOEXEC);
	/* An executable file that is no kernel module. */
	CHECK_NULL(adsmModuleLoad("/proc/self/exe"), ENOEXEC);

	file = fopen(module_path("conform"), "r");
	CHECK(file && !fseek(file, 0, SEEK_END) && (size = ftell(file)) > 0 && !fseek(file, 0, SEEK_SET));
	image = malloc((size_t)size);
	CHECK(image && fread(image, 1, (size_t)size, file) == (size_t)size);
	fclose(file);
	CHECK_NULL(adsmModuleLoadMemory(image, (size_t)size / 2), ENOEXEC);
	CHECK_NULL(adsmModuleLoadMemory(image, 5), ENOEXEC);
	module = adsmModuleLoadMemory(image, (size_t)size);
	memset(image, 0, (size_t)size);
	free(image);
	CHECK(module);
	CHECK(adsmKernelGet(module, "add"));
	CHECK_NULL(adsmKernelGet(module, "subtract"), ENOENT);
	CHECK_SAYS("increment");
	CHECK_SAYS("late_copy");
	CHECK_NULL(adsmKernelGet(module, ""), ENOENT);
	CHECK_NULL(adsmKernelGet(module, NULL), EINVAL);
	CHECK_NULL(adsmKernelGet(NULL, "add"), EINVAL);
	CHECK_OK(adsmModuleUnload(module));
}

static void arguments(void)
{
	unsigned *a = words(N, 0), *b = words(N, 0), *c = words(N, 0), private[4] = { 0 };
	adsmKernel *add = kernel("add"), *late = kernel("late_increment"), *consts = kernel("from_const");
	adsmDim one = { 1, 1, 1 }, limit = { 64, 1, 1 }, too_large = { 65, 1, 1 }, huge = { 1025, 1, 1 };
	adsmArg many[ADSM_ARGS_MAX + 1], odd = adsmPtr(a);

	CHECK_ERROR(adsmCall(add, one, one, adsmPtr(a), adsmPtr(b), adsmPtr(c)), EINVAL);
	CHECK_SAYS("add");
	CHECK_ERROR(adsmCall(add, one, one, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal(N), adsmVal(N)), EINVAL);
	CHECK_ERROR(adsmCall(add, one, one, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal((char)1)), EINVAL);
	CHECK_SAYS("n");
	CHECK_ERROR(adsmCall(late, one, one, adsmVal(1u), adsmPtr(a), adsmVal(N)), EINVAL);
	CHECK_SAYS("spins");
	CHECK_ERROR(adsmCall(add, one, one, adsmPtr(a), adsmVal(b), adsmPtr(c), adsmVal(N)), EINVAL);
	CHECK_SAYS("b");
	CHECK_ERROR(adsmCall(late, one, one, adsmPtr(a), adsmPtr(a), adsmVal(N)), EINVAL);
	CHECK_SAYS("spins");
	CHECK_ERROR(adsmCall(consts, one, one, adsmPtr(a), adsmPtr(b), adsmVal(N)), EINVAL);
	CHECK_SAYS("table");
	/* Pointers that are not in an object. */
	CHECK_ERROR(adsmCall(late, one, one, adsmVal(1ul), adsmPtr(private), adsmVal(N)), EINVAL);
	CHECK_SAYS("late_increment");
	CHECK_ERROR(adsmCall(consts, one, one, adsmPtr(private), adsmConst(private, 4), adsmVal(1u)), EINVAL);
	CHECK_SAYS("to");
	CHECK_ERROR(adsmCall(add, one, one, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal(N),
			     adsmUse(private, ADSM_ACCESS_IN)), EINVAL);
	CHECK_ERROR(adsmCall(add, one, one, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal(N), adsmUse(b, 8)), EINVAL);
	odd.kind = 99;
	CHECK_ERROR(adsmCall(add, one, one, odd, adsmPtr(b), adsmPtr(c), adsmVal(N)), EINVAL);
	odd = (adsmArg){ ADSM_ARG_VALUE, ADSM_ACCESS_IN, NULL, sizeof(N) };
	CHECK_ERROR(adsmCall(add, one, one, adsmPtr(a), adsmPtr(b), adsmPtr(c), odd), EINVAL);
	CHECK_ERROR(adsmCallArgs(add, one, one, NULL, 4), EINVAL);
	for (unsigned i = 0; i <= ADSM_ARGS_MAX; i++)
		many[i] = i < 3 ? adsmPtr(a) : adsmUse(a, ADSM_ACCESS_INOUT);
	CHECK_ERROR(adsmCallArgs(add, one, one, many, ADSM_ARGS_MAX + 1), EINVAL);
	CHECK_ERROR(adsmCall(NULL, one, one, adsmPtr(a)), EINVAL);
	/* Blocks larger than the kernel's own limit, and than the limit of all kernels. */
	CHECK_ERROR(adsmCall(kernel("narrow"), one, too_large, adsmPtr(a)), EINVAL);
	CHECK_SAYS("64");
	CHECK_ERROR(adsmCall(kernel("increment"), one, huge, adsmPtr(a), adsmVal(N)), EINVAL);

	/* A freed object. */
	CHECK_OK(adsmFree(c));
	CHECK_ERROR(adsmCall(add, one, one, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal(N)), EINVAL);
	CHECK_SAYS("c");

	/* None of these calls ran, or changed anything. */
	SYNC();
	CHECK_OK(adsmCall(kernel("narrow"), one, limit, adsmPtr(a)));
	SYNC();
	CHECK_EQ(a[63], 64);
	CHECK_EQ(a[64], 64);
	CHECK_EQ(b[1], 1);
}

static void frees(void)
{
	unsigned *a = words(N, 0), private = 0;
	char address[32];

	CHECK_ERROR(adsmFree(a + 1), EINVAL);
	snprintf(address, sizeof(address), "%llx", (unsigned long long)(uintptr_t)a);
	CHECK_SAYS(address);
	CHECK_ERROR(adsmFree(&private), EINVAL);
	CHECK_ERROR(adsmFree((void *)16), EINVAL);
	CHECK_EQ(a[5], 5);
	CHECK_OK(adsmFree(a));
	CHECK_ERROR(adsmFree(a), EINVAL);
	a = words(N, 0);
	CALL("increment", N, adsmPtr(a), adsmVal(N));
	SYNC();
	CHECK_EQ(a[5], 6);
	CHECK_OK(adsmFree(a));
}

/* The number of error lines with @text on standard error since the last call; -1: there were other lines, too. */
static int said(int fd, const char *text)
{
	static off_t seen;
	char lines[8192] = "";
	ssize_t size = pread(fd, lines, sizeof(lines) - 1, seen);
	int n = 0;

	CHECK(size >= 0);
	seen += size;
	for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
		if (strncmp(line, "adsm: error: ", 13) || !strstr(line, text))
			return -1;
		n++;
	}
	return n;
}

static void fail_to_start(void)
{
	CHECK(adsmInit() < 0);
	CHECK(adsmInit() < 0);
	CHECK(!adsmAlloc(100) && errno);
	CHECK(!adsmKernelGet(adsmModuleLoad("kernel.adsm"), "vecadd"));
}

/* The error of a failed start is logged once, however often the program tries; and again if it is another error. */
static void told(void)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC), before = dup(STDERR_FILENO);

	CHECK(fd >= 0 && before >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	set("backend", "cpu");
	set("cpu_device", "/nowhere/device");
	fail_to_start();
	CHECK_EQ(said(fd, "/nowhere/device"), 1);
	CHECK_SAYS("/nowhere/device");
	set("cpu_device", "/dev/null");
	fail_to_start();
	CHECK_EQ(said(fd, "/dev/null"), 1);
	set("backend", "cuda");
	set("cuda_library", "/nowhere/libcuda.so");
	fail_to_start();
	CHECK_EQ(said(fd, "/nowhere/libcuda.so"), 1);
	/* The option was set again. It is the same error, but it is logged again. */
	set("cuda_library", "/nowhere/libcuda.so");
	fail_to_start();
	CHECK_EQ(said(fd, "/nowhere/libcuda.so"), 1);
	setenv("ADSM_TOUCH", "maybe", 1);
	fail_to_start();
	CHECK_EQ(said(fd, "ADSM_TOUCH=maybe"), 1);
	unsetenv("ADSM_TOUCH");
	/* A start that succeeds logs no errors, also not from its search for a backend. The last error text stays. */
	set("backend", "auto");
	set("opencl_library", "/nowhere/libOpenCL.so");
	set("cpu_device", "auto");
	CHECK_ERROR(adsmOption("nonsense", "1"), EINVAL);
	CHECK_OK(adsmInit());
	CHECK_SAYS("nonsense");
	CHECK_EQ(said(fd, ""), 0);
	CHECK(dup2(before, STDERR_FILENO) >= 0);
	close(before);
}

static union {
	size_t size;		/* struct_size */
	adsmDeviceProps device;
	adsmObjectProps object;
	adsmStats stats;
	adsmEvent event;
	adsmOnceWaiter waiter;
	adsmCudaHandles cuda;
	adsmOpenCLHandles opencl;
	struct { adsmLoan *loan; void *address; } lent;
	struct { struct _cl_mem *buffer; size_t offset; } mem;
	int number;
} out, was;

/* A call that must fail, and leave its outputs as they were. @struct_size: 0: no output has one. */
#define CHECK_KEPT(struct_size, call) do { \
	const size_t size_ = (struct_size); \
	memset(&out, 0x5a, sizeof(out)); \
	out.size = size_ ? size_ : out.size; \
	was = out; \
	CHECKF((call) < 0, "%s succeeded", #call); \
	CHECKF(!memcmp(&out, &was, sizeof(out)), "%s failed, and wrote its outputs", #call); \
} while (0)

static void outputs(void)
{
	unsigned *p = words(N, 0), own[4] = { 0 };
	void *device = adsmDeviceAlloc(16);
	adsmOnce *once = adsmOnceAlloc(4, 4, NULL);

	CHECK_KEPT(sizeof(out.device), adsmDeviceInfo(100, &out.device));
	CHECK_KEPT(8, adsmDeviceInfo(0, &out.device));
	CHECK_KEPT(sizeof(out.object), adsmObjectInfo(own, &out.object));
	CHECK_KEPT(8, adsmObjectInfo(p, &out.object));
	CHECK_KEPT(0, adsmStatsGet(&out.stats, 7));
	CHECK_KEPT(0, adsmObjectStatsGet(p, &out.stats, 7));
	CHECK_KEPT(0, adsmObjectStatsGet(own, &out.stats, sizeof(out.stats)));
	CHECK_KEPT(sizeof(out.cuda), adsmCudaGet(100, &out.cuda));
	CHECK_KEPT(8, adsmCudaGet(0, &out.cuda));
	CHECK_KEPT(sizeof(out.opencl), adsmOpenCLGet(100, &out.opencl));
	CHECK_KEPT(8, adsmOpenCLGet(0, &out.opencl));
	CHECK_KEPT(0, adsmOpenCLMem(own, &out.mem.buffer, &out.mem.offset));
	CHECK_KEPT(0, adsmCopyToDeviceAsync(own, own, 16, &out.event));
	CHECK_KEPT(0, adsmCopyToDeviceAsync(device, p, 16, &out.event));
	CHECK_KEPT(0, adsmCopyToHostAsync(own, device, 0, &out.event));
	CHECK_KEPT(0, adsmCopyToHostAsync(own, own, 16, &out.event));
	CHECK_KEPT(0, adsmOnceWaiters(&out.waiter, 1, 7));
	if (once)		/* some devices do not have write-once objects */
		CHECK_KEPT(0, adsmOncePlace(once, 4, &out.number));
	CHECK_KEPT(0, adsmOncePlace(NULL, 0, &out.number));
	CHECK_KEPT(0, adsmLend(p, 4, 4, &out.lent.loan, &out.lent.address));
	for (unsigned access = ADSM_ACCESS_IN; access <= ADSM_ACCESS_INOUT; access++) {
		CHECK_KEPT(0, adsmLend(p, (size_t)1 << 40, access, &out.lent.loan, &out.lent.address));
		CHECK_SAYS("not inside one object");
		CHECK_KEPT(0, adsmLend(device, 4, access, &out.lent.loan, &out.lent.address));
		CHECK_SAYS("device-only");
		CHECK_ERROR(adsmLend(p, 4, access, NULL, &out.lent.address), EINVAL);
		CHECK_ERROR(adsmLend(p, 4, access, &out.lent.loan, NULL), EINVAL);
	}
	CHECK_OK(adsmOnceFree(once));
	CHECK_OK(adsmDeviceFree(device));
	CHECK_OK(adsmFree(p));
}

static void *other_thread(void *unused)
{
	unsigned *p = alloc(4);

	/* The current device of a new thread is the first one. */
	CHECK_EQ(info(p).device, 0);
	CHECK_OK(adsmFree(p));
	return NULL;
}

static void check_device(int device)
{
	adsmDeviceProps props = { .struct_size = sizeof(props) };
	const char *memory;

	CHECK_OK(adsmDeviceInfo(device, &props));
	CHECK(props.name[0] && props.backend[0]);
	CHECK_EQ(props.lost, 0);
	CHECK(props.memory_size >= props.memory_free && props.memory_free > 0);
	CHECK_EQ(props.unified, !strcmp(props.memory, "unified"));
	memory = getenv(strcmp(props.backend, "cpu") ? "ADSM_OPENCL_MEMORY" : "ADSM_CPU_MEMORY");
	CHECK(!memory || !strcmp(props.memory, memory));
}

/* Each thread has a device, and each object too. */
static void devices(void)
{
	adsmDeviceProps props = { .struct_size = sizeof(props) };
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	unsigned *a[2], *b[2];
	pthread_t thread;
	int count, n;

	set("cpu_devices", "2");
	count = adsmDeviceCount();
	/* For other backends, the number of devices is not known. */
	CHECK(count == 2 || (count > 0 && strcmp(device_props().backend, "cpu")));
	n = count < 2 ? 1 : 2;
	CHECK_ERROR(adsmDeviceInfo(count, &props), EINVAL);
	CHECK_ERROR(adsmDeviceInfo(-2, &props), EINVAL);
	CHECK_ERROR(adsmDeviceSet(count), EINVAL);
	CHECK_ERROR(adsmDeviceSet(-2), EINVAL);
	for (int d = 0; d < n; d++) {
		check_device(d);
		options.device = d;
		a[d] = adsmAllocWith(N * 4, &options);
		CHECK_OK(adsmDeviceSet(d));
		b[d] = alloc(N * 4);
		CHECK_EQ(info(a[d]).device, d);
		CHECK_EQ(info(b[d]).device, d);
		for (unsigned i = 0; i < N; i++)
			a[d][i] = b[d][i] = i * (unsigned)(d + 1);
	}
	CHECK(!pthread_create(&thread, NULL, other_thread, NULL));
	CHECK(!pthread_join(thread, NULL));
	/* A call runs where its objects live, whatever the thread's device is. */
	for (int d = 0; d < n; d++)
		CALL("add", N, adsmPtr(a[d]), adsmPtr(a[d]), adsmPtr(b[d]), adsmVal(N));
	CALL("increment_any", N, adsmPtr(a[0]), adsmVal(N));
	SYNC();
	for (int d = 0; d < n; d++)
		for (unsigned i = 0; i < N; i++) {
			CHECK_AT(b[d][i], i, i * 2 * (unsigned)(d + 1));
			CHECK_AT(a[d][i], i, d ? i * 2 : i + 1);
		}
	CHECK_OK(adsmMemcpy(b[0], a[n - 1], N * 4));
	CHECK_EQ(b[0][N - 1], n == 2 ? (N - 1) * 2 : N);
}

static void options(void)
{
	void *p;

	CHECK_ERROR(adsmOption("protocol", "rollin"), EINVAL);
	CHECK_SAYS("rolling");
	CHECK_SAYS("lazy");
	CHECK_SAYS("batch");
	CHECK_ERROR(adsmOption("block_size", "100"), EINVAL);
	CHECK_ERROR(adsmOption("blocksize", "64K"), EINVAL);
	CHECK_ERROR(adsmOption("ADSM_BLOCK_SIZE", "64K"), EINVAL);
	CHECK_ERROR(adsmOption(NULL, "64K"), EINVAL);
	CHECK_ERROR(adsmOption("blocksize", NULL), EINVAL);
	/* NULL removes a value of the program, and the environment's has effect again. */
	CHECK(!setenv("ADSM_BLOCK_SIZE", "32K", 1));
	CHECK_OK(adsmOption("protocol", "rolling"));
	CHECK_OK(adsmOption("block_size", "8K"));
	CHECK_OK(adsmOption("block_size", NULL));
	p = alloc(1);
	CHECK(info(p).block_size == 32768 && !adsmFree(p));
	CHECK_OK(adsmShutdown());
	CHECK_OK(adsmOption("Block_Size", "16k"));
	/* adsmOption() has precedence over the environment. */
	CHECK_EQ(info(alloc(1)).block_size, 16384);
	CHECK_ERROR(adsmOption("block_size", "64K"), EBUSY);
	CHECK_EQ(info(alloc(1)).block_size, 16384);
}

static void environment(void)
{
	static const char *const bad[][2] = {
		{ "ADSM_PROTOCOL", "rollin" }, { "ADSM_BLOCK_SIZE", "100" }, { "ADSM_BLOCK_SIZE", "-1" },
		{ "ADSM_BLOCK_SIZE", "1T" }, { "ADSM_BLOCK_SIZE", "64Kx" }, { "ADSM_BLOCK_SIZE", "2G" },
		{ "ADSM_BLOCK_SIZE", "12K" }, { "ADSM_ROLLING_SIZE", "-3" }, { "ADSM_TOUCH", "maybe" },
		{ "ADSM_BACKEND", "abacus" }, { "ADSM_ENGINE", "steam" }, { "ADSM_CPU_DEVICES", "9" },
		{ "ADSM_FAULT_AHEAD", "99999999999999999999999" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *was = getenv(bad[i][0]);
		char *kept = was ? strdup(was) : NULL;
		int err;

		setenv(bad[i][0], bad[i][1], 1);
		err = adsmInit();
		if (err != -EINVAL)
			FAIL("%s=%s: adsmInit() returned %d", bad[i][0], bad[i][1], err);
		CHECK_SAYS(bad[i][0]);
		CHECK_SAYS(bad[i][1]);
		errno = 0;
		CHECK(!adsmAlloc(100));
		CHECK(errno);
		if (kept)
			setenv(bad[i][0], kept, 1);
		else
			unsetenv(bad[i][0]);
		free(kept);
	}
	CHECK_OK(adsmInit());
	CHECK_OK(adsmFree(words(10, 0)));
}

static void restart(void)
{
	unsigned *a;

	CHECK_OK(adsmShutdown());
	for (unsigned round = 0; round < 3; round++) {
		CHECK_OK(adsmInit());
		a = words(N, round);
		CHECK_ERROR(adsmShutdown(), EBUSY);
		CALL("increment", N, adsmPtr(a), adsmVal(N));
		SYNC();
		CHECK_EQ(a[N - 1], N + round);
		CHECK_OK(adsmFree(a));
		CHECK_ERROR(adsmShutdown(), EBUSY);
		unload();
		CHECK_OK(adsmShutdown());
		CHECK_OK(adsmShutdown());
	}
	/* After the shutdown, options may be set again. */
	set("cpu_devices", "2");
	set("protocol", "rolling");
	set("block_size", "16K");
	a = alloc(1);
	CHECK_EQ(info(a).block_size, 16384);
	CHECK(adsmDeviceCount() == 2 || strcmp(device_props().backend, "cpu"));
	CHECK_OK(adsmFree(a));
	CHECK_OK(adsmShutdown());
}

/* Calls that the program did not wait for have no effect after a new start. */
static void restart_calls(void)
{
	for (unsigned round = 0; round < 3; round++) {
		unsigned *a = words(N, 0);

		for (unsigned i = 0; i < 3; i++)
			CALL("increment", N, adsmPtr(a), adsmVal(N));
		CHECK_OK(adsmFree(a));
		unload();
		CHECK_OK(adsmShutdown());
		CHECK_OK(adsmInit());
		SYNC();
	}
	CHECK_OK(adsmShutdown());
}

/* Everything from the start to the last call, with many arguments. */
static void *all_on_small_stack(void *unused)
{
	unsigned *a = words(N, 0), *b = words(N, 0);
	adsmArg many[30];

	CALL("increment", N, adsmPtr(a), adsmVal(N));
	SYNC();
	many[0] = adsmPtr(a);
	many[1] = adsmVal(N);
	for (size_t i = 2; i < sizeof(many) / sizeof(many[0]); i++)
		many[i] = adsmUse(i % 2 ? a : b, ADSM_ACCESS_INOUT);
	CHECK_OK(adsmCallArgs(kernel("increment"), blocks(N), lanes(), many, sizeof(many) / sizeof(many[0])));
	SYNC();
	CHECK_OK(adsmMemcpy(b, a, N * 4));
	CHECK_EQ(b[7], 9);
	CHECK_OK(adsmFree(a));
	CHECK_OK(adsmFree(b));
	return NULL;
}

static void small_stack(void)
{
	size_t size = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	const char *backend = getenv("ADSM_BACKEND");
	pthread_attr_t attributes;
	pthread_t thread;

	if (!backend || !is_process(backend))
		skip("what a driver needs of a stack is not known");

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
	size *= 16;	/* sanitizers need more stack */
#endif
	CHECK(!pthread_attr_init(&attributes));
	CHECK(!pthread_attr_setstacksize(&attributes, size));
	CHECK(!pthread_create(&thread, &attributes, all_on_small_stack, NULL));
	CHECK(!pthread_join(thread, NULL));
}

enum { STARTED = 41, REFUSED };		/* exit statuses; a failed check has another one */

/* Start the library in a child with a limit. It either starts, or its error text has @word. */
static void start_within(int resource, rlim_t most, const char *word)
{
	struct rlimit limit = { most, most };
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (!child) {
		CHECK(!setrlimit(resource, &limit));
		if (!adsmInit()) {
			/* The library leaves a quarter of the addresses to the program, which is enough for this. */
			if (resource == RLIMIT_AS && most >= (rlim_t)1 << 30) {
				unsigned *a = words(N, 0);

				CALL("increment", N, adsmPtr(a), adsmVal(N));
				SYNC();
				CHECK_EQ(a[N - 1], N);
			}
			_exit(STARTED);
		}
		CHECK_SAYS(word);
		_exit(REFUSED);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) != REFUSED || (resource == RLIMIT_AS && most >= (rlim_t)3 << 29))
		CHECK_EQ(WEXITSTATUS(status), STARTED);
}

/* A filter that refuses a system call, as containers have such filters. */
static bool refuse_files(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool hide_proc(void)
{
	return !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		!umount2("/proc", MNT_DETACH);
}

/* A child without something that the library needs, if it can be taken away: a failure's error text has @word. */
static void start_without(bool (*take_away)(void), const char *word)
{
	const char *path = module_path("conform");
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (!child) {
		if (!take_away())
			_exit(REFUSED);
		if (!adsmInit()) {
			unsigned *a = alloc(N * sizeof(*a));

			CHECK(adsmCall(adsmKernelGet(adsmModuleLoad(path), "increment"), blocks(N), lanes(), adsmPtr(a),
				       adsmVal(N)));
		}
		CHECK_SAYS(word);
		_exit(REFUSED);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == REFUSED);
}

/* Limits of the process and of the device's process. The smallest ones are too small for a start. */
static void limits(void)
{
	static const rlim_t files[] = { 4, 6, 8, 12, 40 }, sizes[] = { 4096, 1 << 20, 100 << 20, (rlim_t)1 << 30 };
	const char *backend = getenv("ADSM_BACKEND");

	if (!backend || (strcmp(backend, "cpu") && strcmp(backend, "cluster")))
		skip("what a driver needs is not known");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip("a sanitizer needs all address space");
#endif
	/* From 64 MiB to 512 GiB, and for some of these one and a half times as much. */
	for (unsigned i = 0; i < 14; i++) {
		start_within(RLIMIT_AS, (rlim_t)1 << (26 + i), "ulimit -v");
		if (i > 3 && i < 10)
			start_within(RLIMIT_AS, (rlim_t)3 << (25 + i), "ulimit -v");
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		start_within(RLIMIT_NOFILE, files[i], "ulimit -n");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		start_within(RLIMIT_FSIZE, sizes[i], "ulimit -f");
	for (rlim_t most = 1 << 20; most <= (rlim_t)4 << 30; most *= 4)
		start_within(RLIMIT_DATA, most, "ulimit -d");
	if (!strcmp(backend, "cpu")) {
		start_without(refuse_files, "memfd_create");
		start_without(hide_proc, "/proc is not mounted");
	}
}

/* A failure after the start has an error text of its own, and not the text of an earlier failure. */
static void own_sentence(void)
{
	static const struct { int resource; rlim_t most; int error; const char *word; } rows[] = {
		{ RLIMIT_NOFILE, 3, -EMFILE, "ulimit -n" }, { RLIMIT_FSIZE, 0, -EFBIG, "ulimit -f" },
	};
	const char *backend = getenv("ADSM_BACKEND");

	if (!backend || strcmp(backend, "cpu"))
		skip("what a driver needs is not known");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const pid_t child = fork();
		int status;

		CHECK(child >= 0);
		if (!child) {
			struct rlimit limit = { rows[i].most, rows[i].most };
			unsigned *a = words(N, 0);
			adsmKernel *increment = kernel("increment");

			CHECK_ERROR(adsmFree((void *)8), EINVAL);
			CHECK(!setrlimit(rows[i].resource, &limit));
			CHECK_EQ(adsmCall(increment, blocks(N), lanes(), adsmPtr(a), adsmVal(N)), rows[i].error);
			CHECK_SAYS(rows[i].word);
			_exit(STARTED);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STARTED);
	}
}

struct objects {
	unsigned *dirty, *read, *left, *broken;
	pid_t process;		/* the device's process; 0: none */
};

static bool on_cpu(void)
{
	return !strcmp(device_props().backend, "cpu");
}

/* The objects before the loss. left: Invalid, written by a completed call. broken: for the call that fails. */
static struct objects before_loss(void)
{
	struct objects o = { words(N, 1), words(N, 2), words(N, 3), words(N, 4), 0 };

	if (!strcmp(device_props().backend, "opencl"))
		skip("a crash in a kernel is the program's own on this device");
	o.process = device_process();
	CHECK(o.process || !on_cpu());
	kernel("crash");
	CALL("increment", N, adsmPtr(o.read), adsmVal(N));
	CALL("increment", N, adsmPtr(o.left), adsmVal(N));
	SYNC();
	CHECK_EQ(o.read[3], 6);
	o.dirty[3] = 77;
	return o;
}

static void after_loss(struct objects o)
{
	adsmDeviceProps props = { .struct_size = sizeof(props) };

	CHECK_ERROR(adsmCall(kernel("increment"), blocks(N), lanes(), adsmPtr(o.dirty), adsmVal(N)), ENODEV);
	CHECK_OK(adsmDeviceInfo(0, &props));
	CHECK_EQ(props.lost, 1);
	CHECK_NULL(adsmAlloc(100), ENODEV);
	/* Bytes that the CPU has stay. Results of completed calls can be fetched if the device's memory survives it. */
	CHECK_EQ(o.dirty[3], 77);
	CHECK_EQ(o.dirty[4], 5);
	CHECK_EQ(o.read[3], 6);
	if (!is_process(props.backend) && info(o.left).n_invalid) {
		CHECK(raises(SIGBUS, touch_read, o.left, 4));
	} else {
		CHECK_EQ(o.left[3], 7);
		o.left[3] = 8;
		CHECK_EQ(o.left[3], 8);
	}
	o.read[3] = 9;
	CHECK_EQ(o.read[3], 9);
	CHECK_ERROR(adsmShutdown(), EBUSY);
	CHECK_OK(adsmFree(o.dirty));
	CHECK_OK(adsmFree(o.read));
	CHECK_OK(adsmFree(o.left));
	CHECK_OK(adsmFree(o.broken));
	unload();
	CHECK_OK(adsmShutdown());

	/* A new start. With some drivers the device stays lost. */
	if (strcmp(props.backend, "cpu") && adsmInit() == -ENODEV) {
		CHECK_SAYS("lost");
		set("backend", "cpu");
	}
	o.dirty = words(N, 0);
	CALL("increment", N, adsmPtr(o.dirty), adsmVal(N));
	SYNC();
	CHECK_EQ(o.dirty[3], 4);
	CHECK_OK(adsmFree(o.dirty));
	unload();
	CHECK_OK(adsmShutdown());
}

/*
 * Call a kernel that crashes, and return the result of the call. Mostly the call returns before the crash. On a busy
 * machine it may return after the crash. Then it reports the loss itself, and the sync does not report it again.
 */
static int call_crash(struct objects o)
{
	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(o.broken), adsmVal(1u));
	return adsmCall(kernel("crash"), blocks(1), lanes(), adsmPtr(o.broken));
}

/* The loss is reported once: by the call, or else by the sync. */
static int sync_lost(int called)
{
	return called ? called : adsmSync();
}

/* The error text names the kernel only if the device is a process. Other devices do not know which call it was. */
static void check_told(const char *kernel)
{
	CHECK_SAYS(is_process(device_props().backend) ? kernel : "lost");
}

/* A kernel that crashes ends the device, not the program. */
static void crash(void)
{
	struct objects o = before_loss();
	int err;

	err = sync_lost(call_crash(o));
	CHECK(err < 0);
	check_told("crash");
	check_told("SIGSEGV");
	SYNC();		/* the loss was reported before, so this succeeds */
	CHECK(raises(SIGBUS, touch_read, o.broken, 4));
	CHECK_KEPT(0, adsmLend(o.broken, 4, ADSM_ACCESS_IN, &out.lent.loan, &out.lent.address));
	after_loss(o);
}

/* A store behind a live object, to an object that was freed: it crashes, because only live memory is accessible. */
static void stray(void)
{
	adsmModule *module = on_cpu() ? adsmModuleLoad(module_path("crash")) : NULL;
	int *a, *b;
	unsigned index;

	if (!on_cpu())
		skip("this device does not tell what is live from what is not");
	CHECK(module);
	a = adsmAlloc(4096);
	/* More objects than the device notes one by one. */
	for (int i = 0; i < 600; i++) {
		b = adsmAlloc(4096 * (1 + i % 3));
		CHECK(a && b);
		index = (unsigned)(b - a);
		if (i % 7 == 0)
			CHECK_OK(adsmCall(adsmKernelGet(module, "crash"), blocks(1), blocks(1), adsmPtr(a),
					  adsmVal(index)));
		if (i % 14 == 0)
			CHECK_OK(adsmSync());
		CHECK_OK(adsmFree(b));
	}
	index = 1024 + 16;
	CHECK_OK(adsmCall(adsmKernelGet(module, "crash"), blocks(1), blocks(1), adsmPtr(a), adsmVal(index)));
	CHECK(adsmSync() < 0);
	check_told("kernel 'crash' crashed with SIGSEGV at address 0x");
	check_told(": a store 64 bytes behind the end of the 4096 bytes of an object at 0x");
	check_told(dlopen("libdw.so.1", RTLD_NOW) ? ", at crash.c:" : " of its module");
}

/* A crash that a touch detects. */
static void crash_touch(void)
{
	struct objects o = before_loss();
	int err;

	err = call_crash(o);
	CHECK(raises(SIGBUS, touch_write, o.broken, 4));
	CHECK(raises(SIGBUS, touch_read, o.broken + 5, 4));
	CHECK(sync_lost(err) < 0);
	check_told("crash");
	after_loss(o);
}

/* Lost bytes cannot be copied. Bytes that are overwritten are valid again. */
static void crash_copies(void)
{
	struct objects o = before_loss();
	unsigned value = 0;

	CHECK(sync_lost(call_crash(o)) < 0);
	CHECK_ERROR(adsmMemcpy(o.dirty, o.broken, N * 4), ENODEV);
	CHECK_ERROR(adsmMemcpy(&value, o.broken, 4), ENODEV);
	CHECK_EQ(o.dirty[0], 1);
	CHECK_OK(adsmMemset(o.broken, 3, N * 4));
	CHECK_EQ(o.broken[N - 1], 0x03030303);
	if (on_cpu()) {
		CHECK_OK(adsmMemcpy(o.broken, o.left, N * 4));
		CHECK_EQ(o.broken[3], 7);
	}
	after_loss(o);
}

/* The loss is detected only while the fill waits for the call. */
static void crash_fill(void)
{
	struct objects o = before_loss();
	int err;

	err = call_crash(o);
	CHECK_OK(adsmMemset(o.broken, 3, N * 4));
	CHECK_EQ(o.broken[N - 1], 0x03030303);
	CHECK(sync_lost(err) < 0);
	after_loss(o);
}

/* Lost blocks are not fetched by fault-ahead. */
static void crash_ahead(void)
{
	struct objects o;

	if (!rolling())
		skip("an object is one block");
	set("block_size", "4K");
	set("fault_ahead", "8K");
	o = before_loss();
	CHECK_OK(adsmFree(o.broken));
	o.broken = words(8 * PAGE / 4, 4);
	CHECK(sync_lost(call_crash(o)) < 0);
	CHECK_OK(adsmMemset(o.broken, 3, 2 * PAGE));
	CHECK_EQ(o.broken[0], 0x03030303);
	CHECK_EQ(o.broken[PAGE / 4], 0x03030303);
	CHECK(raises(SIGBUS, touch_read, &o.broken[2 * PAGE / 4], 4));
	after_loss(o);
}

/* The same, but only if the device is a process. */
static struct objects before_kill(void)
{
	struct objects o = before_loss();

	if (!o.process)
		skip("the accelerator has no process of its own");
	return o;
}

static void kill_with(int by)
{
	struct objects o = before_kill();
	char sender[64];

	/* The error text has the signal, if the system knows it, and the sender of a signal that can be caught. */
	CHECK(!kill(o.process, by));
	/* The call may come before or after the library has detected that the process has ended. */
	for (unsigned i = 0; i < 1000; i++) {
		if (adsmCall(kernel("late_increment"), blocks(1), lanes(), adsmVal(1ul << 40), adsmPtr(o.broken),
			     adsmVal(1u)))
			break;
		CHECK(adsmSync() < 0);
	}
	snprintf(sender, sizeof(sender), "SIGTERM, which process %d (conform-", getpid());
	if (on_cpu())
		CHECK(by == SIGKILL ? !strstr(adsmLastError(), "has exited with") : !!strstr(adsmLastError(), sender));
	after_loss(o);
}

static void killed(void)
{
	kill_with(SIGKILL);
}

static void terminated(void)
{
	kill_with(SIGTERM);
}

#define CALLERS 100

static pthread_barrier_t in_turn;

/* @data NULL: a thread that makes no call. */
static void *call_once(void *data)
{
	if (data)
		CALL("increment", N, adsmPtr(data), adsmVal(N));
	pthread_barrier_wait(&in_turn);
	pthread_barrier_wait(&in_turn);
	if (data)
		CHECK_ERROR(adsmSync(), ENODEV);
	SYNC();
	return NULL;
}

/* A thread that ends without a sync. No later thread must get its error, even if it gets the same number. */
static void *call_and_end(void *data)
{
	CALL("increment", N, adsmPtr(data), adsmVal(N));
	return NULL;
}

/* However many calls were lost, the sync of each thread reports its own lost calls, and not those of other threads. */
static void killed_many(void)
{
	struct objects o = before_kill();
	unsigned *other = words(N, 0);
	pthread_t ended, threads[CALLERS];

	pthread_barrier_init(&in_turn, NULL, CALLERS + 1);
	CALL("late_increment", 1, adsmVal(1ul << 40), adsmPtr(o.broken), adsmVal(1u));
	CHECK(!pthread_create(&ended, NULL, call_and_end, other));
	CHECK(!pthread_join(ended, NULL));
	for (unsigned i = 0; i < 10; i++)
		CALL("increment", N, adsmPtr(o.broken), adsmVal(N));
	for (unsigned i = 0; i < CALLERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, call_once, i ? other : NULL));
	pthread_barrier_wait(&in_turn);
	for (unsigned i = 0; i < 10; i++)
		CALL("increment", N, adsmPtr(o.broken), adsmVal(N));
	CHECK(!kill(o.process, SIGKILL));
	CHECK_ERROR(adsmSync(), ENODEV);
	SYNC();
	pthread_barrier_wait(&in_turn);
	for (unsigned i = 0; i < CALLERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK_OK(adsmFree(other));
	after_loss(o);
}

static pid_t toucher, victim;
static _Atomic int touching;

/* Kills the device once the main thread sleeps in its touch. */
static void *kill_device(void *unused)
{
	while (!touching || !asleep(toucher))
		;
	kill(victim, SIGKILL);
	return NULL;
}

static void touch_of_endless(volatile unsigned *p)
{
	touching = 1;
	(void)*p;
}

/* A touch that waits ends when the device's process is killed. */
static void killed_waiting(void)
{
	struct objects o = before_kill();
	pthread_t thread;

	toucher = gettid();
	victim = o.process;
	CALL("late_increment", 1, adsmVal(1ul << 40), adsmPtr(o.broken), adsmVal(1u));
	CHECK(!pthread_create(&thread, NULL, kill_device, NULL));
	CHECK(raises(SIGBUS, touch_of_endless, o.broken, 4));
	CHECK(!pthread_join(thread, NULL));
	CHECK(adsmSync() < 0);
	check_told("late_increment");
	after_loss(o);
}

static const struct conform_case cases[] = {
	CASE("error-modules", modules),
	CASE("error-arguments", arguments),
	CASE("error-frees", frees),
	CASE("error-devices", devices),
	CASE("error-options", options),
	CASE("error-environment", environment),
	CASE("error-told", told),
	CASE("error-outputs", outputs),
	CASE("restart", restart),
	CASE("restart-calls", restart_calls),
	CASE("small-stack", small_stack),
	CASE("limits", limits),
	CASE("own-sentence", own_sentence),
	CASE("stray", stray),
	CASE("crash", crash),
	FAULT_CASE("crash-touch", crash_touch),
	FAULT_CASE("crash-copies", crash_copies),
	FAULT_CASE("crash-fill", crash_fill),
	FAULT_CASE("crash-ahead", crash_ahead),
	CASE("killed", killed),
	CASE("terminated", terminated),
	CASE("killed-many", killed_many),
	FAULT_CASE("killed-waiting", killed_waiting),
};
CONFORM_MAIN(cases)
