/* SPDX-License-Identifier: MIT */
/* app.c - a program whose calls succeed, or fail in a known way: app MODULE STEP... Each step is a call. If it fails,
 * the program writes the error's sentence, and continues with the values that it has. */
#include <adsm.h>
#include <stdlib.h>

#define FAIL(...) check_failed(stderr, __FILE__, __LINE__, errno, adsmLastError(), __VA_ARGS__)
#include "../check.h"

#define N (1u << 20)

static adsmModule *module;
static float *a, *b;
static const adsmDim one = { 1, 1, 1 };

static adsmDim line(unsigned n)
{
	return (adsmDim){ n, 1, 1 };
}

/* A call that may fail; then everything is as before. */
#define MAY_FAIL(name, ...) do { \
	adsmKernel *kernel_ = adsmKernelGet(module, name); \
	int ret_; \
\
	a[5] = 77; \
	ret_ = kernel_ ? adsmCall(kernel_, one, one, __VA_ARGS__) : -ENOENT; \
	if (!ret_) \
		ret_ = adsmSync(); \
	if (ret_) \
		printf("%s: %d: %s\n", name, ret_, adsmLastError()); \
	else \
		printf("%s: ok\n", name); \
	CHECK(a[5] == 77); \
	a[5] = 78; \
	CHECK(a[5] == 78); \
} while (0)

static void scale(void)
{
	for (unsigned i = 0; i < N; i++)
		a[i] = (float)(i & 1023);
	CHECK_OK(adsmCall(adsmKernelGet(module, "scale"), line(N / 256), line(256), adsmIn(a),
			  adsmOut(b), adsmVal(N)));
	CHECK_OK(adsmSync());
	for (unsigned i = 0; i < N; i++)
		CHECK(b[i] == 3 * (float)(i & 1023));
}

/* Of three calls, each with 50 blocks. */
static void variables(void)
{
	static const unsigned expected[] = { 150, 4, 5 + 6 + 7, 6 + 7 + 8, 7 + 8 + 9, 7 + 3 * 11 };
	unsigned *out = adsmAlloc(64);

	for (unsigned i = 0; i < 3; i++)
		CHECK_OK(adsmCall(adsmKernelGet(module, "count"), line(50), one, adsmVal(11u)));
	CHECK_OK(adsmCall(adsmKernelGet(module, "recall"), one, one, adsmOut(out)));
	CHECK_OK(adsmSync());
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		CHECK_AT(out[i], i, expected[i]);
}

static void every_other(void)
{
	/* That many blocks that the second core is used, too, and has its half before the first one has ended. */
	const unsigned n = 40000;
	unsigned char *bytes = adsmAlloc(n);

	for (unsigned round = 0; round < 1000; round++) {
		CHECK_OK(adsmCall(adsmKernelGet(module, "every_other"), line(2), one, adsmInOut(bytes),
				  adsmVal(n), adsmVal(round)));
		CHECK_OK(adsmSync());
		for (unsigned i = 0; i < n; i++)
			CHECK_AT(bytes[i], i, (unsigned char)(round * 7 + i));
	}
}

struct odd { unsigned char a; unsigned b[5]; unsigned short c; };

static void kinds(void)
{
	enum { COUNT = 1000 };
	static const int primes[] = { 2, 3, 5, 7, 11, 13, 17, 19 };
	struct odd with[2] = { { 1, { 2, 3, 4, 5, 6 }, 7 }, { 8, { 9, 10, 11, 12, 13 }, 14 } };
	struct odd *odd = adsmAlloc(2 * COUNT * sizeof(*odd));
	int *counts = adsmAlloc(5 * sizeof(*counts)), n = COUNT;

	for (int i = 0; i < COUNT; i++) {
		odd[i] = (struct odd){ (unsigned char)i, { 0 }, (unsigned short)i };
		odd[i].b[4] = (unsigned)i;
	}
	memset(counts, 0, 5 * sizeof(*counts));
	CHECK_OK(adsmCall(adsmKernelGet(module, "kinds"), line(10), line(100), adsmInOut(odd),
			  adsmConst(with, sizeof(with)), adsmInOut(counts), adsmVal(n)));
	CHECK_OK(adsmSync());
	for (int i = 0; i < COUNT; i++) {
		CHECK_AT(odd[i].c, i, with[i % 2].c + primes[i % 8]);
		CHECK_AT(odd[i].b[4], i, with[i % 2].b[4]);
		CHECK_AT(odd[COUNT + i].b[4], i, i);
		CHECK_AT(odd[COUNT + i].a, i, (unsigned char)i);
	}
	CHECK_EQ(counts[0], 3 * COUNT);
	CHECK_EQ(counts[1], COUNT - 1);
	CHECK_EQ(counts[2], 1 - COUNT);
	CHECK_EQ(counts[3], 0xffff);
	CHECK_EQ(counts[4], 55);
}

static void step(const char *name)
{
	const unsigned shallow = 50, bottomless = 100000, words = 1000;
	const unsigned long of_a = (unsigned long)a + 16, behind_b = (unsigned long)(b + N) + 64, nowhere = 8;
	const unsigned long odd = (unsigned long)b + 17;

	if (!strcmp(name, "scale"))
		scale();
	else if (!strcmp(name, "every_other"))
		every_other();
	else if (!strcmp(name, "variables"))
		variables();
	else if (!strcmp(name, "kinds"))
		kinds();
	else if (!strcmp(name, "raw") || !strcmp(name, "raw_store"))
		MAY_FAIL(name, adsmInOut(b), adsmVal(of_a));
	else if (!strcmp(name, "null"))
		MAY_FAIL("raw", adsmInOut(b), adsmVal(nowhere));
	else if (!strcmp(name, "far"))
		MAY_FAIL("far", adsmInOut(b), adsmVal(nowhere));
	else if (!strcmp(name, "behind"))
		MAY_FAIL("far", adsmInOut(b), adsmVal(behind_b));
	else if (!strcmp(name, "near"))
		MAY_FAIL("far", adsmInOut(b), adsmVal(of_a));
	else if (!strcmp(name, "unaligned"))
		MAY_FAIL("unaligned", adsmInOut(b), adsmVal(odd));
	else if (!strcmp(name, "deep"))
		MAY_FAIL("deep", adsmInOut(b), adsmVal(bottomless));
	else if (!strcmp(name, "shallow"))
		MAY_FAIL("deep", adsmInOut(b), adsmVal(shallow));
	else if (!strcmp(name, "large"))
		MAY_FAIL("large", adsmInOut(b), adsmVal(words));
	else
		FAIL("no step '%s'", name);
}

int main(int argc, char **argv)
{
	module = adsmModuleLoad(argv[1]);
	if (!module) {
		printf("module: %s\n", adsmLastError());
		return 0;
	}
	a = adsmAlloc(N * sizeof(*a));
	b = adsmAlloc(N * sizeof(*b));
	CHECK(a && b);
	a[0] = 1;
	for (int i = 2; i < argc; i++)
		step(argv[i]);
	return 0;
}
