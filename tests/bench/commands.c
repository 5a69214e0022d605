/* SPDX-License-Identifier: MIT */
/*
 * commands.c - the cost of a command of a kernel: a service with four bytes in each direction, and a line that is
 * printed. The kernel runs on one core, with a local store if this build has code for such cores.
 *
 * Floor: two processes and two words. One process sets its word and waits for the other's word. The other process
 * answers, and first writes the same line for the second row. Both wait as a kernel and its shadow thread do: they poll
 * for a while, then they sleep on a futex.
 */
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adsm_service.h"
#include "base/module.h"
#include "base/os.h"
#include "bench.h"

#define AWAKE_NS 10000			/* as handler.c and shadow.c have it */
#define LINE "a line of 1\n"
#define MODULE "../kernels/commands.adsm"

enum { ANSWER = 1, WRITE, END };

struct floor {
	_Alignas(64) _Atomic uint32_t asked;	/* its number << 2 | what */
	_Atomic uint32_t asker_sleeps;
	_Alignas(64) _Atomic uint32_t answered;
	_Atomic uint32_t answerer_sleeps;
};

struct job {
	adsmKernel *kernel;
	int *right, n;
	struct floor *floor;
	uint32_t number, what;
};

/* ---- the floor */

static void pass(_Atomic uint32_t *word, uint32_t value, _Atomic uint32_t *sleeps)
{
	atomic_store(word, value);
	if (atomic_load(sleeps))
		adsm_os_wake(word, 1, true);
}

static uint32_t await(_Atomic uint32_t *word, uint32_t old, _Atomic uint32_t *sleeps)
{
	const uint64_t until = adsm_os_now_ns() + (adsm_os_n_cpus() > 1 ? AWAKE_NS : 0);
	uint32_t value;

	while ((value = atomic_load(word)) == old) {
		if (adsm_os_now_ns() < until)
			continue;
		atomic_store(sleeps, 1);
		adsm_os_wait(word, old, 0, true);
		atomic_store(sleeps, 0);
	}
	return value;
}

static _Noreturn void answer(struct floor *floor, int fd)
{
	uint32_t asked = 0;

	for (;;) {
		asked = await(&floor->asked, asked, &floor->answerer_sleeps);
		if (asked % 4 == END || (asked % 4 == WRITE && write(fd, LINE, strlen(LINE)) < 0))
			_exit(0);
		pass(&floor->answered, asked, &floor->asker_sleeps);
	}
}

static struct floor *start_floor(int fd, pid_t *ret_child)
{
	struct floor *floor = mmap(NULL, sizeof(*floor), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const pid_t child = floor == MAP_FAILED ? -1 : fork();

	if (child < 0)
		bench_die("no other process: %s", strerror(errno));
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		answer(floor, fd);
	}
	*ret_child = child;
	return floor;
}

static double bare(void *arg)
{
	struct job *job = arg;
	struct floor *floor = job->floor;
	const double start = bench_now_us();

	for (int i = 0; i < job->n; i++) {
		const uint32_t old = atomic_load(&floor->answered);

		pass(&floor->asked, ++job->number << 2 | job->what, &floor->answerer_sleeps);
		await(&floor->answered, old, &floor->asker_sleeps);
	}
	return (bench_now_us() - start) / job->n;
}

/* ---- commands */

static int next(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	int x;

	memcpy(&x, in, sizeof(x));
	x++;
	memcpy(out, &x, sizeof(x));
	return sizeof(x);
}

static double ask(void *arg)
{
	struct job *job = arg;
	const double start = bench_now_us();
	double us;

	bench_check(adsmCall(job->kernel, bench_one, bench_one, adsmOut(job->right), adsmVal(job->n)));
	bench_check(adsmSync());
	us = (bench_now_us() - start) / job->n;
	if (*job->right != job->n)
		bench_die("%d of %d commands went well", *job->right, job->n);
	return us;
}

static bool has_store_code(void)
{
	const size_t most = (size_t)16 << 20;
	FILE *file = fopen(bench_beside(MODULE), "rb");
	void *image = bench_host_alloc(most);
	const size_t size = file ? fread(image, 1, most, file) : 0;
	struct adsm_module_info *info;
	bool has = false;

	if (size && !adsm_module_info_create(image, size, &info)) {
		has = info->store_size;
		adsm_module_info_destroy(info);
	}
	if (file)
		fclose(file);
	free(image);
	return has;
}

static void compare(struct job *job, const char *kernel, adsmModule *module, const char *name, uint32_t what)
{
	struct bench_row row = { .unit = "us", .target = "" };

	job->kernel = adsmKernelGet(module, kernel);
	job->what = what;
	bench_check(!job->kernel);
	snprintf(row.name, sizeof(row.name), "%s", name);
	bench_compare(&row, bench_repeat, ask, bare, job);
	snprintf(row.note, sizeof(row.note), "on %s; floor: two words%s", getenv("ADSM_BACKEND"),
		 what == WRITE ? ", and write()" : "");
	bench_emit(&row);
}

void bench_commands(void)
{
	struct job job = { .n = bench_smoke ? 20 : 5000 };
	const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC), standard = dup(2);
	adsmModule *module;
	pid_t child;

	if (nothing < 0 || standard < 0)
		bench_die("/dev/null: %s", strerror(errno));
	/* Before the library has threads. */
	job.floor = start_floor(nothing, &child);
	setenv("ADSM_BACKEND", has_store_code() ? "scratchpad" : "cpu", 1);
	module = bench_load(MODULE, "ask", &job.kernel);
	bench_check(adsmServiceRegister("next", next, sizeof(int), sizeof(int), NULL));
	job.right = bench_shared_alloc(sizeof(*job.right), 0);
	compare(&job, "ask", module, "service, 4 bytes there and back", ANSWER);
	dup2(nothing, 2);
	compare(&job, "say", module, "print of a line", WRITE);
	dup2(standard, 2);
	pass(&job.floor->asked, END, &job.floor->answerer_sleeps);
	waitpid(child, NULL, 0);
	bench_check(adsmFree(job.right));
	bench_check(adsmModuleUnload(module));
	bench_check(adsmShutdown());
	munmap(job.floor, sizeof(*job.floor));
	close(nothing);
	close(standard);
}
