/* SPDX-License-Identifier: MIT */
/* warned.c - programs with habits that warnings are about, and some with none. The options make each count certain. */
#include <adsm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_MORE adsmLastError()
#include "../../check.h"

#define PAGE ((size_t)4096)		/* a block */

static const adsmDim one = { 1, 1, 1 };
static adsmKernel *nothing;

static char *make(size_t size, const char *name)
{
	char *p = adsmAlloc(size);

	CHECK(p);
	CHECK_OK(adsmSetName(p, name));
	return p;
}

static void call(adsmArg arg)
{
	CHECK_OK(adsmCallArgs(nothing, one, one, &arg, 1));
	CHECK_OK(adsmSync());
}

static void write_blocks(volatile char *p, size_t first, size_t n)
{
	for (size_t b = first; b < first + n; b++)
		p[b * PAGE] = 1;
}

/* Blocks written in turn, more than may be Dirty. */
static void thrash(char *p, size_t n)
{
	for (int pass = 0; pass < 20; pass++)
		write_blocks(p, 0, n);
}

static void run_again(void)
{
	thrash(make(32 * PAGE, "grid"), 32);
}

/* Of thousands sent early a few are: the last ones. */
static void run_again_few(void)
{
	char *p = make(4096 * PAGE, "grid");

	write_blocks(p, 0, 4096);
	thrash(p, 30);
}

/* What a call has taken is sent to be written anew. */
static void run_again_called(void)
{
	char *p = make(32 * PAGE, "grid");

	for (int i = 0; i < 40; i++) {
		write_blocks(p, 0, 32);
		call(adsmIn(p));
	}
}

static void run_many(void)
{
	char name[16];

	for (int i = 0; i < 14; i++) {
		snprintf(name, sizeof(name), "grid%d", i);
		thrash(make(32 * PAGE, name), 32);
	}
}

/* One word of each result. */
static void fetch(char *p, int n)
{
	for (int i = 0; i < n; i++) {
		call(adsmInOut(p));
		(void)*(volatile char *)p;
	}
}

static void run_fetch(void)
{
	fetch(make(64 * PAGE, "sum"), 70);
}

static void run_fetch_on(void)
{
	fetch(make(64 * PAGE, "sum"), 140);
}

/* As many, of little; and not as many as are worth a word. */
static void run_fetch_few(void)
{
	fetch(make(PAGE, "small"), 70);
	fetch(make(64 * PAGE, "sum"), 63);
}

static void run_ends(void)
{
	fetch(make(PAGE, "sum"), 3);
}

static void run_shutdown(void)
{
	char *p = make(PAGE, "sum");

	fetch(p, 3);
	CHECK_OK(adsmFree(p));
	nothing = NULL;
}

/* What another thread sends costs this one nothing, */
static void run_background(void)
{
	adsmStats stats;

	write_blocks(make(8 * PAGE, "grid"), 0, 6);
	do {
		usleep(1000);
		CHECK_OK(adsmStatsGet(&stats, sizeof(stats)));
	} while (stats.h2d_transfers < 4);
}

/* unless it waits for that: here for one block, the others are the kernel's to write. */
static void run_waits(void)
{
	char *p = make(8 * PAGE, "grid");

	write_blocks(p, 0, 3);
	call(adsmOut(p));
}

static const struct {
	const char *name;
	void (*run)(void);
} programs[] = {
	{ "again", run_again }, { "again-few", run_again_few }, { "again-called", run_again_called },
	{ "many", run_many }, { "fetch", run_fetch }, { "fetch-on", run_fetch_on }, { "fetch-few", run_fetch_few },
	{ "ends", run_ends }, { "shutdown", run_shutdown }, { "background", run_background },
	{ "waits", run_waits },
};

int main(int argc, char **argv)
{
	adsmModule *module = adsmModuleLoad(argc == 3 ? argv[2] : "");

	CHECK(module);
	nothing = adsmKernelGet(module, "nothing");
	CHECK(nothing);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strcmp(argv[1], programs[i].name)) {
			programs[i].run();
			if (!nothing) {
				CHECK_OK(adsmModuleUnload(module));
				CHECK_OK(adsmShutdown());
			}
			return 0;
		}
	return 2;
}
