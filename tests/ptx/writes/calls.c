/* SPDX-License-Identifier: MIT */
/*
 * calls.c - calls of kernels in CUDA C: which bytes of objects the library sends, what addresses kernels get, and which
 * objects move.
 * calls MODULE: the one of kernels.cu. An object that a call writes whole (OUT) is not sent.
 */
#include <adsm.h>
#include <adsm_prefetch.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define CHECK_MORE adsmLastError()
#include "../../check.h"

#define N 1000				/* elements of an object */
#define SIZE (N * sizeof(float))
#define THREADS 64

static adsmModule *module;
static float *out, *in, *other;
static bool same_address;

static adsmKernel *kernel(const char *name)
{
	adsmKernel *found = adsmKernelGet(module, name);

	CHECKF(found, "%s", name);
	return found;
}

static void fill(float *p, float first)
{
	for (int i = 0; i < N; i++)
		p[i] = first + (float)i;
}

static uint64_t sent(const void *p)
{
	adsmStats stats;

	CHECK_OK(adsmObjectStatsGet(p, &stats, sizeof(stats)));
	return stats.h2d_bytes;
}

/* Call a kernel while all of out is Dirty. Returns how much of it the library sends. */
static uint64_t call(const char *name, unsigned threads, const adsmArg *args, size_t n)
{
	uint64_t before;

	fill(out, 5000);
	fill(in, 100);
	before = sent(out);
	CHECK_OK(adsmCallArgs(kernel(name), adsmDim3((threads + THREADS - 1) / THREADS, 1, 1), adsmDim3(THREADS, 1, 1),
			      args, n));
	CHECK_OK(adsmSync());
	return sent(out) - before;
}
#define CALL(name, threads, ...) call(name, threads, (const adsmArg[]){ __VA_ARGS__ }, \
	sizeof((const adsmArg[]){ __VA_ARGS__ }) / sizeof(adsmArg))

/* The first n elements are those of in, the others those of out. */
static void check_copied(int n)
{
	for (int i = 0; i < N; i++)
		CHECK_AT(out[i], i, i < n ? 100 + i : 5000 + i);
}

/* ---- What is sent -------------------------------------------------------------------------- */

static void whole(void)
{
	CHECK_EQ(CALL("guarded", N, adsmPtr(out), adsmPtr(in), adsmVal(N)), 0);
	check_copied(N);
	/* As much as the CPU has read or written since. */
	CHECK_EQ(CALL("guarded", N + 500, adsmPtr(out), adsmPtr(in), adsmVal(N)), 0);
	check_copied(N);
	CHECK_EQ(CALL("grid_stride", 2 * THREADS, adsmPtr(out), adsmVal(N)), 0);
	CHECK_EQ(CALL("plane", N, adsmPtr(out), adsmVal(N), adsmVal(1)), 0);
	CHECK_EQ(CALL("halves", N / 2, adsmPtr(out), adsmVal(N / 2)), 0);
	CHECK_EQ(CALL("two_each", N / 2, adsmPtr(out), adsmVal(N)), 0);
	for (int i = 0; i < N; i++)
		CHECK_AT(out[i], i, i);
	CHECK_EQ(CALL("if_there", N * THREADS, adsmPtr(out)), 0);
}

static void in_part(void)
{
	CHECK_EQ(CALL("guarded", N, adsmPtr(out), adsmPtr(in), adsmVal(N - 1)), SIZE);
	check_copied(N - 1);
	CHECK_EQ(CALL("guarded", 10 * THREADS, adsmPtr(out), adsmPtr(in), adsmVal(N)), SIZE);
	check_copied(10 * THREADS);
	CHECK_EQ(CALL("guarded", N, adsmPtr(out), adsmPtr(in), adsmVal(-1)), SIZE);
	check_copied(0);
	CHECK_EQ(CALL("one_too_few", N, adsmPtr(out), adsmVal(N)), SIZE);
	CHECK_EQ(CALL("every_second", N / 2, adsmPtr(out), adsmVal(N / 2)), SIZE);
	CHECK_EQ(out[1], 5001);
	/* The thread leaves its loop while its index is negative, and stores nothing. */
	CHECK_EQ(CALL("from_below", 1, adsmPtr(out), adsmVal(-10), adsmVal((size_t)N)), SIZE);
	check_copied(0);
	/* From the second element on. */
	CHECK_EQ(CALL("guarded", N, adsmPtr(out + 1), adsmPtr(in), adsmVal(N - 1)), SIZE);
	CHECK_EQ(out[0], 5000);
	CHECK_EQ(out[1], 100);
}

