/* SPDX-License-Identifier: MIT */
/*
 * service_app.c - services as programs see them: service-app MODULE CASE. It prints what a test has to look at, and
 * ends with 1 where something is wrong.
 */
#include <adsm.h>
#include <adsm_lend.h>
#include <adsm_once.h>
#include <adsm_service.h>

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define CHECK_MORE adsmLastError()
#define CHECK_OUT stdout
#include "../check.h"

#define N 4096
#define VAL(number) adsmVal((int)(number))

static adsmModule *module;
static int *a, *b;

static adsmKernel *kernel(const char *name)
{
	adsmKernel *found = adsmKernelGet(module, name);

	CHECKF(found, "%s", name);
	return found;
}

#define CALL(name, blocks, ...) \
	adsmCall(kernel(name), adsmDim3(blocks, 1, 1), adsmDim3(1, 1, 1), ##__VA_ARGS__)
#define RUN(name, blocks, ...) ({ \
	int error_ = CALL(name, blocks, ##__VA_ARGS__); \
	error_ ? error_ : adsmSync(); \
})

static int square(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	int n;

	if (in_size != sizeof(n) || out_size != sizeof(n))
		return -EINVAL;
	atomic_fetch_add((atomic_int *)ctx, 1);
	memcpy(&n, in, sizeof(n));
	n *= n;
	memcpy(out, &n, sizeof(n));
	return sizeof(n);
}

static void squares(void)
{
	enum { BLOCKS = 48, ROUNDS = 50 };
	atomic_int calls = 0;

	CHECK_OK(adsmServiceRegister("square", square, sizeof(int), sizeof(int), &calls));
	memset(a, 0, N * sizeof(*a));
	CHECK_OK(RUN("squares", BLOCKS, adsmInOut(a), VAL(ROUNDS)));
	for (int i = 0; i < BLOCKS * ROUNDS; i++)
		CHECK_AT(a[i], i, i * i);
	CHECK_EQ(calls, BLOCKS * ROUNDS);
	CHECK_OK(adsmServiceUnregister("square"));
	CHECK_OK(RUN("squares", 1, adsmInOut(a), VAL(1)));
	CHECK_EQ(a[0], -ENOENT);
}

/* ---- names and sizes */

static int reverse(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	const size_t n = in_size < out_size ? in_size : out_size;

	CHECK(in_size <= 65536 && out_size <= 65536 && (uintptr_t)in % 64 == 0 && (uintptr_t)out % 64 == 0);
	for (size_t i = 0; i < out_size; i++)
		CHECK(!((char *)out)[i]);
	for (size_t i = 0; i < n; i++)
		((char *)out)[i] = ((const char *)in)[n - 1 - i];
	return (int)n;
}

static int fails(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	return -EBADMSG;
}

static int lies(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	return (int)out_size + 1;
}

static int wild(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	return INT_MIN;
}

static void registered(void)
{
	char name[66];

	memset(name, 'n', 65);
	name[65] = '\0';
	CHECK_EQ(adsmServiceRegister(name, fails, 0, 0, NULL), -EINVAL);
	name[64] = '\0';
	CHECK_EQ(adsmServiceRegister(name, fails, 0, 0, NULL), -EINVAL);
	name[63] = '\0';
	CHECK_OK(adsmServiceRegister(name, fails, 0, 0, NULL));
	CHECK_EQ(adsmServiceRegister(name, lies, 0, 0, NULL), -EEXIST);
	CHECK(strstr(adsmLastError(), name));
	CHECK_OK(adsmServiceUnregister(name));
	CHECK_EQ(adsmServiceUnregister(name), -ENOENT);
	CHECK_EQ(adsmServiceUnregister(NULL), -EINVAL);
	CHECK_EQ(adsmServiceRegister(NULL, fails, 0, 0, NULL), -EINVAL);
	CHECK_EQ(adsmServiceRegister("", fails, 0, 0, NULL), -EINVAL);
	CHECK_EQ(adsmServiceRegister("none", NULL, 0, 0, NULL), -EINVAL);
	CHECK_EQ(adsmServiceRegister("large", fails, 65537, 0, NULL), -EINVAL);
	CHECK_EQ(adsmServiceRegister("large", fails, 0, SIZE_MAX, NULL), -EINVAL);
	CHECK_OK(adsmServiceRegister("reverse", reverse, 65536, 65536, NULL));
	CHECK_OK(adsmServiceRegister("fails", fails, 100, 100, NULL));
	CHECK_OK(adsmServiceRegister("lies", lies, 65536, 65536, NULL));
	CHECK_OK(adsmServiceRegister("wild", wild, 65536, 65536, NULL));
	CHECK_OK(adsmServiceRegister("square", fails, 4, 0, NULL));
}

