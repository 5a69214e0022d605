/* SPDX-License-Identifier: MIT */
/*
 * model.c - the model checker: random programs, and an oracle in ordinary memory that says what every byte of every
 * object must be under release consistency.
 *
 * A run is rounds; a round is a process with options, threads and operations drawn from the seed. Some objects are
 * dealt out to its threads in pieces, so that threads share blocks but no bytes; others are a thread's own, with
 * kernels at any time, holds, frees; some bytes belong to handlers of signals; calls that wait are left by jumps; pages
 * lose permissions, and signals are blocked. Since each byte has one owner at a time, and all meet where kernels run
 * over what others own, each has one value that it may have.
 *
 * usage: model [--seed N] [--seconds N | --rounds N] [--round FIRST] [--ops N] [--patience SECONDS]
 *
 * With TEST_SMALL=1 the device has room for a few of the objects only, and nothing happens that needs all of them.
 *
 * ADSM_BACKEND says which backend, cpu where it does not; other options in the environment win over those drawn. A
 * failure names the command that repeats the round: with the same operations, though threads may take other turns.
 */
#include "../../sanitizers.h"
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RECORD_FD 3			/* in the round's process */

static uint64_t seed, state;
static unsigned long n_rounds, n_seconds, n_operations = 3000, patience = 120;
static char folder[] = "/tmp/model-XXXXXX", options[2048];