/* Other arguments use the object, too, or say how the kernel accesses it. */
static void by_others(void)
{
	CHECK_EQ(CALL("guarded", N, adsmPtr(out), adsmPtr(out), adsmVal(N)), SIZE);
	check_copied(0);
	CHECK_EQ(CALL("guarded", N, adsmInOut(out), adsmPtr(in), adsmVal(N)), SIZE);
	CHECK_EQ(CALL("guarded", N, adsmPtr(out), adsmPtr(in), adsmVal(N), adsmUse(out, ADSM_ACCESS_IN)), SIZE);
	CHECK_EQ(CALL("guarded", N, adsmPtr(out), adsmPtr(in), adsmVal(N), adsmUseAll()), SIZE);
	check_copied(N);
	CHECK_EQ(CALL("guarded", N, adsmPtr(other), adsmPtr(in), adsmVal(N)), 0);
	CHECK_EQ(CALL("guarded", N, adsmPtr(other), adsmPtr(in), adsmVal(N), adsmUseAll()), SIZE);
	/* The address as a value. */
	CHECK_EQ(CALL("guarded", N, adsmVal((uintptr_t)out), adsmPtr(in), adsmVal(N)), 0);
	check_copied(N);
}

/* ---- Addresses ----------------------------------------------------------------------------- */

