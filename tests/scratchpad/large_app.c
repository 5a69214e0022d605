/* SPDX-License-Identifier: MIT */
/* large_app.c - runs the kernels of large_kernels.c: large_app MODULE [curves | room BYTES]. Prints a line for each
 * message with its digest, and a line with the numbers of walk(); or the numbers of the kernel. */
#include <stdio.h>
#include <stdlib.h>

#include <adsm.h>

#define N_MESSAGES 4
#define N_BLOCKS 3			/* of a message; the last one has the padding only */
#define N_WALKS 64

static int fail(void)
{
	printf("%s\n", adsmLastError());
	return 1;
}

static int curves(adsmModule *module)
{
	adsmKernel *kernel = module ? adsmKernelGet(module, "curves") : NULL;
	float *x = adsmAlloc(N_WALKS * sizeof(*x)), *out = adsmAlloc(N_WALKS * sizeof(*out));

	if (!kernel || !x || !out)
		return fail();
	for (int i = 0; i < N_WALKS; i++)
		x[i] = 0.02f * (float)i;
	if (adsmCall(kernel, adsmDim3(1, 1, 1), adsmDim3(N_WALKS, 1, 1), adsmPtr(x), adsmPtr(out)) || adsmSync())
		return fail();
	for (int i = 0; i < N_WALKS; i++)
		printf("%a\n", out[i]);
	return 0;
}

/* The kernel of large.py: @bytes is its argument. */
static int room(adsmModule *module, int bytes)
{
	adsmKernel *kernel = module ? adsmKernelGet(module, "room") : NULL;
	int *out = adsmAlloc(sizeof(*out));

	if (!kernel || !out)
		return fail();
	/* Twice, because a call may leave memory that it has not freed. */
	for (int i = 0; i < 2; i++) {
		if (adsmCall(kernel, adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmPtr(out), adsmVal(bytes)) || adsmSync())
			return fail();
		printf("%d\n", *out);
	}
	return 0;
}

int main(int argc, char **argv)
{
	adsmModule *module = adsmModuleLoad(argv[1]);
	adsmKernel *digest = module ? adsmKernelGet(module, "digest") : NULL;
	adsmKernel *walk = module ? adsmKernelGet(module, "walk") : NULL;
	unsigned char *bytes = adsmAlloc(N_MESSAGES * N_BLOCKS * 64);
	unsigned *digests = adsmAlloc(N_MESSAGES * 8 * sizeof(*digests));
	unsigned *words = adsmAlloc(64 * sizeof(*words)), *out = adsmAlloc(N_WALKS * sizeof(*out));

	if (argc > 3)
		return room(module, atoi(argv[3]));
	if (argc > 2)
		return curves(module);
	if (!digest || !walk || !bytes || !digests || !words || !out)
		return fail();
	for (int i = 0; i < N_MESSAGES * N_BLOCKS * 64; i++)
		bytes[i] = (unsigned char)(i % 192 < 128 ? i * 7 + i / 192 : i % 192 == 128 ? 0x80 :
					   i % 192 == 190 ? 1024 >> 8 : 0);
	for (unsigned i = 0; i < 64; i++)
		words[i] = i * i * 40503u;
	if (adsmCall(digest, adsmDim3(1, 1, 1), adsmDim3(N_MESSAGES, 1, 1), adsmPtr(bytes), adsmPtr(digests),
		     adsmVal(N_BLOCKS)) ||
	    adsmCall(walk, adsmDim3(1, 1, 1), adsmDim3(N_WALKS, 1, 1), adsmPtr(words), adsmPtr(out)) || adsmSync())
		return fail();
	for (int i = 0; i < N_MESSAGES * 8; i++)
		printf("%08x%s", digests[i], i % 8 == 7 ? "\n" : "");
	for (int i = 0; i < N_WALKS; i++)
		printf("%08x%s", out[i], i == N_WALKS - 1 ? "\n" : "");
	return 0;
}
