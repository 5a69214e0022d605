/* SPDX-License-Identifier: MIT */
/*
 * io.c - read() and write() of a file in the page cache with shared memory, by block size: one call for all.
 *
 * Floor: the same call of libc's with ordinary memory. What is read into is Invalid before; what is written is
 * valid on both sides and closed, in the last row of each size Invalid: then its fetch is part of the time. What is
 * read is sent early, by another thread, from then on; a call ends that before anything is measured.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef ssize_t read_function(int, void *, size_t);
typedef ssize_t write_function(int, const void *, size_t);

static read_function *our_read, *libc_read;
static write_function *our_write, *libc_write;
static __typeof__(&adsmCallArgs) call;
static __typeof__(&adsmSync) sync_calls;
static adsmKernel *nothing;
static size_t size;
static int fd;

struct transfer {
	char *shared, *plain;
	bool write, fetch;
};

static double once(const struct transfer *t, void *p, read_function *read, write_function *write)
{
	double start;
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	start = bench_now_us();
	n = t->write ? write(fd, p, size) : read(fd, p, size);
	if (n != (ssize_t)size)
		bench_die("%s came short: %s", t->write ? "write" : "read", n < 0 ? strerror(errno) : "");
	return (bench_now_us() - start) / 1e3;
}

/* Nothing is on its way, and the object as it is to be. */
static void prepare(const struct transfer *t)
{
	adsmArg whole = t->write && !t->fetch ? adsmIn(t->shared) : adsmInOut(t->shared);

	bench_check(call(nothing, bench_one, bench_one, &whole, 1));
	bench_check(sync_calls());
}

static double ours(void *arg)
{
	prepare(arg);
	return once(arg, ((const struct transfer *)arg)->shared, our_read, our_write);
}

static double libc(void *arg)
{
	prepare(arg);
	return once(arg, ((const struct transfer *)arg)->plain, libc_read, libc_write);
}

void bench_io(void)
{
	static const size_t blocks[] = { 4 << 10, 64 << 10, 256 << 10, 2 << 20 };
	__typeof__(&adsmAllocWith) alloc = bench_wrapper("adsmAllocWith");
	__typeof__(&adsmFree) give = bench_wrapper("adsmFree");
	struct transfer t;

	size = bench_smoke ? (size_t)2 << 20 : (size_t)64 << 20;
	our_read = bench_wrapper("read");
	our_write = bench_wrapper("write");
	libc_read = bench_libc("read");
	libc_write = bench_libc("write");
	call = bench_wrapper("adsmCallArgs");
	sync_calls = bench_wrapper("adsmSync");
	t.plain = bench_host_alloc(size);
	fd = memfd_create("bench-io", MFD_CLOEXEC);
	if (fd < 0 || libc_write(fd, t.plain, size) != (ssize_t)size)
		bench_die("cannot make a file: %s", strerror(errno));
	nothing = bench_wrapper_kernel();

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;

		options.block_size = blocks[i];
		t.shared = alloc(size, &options);
		if (!t.shared)
			bench_die("no shared memory");
		memset(t.shared, 1, size);
		for (int kind = 0; kind < 3; kind++) {
			static const char *const names[] = { "read", "write", "write of Invalid" };
			struct bench_row row = { .unit = "ms", .target = kind < 2 ? "<= 1.05" : "" };

			t.write = kind;
			t.fetch = kind == 2;
			snprintf(row.name, sizeof(row.name), "%s, %zuK blocks", names[kind], blocks[i] >> 10);
			bench_compare(&row, bench_repeat, ours, libc, &t);
			bench_emit(&row);
		}
		bench_check(give(t.shared));
	}
	close(fd);
}
