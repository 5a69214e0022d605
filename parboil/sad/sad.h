/* SPDX-License-Identifier: MIT */
/* sad.h - what the variants of sad share: everything that is not shared data. */
#ifndef PARBOIL_SAD_H
#define PARBOIL_SAD_H

#include "../common/harness.h"

/* As in kernels.c. */
#define SAD_RANGE 16				/* displacements go from -16 to 16, both ways */
#define SAD_SIDE (2 * SAD_RANGE + 1)
#define SAD_POSITIONS (SAD_SIDE * SAD_SIDE)
#define SAD_VECTOR 1096				/* sums of one block, padded */
#define SAD_VECTORS 41				/* of a macroblock: blocks in it, of all types */

#define SAD_SEARCH_THREADS 61
#define SAD_SUM_THREADS 32

/* The two images; their pixels have 16 bits, and are at most 255. */
struct sad {
	int width, height;
	size_t n_macroblocks;
	size_t frame_bytes, sads_bytes;		/* of an image, of all sums */
	uint16_t *reference;			/* private memory */
	void *d_reference;			/* the same on the device; NULL: constant memory has room */
	FILE *in;				/* the current frame, read up to its pixels */
};

/* What the sums must be, in the order of the sums on the device, without padding. */
struct sad_reference {
	size_t n_macroblocks;
	uint16_t sads[];
};

extern const struct pb_bench sad_bench;

void sad_adsm(struct pb_run *run);
void sad_explicit(struct pb_run *run);
void sad_cuda(struct pb_run *run);

/* Open and check both files, and read the reference image. */
void sad_open(struct sad *ret_sad, struct pb_run *run);
/* The kernel of the search, and its argument: the reference image where it has to be. Once, in this order. */
adsmKernel *sad_search_kernel(struct sad *sad, struct pb_run *run);
adsmArg sad_search_reference(const struct sad *sad);
/* Write the output file: the sums of six rows of macroblocks. */
void sad_write(const struct sad *sad, struct pb_run *run, const uint16_t *sads);
/* Compare with the reference, and note the result. */
void sad_verify(struct pb_run *run, const uint16_t *sads);
/* Close the file and free the reference image. */
void sad_close(struct sad *sad);

#endif
