/* SPDX-License-Identifier: MIT */
/*
 * costs.c - an application whose calls have known costs on a cluster: costs MODULE STEP... A step is a kernel of
 * tests/kernels/nodes.c, which is called once, with 6 blocks of one thread; or
 *
 *	reload		the module is unloaded, and loaded again
 *	reset		counters begin anew
 *	touch		the CPU writes to the second object, of one block
 *	leave		the program ends here
 */
#include <adsm.h>

#include <stdlib.h>

#define CHECK_MORE adsmLastError()
#include "../check.h"

#define PAGE 1024ul		/* words */
#define N_PAGES 8u
#define N_BLOCKS 6u

static adsmModule *module;
static const char *path;
static unsigned *a, *b;
static unsigned n_own, n_striped, n_counted;

static void load(void)
{
	if (module)
		CHECK_OK(adsmModuleUnload(module));
	module = adsmModuleLoad(path);
	CHECK(module);
}

static void call(const char *name)
{
	adsmKernel *kernel = adsmKernelGet(module, name);
	const adsmDim grid = adsmDim3(N_BLOCKS, 1, 1), block = adsmDim3(1, 1, 1);
	const unsigned never = 0, n_pages = N_PAGES;
	const unsigned long spins = 10000000;

	CHECK(kernel);
	if (!strcmp(name, "own"))
		CHECK_OK(adsmCall(kernel, grid, block, adsmPtr(a), adsmPtr(b), adsmVal(never)));
	else if (!strcmp(name, "striped"))
		CHECK_OK(adsmCall(kernel, grid, block, adsmPtr(a), adsmVal(n_pages)));
	else if (!strcmp(name, "worked"))
		CHECK_OK(adsmCall(kernel, grid, block, adsmPtr(a), adsmVal(spins)));
	else
		CHECK_OK(adsmCall(kernel, grid, block, adsmPtr(a)));
	CHECK_OK(adsmSync());
	n_own += !strcmp(name, "own");
	n_striped += !strcmp(name, "striped");
	n_counted += N_BLOCKS * !strncmp(name, "counted", 7);
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	path = argv[1];
	a = adsmAlloc(N_PAGES * PAGE * sizeof(*a));
	b = adsmAlloc(N_BLOCKS * PAGE * sizeof(*b));
	CHECK(a && b);
	memset(a, 0, N_PAGES * PAGE * sizeof(*a));
	memset(b, 0, N_BLOCKS * PAGE * sizeof(*b));
	load();
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "reload"))
			load();
		else if (!strcmp(argv[i], "reset"))
			adsmStatsReset();
		else if (!strcmp(argv[i], "touch"))
			b[0]++;
		else if (!strcmp(argv[i], "leave"))
			exit(0);
		else
			call(argv[i]);
	}
	CHECK_EQ(a[512], n_counted);
	for (unsigned p = 0; p < N_PAGES; p++) {
		CHECK_EQ(a[p * PAGE], p < N_BLOCKS ? n_own : 0);
		for (unsigned block = 0; block < N_BLOCKS; block++)
			CHECK_EQ(a[p * PAGE + 1 + block], n_striped);
	}
	adsmFree(a);
	adsmFree(b);
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	return 0;
}
