/* SPDX-License-Identifier: MIT */
/*
 * call.c - calls a kernel of a module: call MODULE KERNEL BLOCKS THREADS ARGUMENT... An argument is p<bytes>, a new
 * object full of zeros; i<number>, an int; s<bytes>, memory of the block. Prints the error of the call, or "ok".
 */
#include <adsm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8

static int numbers[MOST];

static adsmArg argument(const char *text, int *place)
{
	const long value = atol(text + 1);
	void *p;

	if (*text == 's')
		return adsmLocal((size_t)value);
	if (*text == 'i') {
		*place = (int)value;
		return (adsmArg){ ADSM_ARG_VALUE, 0, place, sizeof(*place) };
	}
	p = adsmAlloc((size_t)value);
	if (p)
		memset(p, 0, (size_t)value);
	return adsmPtr(p);
}

int main(int argc, char **argv)
{
	adsmModule *module = argc > 4 ? adsmModuleLoad(argv[1]) : NULL;
	adsmKernel *kernel = module ? adsmKernelGet(module, argv[2]) : NULL;
	adsmArg args[MOST];
	unsigned n = 0;
	int error;

	if (!kernel || argc > 5 + MOST) {
		fprintf(stderr, "no call: %s\n", adsmLastError());
		return 1;
	}
	for (; n + 5 < (unsigned)argc; n++)
		args[n] = argument(argv[n + 5], &numbers[n]);
	error = adsmCallArgs(kernel, adsmDim3((unsigned)atoi(argv[3]), 1, 1), adsmDim3((unsigned)atoi(argv[4]), 1, 1),
			     args, n);
	if (!error)
		error = adsmSync();
	puts(error ? adsmLastError() : "ok");
	return 0;
}
