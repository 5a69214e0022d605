/* SPDX-License-Identifier: MIT */
/*
 * errors.c - no driver, no device, other kinds of memory, calls of the driver that fail, devices that are lost. The
 * library reports each in a sentence, the CPU's bytes stay, and the program continues, if necessary on another backend.
 */
#define FAILS_TOO -ENOTSUP		/* the way to keep objects that was asked for may be what fails */
#define LOAD_WORK() adsmModuleLoad(module_path("conform"))
#define ADD(w) adsmCall((w)->add, blocks(WORDS), lanes(), adsmPtr((w)->p[0]), adsmPtr((w)->p[1]), \
			adsmOut((w)->p[2]), adsmVal(WORDS))
#define INCREMENT(w, p, n) adsmCall((w)->increment, blocks(n), lanes(), adsmInOut(p), adsmVal(n))

static void set_plan(const char *words);

#include <sys/mman.h>

#include "failing.h"

/* The plan is read when the driver is opened. */
static void set_plan(const char *words)
{
	setenv("TEST_CUDA", words, 1);
}

/* A kernel works here, on a backend of this name. */
static void check_backend(const char *backend)
{
	unsigned *p = words(1000, 1);

	if (strcmp(device_props().backend, backend))
		FAIL("the backend is %s, not %s", device_props().backend, backend);
	CALL("increment", 1000, adsmPtr(p), adsmVal(1000u));
	SYNC();
	CHECK_EQ(p[999], 1001);
	CHECK_OK(adsmFree(p));
	unload();
	CHECK_OK(adsmShutdown());
}

/* ---- what cannot be started */

static const struct {
	const char *plan, *option, *value;
	int error;
	const char *says[2];
} starts[] = {
	{ "", "cuda_library", "/nonexistent/libcuda.so", ENODEV, { "/nonexistent/libcuda.so", "ADSM_BACKEND" } },
	{ "", "cuda_library", "libm.so.6", ENODEV, { "libm.so.6", "which is part of CUDA 11" } },
	{ "no-device", NULL, NULL, ENODEV, { "no device", "nvidia-smi" } },
	{ "stub", NULL, NULL, ENODEV, { "toolkit's", "no CUDA driver" } },
	{ "fail=cuInit:1:803", NULL, NULL, ENODEV, { "version", "restart" } },
	{ "fail=cuInit:1:304", NULL, NULL, ENODEV, { "cuInit", "OPERATING_SYSTEM" } },
	{ "", "cuda_device", "nonsense", ENODEV, { "ADSM_CUDA_DEVICE=nonsense", "the devices are 0: " } },
	{ "", "cuda_device", "7", ENODEV, { "ADSM_CUDA_DEVICE=7", "the devices are 0: " } },
	/* From here on there is a device, though it cannot be opened. */
	{ "fail=cuDevicePrimaryCtxRetain:1:46", NULL, NULL, ENODEV, { "another process", "nvidia-smi -c" } },
	{ "fail=cuDevicePrimaryCtxRetain:1:2", NULL, NULL, ENOMEM, { "cannot be opened", "OUT_OF_MEMORY" } },
	{ "no-vmm", "cuda_memory", "arena", ENOTSUP, { "ADSM_CUDA_MEMORY=arena", "does not support it" } },
	{ "elsewhere", "cuda_memory", "arena", ENOTSUP, { "ADSM_CUDA_MEMORY=arena", "does not support it" } },
};

#define N_ABSENT 8
#define N_STARTS (sizeof(starts) / sizeof(starts[0]))

static void arrange(size_t i)
{
	set_plan(starts[i].plan);
	if (starts[i].option)
		set(starts[i].option, starts[i].value);
}

