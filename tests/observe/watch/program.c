/* SPDX-License-Identifier: MIT */
/*
 * program.c - a program to watch: program MODULE. For each line of standard input: "round" calls a kernel and reads its
 * output, "run" does so until the input ends, "stats" does nothing. Each line is answered by counters of the process.
 * "exec" is not: the process then runs another program, until the input ends.
 */
#include <adsm.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N (64 << 10)

static adsmKernel *kernel;
static int *a, *b;

static int one_round(void)
{
	int sum = 0;

	for (int i = 0; i < N; i += 1024)
		a[i] = i;
	if (adsmCall(kernel, adsmDim3(N / 64, 1, 1), adsmDim3(64, 1, 1), adsmIn(a), adsmInOut(b), adsmVal(N)) ||
	    adsmSync())
		return 1;
	for (int i = 0; i < N; i += 1024)
		sum += b[i];
	return sum == -1;
}

int main(int argc, char **argv)
{
	adsmModule *module = argc > 1 ? adsmModuleLoad(argv[1]) : NULL;
	char line[32];

	kernel = module ? adsmKernelGet(module, "add") : NULL;
	a = adsmAlloc(N * sizeof(int));
	b = adsmAlloc(N * sizeof(int));
	if (!kernel || !a || !b || adsmSetName(b, "the\tsums") || adsmMemset(b, 0, N * sizeof(int))) {
		fprintf(stderr, "%s\n", adsmLastError());
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		struct pollfd input = { .fd = 0, .events = POLLIN };
		adsmStats stats;
		int error = 0;

		if (!strcmp(line, "exec\n"))
			error = execlp("cat", "cat", (char *)NULL);
		do
			error |= strcmp(line, "stats\n") ? one_round() : 0;
		while (!strcmp(line, "run\n") && !error && !poll(&input, 1, 0));
		adsmStatsGet(&stats, sizeof(stats));
		printf("%d %llu %llu %llu\n", error, (unsigned long long)stats.h2d_bytes,
		       (unsigned long long)stats.d2h_bytes, (unsigned long long)stats.calls);
		fflush(stdout);
	}
	return 0;
}
