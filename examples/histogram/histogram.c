/* SPDX-License-Identifier: MIT */
/* histogram.c - prints how often each letter occurs in a file. The kernel is in CUDA C, and needs no GPU. */
#include <adsm.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "histogram: %s: %s\n", what, why);
	exit(1);
}

/* The bytes of a file. fread() writes them to shared memory. */
static unsigned char *read_file(const char *path, unsigned *ret_size)
{
	FILE *file = fopen(path, "rb");
	unsigned char *text;
	long size = -1;

	if (file && !fseek(file, 0, SEEK_END))
		size = ftell(file);
	if (size <= 0)
		fail(path, size ? strerror(errno) : "the file is empty");
	rewind(file);
	text = adsmAlloc((size_t)size);
	if (!text)
		fail("adsmAlloc", adsmLastError());
	if (fread(text, 1, (size_t)size, file) != (size_t)size)
		fail(path, "the file became shorter");
	fclose(file);
	*ret_size = (unsigned)size;
	return text;
}

int main(int argc, char **argv)
{
	const size_t size = 256 * sizeof(unsigned);
	unsigned char *text, *fold;
	unsigned *bins, n;
	adsmModule *module;
	adsmKernel *histogram;

	if (argc != 2)
		fail("usage", "histogram FILE");
	module = adsmModuleLoad("histogram.adsm");
	histogram = module ? adsmKernelGet(module, "histogram") : NULL;
	fold = module ? adsmModuleGlobal(module, ADSM_DEVICE_CURRENT, "fold", NULL) : NULL;
	bins = adsmAlloc(size);
	if (!histogram || !fold || !bins || adsmMemset(bins, 0, size))
		fail("histogram.adsm", adsmLastError());
	for (int c = 0; c < 256; c++)		/* the kernel's __constant__ variable, by plain stores */
		fold[c] = (unsigned char)(c < 128 ? tolower(c) : c);
	text = read_file(argv[1], &n);
	if (adsmCall(histogram, adsmDim3(16, 1, 1), adsmDim3(256, 1, 1), adsmPtr(text), adsmVal(n), adsmPtr(bins)) ||
	    adsmSync())
		fail("histogram", adsmLastError());
	for (int c = 'a'; c <= 'z'; c++)
		printf("%c %u\n", c, bins[c]);
	adsmFree(text);
	adsmFree(bins);
	return 0;
}