static int call_sizes(int which, unsigned long in, unsigned long out)
{
	int sum = 0;

	CHECK_OK(RUN("sizes", 1, adsmInOut(a), VAL(which), adsmVal(in), adsmVal(out)));
	for (int i = 0; i < 65536; i++) {
		const int n = (int)(in < out ? in : out), from = a[0] == n && i < n ? n - 1 - i : i;

		sum += from % 251 * (i % 7);
	}
	CHECKF(a[1] == sum, "service %d, %lu in, %lu out: what came out is not what went in", which, in, out);
	return a[0];
}

static void sizes(void)
{
	static const unsigned long wrong[] = { 65537, 1ul << 20, 1ul << 32, (1ul << 32) + 4, 1ul << 63, ~0ul };

	registered();
	CHECK_EQ(call_sizes(0, 0, 0), 0);
	CHECK_EQ(call_sizes(0, 1, 1), 1);
	CHECK_EQ(call_sizes(0, 1000, 300), 300);
	CHECK_EQ(call_sizes(0, 300, 1000), 300);
	CHECK_EQ(a[2], -EINVAL);
	CHECK_EQ(a[3], -EINVAL);
	CHECK_EQ(call_sizes(0, 65536, 65536), 65536);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(call_sizes(0, wrong[i], 4), -E2BIG);
		CHECK_EQ(call_sizes(0, 4, wrong[i]), -E2BIG);
		CHECK_EQ(call_sizes(0, wrong[i], wrong[i]), -E2BIG);
	}
	for (int which = 1; which <= 3; which++)
		CHECK_EQ(call_sizes(which, 4, 4), -ENOENT);
	CHECK_EQ(call_sizes(8, 4, 4), -ENOENT);
	CHECK_EQ(call_sizes(4, 100, 100), -EBADMSG);
	CHECK_EQ(call_sizes(4, 101, 100), -E2BIG);
	CHECK_EQ(call_sizes(4, 100, 101), -E2BIG);
	CHECK_EQ(call_sizes(5, 4, 4), -EOVERFLOW);
	CHECK_EQ(call_sizes(5, 65536, 65536), -EOVERFLOW);
	CHECK_EQ(call_sizes(6, 4, 4), -EOVERFLOW);
	CHECK_EQ(call_sizes(7, 4, 1), -E2BIG);
}

/* ---- printing: what comes is standard error's */

static void lines(void)
{
	enum { BLOCKS = 24, LINES = 100 };
	int length = 0;

	for (int block = 0; block < BLOCKS; block++) {
		a[block] = 0;
		for (int i = 0; i < LINES; i++)
			length += snprintf(NULL, 0, "block %d line %d: %*s|\n", block, i, i * 7 % 60, "");
	}
	CHECK_OK(RUN("lines", BLOCKS, adsmInOut(a), VAL(LINES)));
	for (int block = 0; block < BLOCKS; block++)
		length -= a[block];
	CHECK_EQ(length, 0);
}

static void formats(void)
{
	const float f = 3.25f;
	const long l = 1234567890123;

	CHECK_OK(RUN("formats", 1, adsmInOut(a), adsmVal(f), adsmVal(l)));
	for (int i = 0; i < 25; i++)
		printf("%d%s", a[i], i < 24 ? " " : "\n");
}

static void long_lines(void)
{
	static const int n[] = { 1, 60000, 65000, 65534, 65535, 65536, 69999 };

	for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
		/* The format and the string have to have room in the buffer, the text with its end as well. */
		const int most = n[i] + 1 < 65536 ? n[i] + 1 : -E2BIG;

		CHECK_OK(RUN("long_line", 1, adsmInOut(a), VAL(n[i])));
		CHECK_EQ(a[0], most);
		CHECK_EQ(a[1], n[i] + 20 < 65536 ? most : -E2BIG);
		CHECK_EQ(a[2], n[i] + 24 >= 65536 ? -E2BIG : n[i] < 10 ? n[i] + 1 : 11);
	}
}

