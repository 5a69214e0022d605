/* SPDX-License-Identifier: MIT */
/* memory.c - what write-once objects take: the files that are mapped for them, where units lie in these, and waits. */
#include "once.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_FILES 64

enum kind { DATA, FLAGS, TABLE, N_KINDS };

struct file {
	unsigned long inode;
	enum kind kind;
	size_t end;			/* bytes */
};

static const struct { const char *name; enum kind kind; } names[] = {
	{ "memfd:adsm-once-host", DATA }, { "memfd:adsm-once-flags", FLAGS }, { "memfd:adsm-once-table", TABLE },
};

static void note(struct file *files, size_t *n, const struct file *file)
{
	for (size_t i = 0; i < *n; i++)
		if (files[i].inode == file->inode) {
			if (file->end > files[i].end)
				files[i].end = file->end;
			return;
		}
	CHECK(*n < MAX_FILES);
	files[(*n)++] = *file;
}

/* The bytes of the files of each kind: each counts once, however often it is mapped. */
static void measure(size_t *ret_sizes)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	struct file files[MAX_FILES];
	size_t n = 0;
	char line[1024];

	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long start, end, offset, inode;

		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			if (strstr(line, names[k].name) &&
			    sscanf(line, "%lx-%lx %*s %lx %*s %lu", &start, &end, &offset, &inode) == 4)
				note(files, &n, &(struct file){ inode, names[k].kind, offset + end - start });
	}
	fclose(maps);
	memset(ret_sizes, 0, N_KINDS * sizeof(*ret_sizes));
	for (size_t i = 0; i < n; i++)
		ret_sizes[files[i].kind] += files[i].end;
}

static size_t pages(size_t size)
{
	return (size + PAGE - 1) & ~(PAGE - 1);
}

/* The scan's five vectors: a byte for each unit beside the data, and one table for all waiting threads. */
static void vectors(void)
{
	static const size_t counts[] = { 1, 50, 1000, 100000 }, units[] = { 1024, 1024, 4, 4, 1024 };
	size_t sizes[N_KINDS];

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		const size_t n = counts[c];
		size_t data = 0;
		adsmOnce *v[5];

		for (int i = 0; i < 5; i++) {
			v[i] = make(n, units[i]);
			data += pages(n * units[i]);
		}
		measure(sizes);
		CHECK_EQ(sizes[DATA], data);
		/* What they share of a page, and a line for all units. */
		CHECKF(sizes[FLAGS] >= 5 * n && sizes[FLAGS] <= 5 * pages(n + 64), "%zu bytes for five times %zu units",
		       sizes[FLAGS], n);
		CHECKF(sizes[TABLE] <= (size_t)256 << 10, "%zu", sizes[TABLE]);
		/* Units lie behind each other, with nothing between. */
		for (int i = 0; i < 5; i++) {
			char *first = adsmOnceFresh(v[i], 0), *last = adsmOnceFresh(v[i], n - 1);

			CHECK(first && last);
			CHECK_EQ(last - first, (n - 1) * units[i]);
			memset(last, 0x5a, units[i]);
			CHECK_OK(adsmOnceSet(v[i], n - 1));
			CHECK_EQ(((const char *)adsmOnceGet(v[i], n - 1))[units[i] - 1], 0x5a);
			CHECK_OK(adsmOnceFree(v[i]));
		}
		measure(sizes);
		CHECK_EQ(sizes[DATA], 0);
		CHECK_EQ(sizes[FLAGS], 0);
	}
}

static void *wait_for_all(void *arg)
{
	adsmOnce *const *v = arg;

	for (size_t u = 0; u < v[0]->count; u++)
		get(v[0], u);
	return NULL;
}

/* Waiting threads take no room of the objects, and none that grows. */
static void sleepers(void)
{
	enum { N = 60 };
	size_t before[N_KINDS], sizes[N_KINDS];
	adsmOnce *once = make(3, 4);
	pthread_t threads[N];

	measure(before);
	for (int i = 0; i < N; i++)
		threads[i] = start(wait_for_all, &once);
	until_waiting(N, NULL);
	measure(sizes);
	for (int k = 0; k < N_KINDS; k++)
		CHECK_EQ(sizes[k], before[k]);
	for (uint32_t u = 0; u < 3; u++)
		put(once, u, u);
	for (int i = 0; i < N; i++)
		end(threads[i]);
	CHECK_OK(adsmOnceFree(once));
}

static void *load(void *arg)
{
	return (void *)(uintptr_t)*(volatile uint32_t *)arg;
}

/* The process has no mappings left: a page of an emptied unit is closed all the same. */
static void mappings(void)
{
	const size_t n = 100000;
	adsmOnce *once = make(64, PAGE);
	uint32_t *tenth = (uint32_t *)((char *)once->address + 10 * PAGE);
	pthread_t thread;
	size_t taken = 0;
	char *pages;

	for (uint32_t u = 0; u < 64; u++)
		put(once, u, 1);
	CHECK_EQ(*tenth, 1);
	pages = mmap(NULL, 2 * n * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(pages != MAP_FAILED);
	while (taken < n && !mprotect(pages + 2 * taken * PAGE, PAGE, PROT_READ | PROT_WRITE))
		taken++;
	CHECK_OK(adsmOnceEmpty(once, 10));
	CHECK(!munmap(pages, 2 * n * PAGE));
	thread = start(load, tenth);
	until_waiting(1, NULL);
	*(uint32_t *)adsmOnceRoom(once, 10) = 2;
	CHECK_OK(adsmOnceSet(once, 10));
	CHECK_EQ((uintptr_t)end(thread), 2);
	CHECK_OK(adsmOnceFree(once));
}

static void *set_when_awaited(void *once)
{
	until_waiting(1, NULL);
	put(once, 0, 1);
	return NULL;
}

/* Units that are set are no waits, also for a thread that does not spin, because its last wait was ended by a thread on
 * the same processor. */
static void alone(void)
{
	enum { UNITS = 100 };
	adsmOnce *once = make(UNITS, 4);
	const int fd = open("/dev/null", O_WRONLY);
	adsmStats before, after;
	cpu_set_t all, one;
	pthread_t thread;

	CHECK(fd >= 0 && !sched_getaffinity(0, sizeof(all), &all));
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	for (size_t i = 1; i < UNITS; i++)
		put(once, i, 1);
	CHECK_OK(adsmStatsGet(&before, sizeof(before)));
	thread = start(set_when_awaited, once);
	CHECK_EQ(get(once, 0), 1);
	end(thread);
	CHECK_EQ(write(fd, once->address, UNITS * 4), UNITS * 4);
	CHECK_OK(adsmStatsGet(&after, sizeof(after)));
	CHECK_EQ(after.once_waits - before.once_waits, 1);
	CHECK(!sched_setaffinity(0, sizeof(all), &all));
	close(fd);
	CHECK_OK(adsmOnceFree(once));
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "vectors", vectors }, { "sleepers", sleepers }, { "mappings", mappings }, { "alone", alone },
	};

	return test_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
