/* SPDX-License-Identifier: MIT */
/* code_app.c - a program with the kernels of code_kernels.c: code_app MODULE STEP... Each step's results equal those of
 * ordinary calls. If a step fails, the program writes the error's sentence, and continues. */
#include <adsm.h>
#include <math.h>
#include <stdlib.h>

#define FAIL(...) check_failed(stderr, __FILE__, __LINE__, errno, adsmLastError(), __VA_ARGS__)
#include "../check.h"
#include "traces.h"

static const char *path;
static adsmModule *module;
static const adsmDim one = { 1, 1, 1 };

/* ---- the traces */

/* A node and those that it calls, as words; where it is. */
static unsigned write_node(unsigned *words, unsigned *n_words, const struct trace_node *node)
{
	const unsigned at = *n_words;

	*n_words += 3 + node->n;
	words[at] = node->who;
	words[at + 1] = node->times;
	words[at + 2] = node->n;
	for (unsigned i = 0; i < node->n; i++)
		words[at + 3 + i] = write_node(words, n_words, node->calls[i]);
	return at;
}

static void run_traces(void)
{
	static const char *const kernels[N_TRACES] = {
		"mb1", "mb1_3", "mb1_5", "mb2", "mb3", "mb5", "mb6", "mb7", "mb8", "mb8_350", "ping",
	};
	unsigned *words = adsmAlloc(4096);
	unsigned long *value = adsmAlloc(sizeof(*value)), *other = adsmAlloc(sizeof(*other));

	for (size_t i = 0; i < N_TRACES; i++) {
		unsigned n_words = 0;

		write_node(words, &n_words, traces[i].root);
		CHECK(n_words <= 1024);
		*other = i;
		CHECK_OK(adsmCall(adsmKernelGet(module, kernels[i]), one, one, adsmIn(words), adsmOut(value)));
		CHECK_OK(adsmCall(adsmKernelGet(module, "fits"), one, one, adsmInOut(other)));
		CHECK_OK(adsmSync());
		CHECKF(*value == trace_value(traces[i].root, 1), "%s", traces[i].name);
		CHECK_EQ(*other, i + 1);
	}
	adsmFree(words);
	adsmFree(value);
	adsmFree(other);
}

/* ---- calls of all kinds */

static unsigned long even_odd(long n)
{
	unsigned long sum = 0;

	for (long i = 0; i <= n; i++)
		sum += (unsigned long)(((n - i) % 2 ? 5 : 7) * i);
	return sum;
}

static unsigned long expected_word(long n)
{
	const long ints = n + 2 * (n + 1) + 3 * (n + 2) + 5 * (n + 3) + 7 * (n + 4) + 11 * (n + 5);
	const double x = (double)n, floats = x * 0.5 + 2 * (x + 1) + 3 * (x + 2) + 5 * (x + 3) + 7 * (x + 4) +
		11 * (x + 5) + 13 * (x + 6) + 17 * (x + 7);
	unsigned long sum = 0, words = (unsigned long)ints * 31 + (unsigned long)floats;

	for (long i = 0; i < 24; i++)
		words = words * 31 + (unsigned long)(n * i + 5);
	for (long i = 0; i < 3; i++) {
		sum += words + (unsigned long)(9 * (n + i) + 36);
		sum += (unsigned long)((n + i) & 1 ? 2 * n : 3 * n) + even_odd(20);
	}
	return sum;
}

static float expected_sum(const float *a, long n)
{
	static const long primes[] = { 2, 3, 5, 7, 11, 13, 17, 19 };
	float sum = 0;

	for (long i = 0; i < 3; i++) {
		float far = 0;

		for (long k = 0; k < 8; k++)
			far += a[k] * (float)primes[(k + n + i) & 7];
		sum += sinf(far) + far;
	}
	return sum;
}