/* ---- loops */

static void loops(void)
{
	static const int chunks[] = { 1, 7, 64, 5000 };

	for (size_t c = 0; c < sizeof(chunks) / sizeof(chunks[0]); c++)
		for (int blocks = 1; blocks <= 48; blocks *= 4) {
			int sum = 0;

			memset(a, 0, N * sizeof(*a));
			memset(b, 0, N * sizeof(*b));
			CHECK_OK(RUN("loop", blocks, adsmInOut(a), adsmInOut(b), VAL(3000), VAL(chunks[c]), VAL(c)));
			for (int i = 0; i < N; i++) {
				CHECK_AT(a[i], i, i < 3000);
				sum += b[i];
			}
			CHECK_EQ(sum, 3000);
		}
}

static void counters(void)
{
	long *numbers = adsmAlloc(6 * sizeof(*numbers));
	static const long expected[] = { 0, 0, 5, 0, LONG_MAX, LONG_MAX };

	/* Each call has counters of its own. */
	for (int round = 0; round < 2; round++) {
		CHECK_OK(RUN("counters", 1, adsmInOut(numbers)));
		for (int i = 0; i < 6; i++)
			CHECK_AT(numbers[i], i, expected[i]);
	}
	for (int i = 0; i < 3; i++) {
		const int chunk = i == 0 ? 0 : i == 1 ? -1 : 5;
		const unsigned counter = i == 2 ? 16 : 0;

		CHECK_EQ(RUN("loop", 2, adsmInOut(a), adsmInOut(b), VAL(10), VAL(chunk), adsmVal(counter)), -EINVAL);
		CHECKF(strstr(adsmLastError(), "kernel 'loop': ADSM_NEXT with counter ") &&
		       strstr(adsmLastError(), "the counter must be from 0 to 15"), "round %d", i);
	}
	CHECK_OK(adsmFree(numbers));
}

/* ---- memory */

static void lists(void)
{
	for (int blocks = 1; blocks <= 48; blocks *= 4) {
		const int n = 40;

		CHECK_OK(RUN("list", blocks, adsmInOut(a), VAL(n)));
		for (int block = 0; block < blocks; block++) {
			int sum = 0;

			for (int round = 0; round < 3; round++)
				for (int i = 1; i < n; i += 2)
					for (int k = 0; k < 20; k++)
						sum += block * n + i + k;
			CHECK_AT(a[block], block, sum);
		}
	}
}

static void rooms(unsigned long size, int n, int expected)
{
	memset(a, 0, 3 * sizeof(*a));
	CHECK_OK(RUN("rooms", 1, adsmInOut(a), adsmVal(size), VAL(n)));
	CHECKF(a[0] == expected && a[1] == 3 * a[0] && !a[2], "%d of %lu bytes: %d, %d, %d", n, size, a[0], a[1], a[2]);
}

/* The device has 64 MiB. The objects here use little of it. */
static void memory(void)
{
	int n;

	lists();
	for (int round = 0; round < 20; round++)
		rooms(10ul << 20, 5, 3);
	rooms(2, 1000, 1000);
	rooms(65, 3, 3);
	rooms(0, 2, 0);
	rooms(1ul << 30, 2, 0);
	rooms(1ul << 62, 2, 0);
	rooms(~0ul, 2, 0);
	rooms((1ul << 63) + 1, 2, 0);
	a[0] = 0;
	n = 24 * 20;
	CHECK_OK(RUN("again", 24, adsmInOut(a), adsmVal(1ul << 20), VAL(20)));
	CHECK_EQ(a[0], n);
	for (int how = 1; how <= 3; how++) {
		CHECK_EQ(RUN("free_wrong", 1, adsmInOut(a), VAL(how)), -EINVAL);
		CHECK(strstr(adsmLastError(), "kernel 'free_wrong' frees 0x"));
		CHECK(strstr(adsmLastError(), ", which is not memory allocated by ADSM_ALLOC"));
		CHECK_EQ(a[0], 1);
	}
	/* What the program allocates and what kernels do is one memory. */
	rooms(32ul << 20, 1, 1);
	n = 0;
	/* The object gets device memory because the program gets its device address. */
	CHECK(adsmSafe(adsmAlloc(40ul << 20)));
	rooms(32ul << 20, 1, 0);
	rooms(8ul << 20, 1, 1);
}

