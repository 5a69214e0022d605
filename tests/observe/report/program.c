/* SPDX-License-Identifier: MIT */
/*
 * program.c - known traffic at known lines, for check.py: program CASE [FILE]. Marks in comments, such as a name after
 * "at:", say which lines the report must name.
 */
#include <adsm.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 65536u
#define N_BLOCKS 16u
#define SIZE (N_BLOCKS * BLOCK)
#define STEP (BLOCK / sizeof(unsigned))
#define NOINLINE __attribute__((noinline))

static void must(bool good, int line)
{
	if (good)
		return;
	fprintf(stderr, "program.c:%d: %s\n", line, adsmLastError());
	exit(1);
}

#define MUST(what) must((what), __LINE__)

static adsmKernel *kernel;
static volatile unsigned sink;

static void load(void)
{
	char path[4096];
	adsmModule *module;

	snprintf(path, sizeof(path), "%s/conform.adsm", getenv("TEST_KERNELS"));
	module = adsmModuleLoad(path);
	MUST(module);
	kernel = adsmKernelGet(module, "increment");
	MUST(kernel);
}

NOINLINE static unsigned *make(const char *name)
{
	unsigned *words = adsmAlloc(SIZE); /* at: make */

	MUST(words);
	if (name)
		MUST(!adsmSetName(words, name));
	return words;
}

NOINLINE static void fill(unsigned *words)
{
	for (unsigned b = 0; b < N_BLOCKS; b++)
		*(volatile unsigned *)&words[b * STEP] = b; /* at: fill */
}

NOINLINE static void sum(const unsigned *words)
{
	unsigned total = 0;

	for (unsigned b = 0; b < N_BLOCKS; b++)
		total += *(const volatile unsigned *)&words[b * STEP]; /* at: sum */
	sink = total;
}

NOINLINE static void run(unsigned *words)
{
	MUST(!adsmCall(kernel, adsmDim3(1, 1, 1), adsmDim3(32, 1, 1), adsmPtr(words), adsmVal(0u))); /* at: run */
}

NOINLINE static void settle(void)
{
	MUST(!adsmSync()); /* at: settle */
}

/* The CPU and kernels take turns. Block by block. */
static void turns(void)
{
	unsigned *words = make("matrix"), *more, *bulk;
	char *bytes, *heap = calloc(1, SIZE);
	int fd;

	load();
	for (int i = 0; i < 3; i++) {
		fill(words);
		run(words);
		sum(words);
	}
	settle();
	/* An object without a name; a word after each call. */
	more = adsmAlloc(3 * BLOCK + 5); /* at: more */
	MUST(more);
	for (int i = 0; i < 5; i++) {
		*(volatile unsigned *)more = 1; /* at: word */
		run(more);
	}
	settle();
	/* In bulk, and by a system call. */
	bulk = make("bulk \"quoted\"\n\\ \xff");
	MUST(!adsmMemcpy(bulk, heap, SIZE)); /* at: in */
	run(bulk);
	MUST(!adsmMemcpy(heap, bulk, SIZE)); /* at: out */
	run(bulk);
	settle();
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	MUST(read(fd, bulk, SIZE) == (ssize_t)SIZE); /* at: input */
	close(fd);
	run(bulk);
	settle();
	/* Alike, and freed. */
	for (int i = 0; i < 10; i++) {
		bytes = adsmAlloc(BLOCK); /* at: freed */
		MUST(bytes);
		bytes[0] = 1; /* at: byte */
		run((unsigned *)bytes);
		settle();
		MUST(!adsmFree(bytes));
	}
	free(heap);
}

/* All is written, but only two blocks may be Dirty. */
static void early(void)
{
	unsigned *words = make("early");
	adsmStats stats;

	load();
	fill(words);
	do
		MUST(!adsmObjectStatsGet(words, &stats, sizeof(stats)));
	while (stats.h2d_bytes < SIZE - 2 * BLOCK);
	run(words);
	settle();
}

