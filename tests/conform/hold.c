/* SPDX-License-Identifier: MIT */
/* hold.c - ranges held open for accesses that the library does not detect. */
#include "conform.h"

#include <adsm_lend.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N 100000u

/* A file of N words: first, first + 1, … */
static int file_of(unsigned first)
{
	int fd = memfd_create("words", MFD_CLOEXEC);
	unsigned *w = malloc(N * 4);

	CHECK(fd >= 0 && w);
	for (unsigned i = 0; i < N; i++)
		w[i] = first + i;
	CHECK_EQ(write(fd, w, N * 4), N * 4);
	free(w);
	return fd;
}

/* The raw system calls, without wrappers: they work only because the range is held. */
static ssize_t raw_read(int fd, void *p, size_t size, off_t at)
{
	return syscall(SYS_pread64, fd, p, size, at);
}

static ssize_t raw_write(int fd, const void *p, size_t size, off_t at)
{
	return syscall(SYS_pwrite64, fd, p, size, at);
}

/* n words that only the device has: first + 1, first + 2, … */
static unsigned *on_device(unsigned first)
{
	unsigned *p = words(N, first);

	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	return p;
}

static void in(void)
{
	int fd = file_of(0);
	unsigned *p = on_device(10), *back = malloc(N * 4);

	/* A part of the range is open already. */
	CHECK_EQ(p[150], 161);
	CHECK_OK(adsmHold(p + 100, (N - 100) * 4, ADSM_ACCESS_IN));
	CHECK_EQ(raw_write(fd, p + 100, (N - 100) * 4, 400), (N - 100) * 4);
	CHECK_EQ(pread(fd, back, N * 4, 0), N * 4);
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(back[i], i, i < 100 ? i : i + 11);
	free(back);
	CHECK_OK(adsmUnhold(p + 100, (N - 100) * 4));
	/* Blocks that were only read are not Dirty. */
	if (!batch())
		CHECK_EQ(info(p).n_dirty, 0);
	CHECK_OK(adsmFree(p));
}

static void out(void)
{
	int fd = file_of(1000);
	unsigned *p = on_device(10);
	uint64_t fetched;

	p[17] = 1;
	fetched = object_stats(p).d2h_bytes;
	CHECK_OK(adsmHold(p, N * 4, ADSM_ACCESS_OUT));
	CHECK_EQ(object_stats(p).d2h_bytes, fetched);
	CHECK_EQ(raw_read(fd, p, N * 4, 0), N * 4);
	CHECK_OK(adsmUnhold(p, N * 4));
	CHECK_EQ(info(p).n_invalid, 0);
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(p[i], i, i + 1001);
}

/* The bytes beside a range that is held for overwriting are kept. */
static void out_part(void)
{
	int fd = file_of(5000);
	unsigned *p = on_device(10);

	CHECK_OK(adsmHold(p + 3000, 70000 * 4, ADSM_ACCESS_OUT));
	CHECK_EQ(raw_read(fd, p + 3000, 70000 * 4, 0), 70000 * 4);
	CHECK_OK(adsmUnhold(p + 3000, 70000 * 4));
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(p[i], i, i >= 3000 && i < 73000 ? i - 3000 + 5001 : i + 12);
}

static void inout(void)
{
	int fd = file_of(5000);
	unsigned *p = on_device(10);

	p[3] = p[90000]++;
	p[3] = 14, p[90000]--;
	CHECK_OK(adsmHold(p, N * 4, ADSM_ACCESS_INOUT));
	/* Only parts of the range are overwritten. */
	CHECK_EQ(raw_read(fd, p + 50, 2000 * 4, 0), 2000 * 4);
	CHECK_EQ(raw_read(fd, p + 90001, 4, 0), 4);
	CHECK_OK(adsmUnhold(p, N * 4));
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(p[i], i, i >= 50 && i < 2050 ? i - 50 + 5001 : i == 90001 ? 5001 : i + 12);
}

static void stream(void)
{
	int fd = file_of(300);
	unsigned *p = on_device(0);
	FILE *file;

	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	file = fdopen(fd, "r");
	CHECK(file);
	CHECK_OK(adsmHold(p, N * 4, ADSM_ACCESS_OUT));
	CHECK_EQ(fread(p, 4, N, file), N);
	CHECK_OK(adsmUnhold(p, N * 4));
	CHECK_EQ(p[N - 1], 300 + N - 1);
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(p[i], i, i + 301);
	fclose(file);
}