/* ---- ends */

static _Atomic bool is_in, may_leave;

static void await(const _Atomic bool *word)
{
	while (!*word)
		usleep(100);
}

static int slow(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	int n;

	memcpy(&n, in, sizeof(n));
	*(int *)ctx = n + 1;
	if (n < 20)
		return 0;
	is_in = true;
	await(&may_leave);
	return 0;
}

static void *unregister(void *arg)
{
	CHECK_OK(adsmServiceUnregister("slow"));
	*(_Atomic bool *)arg = true;
	return NULL;
}

/* A kernel waits for a function, and another thread waits for the kernel's end. */
static void unregistered(void)
{
	_Atomic bool gone = false;
	pthread_t thread;
	int n = 0;

	CHECK_OK(adsmServiceRegister("slow", slow, sizeof(int), 0, &n));
	CHECK_OK(CALL("until_gone", 1, adsmInOut(a)));
	await(&is_in);
	CHECK_OK(pthread_create(&thread, NULL, unregister, &gone));
	/* From when on it is not found its number is free. */
	while (adsmServiceRegister("slow", fails, 0, 0, NULL) == -EEXIST)
		usleep(100);
	CHECK(!gone);
	CHECK_OK(adsmServiceUnregister("slow"));
	may_leave = true;
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(adsmSync());
	CHECK_EQ(n, 21);
	CHECK_EQ(a[0], 21);
	CHECK_EQ(a[1], -ENOENT);
}

static int wait_here(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	is_in = true;
	await(&may_leave);
	return 0;
}

/* The device ends while one of its kernels waits for the program, and the program waits in the function. The library
 * does not wait for the function to return; a program that needs to know that it has returned unregisters it. */
static void lost(void)
{
	const unsigned long nowhere = 8;

	CHECK_OK(adsmServiceRegister("wait", wait_here, 0, 0, NULL));
	CHECK_OK(CALL("wait_and_crash", 2, adsmPtr(a), adsmVal(nowhere)));
	CHECK_EQ(adsmSync(), -ENODEV);
	CHECKF(strstr(adsmLastError(), "wait_and_crash"), "%s", adsmLastError());
	CHECK_OK(adsmFree(a));
	CHECK_OK(adsmFree(b));
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	may_leave = true;
	CHECK_OK(adsmServiceUnregister("wait"));
}

static int block_for_ever(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	is_in = true;
	while (is_in)
		pause();
	return 0;
}

static int go(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	is_in = true;
	return 0;
}

/* What of the program is left is for the test to see. */
static void leave(const char *how)
{
	const bool in_service = strstr(how, "service");

	CHECK_OK(adsmServiceRegister("go", in_service ? block_for_ever : go, 0, 0, NULL));
	CHECK_OK(CALL("print_on", 6, VAL(1000000000)));
	await(&is_in);
	if (!strncmp(how, "kill", 4))
		kill(getpid(), SIGKILL);
	else if (!strncmp(how, "_exit", 5))
		_exit(0);
	exit(0);
}

static int exits(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	exit(0);
}

static void exit_inside(void)
{
	CHECK_OK(adsmServiceRegister("inside", exits, 0, 0, NULL));
	RUN("once", 1, adsmInOut(a), adsmInOut(b));
	FAIL("it goes on");
}

static int leaves(const void *left, const void *right)
{
	pthread_exit(NULL);
}

/* A function that ends its thread: the call fails, and the device continues. */
static int ends_thread(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	const int how = *(const int *)ctx;
	int two[2] = { 1, 2 };

	if (how == 0)
		pthread_exit(NULL);
	if (how == 3)
		qsort(two, 2, sizeof(*two), leaves);	/* in a call of another library's */
	if (how == 2)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_cancel(pthread_self());
	/* Here there is a point of cancellation. */
	while (how == 1)
		pause();
	return 0;
}

