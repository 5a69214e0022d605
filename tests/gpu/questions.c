/* SPDX-License-Identifier: MIT */
/*
 * questions.c - what the driver's documents leave open and the library depends on, one question in a process:
 * questions LIBRARY NAME, or "questions list". Answers are lines of Markdown. What asks may crash or hang: that is an
 * answer, too. Ends with 77 where the driver has nothing to ask.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu.h"

#define PAGE ((size_t)4096)
#define A_WHILE (200 * MS)			/* of a kernel that others are to find running */

/* Functions that the library itself does not call. */
#define FUNCTIONS(F) \
	F(cuLibraryLoadData, (CUlibrary *ret, const void *image, int *options, void **values, unsigned n, \
			      int *library_options, void **library_values, unsigned library_n)) \
	F(cuLibraryGetKernel, (CUkernel *ret, CUlibrary library, const char *name)) \
	F(cuKernelGetFunction, (CUfunction *ret, CUkernel kernel)) \
	F(cuKernelGetParamInfo, (CUkernel kernel, size_t index, size_t *offset, size_t *size)) \
	F(cuDevicePrimaryCtxReset_v2, (CUdevice device)) \
	F(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t size)) \
	F(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t size)) \
	F(cuMemHostAlloc, (void **p, size_t size, unsigned flags))
#define FIELD(name, params) CUresult (*name) params;
static struct { FUNCTIONS(FIELD) } cu;

static void look_up(void)
{
#define LOOK_UP(name, params) *(void **)&cu.name = gpu_function(#name);
	FUNCTIONS(LOOK_UP)
}

static void nothing_to_ask(const char *why)
{
	printf("- %s\n", why);
	exit(77);
}

static void need_kernels(void)
{
	if (!gpu_module)
		nothing_to_ask("There are no kernels.");
}

static CUdeviceptr memory(size_t size)
{
	CUdeviceptr p;

	gpu_must(adsm_cu.cuMemAlloc_v2(&p, size), "cuMemAlloc");
	return p;
}

static CUstream stream(unsigned flags)
{
	CUstream stream;

	gpu_must(adsm_cu.cuStreamCreate(&stream, flags), "cuStreamCreate");
	return stream;
}

static void *pages(size_t size, int protection)
{
	void *p = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		gpu_must(CUDA_ERROR_OUT_OF_MEMORY, "mmap");
	return p;
}

