/* SPDX-License-Identifier: MIT */
/*
 * test_driver.h - what the driver double's tests share: PROGRAM LIBRARY KERNELS CASE.
 *
 * Each case sets TEST_CUDA, opens the library and uses it; what ends a process is done in a child.
 */
#ifndef TEST_DRIVER_H
#define TEST_DRIVER_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../check.h"
#include "driver.h"

#define IS(error, call) do { \
	CUresult is_ = (call); \
	if (is_ != (error)) \
		FAIL("%s returned %d, not %d", #call, is_, error); \
} while (0)
#define OK(call) IS(0, call)

static const char *library, *kernels;
static void *driver;
static struct adsm_cu cu;
static CUcontext context;

static struct {
#define FIELD(name, params) CUresult (*name) params;
	TEST_CU_FUNCTIONS(FIELD)
#undef FIELD
	test_cuda_counts_fn *counts;
} more;

/* ---- helpers */

static inline void open_driver(const char *words)
{
	setenv("TEST_CUDA", words, 1);
	driver = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!driver)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(driver);
#define FIND(name, params) CHECK((*(void **)&cu.name = dlsym(driver, #name)));
	ADSM_CU_FUNCTIONS(FIND, FIND)
#undef FIND
#define FIND(name, params) CHECK((*(void **)&more.name = dlsym(driver, #name)));
	TEST_CU_FUNCTIONS(FIND)
#undef FIND
	CHECK((*(void **)&more.counts = dlsym(driver, "test_cuda_counts")));
}

static inline void start(const char *words)
{
	open_driver(words);
	OK(cu.cuInit(0));
	OK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	OK(cu.cuCtxPushCurrent_v2(context));
}

static inline struct test_cuda_counts counts(void)
{
	struct test_cuda_counts now;

	more.counts(&now);
	return now;
}

static inline CUdeviceptr allocated(size_t size)
{
	CUdeviceptr p;

	OK(cu.cuMemAlloc_v2(&p, size));
	return p;
}

static inline char *read_image(const char *name)
{
	char path[4096];
	struct stat status;
	char *image;
	int fd;

	snprintf(path, sizeof(path), "%s/%s.adsm", kernels, name);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && !fstat(fd, &status));
	image = malloc((size_t)status.st_size);
	CHECK(image && read(fd, image, (size_t)status.st_size) == status.st_size);
	close(fd);
	return image;
}

static inline CUfunction kernel(const char *module_name, const char *name)
{
	char *image = read_image(module_name);
	CUfunction function;
	CUmodule module;

	OK(cu.cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
	OK(cu.cuModuleGetFunction(&function, module, name));
	free(image);
	return function;
}

static inline CUresult launch(CUfunction function, CUstream stream, void **params)
{
	return cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static inline unsigned word_at(CUdeviceptr p)
{
	unsigned word = 0;
	CUstream stream;

	/* Beside everything else. */
	OK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cu.cuMemcpyDtoHAsync_v2(&word, p, sizeof(word), stream));
	OK(cu.cuStreamSynchronize(stream));
	OK(cu.cuStreamDestroy_v2(stream));
	return word;
}

static inline void set_word(CUdeviceptr p, unsigned word)
{
	CUstream stream;

	OK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cu.cuMemcpyHtoDAsync_v2(p, &word, sizeof(word), stream));
	OK(cu.cuStreamSynchronize(stream));
	OK(cu.cuStreamDestroy_v2(stream));
}

static sigjmp_buf out;
static volatile int fault_code;

static inline void faulted(int sig, siginfo_t *info, void *arg)
{
	fault_code = info->si_code;
	siglongjmp(out, 1);
}

/* 0: it can be read; else the fault's code; a signal of its own where nothing is mapped. */
static inline int touch(CUdeviceptr p)
{
	struct sigaction action = { .sa_sigaction = faulted, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
	fault_code = 0;
	if (!sigsetjmp(out, 1)) {
		char byte = *(volatile char *)(uintptr_t)p;

		(void)byte;
	}
	return fault_code;
}

/* Run it in a child; how that ended, and what it said. */
static inline int child(void (*run)(void), char *said, size_t size)
{
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	CHECK(!pipe(ends));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		run();
		exit(0);
	}
	close(ends[1]);
	for (size_t at = 0; (n = read(ends[0], said + at, size - 1 - at)) > 0;)
		said[at += (size_t)n] = 0;
	close(ends[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

/* A stream that is busy until release() of its flags. */
struct busy {
	CUdeviceptr flags;
	CUstream stream;
};

static inline struct busy begin_busy(unsigned flags)
{
	struct busy busy = { .flags = allocated(8) };
	CUfunction spin = kernel("spin", "spin");
	void *params[] = { &busy.flags };

	OK(more.cuMemsetD8_v2(busy.flags, 0, 8));
	OK(cu.cuStreamCreate(&busy.stream, flags));
	OK(cu.cuCtxSynchronize());
	OK(launch(spin, busy.stream, params));
	while (!word_at(busy.flags))
		;
	return busy;
}

static inline void end_busy(struct busy *busy)
{
	set_word(busy->flags + 4, 1);
}

struct driver_case {
	const char *name;
	void (*run)(void);
};

static inline int driver_main(int argc, char **argv, const struct driver_case *cases, size_t n)
{
	if (argc != 4) {
		fprintf(stderr, "usage: %s LIBRARY KERNELS CASE\n", argv[0]);
		return 2;
	}
	library = argv[1];
	kernels = argv[2];
	for (size_t i = 0; i < n; i++) {
		if (strcmp(cases[i].name, argv[3]))
			continue;
		cases[i].run();
		fflush(NULL);
		_exit(0);
	}
	fprintf(stderr, "there is no case '%s'\n", argv[3]);
	return 2;
}

#define DRIVER_MAIN(cases) \
	int main(int argc, char **argv) \
	{ \
		return driver_main(argc, argv, cases, sizeof(cases) / sizeof((cases)[0])); \
	}

#endif
