/* SPDX-License-Identifier: MIT */
/* kernels.c - the convolution of an image: each pixel becomes a weighted sum of the 3 x 3 pixels around it. */
#include <adsm_kernel.h>

/* At the edges of the image the nearest pixel counts instead of a missing one. */
ADSM_FUNCTION int inside(int i, int n)
{
	return i < 0 ? 0 : i < n ? i : n - 1;
}

/* A pixel is four bytes: red, green, blue and alpha. Alpha stays as it is. */
ADSM_KERNEL_MAX(convolve, 256, ADSM_IN(unsigned char, in), ADSM_OUT(unsigned char, out), ADSM_CONST(int, weights),
		ADSM_VAL(int, divisor), ADSM_VAL(int, width), ADSM_VAL(int, height))
{
	ADSM_THREADS {
		int x = ADSM_GLOBAL_X, y = ADSM_GLOBAL_Y, at = 4 * (y * width + x);

		if (x >= width || y >= height)
			continue;
		for (int c = 0; c < 3; c++) {
			int sum = 0;

			for (int i = 0; i < 9; i++)
				sum += weights[i] * in[4 * (inside(y + i / 3 - 1, height) * width +
							    inside(x + i % 3 - 1, width)) + c];
			sum /= divisor;
			out[at + c] = (unsigned char)(sum < 0 ? 0 : sum < 255 ? sum : 255);
		}
		out[at + 3] = in[at + 3];
	}
}
