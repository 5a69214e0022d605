/* SPDX-License-Identifier: MIT */
/*
 * compare.c - kernels of parboil/ in CUDA C and in the dialect, with the same random inputs: compare MODULE DIALECT for
 * the modules of one program. Buffers must be equal afterwards: integers exactly, floats but for rounding.
 */
#include <adsm.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define CHECK_MORE adsmLastError()
#include "../../check.h"

#define MOST_ARGS 9
#define A(kind_, n_) { .kind = #kind_[0], .n = (n_) }
#define V(value_) { .kind = 'v', .value = (value_) }

/*
 * An argument: f, u, s, l: an array of n floats, integers, short and long integers. c: one of floats, which are
 * constants in the dialect. i, v: an integer, a float. 0: NULL. In CUDA C the constants may be a variable of the module
 * instead.
 */
static const struct kernel {
	const char *name, *variable;
	unsigned grid[3], block[3];
	struct arg { char kind; int n; float value; } args[MOST_ARGS];
} kernels[] = {
	{ "vecadd", NULL, { 4 }, { 256 }, { A(f, 1000), A(f, 1000), A(f, 1000), A(i, 1000) } },
	{ "BlackScholes", NULL, { 5 }, { 128 }, { A(f, 3000), A(f, 3000), A(f, 3000), A(f, 3000), A(f, 3000),
	  A(i, 3000), A(i, 600), V(0.02f), V(0.3f) } },
	{ "BlackScholes", NULL, { 5 }, { 128 }, { A(f, 3000), A(f, 3000), A(f, 3000), A(f, 3000), A(f, 3000),
	  A(i, 3000), A(i, 0), V(0.02f), V(0.3f) } },
	{ "cenergy", "atoms", { 2, 4 }, { 16, 8 }, { A(c, 4 * 50), A(i, 50), V(0.1f), A(f, 2 * 16 * 8 * 32) } },
	{ "ComputePhiMag", NULL, { 3 }, { 512 }, { A(f, 1500), A(f, 1500), A(f, 1500), A(i, 1500) } },
	{ "ComputeQ", NULL, { 4 }, { 256 }, { A(c, 4 * 60), A(i, 60), A(f, 1024), A(f, 1024), A(f, 1024),
	  A(f, 1024), A(f, 1024) } },
	{ "RhoPhi", NULL, { 3 }, { 512 }, { A(f, 1500), A(f, 1500), A(f, 1500), A(f, 1500), A(f, 1500),
	  A(f, 1500), A(i, 1500) } },
	{ "FH", NULL, { 4 }, { 256 }, { A(c, 5 * 60), A(i, 60), A(f, 1024), A(f, 1024), A(f, 1024),
	  A(f, 1024), A(f, 1024) } },
	{ "Stencil", NULL, { 2, 4, 8 }, { 8, 4, 2 }, { A(f, 24 * 24 * 24), A(f, 16 * 16 * 16), A(f, 24 * 24 * 24),
	  A(i, 16) } },
	{ "Scan", NULL, { 6 }, { 256 }, { A(u, 3000), A(u, 3000), A(u, 6), A(i, 3000), A(i, 3) } },
	{ "Scan", NULL, { 1 }, { 256 }, { A(u, 400), A(u, 400), A(0, 0), A(i, 400), A(i, 1) } },
	{ "AddSums", NULL, { 6 }, { 256 }, { A(u, 3000), A(u, 6), A(i, 3000) } },
	{ "Search", NULL, { 12, 8 }, { 61 }, { A(s, 48 * 32), A(s, 48 * 32), A(s, 41 * 6 * 1096), A(i, 48),
	  A(i, 32) } },
	{ "SumTo8x8", NULL, { 3, 2 }, { 32, 4 }, { A(u, 41 * 6 * 548) } },
	{ "SumTo16x16", NULL, { 3, 2 }, { 32 }, { A(u, 41 * 6 * 548) } },
	{ "Histograms", "boundaries", { 5 }, { 256 }, { A(f, 3 * 300 * 3), A(l, 5 * 20), A(c, 21), A(i, 300), A(i, 300),
	  A(i, 2) } },
};

static uint64_t state;

static uint32_t next(void)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(state >> 33);
}

static size_t size_of(char kind)
{
	return kind == 's' ? 2 : kind == 'l' ? 8 : 4;
}

static bool is_array(char kind)
{
	return kind && strchr("fuslc", kind);
}