static void fail_to_start(size_t i)
{
	arrange(i);
	CHECK_ERROR(adsmInit(), starts[i].error);
	for (int k = 0; k < 2; k++)
		CHECK_SAYS(starts[i].says[k]);
	/* Again, where it was not the first call only. */
	if (!strstr(starts[i].plan, "fail="))
		CHECK_NULL(adsmAlloc(PAGE), starts[i].error);
	CHECK_OK(adsmShutdown());
	set("backend", "cpu");
	check_backend("cpu");
}

static void start(void)
{
	for (size_t i = 0; i < N_STARTS; i++)
		in_process(fail_to_start, i);
}

static void quietly_cpu(size_t i)
{
	FILE *logged = tmpfile();

	CHECK(logged && dup2(fileno(logged), STDERR_FILENO) >= 0);
	set("backend", "auto");
	set("opencl_library", "/nonexistent/libOpenCL.so");
	arrange(i);
	check_backend("cpu");
	CHECK_EQ(lseek(fileno(logged), 0, SEEK_END), 0);
}

static void automatic(void)
{
	for (size_t i = 0; i < N_ABSENT; i++)
		in_process(quietly_cpu, i);
}

/* ---- where objects lie: the best way that the driver allows */

static const struct { const char *plan, *memory; bool same; } ways[] = {
	{ "", "arena", true }, { "elsewhere", "view", true }, { "no-vmm", "view", true }, { "old", "view", true },
	{ "fail=cuMemAddressReserve:1", "view", true }, { "no-vmm,no-unified", "separate", false },
	{ "elsewhere,no-unified", "separate", false }, { "old,no-unified", "separate", false },
};

static void lies(size_t i)
{
	set_plan(ways[i].plan);
	if (strcmp(device_props().memory, ways[i].memory))
		FAIL("%s: objects lie in '%s'", ways[i].plan, device_props().memory);
	CHECK_EQ(device_props().same_address, ways[i].same);
	check_backend("cuda");
}

static void memory_ways(void)
{
	unsetenv("ADSM_CUDA_MEMORY");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		in_process(lies, i);
}

/* ---- out of memory */

/* Do core files have the mapping that begins at @p? */
static bool is_dumped(const void *p)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	bool here = false, dumped = false;
	unsigned long first, end;
	char line[512];

	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &first, &end) == 2)
			here = first == (uintptr_t)p;
		else if (here && !strncmp(line, "VmFlags:", 8))
			dumped = !strstr(line, " dd");
	}
	fclose(file);
	return dumped;
}

