/* SPDX-License-Identifier: MIT */
/*
 * memcpy.c - the price of standing between a program and libc: memcpy() and read() on ordinary memory, then copies
 * from and to shared memory.
 *
 * Floor: libc's own function on ordinary memory. The wrappers are those of the shared library, called like
 * libc's through a pointer; all else here is that library's, too. The large copies start with what the case says;
 * of Invalid blocks it is the fetch that costs. Nothing is sent early: it would compete for the same memory.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef void *copy_function(void *, const void *, size_t);
typedef ssize_t read_function(int, void *, size_t);

struct copies {
	copy_function *ours, *libc;
	void *dst, *src;		/* of ours */
	void *plain_dst, *plain_src;
	size_t size;
	unsigned times;
	void *invalid;			/* the device gets this object first; NULL: none */
};

struct reads {
	read_function *ours, *libc;
	int fd;
	size_t size;
	unsigned times;
};

static __typeof__(&adsmCallArgs) call;
static __typeof__(&adsmSync) sync_calls;
static adsmKernel *nothing;

/* ---- many small ones: nanoseconds for each */

static double copy_many(copy_function *copy, void *dst, const void *src, size_t size, unsigned times)
{
	copy_function *volatile function = copy;
	double start = bench_now_us();

	for (unsigned i = 0; i < times; i++)
		function(dst, src, size);
	return (bench_now_us() - start) * 1e3 / times;
}

static double copies_ours(void *arg)
{
	const struct copies *c = arg;

	return copy_many(c->ours, c->dst, c->src, c->size, c->times);
}

static double copies_floor(void *arg)
{
	const struct copies *c = arg;

	return copy_many(c->libc, c->plain_dst, c->plain_src, c->size, c->times);
}

static double read_many(read_function *read, int fd, size_t size, unsigned times)
{
	static char buffer[4096];
	double start = bench_now_us();

	for (unsigned i = 0; i < times; i++)
		if (read(fd, buffer, size) != (ssize_t)size)
			bench_die("/dev/zero: %s", strerror(errno));
	return (bench_now_us() - start) * 1e3 / times;
}

static double reads_ours(void *arg)
{
	const struct reads *r = arg;

	return read_many(r->ours, r->fd, r->size, r->times);
}

static double reads_floor(void *arg)
{
	const struct reads *r = arg;

	return read_many(r->libc, r->fd, r->size, r->times);
}

/* ---- large ones: milliseconds */

static void invalidate(void *p)
{
	bench_check(call(nothing, bench_one, bench_one, (const adsmArg[]){ adsmInOut(p) }, 1));
	bench_check(sync_calls());
}

static double large_ours(void *arg)
{
	const struct copies *c = arg;
	double start;

	if (c->invalid)
		invalidate(c->invalid);
	start = bench_now_us();
	c->ours(c->dst, c->src, c->size);
	return (bench_now_us() - start) / 1e3;
}

static double large_floor(void *arg)
{
	const struct copies *c = arg;
	double start = bench_now_us();

	c->libc(c->plain_dst, c->plain_src, c->size);
	return (bench_now_us() - start) / 1e3;
}

/* ---- */

static void added(struct bench_row *row)
{
	snprintf(row->note, sizeof(row->note), "adds %.2f ns", row->ours - row->floor);
	bench_emit(row);
}

static void name_size(char *name, size_t room, const char *what, size_t size)
{
	snprintf(name, room, size < 1024 ? "%s, %zu B" : "%s, %zu KiB", what, size < 1024 ? size : size >> 10);
}

static void on_ordinary_memory(struct copies *c)
{
	static const size_t copy_sizes[] = { 16, 64, 256, 4096, 1 << 20 }, read_sizes[] = { 1, 64, 4096 };
	struct reads r = { bench_wrapper("read"), bench_libc("read"), open("/dev/zero", O_RDONLY | O_CLOEXEC), 0, 0 };

	c->dst = c->plain_dst;
	c->src = c->plain_src;
	for (size_t i = 0; i < sizeof(copy_sizes) / sizeof(copy_sizes[0]); i++) {
		struct bench_row row = { .unit = "ns", .target = i ? "" : "+1.5 ns" };

		c->size = copy_sizes[i];
		c->times = (unsigned)(((size_t)16 << 20) / (c->size < 256 ? 256 : c->size)) / (bench_smoke ? 16 : 1);
		name_size(row.name, sizeof(row.name), "memcpy", c->size);
		bench_compare(&row, bench_repeat * 3, copies_ours, copies_floor, c);
		added(&row);
	}
	for (size_t i = 0; i < sizeof(read_sizes) / sizeof(read_sizes[0]); i++) {
		struct bench_row row = { .unit = "ns", .target = "" };

		r.size = read_sizes[i];
		r.times = bench_smoke ? 100 : 20000;
		name_size(row.name, sizeof(row.name), "read", r.size);
		bench_compare(&row, bench_repeat * 3, reads_ours, reads_floor, &r);
		added(&row);
	}
	close(r.fd);
}

void bench_memcpy(void)
{
	size_t size = bench_smoke ? (size_t)1 << 20 : (size_t)64 << 20;
	__typeof__(&adsmAlloc) alloc = bench_wrapper("adsmAlloc");
	struct bench_row row = { .unit = "ns", .name = "memcpy into an open block, 16 B", .target = "" };
	struct copies c = { .ours = bench_wrapper("memcpy"), .libc = bench_libc("memcpy") };
	char *shared, *other;
	struct {
		const char *name;
		void *dst, *src, *invalid;
		const char *target;
	} large[6];

	call = bench_wrapper("adsmCallArgs");
	sync_calls = bench_wrapper("adsmSync");
	c.plain_dst = bench_host_alloc(size);
	c.plain_src = bench_host_alloc(size);
	on_ordinary_memory(&c);

	((__typeof__(&adsmOption))bench_wrapper("adsmOption"))("rolling_size", "1000000");
	nothing = bench_wrapper_kernel();
	shared = alloc(size);
	other = alloc(size);
	if (!shared || !other)
		bench_die("no shared memory");
	memset(shared, 1, size);
	memset(other, 1, size);
	invalidate(shared);
	invalidate(other);

	memset(shared, 1, 65536);
	c.dst = shared;
	c.src = c.plain_src;
	c.size = 16;
	c.times = bench_smoke ? 100 : 65536;
	bench_compare(&row, bench_repeat * 3, copies_ours, copies_floor, &c);
	added(&row);

	memcpy(&large, (__typeof__(large)){
		{ "private to Invalid", shared, c.plain_src, shared, "" },
		{ "private to Dirty", shared, c.plain_src, NULL, "" },
		{ "Dirty to private", c.plain_dst, shared, NULL, "" },
		{ "Invalid to private", c.plain_dst, shared, shared, "" },
		{ "ReadOnly to private", c.plain_dst, shared, NULL, "" },
		{ "Invalid to shared", other, shared, shared, "" },
	}, sizeof(large));
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		row = (struct bench_row){ .unit = "ms", .target = large[i].target };
		c.dst = large[i].dst;
		c.src = large[i].src;
		c.invalid = large[i].invalid;
		c.size = size;
		snprintf(row.name, sizeof(row.name), "%zu MiB, %s", size >> 20, large[i].name);
		bench_compare(&row, bench_repeat, large_ours, large_floor, &c);
		bench_emit(&row);
	}
}