static void check_kept(const adsmArg *what, uintptr_t want)
{
	uintptr_t *kept = adsmAlloc(sizeof(*kept));

	CHECK(kept);
	CHECK_OK(adsmCall(kernel("keeps_address"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmPtr(kept), *what));
	CHECK_OK(adsmSync());
	CHECK_EQ(*kept, want);
	CHECK_OK(adsmFree(kept));
}
#define KEPT(arg, want) check_kept(&(const adsmArg[]){ arg }[0], (uintptr_t)(want))

static void addresses(void)
{
	KEPT(adsmPtr(NULL), 0);
	KEPT(adsmVal((int64_t)-5), -5);
	KEPT(adsmPtr((void *)0x12345), 0x12345);
	if (same_address) {
		KEPT(adsmPtr(out), out);
		KEPT(adsmPtr(out + 7), out + 7);
		KEPT(adsmPtr(out + N), out + N);
	}
	/* One past the end, and back. */
	CHECK_EQ(CALL("long_base", N, adsmPtr(out + N), adsmVal((long)-N), adsmVal(N)), 0);
	for (int i = 0; i < N; i++)
		CHECK_AT(out[i], i, i);
	/* A number that is added to an address. */
	CHECK_EQ(CALL("byte_offset", 1, adsmPtr(out), adsmVal((long)(SIZE - 1))), SIZE);
	CHECK_EQ(((char *)out)[SIZE - 1], 1);
	/* Other kernels want an object, and kernels in CUDA C a number of the right size. */
	CHECK_EQ(adsmCall(kernel("guarded"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmVal(1), adsmPtr(in), adsmVal(0)),
		 -EINVAL);
	CHECK_EQ(adsmCall(kernel("guarded"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmPtr(out), adsmPtr(in),
			  adsmPtr(in)), -EINVAL);
}

/* ---- Objects directly behind each other, on two devices ------------------------------------ */

#define BIG ((size_t)600 << 10)		/* a device has room for one */

static float *alloc_on(int device, size_t size)
{
	float *p;

	CHECK_OK(adsmDeviceSet(device));
	p = adsmAlloc(size);
	CHECK(p);
	fill(p, 100);
	return p;
}

static int device_of(const void *p)
{
	adsmObjectProps props = { .struct_size = sizeof(props) };

	CHECK_OK(adsmObjectInfo(p, &props));
	return props.device;
}

/* Run out = in on device 0, where @there is. Returns as adsmCall(). */
static int copy_on_0(adsmArg to, const float *from, const float *there)
{
	CHECK_OK(adsmDeviceSet(0));
	return adsmCall(kernel("guarded"), adsmDim3(16, 1, 1), adsmDim3(THREADS, 1, 1), to, adsmPtr(from), adsmVal(N),
			adsmUse(there, ADSM_ACCESS_IN));
}

/* The address of an object is also the end of the one before it. The call does not use that one for this reason. */
static void neighbours(const char *name)
{
	float *idle, *a, *b, *c;
	adsmEvent event;

	CHECK_OK(adsmShutdown());
	CHECK_OK(adsmOption("cpu_devices", "2"));
	CHECK_OK(adsmOption("cpu_memory_size", "1M"));
	module = adsmModuleLoad(name);
	CHECK(module);
	idle = alloc_on(0, BIG);
	a = alloc_on(1, BIG);
	b = alloc_on(1, BIG);
	c = alloc_on(0, SIZE);
	CHECK((char *)a == (char *)idle + BIG && (char *)b == (char *)a + BIG && (char *)c == (char *)b + BIG);
	/* An object that a call only reads is copied, also if the call writes the one behind it. */
	CHECK_OK(adsmCall(kernel("grid_stride"), adsmDim3(1, 1, 1), adsmDim3(THREADS, 1, 1), adsmPtr(b), adsmVal(N)));
	CHECK_OK(copy_on_0(adsmPtr(c), b, c));
	CHECK_OK(adsmSync());
	CHECK_EQ(device_of(b), 1);
	for (int i = 0; i < N; i++)
		CHECK_AT(c[i], i, i);
	/* Both count in what the call needs: it is refused, and nothing is lost. */
	CHECK_OK(adsmCall(kernel("grid_stride"), adsmDim3(1, 1, 1), adsmDim3(THREADS, 1, 1), adsmPtr(b), adsmVal(N)));
	CHECK_EQ(copy_on_0(adsmOut(b), a, c), -ENOMEM);
	CHECKF(strstr(adsmLastError(), "do not fit on device 0"), "%s", adsmLastError());
	CHECK_OK(adsmSync());
	CHECK_EQ(device_of(b), 1);
	for (int i = 0; i < N; i++) {
		CHECK_AT(a[i], i, 100 + i);
		CHECK_AT(b[i], i, i);
	}
	/* The idle object makes room for the one behind it. */
	CHECK_OK(adsmPrefetch(idle, BIG, 0, &event));
	CHECK_OK(adsmEventWait(event));
	CHECK_OK(copy_on_0(adsmPtr(c), a, c));
	CHECK_OK(adsmSync());
	for (int i = 0; i < N; i++)
		CHECK_AT(c[i], i, 100 + i);
}

/* A module whose text of writes is damaged is refused. */
static void damaged(const char *name)
{
	static char bytes[32 << 20];
	FILE *file = fopen(name, "rb");
	size_t size;
	char *line;

	CHECK(file);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	line = memmem(bytes, size, "\nnot_guarded 0 4 ", 17);
	CHECK(line);
	line[15] = 'x';
	errno = 0;
	CHECK(!adsmModuleLoadMemory(bytes, size));
	CHECK_EQ(errno, ENOEXEC);
	CHECKF(strstr(adsmLastError(), "adsm_writes"), "%s", adsmLastError());
}

int main(int argc, char **argv)
{
	adsmDeviceProps props = { .struct_size = sizeof(props) };

	CHECK(argc == 2);
	module = adsmModuleLoad(argv[1]);
	CHECKF(module, "%s", argv[1]);
	CHECK_OK(adsmDeviceInfo(0, &props));
	same_address = props.same_address;
	if (props.unified) {
		printf("the device's memory is the CPU's, so nothing is sent\n");
		return 77;
	}
	out = adsmAlloc(SIZE);
	in = adsmAlloc(SIZE);
	other = adsmAlloc(SIZE);
	CHECK(out && in && other);
	whole();
	in_part();
	by_others();
	addresses();
	damaged(argv[1]);
	CHECK_OK(adsmFree(out));
	CHECK_OK(adsmFree(in));
	CHECK_OK(adsmFree(other));
	CHECK_OK(adsmModuleUnload(module));
	neighbours(argv[1]);
	printf("right\n");
	return 0;
}