static void whole(void)
{
	unsigned *words = make("whole");

	load();
	fill(words);
	run(words);
	settle();
	sum(words);
}

static void many(void)
{
	static void *objects[5000];

	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		objects[i] = adsmAlloc(4096); /* at: many */
		MUST(objects[i]);
		*(volatile char *)objects[i] = 1; /* at: touch */
	}
}

static void reset(void)
{
	unsigned *words = make("reset");
	char *gone = adsmAlloc(BLOCK);

	load();
	MUST(gone);
	*gone = 1;
	MUST(!adsmFree(gone));
	fill(words);
	run(words);
	settle();
	MUST(!adsmStatsReset());
	sum(words);
}

/* A word of all that a kernel may have changed. */
static void a_word(void)
{
	unsigned *words = make("a word");

	load();
	fill(words);
	for (unsigned i = 1; i <= 20; i++) {
		MUST(!adsmCall(kernel, adsmDim3(1, 1, 1), adsmDim3(32, 1, 1), adsmPtr(words), adsmVal(1u)));
		settle();
		MUST(*(volatile unsigned *)words == i); /* at: word_read */
	}
}

/* Objects that are not alike. */
static void different(void)
{
	char name[16], *bytes;

	load();
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "number %d", i);
		bytes = adsmAlloc(BLOCK);
		MUST(bytes && !adsmSetName(bytes, name));
		*(volatile char *)bytes = 1;
		run((unsigned *)bytes);
	}
	settle();
}

static bool told(const char *path, const char *what)
{
	static char text[1 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, what);
}

/* Killed as soon as a report tells of it. */
static void killed(const char *path)
{
	unsigned *words = make("before");

	load();
	fill(words);
	run(words);
	settle();
	make("the last");
	while (!told(path, "the last"))
		usleep(10000);
	kill(getpid(), SIGKILL);
}

static void libc(void)
{
	const char *text = (const char *)make("libc");

	load();
	run((unsigned *)text);
	settle();
	/* A function without a wrapper. */
	sink = (unsigned)strnlen(text, sink + 1); /* at: libc */
}

/* Through wrappers, each after a call. */
static void wrapped(void)
{
	char *words = (char *)make("wrapped"), *heap = calloc(1, SIZE);
	volatile size_t few = 100;
	int fd;

	load();
	run((unsigned *)words);
	settle();
	memcpy(heap, words, few); /* at: copy */
	sink = (unsigned)heap[0];
	run((unsigned *)words);
	settle();
	memset(words, 1, few); /* at: set */
	run((unsigned *)words);
	settle();
	memcpy(heap, words, SIZE); /* at: bulk */
	run((unsigned *)words);
	settle();
	MUST(access(words, F_OK) == -1); /* at: argument */
	run((unsigned *)words);
	settle();
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	MUST(write(fd, words, 2 * BLOCK) == 2 * BLOCK); /* at: output */
	close(fd);
	run((unsigned *)words);
	settle();
	MUST(!adsmHold(words, 3 * BLOCK, ADSM_ACCESS_IN)); /* at: hold */
	MUST(!adsmUnhold(words, 3 * BLOCK));
	sum((unsigned *)words);
	sink = (unsigned)heap[0];
	free(heap);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "turns"))
		turns();
	else if (!strcmp(what, "early"))
		early();
	else if (!strcmp(what, "whole"))
		whole();
	else if (!strcmp(what, "many"))
		many();
	else if (!strcmp(what, "reset"))
		reset();
	else if (!strcmp(what, "a word"))
		a_word();
	else if (!strcmp(what, "different"))
		different();
	else if (!strcmp(what, "wrapped"))
		wrapped();
	else if (!strcmp(what, "libc"))
		libc();
	else if (!strcmp(what, "killed") && argc > 2)
		killed(argv[2]);
	else
		return 2;
	return 0;
}
