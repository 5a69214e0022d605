/* SPDX-License-Identifier: MIT */
/* kernels.c - counts lines and words. Each thread counts in a piece of the text. */
#include <adsm_kernel.h>

enum { PIECE = 4096 };			/* bytes; as in wordcount.c */

struct counts {
	int lines, words;
};

ADSM_FUNCTION int is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A word counts where it begins: at a character behind a space, or at the first character of the text. */
ADSM_KERNEL_MAX(count, 64, ADSM_IN(char, text), ADSM_OUT(struct counts, counts), ADSM_VAL(long, size),
		ADSM_VAL(int, n_pieces))
{
	ADSM_THREADS {
		int piece = ADSM_GLOBAL_X, lines = 0, words = 0;
		long first = (long)piece * PIECE, end = first + PIECE < size ? first + PIECE : size;
		int after_space = 1;

		if (piece >= n_pieces)
			continue;
		if (first > 0)
			after_space = is_space(text[first - 1]);
		for (long i = first; i < end; i++) {
			int space = is_space(text[i]);

			lines += text[i] == '\n';
			words += after_space && !space;
			after_space = space;
		}
		counts[piece].lines = lines;
		counts[piece].words = words;
	}
}