static void run_mixed(void)
{
	enum { BLOCKS = 40, N = 16 * BLOCKS };
	float *a = adsmAlloc(8 * BLOCKS * sizeof(*a)), *sums = adsmAlloc(N * sizeof(*sums));
	unsigned long *words = adsmAlloc(N * sizeof(*words));
	int *blocks = adsmAlloc(sizeof(*blocks));
	const adsmDim grid = { BLOCKS, 1, 1 }, block = { 16, 1, 1 };

	for (int i = 0; i < 8 * BLOCKS; i++)
		a[i] = (float)(i % 13) / 8;
	*blocks = 0;
	CHECK_OK(adsmCall(adsmKernelGet(module, "mixed"), grid, block, adsmIn(a), adsmOut(words), adsmOut(sums),
			  adsmInOut(blocks)));
	CHECK_OK(adsmSync());
	CHECK_EQ(*blocks, BLOCKS);
	for (int i = 0; i < N; i++) {
		const float *own = a + i / 16 * 8;
		const int next = i / 16 * 16 + (i + 1) % 16;
		const float want = expected_sum(own, i) + expected_sum(own, next);

		CHECK_AT(words[i], i, expected_word(i));
		CHECKF(fabsf(sums[i] - want) <= fabsf(want) * 1e-5f, "%d: %g, not %g", i, (double)sums[i],
		       (double)want);
	}
	adsmFree(a);
	adsmFree(sums);
	adsmFree(words);
	adsmFree(blocks);
}

/* Variables keep their values from call to call, until the module is unloaded. */
static void run_variables(void)
{
	enum { N = 10, BLOCKS = 40, CALLS = 3 };
	const adsmDim grid = { BLOCKS, 1, 1 };
	long *kept = adsmAlloc(2 * N * sizeof(*kept)), *blocks = adsmAlloc(BLOCKS * sizeof(*blocks));
	long *now = adsmAlloc(2 * sizeof(*now)), total = 3, last = 1;

	for (int call = 0; call < CALLS; call++) {
		CHECK_OK(adsmCall(adsmKernelGet(module, "keep"), one, one, adsmOut(kept), adsmVal((long)N)));
		CHECK_OK(adsmCall(adsmKernelGet(module, "tally"), grid, one, adsmOut(blocks)));
		CHECK_OK(adsmCall(adsmKernelGet(module, "recall"), one, one, adsmOut(now)));
		CHECK_OK(adsmSync());
		for (long i = 0; i < N; i++) {
			CHECK_AT(kept[2 * i], i, total += i);
			CHECK_AT(kept[2 * i + 1], i, total = total * (i % 5) + last);
			last = i % 5;
		}
		CHECK_EQ(now[0], total);
		CHECK_EQ(now[1], 2 * BLOCKS * (call + 1));
		for (long i = 0; i < BLOCKS; i++)
			CHECK_AT(blocks[i], i, 5 * i);
	}
	adsmFree(kept);
	adsmFree(blocks);
	adsmFree(now);
}

static void run_depth(long n)
{
	adsmKernel *kernel = adsmKernelGet(module, "depth");
	long *value = adsmAlloc(sizeof(*value)), *other = adsmAlloc(sizeof(*other));
	int ret = -ENOENT;

	*value = n;
	*other = 77;
	if (kernel)
		ret = adsmCall(kernel, one, one, adsmInOut(value));
	if (!ret)
		ret = adsmSync();
	if (ret)
		printf("depth: %d: %s\n", ret, adsmLastError());
	else
		CHECK_EQ(*value, even_odd(n));
	CHECK_EQ(*other, 77);
	*other = 78;
	CHECK_EQ(*other, 78);
	adsmFree(value);
	adsmFree(other);
}

/* ---- */

static void load(void)
{
	module = adsmModuleLoad(path);
	if (!module)
		printf("module: %s\n", adsmLastError());
}

static void step(const char *name)
{
	if (!strcmp(name, "traces"))
		run_traces();
	else if (!strcmp(name, "mixed"))
		run_mixed();
	else if (!strcmp(name, "variables"))
		run_variables();
	else if (!strcmp(name, "shallow"))
		run_depth(200);
	else if (!strcmp(name, "deep"))
		run_depth(2000);
	else if (!strcmp(name, "again")) {
		CHECK_OK(adsmModuleUnload(module));
		load();
	} else if (!strcmp(name, "pause")) {
		puts("paused");
		fflush(stdout);
		getchar();
	} else
		FAIL("no step '%s'", name);
}

int main(int argc, char **argv)
{
	path = argv[1];
	load();
	for (int i = 2; module && i < argc; i++)
		step(argv[i]);
	return 0;
}