/* Run in a child what may crash; how it ended, in words. The parent must not have used the driver. */
static const char *in_child(CUresult (*ask)(void))
{
	static char text[64];
	int status;
	pid_t child = fork();

	if (!child) {
		alarm(10);
		_exit(ask() ? 1 : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return "not asked";
	if (WIFEXITED(status))
		return !WEXITSTATUS(status) ? "works" : WEXITSTATUS(status) == 77 ? "is not to be asked" : "fails";
	snprintf(text, sizeof(text), WTERMSIG(status) == SIGALRM ? "hangs" : "dies by signal %d", WTERMSIG(status));
	return text;
}

/* ---- kinds of handles */

static const char *driver_name;

/* Start over in a child. */
static CUkernel library_kernel(void)
{
	CUlibrary library;
	CUkernel kernel;

	gpu_open(driver_name);
	look_up();
	gpu_start();
	if (!gpu_module || !cu.cuLibraryLoadData || !cu.cuKernelGetParamInfo || !adsm_cu.cuFuncGetParamInfo)
		_exit(77);
	gpu_must(cu.cuLibraryLoadData(&library, gpu_image(), NULL, NULL, 0, NULL, NULL, 0), "cuLibraryLoadData");
	gpu_must(cu.cuLibraryGetKernel(&kernel, library, "thirty"), "cuLibraryGetKernel");
	return kernel;
}

static CUresult function_by_func(void)
{
	size_t offset, size;

	library_kernel();
	return adsm_cu.cuFuncGetParamInfo(gpu_thirty, 29, &offset, &size);
}

static CUresult function_by_kernel(void)
{
	size_t offset, size;

	library_kernel();
	return cu.cuKernelGetParamInfo((CUkernel)gpu_thirty, 29, &offset, &size);
}

static CUresult kernel_by_func(void)
{
	size_t offset, size;

	return adsm_cu.cuFuncGetParamInfo((CUfunction)library_kernel(), 29, &offset, &size);
}

static CUresult kernel_by_kernel(void)
{
	CUkernel kernel = library_kernel();
	size_t offset, size;

	return cu.cuKernelGetParamInfo(kernel, 29, &offset, &size);
}

static CUresult kernel_launches(void)
{
	CUkernel kernel = library_kernel();
	CUdeviceptr p = memory(PAGE);
	unsigned value = 0;
	void *args[30] = { &p };
	CUresult error;

	for (size_t i = 1; i < 30; i++)
		args[i] = &value;
	error = adsm_cu.cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
	return error ? error : adsm_cu.cuCtxSynchronize();
}

static CUresult kernel_is_function(void)
{
	CUkernel kernel = library_kernel();
	CUfunction function;

	gpu_must(cu.cuKernelGetFunction(&function, kernel), "cuKernelGetFunction");
	return (void *)function == (void *)kernel ? 0 : 1;
}

static void handles(void)
{
	printf("- cuFuncGetParamInfo of a CUfunction %s", in_child(function_by_func));
	printf(", of a CUkernel %s\n", in_child(kernel_by_func));
	printf("- cuKernelGetParamInfo of a CUkernel %s", in_child(kernel_by_kernel));
	printf(", of a CUfunction %s\n", in_child(function_by_kernel));
	printf("- cuLaunchKernel of a CUkernel %s\n", in_child(kernel_launches));
	printf("- That a CUkernel is the pointer its CUfunction is %s\n",
	       strcmp(in_child(kernel_is_function), "works") ? "does not hold" : "holds");
}

/* ---- the library's own range */

static void hint(void)
{
	const CUdeviceptr wanted = 0x7e8000000000;
	CUdeviceptr p = 0;
	CUresult error;

	if (!adsm_cu.cuMemAddressReserve)
		nothing_to_ask("Virtual memory management: the driver has none.");
	for (size_t size = 256 * GIB; size >= 64 * GIB; size /= 2) {
		error = adsm_cu.cuMemAddressReserve(&p, size, 0, wanted, 0);
		gpu_answer("Is a reservation where it was wanted?", !error && p == wanted,
			   "%zu GiB at %#llx: %s, %#llx", size / GIB, wanted, gpu_error(error), p);
		if (!error)
			adsm_cu.cuMemAddressFree(p, size);
	}
}

/* ---- what waits for what */

/* Whether a kernel of a stream has ended. */
static bool ended(CUstream stream)
{
	return adsm_cu.cuStreamQuery(stream) != CUDA_ERROR_NOT_READY;
}

enum waits { WAIT_NULL, WAIT_COPY_OUT, WAIT_COPY_IN, WAIT_FREE, N_WAITS };

/* Wait on the default stream, in some way, while a kernel runs in another. Microseconds that took. */
static double wait_for_it(enum waits how, CUdeviceptr p, CUdeviceptr freed)
{
	static char bytes[64];
	double start = gpu_now_us();

	switch (how) {
	case WAIT_NULL:
		gpu_must(adsm_cu.cuStreamSynchronize(NULL), "cuStreamSynchronize");
		break;
	case WAIT_COPY_OUT:
		gpu_must(cu.cuMemcpyDtoH_v2(bytes, p + PAGE / 2, sizeof(bytes)), "cuMemcpyDtoH");
		break;
	case WAIT_COPY_IN:
		gpu_must(cu.cuMemcpyHtoD_v2(p + PAGE / 2, bytes, sizeof(bytes)), "cuMemcpyHtoD");
		break;
	default:
		gpu_must(adsm_cu.cuMemFree_v2(freed), "cuMemFree");
	}
	return gpu_now_us() - start;
}

static void null_stream(void)
{
	static const char *const hows[N_WAITS] = { "cuStreamSynchronize(NULL)", "cuMemcpyDtoH", "cuMemcpyHtoD",
		"cuMemFree of other memory" };
	CUstream streams[2] = { stream(CU_STREAM_DEFAULT), stream(CU_STREAM_NON_BLOCKING) };
	CUdeviceptr p = memory(PAGE);

	need_kernels();
	for (int i = 0; i < 2; i++) {
		for (int how = 0; how < N_WAITS; how++) {
			CUdeviceptr freed = memory(4 * MIB);
			bool waited;
			double us;

			gpu_must(gpu_launch(gpu_late, p, A_WHILE, streams[i]), "cuLaunchKernel");
			us = wait_for_it(how, p, freed);
			waited = ended(streams[i]);
			printf("- %s %s for a kernel in a %s stream, %.1f ms\n", hows[how],
			       waited ? "waits" : "does not wait", i ? "non-blocking" : "blocking", us / 1e3);
			gpu_must(adsm_cu.cuCtxSynchronize(), "cuCtxSynchronize");
			if (how != WAIT_FREE)
				adsm_cu.cuMemFree_v2(freed);
		}
	}
}

/* ---- asynchronous copies of pageable memory */

static void pageable(void)
{
	static const size_t sizes[] = { 4 * KIB, 64 * KIB, MIB, 16 * MIB };
	CUdeviceptr p = memory(16 * MIB), words = memory(PAGE);
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	char *host = malloc(16 * MIB), *back = malloc(16 * MIB);
	double us[4];
	bool behind, seen;

	need_kernels();
	gpu_must(!host || !back, "memory of the host");
	memset(host, 1, 16 * MIB);
	memset(back, 0, 16 * MIB);
	printf("\nCopies of pageable memory behind a kernel of %lu ms in the same stream:\n\n"
	       "| bytes | to the device returns | changed after | to the host returns | then it is there |\n"
	       "|---|---|---|---|---|\n", A_WHILE / MS);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		gpu_must(gpu_launch(gpu_late, words, A_WHILE, s), "cuLaunchKernel");
		us[0] = gpu_now_us();
		gpu_must(adsm_cu.cuMemcpyHtoDAsync_v2(p, host, sizes[i], s), "cuMemcpyHtoDAsync");
		us[1] = gpu_now_us();
		behind = !ended(s);
		memset(host, 2, sizes[i]);
		gpu_must(adsm_cu.cuStreamSynchronize(s), "cuStreamSynchronize");
		gpu_must(gpu_launch(gpu_late, words, A_WHILE, s), "cuLaunchKernel");
		us[2] = gpu_now_us();
		gpu_must(adsm_cu.cuMemcpyDtoHAsync_v2(back, p, sizes[i], s), "cuMemcpyDtoHAsync");
		us[3] = gpu_now_us();
		seen = back[0] && back[sizes[i] - 1];
		gpu_must(adsm_cu.cuStreamSynchronize(s), "cuStreamSynchronize");
		printf("| %zu KiB | after %.1f ms%s | %s | after %.1f ms | %s |\n", sizes[i] / KIB,
		       (us[1] - us[0]) / 1e3, behind ? ", before the kernel ends" : "",
		       back[0] == 2 || back[sizes[i] - 1] == 2 ? "is seen by the copy" : "is not seen",
		       (us[3] - us[2]) / 1e3, seen ? "yes" : "not yet");
		memset(host, 1, sizes[i]);
		memset(back, 0, sizes[i]);
	}
	printf("\n| bytes | cuMemcpyHtoD | Async and wait | cuMemcpyDtoH | Async and wait |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		us[0] = gpu_now_us();
		cu.cuMemcpyHtoD_v2(p, host, sizes[i]);
		us[0] = gpu_now_us() - us[0];
		us[1] = gpu_now_us();
		adsm_cu.cuMemcpyHtoDAsync_v2(p, host, sizes[i], s);
		adsm_cu.cuStreamSynchronize(s);
		us[1] = gpu_now_us() - us[1];
		us[2] = gpu_now_us();
		cu.cuMemcpyDtoH_v2(host, p, sizes[i]);
		us[2] = gpu_now_us() - us[2];
		us[3] = gpu_now_us();
		adsm_cu.cuMemcpyDtoHAsync_v2(host, p, sizes[i], s);
		adsm_cu.cuStreamSynchronize(s);
		us[3] = gpu_now_us() - us[3];
		printf("| %zu KiB | %.1f µs | %.1f µs | %.1f µs | %.1f µs |\n", sizes[i] / KIB, us[0], us[1], us[2],
		       us[3]);
	}
}

/* ---- after a kernel has crashed */

static void after_crash(void)
{
	CUdeviceptr p = memory(PAGE), range = 0;
	void *host = pages(MIB, PROT_READ | PROT_WRITE);
	CUcontext again;

	need_kernels();
	adsm_cu.cuMemHostRegister_v2(host, MIB, 0);
	if (adsm_cu.cuMemAddressReserve)
		adsm_cu.cuMemAddressReserve(&range, 64 * GIB, 0, 0x7e8000000000, 0);
	gpu_must(gpu_launch(gpu_crash, p, 0, NULL), "cuLaunchKernel");
	printf("- A kernel that stores at 8: %s\n", gpu_error(adsm_cu.cuCtxSynchronize()));
	printf("- then cuMemFree: %s", gpu_error(adsm_cu.cuMemFree_v2(p)));
	printf(", cuMemHostUnregister: %s", gpu_error(adsm_cu.cuMemHostUnregister(host)));
	if (range)
		printf(", cuMemAddressFree: %s", gpu_error(adsm_cu.cuMemAddressFree(range, 64 * GIB)));
	printf("\n- cuDevicePrimaryCtxRelease: %s", gpu_error(adsm_cu.cuDevicePrimaryCtxRelease_v2(gpu_device)));
	printf(", cuDevicePrimaryCtxRetain: %s", gpu_error(adsm_cu.cuDevicePrimaryCtxRetain(&again, gpu_device)));
	printf(", cuCtxSynchronize: %s\n", gpu_error(adsm_cu.cuCtxSynchronize()));
	if (!cu.cuDevicePrimaryCtxReset_v2)
		return;
	printf("- cuDevicePrimaryCtxReset: %s", gpu_error(cu.cuDevicePrimaryCtxReset_v2(gpu_device)));
	printf(", cuDevicePrimaryCtxRetain: %s", gpu_error(adsm_cu.cuDevicePrimaryCtxRetain(&again, gpu_device)));
	printf(", cuCtxPushCurrent: %s", gpu_error(adsm_cu.cuCtxPushCurrent_v2(again)));
	printf(", cuMemAlloc: %s\n", gpu_error(adsm_cu.cuMemAlloc_v2(&p, PAGE)));
}

/* ---- the end of a process */

static CUdeviceptr left;

static void late_handler(void)
{
	size_t free, total;

	printf("- In a handler of atexit() that was registered before cuInit: %s",
	       gpu_error(adsm_cu.cuMemGetInfo_v2(&free, &total)));
	printf(", cuMemFree %s\n", gpu_error(adsm_cu.cuMemFree_v2(left)));
	fflush(stdout);
}

static void early_handler(void)
{
	double start = gpu_now_us();
	size_t free, total;

	printf("- In one that was registered after: %s", gpu_error(adsm_cu.cuMemGetInfo_v2(&free, &total)));
	printf(", cuCtxSynchronize %s", gpu_error(adsm_cu.cuCtxSynchronize()));
	printf(" after %.1f ms\n", (gpu_now_us() - start) / 1e3);
	fflush(stdout);
}

static void destructor(void) __attribute__((destructor));
static void destructor(void)
{
	size_t free, total;

	if (left) {
		printf("- In a destructor: %s\n", gpu_error(adsm_cu.cuMemGetInfo_v2(&free, &total)));
		fflush(stdout);
	}
}

/* In a child, which leaves while a kernel runs for a second. @waits: for it. */
static void leave(bool waits)
{
	int status;
	pid_t child;
	double start;

	fflush(stdout);
	start = gpu_now_us();
	child = fork();
	if (!child) {
		alarm(20);
		atexit(late_handler);
		gpu_open(driver_name);
		gpu_start();
		need_kernels();
		if (waits)
			atexit(early_handler);
		left = memory(PAGE);
		gpu_must(gpu_launch(gpu_late, left, 1000 * MS, NULL), "cuLaunchKernel");
		start = gpu_now_us();
		printf("- %s with a kernel running for 1 s:\n", waits ? "A process that waits at its end" : "exit()");
		fflush(stdout);
		exit(0);
	}
	if (child > 0 && waitpid(child, &status, 0) == child)
		printf("- It took %.1f s from its start, and ended with %s %d\n", (gpu_now_us() - start) / 1e6,
		       WIFEXITED(status) ? "status" : "signal",
		       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void at_exit(void)
{
	leave(false);
	leave(true);
}

/* ---- out-parameters in a closed page */

static char *page;
static atomic_int asked, answered;
static atomic_ulong faults, free_meanwhile;
static CUdeviceptr other;

/* Another thread, which the handler asks to use the driver, as the library's copier does. */
static void *copier(void *unused)
{
	char byte;

	adsm_cu.cuCtxPushCurrent_v2(gpu_context);
	for (int seen = 0;; seen++) {
		while (atomic_load(&asked) == seen)
			usleep(100);
		adsm_cu.cuMemcpyDtoHAsync_v2(&byte, other, 1, CU_STREAM_PER_THREAD);
		adsm_cu.cuStreamSynchronize(CU_STREAM_PER_THREAD);
		atomic_fetch_add(&answered, 1);
	}
	return NULL;
}

/* One second, for what takes microseconds where the driver holds no lock. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
	const int before = atomic_load(&answered);

	if ((uintptr_t)info->si_addr - (uintptr_t)page >= PAGE)
		_exit(99);
	atomic_fetch_add(&faults, 1);
	atomic_fetch_add(&asked, 1);
	for (int i = 0; i < 1000 && atomic_load(&answered) == before; i++)
		usleep(1000);
	atomic_fetch_add(&free_meanwhile, atomic_load(&answered) != before);
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static CUevent events[2];
static CUstream some_stream;

static CUresult ask_info(void)
{
	return adsm_cu.cuMemGetInfo_v2((size_t *)page, (size_t *)(page + 8));
}

static CUresult ask_time(void)
{
	return adsm_cu.cuEventElapsedTime((float *)page, events[0], events[1]);
}

static CUresult ask_attribute(void)
{
	return adsm_cu.cuPointerGetAttribute(page, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, other);
}

static CUresult ask_capturing(void)
{
	return adsm_cu.cuStreamIsCapturing ? adsm_cu.cuStreamIsCapturing(some_stream, (int *)page) : 0;
}

static CUresult ask_memory(void)
{
	return adsm_cu.cuMemAlloc_v2((CUdeviceptr *)page, MIB);
}

static CUresult ask_event(void)
{
	return adsm_cu.cuEventCreate((CUevent *)page, 0);
}

static CUresult ask_copy(void)
{
	return cu.cuMemcpyDtoH_v2(page, other, PAGE);
}

static void closed_page(void)
{
	static const struct { const char *name; CUresult (*ask)(void); } calls[] = {
		{ "cuMemGetInfo", ask_info }, { "cuEventElapsedTime", ask_time },
		{ "cuPointerGetAttribute", ask_attribute }, { "cuStreamIsCapturing", ask_capturing },
		{ "cuMemAlloc", ask_memory }, { "cuEventCreate", ask_event },
		{ "cuMemcpyDtoH to it", ask_copy },
	};
	const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	pthread_t thread;

	page = pages(PAGE, PROT_READ | PROT_WRITE);
	other = memory(PAGE);
	some_stream = stream(CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < 2; i++) {
		gpu_must(adsm_cu.cuEventCreate(&events[i], CU_EVENT_DEFAULT), "cuEventCreate");
		gpu_must(adsm_cu.cuEventRecord(events[i], NULL), "cuEventRecord");
	}
	gpu_must(adsm_cu.cuCtxSynchronize(), "cuCtxSynchronize");
	sigaction(SIGSEGV, &action, NULL);
	if (pthread_create(&thread, NULL, copier, NULL))
		gpu_must(CUDA_ERROR_OPERATING_SYSTEM, "pthread_create");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		CUresult error;

		atomic_store(&faults, 0);
		atomic_store(&free_meanwhile, 0);
		mprotect(page, PAGE, PROT_NONE);
		error = calls[i].ask();
		printf("- An out-parameter in a closed page, %s: %s, %lu faults%s\n", calls[i].name, gpu_error(error),
		       atomic_load(&faults), !atomic_load(&faults) ? "" : atomic_load(&free_meanwhile) ?
		       ", another thread can copy meanwhile" : ", **with a lock held that a copy needs**");
	}
}

/* ---- */

static const struct {
	const char *name;
	void (*ask)(void);
	bool alone;				/* starts the driver itself, in children */
} questions[] = {
	{ "handles", handles, true },
	{ "hint", hint, false },
	{ "null-stream", null_stream, false },
	{ "pageable", pageable, false },
	{ "closed-page", closed_page, false },
	{ "at-exit", at_exit, true },
	/* Last, should a crash be more than its process's. */
	{ "after-crash", after_crash, false },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		if (argc == 2 && !strcmp(argv[1], "list"))
			printf("%s\n", questions[i].name);
		if (argc < 3 || strcmp(argv[2], questions[i].name))
			continue;
		driver_name = argv[1];
		setvbuf(stdout, NULL, _IOLBF, 0);
		if (!questions[i].alone) {
			gpu_open(driver_name);
			look_up();
			gpu_start();
		}
		questions[i].ask();
		return 0;
	}
	return argc == 2 && !strcmp(argv[1], "list") ? 0 : 2;
}
