/* SPDX-License-Identifier: MIT */
/* stops.c - a program to look at: objects in several states, calls of sums.c. stops MODULE [crash | stray] */
#include <adsm.h>
#include <adsm_queue.h>
#include <stdio.h>
#include <string.h>

#define N 4096

/* Where the debugger stops, with all objects in states that it knows. */
static void here(void)
{
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	const adsmAllocOptions options = { .struct_size = sizeof(options), .protocol = "rolling", .block_size = 4096,
					   .device = ADSM_DEVICE_CURRENT };
	adsmModule *module = argc > 1 ? adsmModuleLoad(argv[1]) : NULL;
	adsmKernel *add = module ? adsmKernelGet(module, "add") : NULL;
	const char *how = argc > 2 ? argv[2] : "";
	int *a = adsmAllocWith(N * sizeof(int), &options), *b = adsmAllocWith(N * sizeof(int), &options), sum = 0;
	adsmDim grid = adsmDim3(N / 64, 1, 1), block = adsmDim3(64, 1, 1);
	adsmEvent event = { 0 };
	adsmStats stats;

	if (!add || !a || !b || adsmSetName(b, "the sums")) {
		fprintf(stderr, "%s\n", adsmLastError());
		return 1;
	}
	for (int i = 0; i < N; i++) {
		a[i] = i;
		b[i] = 1;
	}
	if (!strcmp(how, "stray"))
		adsmCall(adsmKernelGet(module, "stray"), grid, block, adsmInOut(b));
	else
		adsmCall(add, grid, block, adsmIn(a), adsmInOut(b), adsmVal(N));
	adsmCallEvent(&event);
	if (adsmSync())
		fprintf(stderr, "%s\n", adsmLastError());
	sum = b[0];
	b[1024] = 7;
	adsmStatsGet(&stats, sizeof(stats));
	here();
	if (!strcmp(how, "crash"))
		*(volatile int *)16 = sum;
	for (int i = 1; i < N; i++)
		sum += b[i];
	printf("%d\n", sum);
	return 0;
}