/* An object that is held can be neither freed nor used by a kernel. Other objects can. */
static void busy(void)
{
	unsigned *p = words(N, 0), *q = words(N, 0);
	adsmArg named[] = { adsmIn(p), adsmOut(q), adsmVal(N) };

	CHECK_OK(adsmHold(p + 5, 4, ADSM_ACCESS_IN));
	CHECK_ERROR(adsmCallArgs(kernel("copy"), blocks(N), lanes(), named, 3), EBUSY);
	CHECK_ERROR(adsmCall(kernel("increment"), blocks(N), lanes(), adsmPtr(p), adsmVal(N)), EBUSY);
	CHECK_ERROR(adsmCall(kernel("increment_any"), blocks(N), lanes(), adsmPtr(q), adsmVal(N)), EBUSY);
	CHECK_ERROR(adsmFree(p), EBUSY);
	/* The message names the object. */
	CHECK_OK(adsmSetName(p, "the input"));
	CHECK_ERROR(adsmFree(p), EBUSY);
	CHECK(strstr(adsmLastError(), "the object 'the input' at 0x") && strstr(adsmLastError(), " is held"));
	CHECK_ERROR(adsmShutdown(), EBUSY);
	CALL("increment", N, adsmPtr(q), adsmVal(N));
	SYNC();
	CHECK_EQ(q[7], 8);
	CHECK_OK(adsmUnhold(p + 5, 4));
	CALL("increment_any", N, adsmPtr(p), adsmVal(N));
	SYNC();
	CHECK_EQ(p[7], 8);
	CHECK_OK(adsmFree(p));
}

static void counted(void)
{
	unsigned *p = words(N, 0);

	CHECK_OK(adsmHold(p, 400, ADSM_ACCESS_IN));
	CHECK_OK(adsmHold(p, 400, ADSM_ACCESS_INOUT));
	CHECK_OK(adsmHold(p + 50, 4000, ADSM_ACCESS_OUT));
	p[1] = 70;
	CHECK_OK(adsmUnhold(p, 400));
	CHECK_ERROR(adsmFree(p), EBUSY);
	CHECK_OK(adsmUnhold(p, 400));
	CHECK_ERROR(adsmFree(p), EBUSY);
	CHECK_ERROR(adsmUnhold(p, 400), EINVAL);
	CHECK_OK(adsmUnhold(p + 50, 4000));
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	CHECK_EQ(p[1], 71);
	CHECK_EQ(p[49], 50);
	CHECK_OK(adsmFree(p));
}

static void refused(void)
{
	unsigned *p = words(N, 0), private[4];

	CHECK_ERROR(adsmHold(private, sizeof(private), ADSM_ACCESS_IN), EINVAL);
	CHECK_ERROR(adsmHold(p + N - 1, 2 * PAGE, ADSM_ACCESS_IN), EINVAL);
	CHECK_ERROR(adsmHold(p, SIZE_MAX, ADSM_ACCESS_IN), EINVAL);
	CHECK_ERROR(adsmHold(p, 4, 0), EINVAL);
	CHECK_ERROR(adsmHold(p, 4, 4), EINVAL);
	CHECK_ERROR(adsmUnhold(p, 4), EINVAL);
	CHECK_OK(adsmHold(p, 4000, ADSM_ACCESS_IN));
	CHECK_ERROR(adsmUnhold(p, 3999), EINVAL);
	CHECK_ERROR(adsmUnhold(p + 1, 3996), EINVAL);
	CHECK_OK(adsmUnhold(p, 4000));
	CHECK_ERROR(adsmUnhold(p, 4000), EINVAL);
	CHECK_OK(adsmFree(p));
}

/* Held blocks are not evicted, however many other blocks are written. */
static void keep(const char *evict_batch)
{
	int fd = file_of(40);
	unsigned held = 12500, apart = 16384, *p, *q;

	set("rolling_size", "1");
	set("evict_batch", evict_batch);
	p = on_device(0);
	q = words(N, 0);
	CHECK_OK(adsmHold(p, held * 4, ADSM_ACCESS_INOUT));
	CHECK_EQ(raw_read(fd, p, held * 4, 0), held * 4);
	for (unsigned i = 0; i < N; i++)
		q[i]++;
	for (unsigned i = apart; i < N; i++)
		p[i] = N - i;
	CHECK_EQ(raw_read(fd, p, held * 4, 4), held * 4);
	for (unsigned i = 0; i < N; i++)
		q[i]++;
	CHECK_EQ(raw_read(fd, p, held * 4, 8), held * 4);
	CHECK_OK(adsmUnhold(p, held * 4));
	CALL("add", N, adsmIn(p), adsmIn(q), adsmInOut(q), adsmVal(N));
	SYNC();
	for (unsigned i = 0; i < N; i++) {
		unsigned want = i < held ? i + 42 : i < apart ? i + 1 : N - i;

		CHECK_AT(p[i], i, want);
		CHECK_AT(q[i], i, want + i + 2);
	}
}

static void kept(void)
{
	keep("8K");
}

static void kept_paper(void)
{
	keep("1");
	if (rolling())
		CHECK(stats().evictions > 0);
}

