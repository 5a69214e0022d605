/* SPDX-License-Identifier: MIT */
/* dsp.h - what the kernels and the program agree on. */
#ifndef PO_DSP_H
#define PO_DSP_H

#define DSP_TAPS 64			/* of the filter */
#define DSP_VECTOR 16			/* numbers of a vector */
#define DSP_CODEBOOK 256		/* vectors to choose from */
#define DSP_SIDE 8			/* of a block of the picture */
#define DSP_POINTS (DSP_SIDE * DSP_SIDE)
/* A transformed number is so many times what an orthonormal transform gives. */
#define DSP_SCALE 32768
/* Of a run: how many zeroes come before, and the level, which is not 0. */
#define DSP_RUN(zeroes, level) ((int)((unsigned)(zeroes) << 16 | ((unsigned)(level) & 0xffff)))

/* Quantisation of a luminance block, as ITU-T T.81 (JPEG), Annex K, has it; and its order of diagonals. */
#define DSP_QUANTA { \
	16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, \
	14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62, \
	18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, \
	49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99 }

#endif