static void full(void)
{
	/* Of the program's own, where a program that is not position-independent has its data. */
	void *low = mmap((void *)0x1000000, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	const size_t size = 4u << 20;
	unsigned *p[64];
	size_t n = 0;

	set_plan("memory=64M");
	set("oversubscribe", "off");
	CHECK(low == MAP_FAILED || is_dumped(low));
	CHECK_NULL(adsmAlloc(128u << 20), ENOMEM);
	CHECK_SAYS("full");
	CHECK(low == MAP_FAILED || is_dumped(low));
	while (n < 64 && (p[n] = adsmAlloc(size)))
		p[n++][7] = 7;
	CHECK(n > 4 && n < 20);
	CHECK_SAYS("full");
	CHECK_NULL(adsmAlloc(size), ENOMEM);
	/* Nothing is the worse for it. */
	CALL("increment", 1000, adsmPtr(p[0]), adsmVal(1000u));
	SYNC();
	CHECK_EQ(p[0][7], 8);
	CHECK_OK(adsmFree(p[0]));
	p[0] = alloc(size);
	for (size_t i = 0; i < n; i++)
		CHECK_OK(adsmFree(p[i]));
	unload();
	CHECK_OK(adsmShutdown());
	check_backend("cuda");
}

/* ---- calls that fail once: repeated, they work, and nothing is lost */

/* Did a process notice the failure of a function's nth call? */
static bool nth_fails(const char *function, int error, unsigned nth)
{
	char words[128];

	snprintf(words, sizeof(words), "fail=%s:%u:%d", function, nth, error);
	return fails_at(words);
}

static void fail_each(const char *const *functions, int error, unsigned most)
{
	unsigned n_seen = 0;

	for (; *functions; functions++)
		for (unsigned nth = 1; nth <= most; nth++)
			n_seen += nth_fails(*functions, error, nth);
	/* With batch a call tries several times itself. */
	CHECK(n_seen || batch());
}

static void fail_allocations(void)
{
	fail_each(FUNCTIONS("cuMemAlloc_v2", "cuMemCreate", "cuMemMap", "cuMemSetAccess"), 2, 3);
}

static void fail_transfers(void)
{
	fail_each(FUNCTIONS("cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async",
			    "cuStreamWaitEvent"), 999, 7);
}

static void fail_calls(void)
{
	fail_each(FUNCTIONS("cuLaunchKernel", "cuModuleLoadDataEx", "cuModuleGetFunction"), 999, 4);
}

/* ---- devices that are lost */

static const char *lost_in;

static void lose(size_t nth)
{
	char words[64];
	struct work w;
	int error = 0;

	snprintf(words, sizeof(words), "lost=%s:%zu", lost_in, nth);
	set_plan(words);
	set("log", "silent");
	CHECK_OK(adsmInit());
	catch_sigbus();
	create_work(&w);
	for (int i = 0; i < 100 && !error; i++) {
		error = INCREMENT(&w, w.p[1], WORDS);
		if (!error)
			error = adsmSync();
		if (!error && !usable(w.p[1], true))
			error = -ENODEV;
		else if (error)
			CHECK_SAYS("lost");
	}
	CHECK_EQ(error, -ENODEV);
	CHECK_EQ(device_props().lost, 1);
	CHECK_ERROR(INCREMENT(&w, w.p[0], WORDS), ENODEV);
	CHECK_SAYS("lost");
	CHECK_NULL(adsmAlloc(PAGE), ENODEV);
	/* What the CPU has stays, and can be written. */
	touch(w.p[0], w.model[0], 1, false);
	touch(w.p[0], w.model[0], 100, true);
	touch(w.p[0], w.model[0], 1, false);
	destroy_work(&w);
	CHECK_OK(adsmShutdown());
	set("backend", "cpu");
	check_backend("cpu");
}

static void lost(void)
{
	const char *const *functions = FUNCTIONS("cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
						 "cuEventRecord");

	for (; (lost_in = *functions); functions++)
		for (size_t nth = 20; nth < 23; nth++)
			in_process(lose, nth);
}

/* Lost while nothing runs: what the CPU has, or what it overwrites, it copies and fills itself. */
static void lose_idle(size_t i)
{
	/* New objects are filled once each. */
	static const char *const calls[] = { "cuMemsetD8Async:4", "cuMemcpyDtoDAsync_v2:1" };
	const size_t size = WORDS * sizeof(unsigned);
	char words[64];
	struct work w;
	bool gone;

	snprintf(words, sizeof(words), "lost=%s", calls[i]);
	set_plan(words);
	set("log", "silent");
	CHECK_OK(adsmInit());
	catch_sigbus();
	create_work(&w);
	CALL("add", WORDS, adsmPtr(w.p[0]), adsmPtr(w.p[1]), adsmOut(w.p[2]), adsmVal(WORDS));
	SYNC();
	touch(w.p[0], w.model[0], 1, false);
	gone = info(w.p[2]).n_invalid;
	if (i) {
		CHECK_OK(adsmMemcpy(w.p[1], w.p[0], size));
		memcpy(w.model[1], w.model[0], size);
	}
	CHECK_OK(adsmMemset(w.p[0], 5, size));
	memset(w.model[0], 5, size);
	/* If all writes are the CPU's, the program does not notice the loss. */
	CHECK_EQ(device_props().lost, !batch());
	if (gone) {
		CHECK_ERROR(adsmMemcpy(w.p[0], w.p[2], size), ENODEV);
		CHECK_ERROR(adsmMemset(w.p[2], 6, size - PAGE - 4), ENODEV);
		CHECK(!usable(w.p[2] + WORDS - 1, true));
	}
	CHECK_OK(adsmMemset(w.p[2], 7, size));
	memset(w.model[2], 7, size);
	CHECK_OK(adsmMemcpy(w.p[0] + WORDS / 2, w.p[2], size / 2));
	memcpy(w.model[0] + WORDS / 2, w.model[2], size / 2);
	for (int k = 0; k < 3; k++)
		touch(w.p[k], w.model[k], 1, false);
	unload();
	destroy_work(&w);
	CHECK_OK(adsmShutdown());
}

static void lost_idle(void)
{
	for (size_t i = 0; i < 2; i++)
		in_process(lose_idle, i);
}

/* ---- a crash after which the driver does nothing any more, and gives nothing back: only the process's end does */

static char said[8192];

static void check_said(const char *part)
{
	if (!strstr(said, part))
		FAIL("'%s' is not in what was said: %s", part, said);
}

/* A touch that fails says why. */
static void check_touch(const unsigned *p)
{
	FILE *logged = tmpfile();
	int saved = dup(STDERR_FILENO);

	CHECK(logged && saved >= 0 && dup2(fileno(logged), STDERR_FILENO) >= 0);
	CHECK(!usable((unsigned *)p, true));
	CHECK(dup2(saved, STDERR_FILENO) >= 0 && pread(fileno(logged), said, sizeof(said) - 1, 0) > 0);
	fclose(logged);
	close(saved);
	check_said("was lost: ");
	check_said("memory at an invalid address");
	check_said("new process");
}

static void lose_for_good(size_t unused)
{
	uintptr_t was;
	struct work w;
	unsigned *p;
	bool arena;

	set_plan("stays-lost,lost=cuLaunchKernel:2:700");
	CHECK_OK(adsmInit());
	catch_sigbus();
	arena = !strcmp(device_props().memory, "arena");
	create_work(&w);
	was = (uintptr_t)w.p[0];
	CALL("add", WORDS, adsmPtr(w.p[0]), adsmPtr(w.p[1]), adsmOut(w.p[2]), adsmVal(WORDS));
	if (!batch())
		SYNC();
	CHECK_ERROR(INCREMENT(&w, w.p[1], WORDS), ENODEV);
	CHECK_SAYS("lost");
	CHECK_SAYS("memory at an invalid address");
	if (!batch())
		check_touch(w.p[2]);
	CHECK_NULL(adsmAlloc(PAGE), ENODEV);
	CHECK_SAYS("new process");
	/* The CPU has these. */
	touch(w.p[0], w.model[0], 100, true);
	touch(w.p[0], w.model[0], 1, false);
	unload();
	destroy_work(&w);
	CHECK_OK(adsmShutdown());
	for (int i = 0; i < 2; i++) {
		CHECK_ERROR(adsmInit(), ENODEV);
		CHECK_SAYS("lost before");
		CHECK_SAYS("memory at an invalid address");
		CHECK_SAYS("new process");
	}
	set("backend", "cpu");
	/* What the driver has kept it may take away at any time. */
	p = words(1000, 1);
	CHECK(!arena || (uintptr_t)p - was > (size_t)64 << 30);
	CHECK_OK(adsmFree(p));
	check_backend("cpu");
}

static void lost_for_good(void)
{
	in_process(lose_for_good, 0);
}

static const struct conform_case cases[] = {
	CASE("start", start),
	CASE("auto", automatic),
	CASE("memory-ways", memory_ways),
	CASE("full", full),
	CASE("fail-allocations", fail_allocations),
	CASE("fail-transfers", fail_transfers),
	CASE("fail-calls", fail_calls),
	CASE("lost", lost),
	CASE("lost-idle", lost_idle),
	CASE("lost-for-good", lost_for_good),
};

CONFORM_MAIN(cases)