static void waits(void)
{
	int fd = file_of(7);
	unsigned *p = words(N, 0), last = 0;

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(p), adsmVal(N));
	CHECK_OK(adsmHold(p + N - 1, 4, ADSM_ACCESS_IN));
	CHECK_EQ(raw_write(fd, p + N - 1, 4, 0), 4);
	CHECK_EQ(pread(fd, &last, 4, 0), 4);
	CHECK_EQ(last, N);
	CHECK_OK(adsmUnhold(p + N - 1, 4));

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(p), adsmVal(N));
	CHECK_OK(adsmHold(p, N * 4, ADSM_ACCESS_OUT));
	CHECK_EQ(raw_read(fd, p, N * 4, 0), N * 4);
	CHECK_OK(adsmUnhold(p, N * 4));
	SYNC();
	CHECK_EQ(p[0], N);
	CHECK_EQ(p[5], 12);
}

static unsigned *called;
static _Atomic int call_result;

static void *call_it(void *unused)
{
	call_result = adsmCall(kernel("increment"), blocks(N), lanes(), adsmPtr(called), adsmVal(N));
	SYNC();
	return NULL;
}

/* A hold while a call sends its objects: either the call fails, or it has come before the hold. */
static void against_call(void)
{
	unsigned *last, done;
	int fd = file_of(7);
	pthread_t caller;

	set("cpu_link", "50GB/s,2ms");	/* slow, so that the hold can come during the transfers */
	set("rolling_size", "1000");	/* the call sends all blocks, */
	set("evict_batch", "1");	/* one by one */
	called = words(N, 0);
	last = called + N - 1;
	kernel("increment");
	call_result = 1;
	CHECK(!pthread_create(&caller, NULL, call_it, NULL));
	while (call_result == 1 && !object_stats(called).h2d_bytes)
		;
	CHECK_OK(adsmHold(last, 4, ADSM_ACCESS_INOUT));
	CHECK(!pthread_join(caller, NULL));
	CHECK(call_result == -EBUSY || !call_result);
	done = !call_result;
	CHECK_EQ(raw_read(fd, last, 4, 0), 4);
	CHECK_OK(adsmUnhold(last, 4));
	CHECK_EQ(*last, 7);
	CALL("increment", N, adsmPtr(called), adsmVal(N));
	SYNC();
	CHECK_EQ(called[0], 1 + done);
	CHECK_EQ(*last, 8);
}


/* Loans: read; written completely, in part, not at all, and in places. */
static void lend(void)
{
	int fd = file_of(0), own = 0;
	unsigned *p = on_device(10);
	adsmLoan *loan;
	void *q;

	CHECK_OK(adsmLend(p + 1, (N - 1) * 4, ADSM_ACCESS_IN, &loan, &q));
	CHECK(!loan);
	for (unsigned i = 1; i < N; i++)
		CHECK_AT(((unsigned *)q)[i - 1], i, i + 11);
	/* The first half is written. The rest is kept, and a kernel sees both. */
	CHECK_OK(adsmLend(p + 1, (N - 1) * 4, ADSM_ACCESS_OUT, &loan, &q));
	CHECK_EQ(raw_read(fd, q, N * 2, 4), N * 2);
	CHECK_OK(adsmLoanEnd(loan, N * 2));
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(p[i], i, i >= 1 && i <= N / 2 ? i + 1 : i + 12);
	/* Written in places; and then a loan with nothing written. */
	CHECK_OK(adsmLend(p, N * 4, ADSM_ACCESS_INOUT, &loan, &q));
	for (unsigned i = 0; i < N; i += 100)
		((unsigned *)q)[i] = 7;
	CHECK_OK(adsmLoanEnd(loan, N * 4));
	CHECK_OK(adsmLend(p, N * 4, ADSM_ACCESS_OUT, &loan, &q));
	CHECK_OK(adsmLoanEnd(loan, 0));
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(p[i], i, i % 100 == 0 ? 8 : i >= 1 && i <= N / 2 ? i + 2 : i + 13);
	CHECK(adsmIsShared(p) && adsmIsShared(p + N - 1) && !adsmIsShared(&own) && !adsmIsShared(NULL));
	CHECK_OK(adsmLend(&own, sizeof(own), ADSM_ACCESS_OUT, &loan, &q));
	CHECK(q == &own && !loan);
	CHECK_OK(adsmLoanEnd(NULL, 0));
	CHECK_ERROR(adsmLend(p, 4, 4, &loan, &q), EINVAL);
	CHECK_ERROR(adsmLend(p, (size_t)1 << 40, ADSM_ACCESS_IN, &loan, &q), EINVAL);
	CHECK_OK(adsmFree(p));
	close(fd);
}

static const struct conform_case cases[] = {
	CASE("lend", lend),
	CASE("hold-in", in),
	CASE("hold-out", out),
	CASE("hold-out-part", out_part),
	CASE("hold-inout", inout),
	CASE("hold-stream", stream),
	CASE("hold-busy", busy),
	CASE("hold-counted", counted),
	CASE("hold-refused", refused),
	CASE("hold-kept", kept),
	CASE("hold-kept-paper", kept_paper),
	FAULT_CASE("hold-waits", waits),
	FAULT_CASE("hold-against-call", against_call),
};
CONFORM_MAIN(cases)