static void thread_ended(void)
{
	atomic_int calls = 0;
	int how;

	CHECK_OK(adsmServiceRegister("square", square, sizeof(int), sizeof(int), &calls));
	for (how = 0; how < 4; how++) {
		CHECK_OK(adsmServiceRegister("inside", ends_thread, 0, 0, &how));
		a[0] = b[0] = 0;
		CHECK_EQ(RUN("once", 1, adsmInOut(a), adsmInOut(b)), -ECANCELED);
		CHECK(strstr(adsmLastError(), "kernel 'once': service 'inside' did not return: it ended its "
			     "thread"));
		CHECK_EQ(b[0], -ECANCELED);
		CHECK_EQ(a[0], 1);
		CHECK_OK(adsmServiceUnregister("inside"));
		CHECK_OK(RUN("squares", 6, adsmInOut(a), VAL(10)));
		for (int i = 0; i < 60; i++)
			CHECK_AT(a[i], i, i * i);
	}
	CHECK_EQ(calls, 240);
}

/* ---- what functions must not do */

static int *unused;
static adsmKernel *another;
static sigjmp_buf back;
static struct { int sync, call, stop, unregister, child, read, alloc_errno, touched, mine; bool alloc; } told;

static void jump_back(int sig)
{
	siglongjmp(back, sig);
}

static int inside(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	const int zero = open("/dev/zero", O_RDONLY);

	told.sync = adsmSync();
	told.call = adsmCall(another, adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmOut(unused), VAL(1), VAL(1));
	told.stop = adsmShutdown();
	told.unregister = adsmServiceUnregister("inside");
	errno = 0;
	told.alloc = adsmAlloc(4096);
	told.alloc_errno = errno;
	/* Another one is no matter. */
	CHECK_OK(adsmServiceRegister("another", fails, 0, 0, NULL));
	CHECK_OK(adsmServiceUnregister("another"));
	/* What no call uses. */
	unused[0]++;
	/* What this one uses. */
	told.read = read(zero, a, 64) < 0 ? errno : 0;
	close(zero);
	told.touched = sigsetjmp(back, 1);
	if (!told.touched)
		told.mine = *(volatile int *)a;
	return 0;
}

static adsmOnce *units, *idle;

/* The same for what a call by units uses, and for memory that is lent. */
static int in_call_by_units(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	adsmLoan *loan;
	void *at;

	CHECK_EQ(adsmOnceFree(idle), -EDEADLK);
	CHECK_EQ(adsmOnceFree(NULL), 0);
	CHECK_OK(adsmLend(unused, 64, ADSM_ACCESS_INOUT, &loan, &at));
	((int *)at)[1] = 7;
	CHECK_OK(adsmLoanEnd(loan, 64));
	CHECK_EQ(adsmLend(a, 64, ADSM_ACCESS_IN, &loan, &at), -EDEADLK);
	return adsmOnceFree(units);
}

