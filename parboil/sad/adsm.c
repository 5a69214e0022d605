/* SPDX-License-Identifier: MIT */
/* adsm.c - sad with shared memory: one pointer for each array. Read beside explicit.c. */
#include "sad.h"

#include <string.h>

void sad_adsm(struct pb_run *run)
{
	adsmKernel *search, *sum_to_8x8 = pb_kernel(run, "SumTo8x8");
	adsmKernel *sum_to_16x16 = pb_kernel(run, "SumTo16x16");
	adsmDim grid, block;
	uint16_t *frame, *sads;
	struct sad sad;

	sad_open(&sad, run);
	search = sad_search_kernel(&sad, run);
	frame = pb_shared_alloc(sad.frame_bytes);
	sads = pb_shared_alloc(sad.sads_bytes);

	pb_read(run, sad.in, run->inputs[1], frame, sad.frame_bytes);
	memset(sads, 0, sad.sads_bytes);

	grid = (adsmDim){ sad.width / 4, sad.height / 4, 1 };
	block = (adsmDim){ SAD_SEARCH_THREADS, 1, 1 };
	pb_check(adsmCall(search, grid, block, sad_search_reference(&sad), adsmPtr(frame), adsmPtr(sads),
			  adsmVal(sad.width), adsmVal(sad.height)));
	pb_check(adsmSync());
	grid = (adsmDim){ sad.width / 16, sad.height / 16, 1 };
	block = (adsmDim){ SAD_SUM_THREADS, 4, 1 };
	pb_check(adsmCall(sum_to_8x8, grid, block, adsmPtr(sads)));
	pb_check(adsmSync());
	block = (adsmDim){ SAD_SUM_THREADS, 1, 1 };
	pb_check(adsmCall(sum_to_16x16, grid, block, adsmPtr(sads)));
	pb_check(adsmSync());

	sad_write(&sad, run, sads);
	pb_stop(run);
	sad_verify(run, sads);

	pb_free(frame);
	pb_free(sads);
	sad_close(&sad);
}
