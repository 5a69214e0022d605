/* SPDX-License-Identifier: MIT */
/* crossings.c - one write fault, each function that it enters in a library built for that: see crossings.py. */
#include <adsm.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

#define BLOCK 4096
#define N_BLOCKS 128
#define ENTERED_MAX 4096
#define DEPTH_MAX 64

#define HOOK __attribute__((no_instrument_function, visibility("default")))

struct entered {
	void *function, *by;
};

static _Thread_local volatile bool noting;	/* helper threads have their own */
static void *volatile inside[DEPTH_MAX];
static struct entered entered[ENTERED_MAX];
static volatile size_t depth, n_entered;

void __cyg_profile_func_enter(void *function, void *from) HOOK;
void __cyg_profile_func_exit(void *function, void *from) HOOK;

/* From where it was called says nothing: what is inlined is entered, too, and has its user's. */
void __cyg_profile_func_enter(void *function, void *from)
{
	if (!noting || n_entered == ENTERED_MAX || depth == DEPTH_MAX)
		return;
	entered[n_entered++] = (struct entered){ function, depth ? inside[depth - 1] : NULL };
	inside[depth++] = function;
}

void __cyg_profile_func_exit(void *function, void *from)
{
	depth -= noting && depth;
}

static long offset(void *function)
{
	Dl_info library;

	return function && dladdr(function, &library) ? (char *)function - (char *)library.dli_fbase : 0;
}

static void show(const char *what, volatile char *p)
{
	depth = n_entered = 0;
	noting = true;
	*p = 1;
	noting = false;
	for (size_t i = 0; i < n_entered; i++)
		printf("%s %lx %lx\n", what, offset(entered[i].function), offset(entered[i].by));
}

int main(void)
{
	char *p;

	/* What is filled as a whole only the device has. */
	if (adsmInit() || !(p = adsmAlloc(N_BLOCKS * BLOCK)) || adsmMemset(p, 1, N_BLOCKS * BLOCK)) {
		fprintf(stderr, "crossings: %s\n", adsmLastError());
		return 1;
	}
	/* The first ones do more; and those in sequence open several. */
	for (size_t b = 0; b < 32; b += 4) {
		((volatile char *)p)[b * BLOCK] = 1;
		(void)((volatile char *)p)[(b + 2) * BLOCK];
	}
	show("invalid", p + 64 * BLOCK);
	(void)((volatile char *)p)[96 * BLOCK];
	show("read-only", p + 96 * BLOCK);
	adsmFree(p);
	return adsmShutdown() ? 1 : 0;
}