static void rules_of_units(void)
{
	const int *result;

	CHECK((units = adsmOnceAlloc(1, 64, NULL)) && (idle = adsmOnceAlloc(1, 64, NULL)));
	CHECK_OK(adsmServiceRegister("inside", in_call_by_units, 0, 0, NULL));
	CHECK_OK(adsmOnceCall(kernel("once"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmInOut(a),
			      adsmOnceOut(units, 0, 1)));
	result = adsmOnceGet(units, 0);
	CHECK(result);
	CHECK_EQ(result[0], -EDEADLK);
	CHECK_OK(adsmSync());
	CHECK_EQ(unused[1], 7);
	CHECK_OK(adsmServiceUnregister("inside"));
	CHECK_OK(adsmOnceFree(units));
	CHECK_OK(adsmOnceFree(idle));
}

static void rules(void)
{
	struct sigaction action = { .sa_handler = jump_back };

	unused = adsmAlloc(4096);
	CHECK(unused);
	another = kernel("fill");
	unused[0] = 41;
	CHECK_OK(RUN("fill", 1, adsmOut(unused), VAL(41), VAL(1)));
	CHECK_OK(sigaction(SIGBUS, &action, NULL));
	CHECK_OK(adsmServiceRegister("inside", inside, 0, 0, NULL));
	b[0] = -1;
	CHECK_OK(RUN("once", 1, adsmInOut(a), adsmInOut(b)));
	CHECK_EQ(b[0], 0);
	CHECK_EQ(a[0], 1);
	CHECK_EQ(unused[0], 42);
	CHECK_EQ(told.sync, -EDEADLK);
	CHECK_EQ(told.stop, -EDEADLK);
	CHECK_EQ(told.unregister, -EDEADLK);
	CHECK(!told.alloc);
	CHECK_EQ(told.alloc_errno, EDEADLK);
	CHECK_EQ(told.touched, SIGBUS);
	CHECK_EQ(told.mine, 0);
	CHECKF(told.read, "read() into what a call uses");
	CHECK_EQ(told.call, -EDEADLK);
	CHECK_OK(adsmServiceUnregister("inside"));
	rules_of_units();
}

static void parts(void)
{
	atomic_int calls = 0;

	CHECK_OK(adsmServiceRegister("square", square, sizeof(int), sizeof(int), &calls));
	CHECK_OK(RUN("parts", 6, adsmInOut(a), VAL(30)));
	for (int i = 0; i < 30; i++)
		CHECK_AT(a[i], i, i * i);
}

static void tasks(void)
{
	atomic_int calls = 0;

	CHECK_OK(adsmServiceRegister("square", square, sizeof(int), sizeof(int), &calls));
	b[0] = 0;
	CHECK_OK(RUN("workers", 6, adsmInOut(a), adsmInOut(b), VAL(501)));
	for (int i = 0; i < 501; i++)
		CHECK_AT(a[i], i, i * i);
	CHECK_EQ(b[0], 501);
	CHECK_EQ(calls, 501);
	/* What workers are given is of the device's 64 MiB; on cores with a local store there is more beside it. */
	CHECK_OK(RUN("pieces", 1, adsmInOut(a), VAL(100)));
	CHECKF(strcmp(getenv("ADSM_BACKEND"), "cpu") ? a[0] == 100 : a[0] > 50 && a[0] < 64, "%d pieces",
	       a[0]);
	CHECK_EQ(a[1], a[0]);
}

/* A device without services: the errors of kernels with services, and a kernel without. */
static void refused(void)
{
	CHECK_EQ(RUN("squares", 1, adsmInOut(a), VAL(1)), -ENOTSUP);
	CHECK(strstr(adsmLastError(), "kernel 'squares' calls services") && strstr(adsmLastError(), "'scratchpad'"));
	CHECK_EQ(RUN("list", 1, adsmInOut(a), VAL(1)), -ENOTSUP);
	CHECK_EQ(RUN("loop", 1, adsmInOut(a), adsmInOut(b), VAL(1), VAL(1), VAL(1)), -ENOTSUP);
	CHECK_EQ(RUN("lines", 1, adsmInOut(a), VAL(1)), -ENOTSUP);
	CHECK_OK(adsmCall(kernel("fill"), adsmDim3(N / 64, 1, 1), adsmDim3(64, 1, 1), adsmOut(a), VAL(42), VAL(N)));
	CHECK_OK(adsmSync());
	for (int i = 0; i < N; i++)
		CHECK_AT(a[i], i, 42);
}

static const struct { const char *name; void (*run)(void); } cases[] = {
	{ "squares", squares }, { "sizes", sizes }, { "lines", lines }, { "formats", formats }, { "long", long_lines },
	{ "loops", loops }, { "counters", counters }, { "memory", memory }, { "unregistered", unregistered },
	{ "thread-ended", thread_ended }, { "lost", lost }, { "exit-inside", exit_inside }, { "rules", rules },
	{ "tasks", tasks }, { "parts", parts }, { "refused", refused },
};

int main(int argc, char **argv)
{
	CHECK_EQ(argc, 3);
	module = adsmModuleLoad(argv[1]);
	if (!module && check_no_driver(-errno)) {
		printf("no device: %s\n", adsmLastError());
		return 77;
	}
	CHECK(module);
	a = adsmAlloc(N * sizeof(*a));
	b = adsmAlloc(N * sizeof(*b));
	CHECK(a && b);
	if (!strncmp(argv[2], "leave-", 6))
		leave(argv[2] + 6);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[2]))
			continue;
		cases[i].run();
		return 0;
	}
	FAIL("no case '%s'", argv[2]);
}