static void fill(char kind, void *p, int n)
{
	for (int i = 0; i < n; i++) {
		switch (kind) {
		case 'f': case 'c': ((float *)p)[i] = 0.1f + (float)next() / 2147483648.0f; break;
		case 's': ((uint16_t *)p)[i] = next() & 255; break;
		case 'u': ((uint32_t *)p)[i] = next() & 0xffff; break;
		default: ((uint64_t *)p)[i] = next();
		}
	}
}

/* Boundaries of bins grow. */
static void sort(float *p, int n)
{
	for (int i = 1; i < n; i++)
		p[i] += p[i - 1];
}

static void set_variable(adsmModule *module, const char *name, const void *bytes, size_t size)
{
	size_t room = 0;
	void *variable = adsmModuleGlobal(module, ADSM_DEVICE_CURRENT, name, &room);

	CHECKF(variable && size <= room, "%s has %zu bytes, not %zu", name, room, size);
	memcpy(variable, bytes, size);
}

/* Call a kernel with inputs that are the same for the same one, and return its buffers. */
static void call(const struct kernel *kernel, adsmModule *module, bool dialect, void **ret_buffers)
{
	adsmKernel *found = adsmKernelGet(module, kernel->name);
	adsmArg args[MOST_ARGS];
	size_t n = 0;

	CHECKF(found, "%s", kernel->name);
	state = (uint64_t)(kernel - kernels) + 1;
	for (int i = 0; i < MOST_ARGS && kernel->args[i].kind; i++) {
		const char kind = kernel->args[i].kind;
		const size_t size = (size_t)kernel->args[i].n * size_of(kind);

		ret_buffers[i] = NULL;
		if (is_array(kind)) {
			ret_buffers[i] = adsmAlloc(size);
			CHECK(ret_buffers[i]);
			fill(kind, ret_buffers[i], kernel->args[i].n);
			if (kind == 'c' && kernel->args[i].n == 21)
				sort(ret_buffers[i], 21);
		}
		if (kind == 'c' && dialect)
			args[n++] = adsmConst(ret_buffers[i], size);
		else if (kind == 'c' && kernel->variable)
			set_variable(module, kernel->variable, ret_buffers[i], size);
		else if (is_array(kind) || kind == '0')
			args[n++] = adsmPtr(ret_buffers[i]);
		else
			args[n++] = (adsmArg){ ADSM_ARG_VALUE, 0, kind == 'i' ? (const void *)&kernel->args[i].n :
					       &kernel->args[i].value, 4 };
	}
	CHECK_OK(adsmCallArgs(found, adsmDim3(kernel->grid[0], kernel->grid[1], kernel->grid[2]),
			      adsmDim3(kernel->block[0], kernel->block[1], kernel->block[2]), args, n));
	CHECK_OK(adsmSync());
}

static void compare(const struct kernel *kernel, void *const *a, void *const *b)
{
	for (int i = 0; i < MOST_ARGS && kernel->args[i].kind; i++) {
		const char kind = kernel->args[i].kind;

		if (!is_array(kind))
			continue;
		for (int j = 0; j < kernel->args[i].n; j++) {
			const float x = ((float *)a[i])[kind == 'f' ? j : 0], y = ((float *)b[i])[kind == 'f' ? j : 0];
			const size_t size = size_of(kind);

			if (kind == 'f')
				CHECKF(fabsf(x - y) <= 2e-4f * fmaxf(1, fabsf(y)), "%s: argument %d, element %d: %g, "
				       "not %g", kernel->name, i, j, (double)x, (double)y);
			else
				CHECKF(!memcmp((char *)a[i] + j * size, (char *)b[i] + j * size, size),
				       "%s: argument %d, element %d", kernel->name, i, j);
		}
		CHECK_OK(adsmFree(a[i]));
		CHECK_OK(adsmFree(b[i]));
	}
}

int main(int argc, char **argv)
{
	adsmModule *module, *dialect;
	int n = 0;

	CHECK(argc == 3);
	module = adsmModuleLoad(argv[1]);
	dialect = adsmModuleLoad(argv[2]);
	CHECK(module && dialect);
	for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
		void *buffers[MOST_ARGS], *wanted[MOST_ARGS];

		if (!adsmKernelGet(module, kernels[k].name))
			continue;
		call(&kernels[k], module, false, buffers);
		call(&kernels[k], dialect, true, wanted);
		compare(&kernels[k], buffers, wanted);
		n++;
	}
	printf("%d launches are equal\n", n);
	CHECK(n);
	return 0;
}
