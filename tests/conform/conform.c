/* SPDX-License-Identifier: MIT */
/* conform.c - code that the conformance programs share. */
#include "conform.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void skip(const char *why)
{
	printf("skipped: %s\n", why);
	fflush(stdout);
	_exit(77);
}

static bool env_is(const char *name, const char *value, const char *otherwise)
{
	const char *got = getenv(name);

	return !strcmp(got ? got : otherwise, value);
}

/* Skip if OpenCL has no driver here. A child tries it, because the case must be the first to start the library. */
static void skip_without_device(void)
{
	int status = 0;
	pid_t child;

	if (!env_is("ADSM_BACKEND", "opencl", "auto"))
		return;
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		/* ENOTSUP is a reason to skip only for usm, which few devices have. */
		int error = adsmInit();

		if (error == -ENODEV || (error == -ENOTSUP && env_is("ADSM_OPENCL_MEMORY", "usm", "")))
			skip(adsmLastError());
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		_exit(77);
}

int conform_main(int argc, char **argv, const struct conform_case *cases, size_t n)
{
	/* "check NAME…": check that these are the names of all cases, in this order. */
	if (argc > 1 && !strcmp(argv[1], "check")) {
		CHECK_EQ(argc - 2, n);
		for (size_t i = 0; i < n; i++)
			if (strcmp(argv[i + 2], cases[i].name))
				FAIL("case %zu is %s, not %s", i, cases[i].name, argv[i + 2]);
		return 0;
	}
	if (getenv("TEST_SKIP"))
		skip(getenv("TEST_SKIP"));
	for (size_t i = 0; argc == 2 && i < n; i++) {
		if (strcmp(argv[1], cases[i].name))
			continue;
		if (cases[i].faults && batch())
			skip("batch: not applicable");
		skip_without_device();
		cases[i].run();
		return 0;
	}
	printf("usage: %s CASE, one of:\n", argv[0]);
	for (size_t i = 0; i < n; i++)
		printf("\t%s\n", cases[i].name);
	return 2;
}

bool batch(void)
{
	return env_is("ADSM_PROTOCOL", "batch", "rolling");
}

bool rolling(void)
{
	return env_is("ADSM_PROTOCOL", "rolling", "rolling");
}

bool unified(void)
{
	return device_props().unified;
}

void *alloc(size_t size)
{
	void *p = adsmAlloc(size);

	if (!p)
		FAIL("adsmAlloc(%zu)", size);
	return p;
}

unsigned *words(size_t n, unsigned first)
{
	unsigned *p = alloc(n * sizeof(*p));

	for (size_t i = 0; i < n; i++)
		p[i] = first + (unsigned)i;
	return p;
}

void set(const char *option, const char *value)
{
	CHECK_OK(adsmOption(option, value));
}

adsmObjectProps info(const void *p)
{
	adsmObjectProps props = { .struct_size = sizeof(props) };

	CHECK_OK(adsmObjectInfo(p, &props));
	return props;
}

adsmStats stats(void)
{
	adsmStats all;

	CHECK_OK(adsmStatsGet(&all, sizeof(all)));
	return all;
}

adsmStats object_stats(const void *p)
{
	adsmStats one;

	CHECK_OK(adsmObjectStatsGet(p, &one, sizeof(one)));
	return one;
}

adsmDeviceProps device_props(void)
{
	adsmDeviceProps props = { .struct_size = sizeof(props) };

	CHECK_OK(adsmDeviceInfo(ADSM_DEVICE_CURRENT, &props));
	return props;
}

void *in_data(const void *p)
{
	uint64_t address;
	char why[80];

	if (!p)
		return NULL;
	errno = 0;
	address = adsmSafe(p);
	if (!address && errno == ENOTSUP) {
		snprintf(why, sizeof(why), "no device pointers: objects are kept as '%s'", device_props().memory);
		skip(why);
	}
	if (!address)
		FAIL("adsmSafe(%p)", p);
	return (void *)(uintptr_t)address;
}

static pthread_mutex_t module_lock = PTHREAD_MUTEX_INITIALIZER;
static adsmModule *module;