static size_t drawn(size_t n)
{
	return draw_from(&state) % n;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the options of a round */

static void set(const char *name, const char *value)
{
	const size_t at = strlen(options);

	if (getenv(name))
		return;
	snprintf(options + at, sizeof(options) - at, "%s=%s ", name, value);
	setenv(name, value, 1);
}

/* One of the values in @values, separated by blanks, each as likely; in one of @n cases, else the default. */
static void maybe(size_t n, const char *name, const char *values)
{
	char copy[256], *word, *rest = copy;
	size_t count = 1;

	for (const char *p = values; *p; p++)
		count += *p == ' ';
	snprintf(copy, sizeof(copy), "%s", values);
	count = drawn(count);
	while ((word = strsep(&rest, " ")) && count)
		count--;
	if (!drawn(n))
		set(name, word);
}

static void draw_reports(void)
{
	char text[sizeof(folder) + 32];

	maybe(6, "ADSM_ADVISE", "1");
	maybe(8, "ADSM_FILES", "new");
	snprintf(text, sizeof(text), "%s:%s/stats", drawn(2) ? "text" : "json", folder);
	/* Advice is given in the report, which would come to standard error. */
	if (!drawn(6) || getenv("ADSM_ADVISE"))
		set("ADSM_STATS", text);
	snprintf(text, sizeof(text), "%s/trace", folder);
	if (!drawn(6))
		set("ADSM_TRACE", text);
}

static void draw_plan(void)
{
	char text[64];

	switch (drawn(12)) {
	case 0:
		set("ADSM_WRAP", "delay=100us");
		break;
	case 1:
		set("ADSM_WRAP", drawn(2) ? "delay=300us,ops=to_device" : "delay=300us,ops=to_host+launch");
		break;
	case 2:
		set("ADSM_WRAP", "unsafe");
		break;
	case 3:
		snprintf(text, sizeof(text), "fail=%zu,random,seed=%zu", drawn(200) + 20, drawn(100));
		set("ADSM_WRAP", text);
		set("ADSM_LOG", "silent");
		break;
	case 4:
		/* Of a hundred objects that go whole with each call one would fail each time. */
		set("ADSM_WRAP", strcmp(getenv("ADSM_PROTOCOL"), "batch") ?
		    "fail=5,random,ops=to_device,seed=1,delay=100us" :
		    "fail=60,random,ops=to_device,seed=1,delay=100us");
		set("ADSM_LOG", "silent");
		break;
	}
	/* Random programs deserve all the warnings they get. */
	set("ADSM_LOG", "error");
}

static void draw_options(uint64_t round)
{
	const bool small = getenv("TEST_SMALL");

	state = seed * 1000003 + round;
	options[0] = '\0';
	if (small) {
		maybe(1, "ADSM_CPU_MEMORY_SIZE", "512K 640K 1M");
		set("ADSM_CPU_MEMORY", "discrete");
		maybe(1, "ADSM_OPENCL_MEMORY_SIZE", "512K 640K 1M");
		set("ADSM_OPENCL_MEMORY", "buffer");
	}
	set("ADSM_BACKEND", "cpu");
	maybe(1, "ADSM_PROTOCOL", "rolling rolling lazy batch");
	maybe(1, "ADSM_BLOCK_SIZE", "4K 4K 8K 16K 64K 256K");
	maybe(2, "ADSM_ROLLING_SIZE", "1 2 3 4 8");
	if (strcmp(getenv("ADSM_PROTOCOL"), "batch") != 0 && !small)
		maybe(8, "ADSM_PAPER", "1");
	/* Which says these two itself. */
	if (!getenv("ADSM_PAPER")) {
		maybe(2, "ADSM_FAULT_AHEAD", "0 4K 16K 128K");
		maybe(2, "ADSM_EVICT_BATCH", small ? "4K 8K 64K" : "1 4K 8K 64K");
	}
	maybe(10, "ADSM_TOUCH", "error");
	maybe(3, "ADSM_KEEP", "0 64K 1M");
	/* ThreadSanitizer keeps such addresses from others. */
	maybe(6, "ADSM_ARENA", WITH_TSAN ? "auto,256M auto,1G" :
	      "auto,256M 0x7d0000000000,1G 0x7c0000000000,256M");
	draw_reports();
	draw_plan();
	if (!strcmp(getenv("ADSM_BACKEND"), "cpu")) {
		maybe(5, "ADSM_CPU_MEMORY", "unified");
		maybe(2, "ADSM_CPU_THREADS", "1 2 4");
		maybe(4, "ADSM_CPU_DEVICES", "2 3");
		maybe(20, "ADSM_CPU_LINK", "1GB/s,20us");
	} else if (!strcmp(getenv("ADSM_BACKEND"), "opencl")) {
		maybe(2, "ADSM_OPENCL_MEMORY", "buffer unified svm");
	} else {
		maybe(2, "ADSM_CUDA_MEMORY", "view separate");
	}
}

/* ---- a round, seen from outside */

static void print_file(pid_t pid, const char *task, const char *name)
{
	char path[128], text[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", (int)pid, task, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	fprintf(stderr, "  %s/%s: %.*s\n", task, name, (int)strcspn(text, "\n"), text);
}

static int print_task(const char *path, const struct stat *info, int type, struct FTW *where)
{
	static const char *const names[] = { "comm", "stat", "wchan", "syscall" };
	int pid;
	char task[32];

	if (where->level != 1 || type != FTW_D || sscanf(path, "/proc/%d/task/%31[0-9]", &pid, task) != 2)
		return FTW_CONTINUE;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		print_file(pid, task, names[i]);
	return FTW_SKIP_SUBTREE;
}

/* Where each thread stands; its stack where gdb is here. */
static void print_hang(pid_t pid)
{
	char text[128];

	snprintf(text, sizeof(text), "/proc/%d/task", (int)pid);
	nftw(text, print_task, 16, FTW_PHYS | FTW_ACTIONRETVAL);
	fflush(stderr);
	snprintf(text, sizeof(text), "gdb -p %d -batch -ex 'thread apply all bt 24' </dev/null >&2 2>/dev/null",
		 (int)pid);
	if (system("command -v gdb >/dev/null"))
		return;
	if (system(text))
		fprintf(stderr, "model: no stacks from gdb\n");
}

static void print_all(const struct record *of)
{
	for (unsigned t = 0; t < WORKERS_MAX; t++)
		print_history(of, t, 6);
}

static pid_t start(uint64_t round, int fd)
{
	char seed_text[32], ops_text[32], *arguments[] = { "model", "--child", seed_text, ops_text, NULL };
	uint64_t from = seed * 1000003 + round + 77;	/* the same whatever options are given */
	pid_t child;

	fflush(stdout);
	snprintf(seed_text, sizeof(seed_text), "%lu", (unsigned long)(draw_from(&from) >> 24));
	snprintf(ops_text, sizeof(ops_text), "%lu", n_operations);
	child = fork();
	if (child)
		return child;
	if (dup2(fd, RECORD_FD) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(2);
	execv("/proc/self/exe", arguments);
	_exit(2);
}

/* How it ended: 0 is well. Without progress for too long it is stuck. */
static int watch(pid_t child, struct record *of)
{
	const struct timespec pause = { 0, 5000000 };
	unsigned long last = 0;
	double since = now();
	int status = 0;

	while (!waitpid(child, &status, WNOHANG)) {
		if (atomic_load(&of->seq) != last) {
			last = atomic_load(&of->seq);
			since = now();
		} else if (now() - since > (double)patience) {
			fprintf(stderr, "model: no progress for %lu s\n", patience);
			print_hang(child);
			print_all(of);
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			return 1;
		}
		nanosleep(&pause, NULL);
	}
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "model: killed by signal %d (%s); done last:\n", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
		print_all(of);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* The options drawn for one round are not those of the next. */
static void forget_options(void)
{
	char *rest = options, *word;

	while ((word = strsep(&rest, " ")))
		if (*word) {
			word[strcspn(word, "=")] = '\0';
			unsetenv(word);
		}
}

static int run_one(uint64_t round, int fd, struct record *of, bool first)
{
	pid_t child;
	int error;

	draw_options(round);
	atomic_store(&of->seq, 0);
	for (unsigned t = 0; t < WORKERS_MAX; t++)
		atomic_store(&of->threads[t].n, 0);
	of->n_total += atomic_exchange(&of->n_operations, 0);
	child = start(round, fd);
	if (child < 0) {
		perror("model: fork");
		return 1;
	}
	error = watch(child, of);
	/* A driver that the first round had does not go away. */
	if (error == SKIP && !first)
		error = 1;
	if (error && error != SKIP) {
		fprintf(stderr, "model: again by:");
		for (char **variable = environ; *variable; variable++)
			if (!strncmp(*variable, "ADSM_", 5))
				fprintf(stderr, " %s", *variable);
		if (getenv("TEST_SMALL"))
			fprintf(stderr, " TEST_SMALL=1");
		fprintf(stderr, " tests/stress/model --seed %lu --round %lu --rounds 1 --ops %lu\n",
			(unsigned long)seed, (unsigned long)round, n_operations);
	}
	forget_options();
	return error;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
	return remove(path);
}

/* ---- the command */

static unsigned long number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!*text || *end) {
		fprintf(stderr, "usage: model [--seed N] [--seconds N | --rounds N] [--round FIRST] [--ops N] "
			"[--patience SECONDS]\n");
		exit(2);
	}
	return n;
}

static int child_main(char **argv)
{
	record = mmap(NULL, sizeof(*record), PROT_READ | PROT_WRITE, MAP_SHARED, RECORD_FD, 0);
	if (record == MAP_FAILED || close(RECORD_FD)) {
		perror("model: --child is not for use by hand");
		return 2;
	}
	return run_round(number(argv[2]), number(argv[3]));
}

int main(int argc, char **argv)
{
	struct record *of;
	unsigned long round = 0, n = 0;
	double start_time = now();
	int fd, error = 0;

	if (argc == 4 && !strcmp(argv[1], "--child"))
		return child_main(argv);
	if (getenv("TEST_SKIP")) {
		printf("skipped: %s\n", getenv("TEST_SKIP"));
		return 77;
	}
	seed = (uint64_t)(start_time * 1000) % 1000000;
	for (int i = 1; i < argc; i += 2) {
		const unsigned long value = number(i + 1 < argc ? argv[i + 1] : "");
		static const struct { const char *name; unsigned long *value; } all[] = {
			{ "--seconds", &n_seconds }, { "--rounds", &n_rounds }, { "--ops", &n_operations },
			{ "--patience", &patience },
		};
		size_t k = 0;

		while (k < sizeof(all) / sizeof(all[0]) && strcmp(argv[i], all[k].name) != 0)
			k++;
		if (k < sizeof(all) / sizeof(all[0]))
			*all[k].value = value;
		else if (!strcmp(argv[i], "--seed"))
			seed = value;
		else if (!strcmp(argv[i], "--round"))
			round = value;
		else
			number("");
	}
	/* Not RECORD_FD itself, which dup2() would leave to be closed. */
	fd = fcntl(memfd_create("model record", MFD_CLOEXEC), F_DUPFD_CLOEXEC, RECORD_FD + 1);
	if (!mkdtemp(folder) || fd < 0 || ftruncate(fd, sizeof(*of))) {
		perror("model");
		return 2;
	}
	of = mmap(NULL, sizeof(*of), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (of == MAP_FAILED) {
		perror("model");
		return 2;
	}
	if (!n_seconds && !n_rounds)
		n_rounds = 20;
	printf("model: --seed %lu --round %lu --ops %lu\n", (unsigned long)seed, round, n_operations);
	while (!error && (!n_rounds || n < n_rounds) && (!n_seconds || now() - start_time < (double)n_seconds)) {
		error = run_one(round++, fd, of, !n);
		n++;
	}
	of->n_total += of->n_operations;
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (error != SKIP)
		printf("model: %lu rounds, %lu operations, %lu bytes checked: %s\n", n, of->n_total,
		       (unsigned long)of->n_bytes, error ? "FAILED" : "no difference, no hang");
	return error;
}