const char *module_path(const char *name)
{
	static char path[4096];
	const char *folder = getenv("TEST_KERNELS");

	if (!folder)
		FAIL("TEST_KERNELS is not set");
	snprintf(path, sizeof(path), "%s/%s.adsm", folder, name);
	return path;
}

adsmKernel *kernel(const char *name)
{
	adsmKernel *found;

	if (!strncmp(name, "late", 4) && strstr(device_props().name, "llvmpipe"))
		skip("llvmpipe leaves loops after 65536 rounds, so no kernel takes long");
	pthread_mutex_lock(&module_lock);
	if (!module)
		module = adsmModuleLoad(module_path("conform"));
	if (!module)
		FAIL("%s", module_path("conform"));
	found = adsmKernelGet(module, name);
	if (!found)
		FAIL("kernel %s", name);
	pthread_mutex_unlock(&module_lock);
	return found;
}

void unload(void)
{
	CHECK_OK(adsmModuleUnload(module));
	module = NULL;
}

static sigjmp_buf raised;
static void *volatile raised_address;

static void on_raised(int signal, siginfo_t *si, void *context)
{
	raised_address = si->si_addr;
	siglongjmp(raised, 1);
}

bool raises(int signal, void (*touch)(volatile unsigned *), unsigned *p, size_t size)
{
	struct sigaction action = { .sa_sigaction = on_raised, .sa_flags = SA_SIGINFO }, before;
	volatile bool came = true;

	CHECK(!sigaction(signal, &action, &before));
	if (!sigsetjmp(raised, 1)) {
		touch(p);
		came = false;
	}
	CHECK(!sigaction(signal, &before, NULL));
	if (came && ((char *)raised_address < (char *)p || (char *)raised_address >= (char *)p + size))
		FAIL("signal %d came for %p, not for %p", signal, raised_address, (void *)p);
	return came;
}

void touch_read(volatile unsigned *p)
{
	(void)*p;
}

void touch_write(volatile unsigned *p)
{
	*p = 1;
}

bool asleep(pid_t tid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	file = fopen(path, "re");
	CHECK(file);
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'S';
}

/* The memory files that a process has mapped, as inode numbers. */
static size_t memory_files(const char *pid, unsigned long *inodes, size_t max)
{
	char path[300], line[512], name[256];
	unsigned long inode;
	size_t n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (n < max && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*s %*s %*s %*s %lu %255s", &inode, name) == 2 && !strncmp(name, "/memfd:", 7) &&
		    !(n && inodes[n - 1] == inode))
			inodes[n++] = inode;
	fclose(file);
	return n;
}

static bool is_device(const char *pid)
{
	char path[300], comm[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(comm, sizeof(comm), file))
		comm[0] = 0;
	fclose(file);
	return !strncmp(comm, "adsm-cpu-device", 15) || !strncmp(comm, "adsm-cluster-no", 15) ||
		!strncmp(comm, "adsm-scratchpad", 15) ||
		!strncmp(comm, "adsm-cuda-dev", 13);	/* of the double of CUDA's driver */
}

bool is_process(const char *backend)
{
	return !strcmp(backend, "cpu") || !strcmp(backend, "cluster") || !strcmp(backend, "scratchpad");
}

/* The device process is not a child, so it is found by the memory files that it shares with this process. */
pid_t device_process(void)
{
	unsigned long ours[256], theirs[256];
	size_t n_ours = memory_files("self", ours, 256), n_theirs;
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	CHECK(proc);
	while (!found && (entry = readdir(proc))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || !is_device(entry->d_name))
			continue;
		n_theirs = memory_files(entry->d_name, theirs, 256);
		for (size_t i = 0; i < n_ours; i++)
			for (size_t j = 0; j < n_theirs; j++)
				if (ours[i] == theirs[j])
					found = (pid_t)atoi(entry->d_name);
	}
	closedir(proc);
	return found;
}

void kill_often(void (*once)(uint64_t state), uint64_t rounds)
{
	for (uint64_t round = 0; round < rounds; round++) {
		pid_t child = fork();
		int status;

		CHECK(child >= 0);
		if (!child) {
			set("log", "silent");
			once(round);
			_exit(0);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
			skip("no device to kill");
		if (status)
			FAIL("round %lu: status %d", (unsigned long)round, status);
	}
}
