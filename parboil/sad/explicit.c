/* SPDX-License-Identifier: MIT */
/* explicit.c - sad with explicit copies: two pointers for each array. Read beside adsm.c. */
#include "sad.h"

void sad_explicit(struct pb_run *run)
{
	adsmKernel *search, *sum_to_8x8 = pb_kernel(run, "SumTo8x8");
	adsmKernel *sum_to_16x16 = pb_kernel(run, "SumTo16x16");
	adsmDim grid, block;
	uint16_t *frame, *sads;
	uint16_t *d_frame, *d_sads;
	struct sad sad;

	sad_open(&sad, run);
	search = sad_search_kernel(&sad, run);
	frame = pb_host_alloc(sad.frame_bytes);
	sads = pb_host_alloc(sad.sads_bytes);
	d_frame = pb_device_alloc(sad.frame_bytes);
	d_sads = pb_device_alloc(sad.sads_bytes);

	pb_read(run, sad.in, run->inputs[1], frame, sad.frame_bytes);
	pb_check(adsmCopyToDevice(d_frame, frame, sad.frame_bytes));
	pb_check(adsmDeviceFill(d_sads, 0, sad.sads_bytes));

	grid = (adsmDim){ sad.width / 4, sad.height / 4, 1 };
	block = (adsmDim){ SAD_SEARCH_THREADS, 1, 1 };
	pb_check(adsmCall(search, grid, block, sad_search_reference(&sad), adsmPtr(d_frame), adsmPtr(d_sads),
			  adsmVal(sad.width), adsmVal(sad.height)));
	pb_check(adsmSync());
	grid = (adsmDim){ sad.width / 16, sad.height / 16, 1 };
	block = (adsmDim){ SAD_SUM_THREADS, 4, 1 };
	pb_check(adsmCall(sum_to_8x8, grid, block, adsmPtr(d_sads)));
	pb_check(adsmSync());
	block = (adsmDim){ SAD_SUM_THREADS, 1, 1 };
	pb_check(adsmCall(sum_to_16x16, grid, block, adsmPtr(d_sads)));
	pb_check(adsmSync());
	pb_check(adsmCopyToHost(sads, d_sads, sad.sads_bytes));

	sad_write(&sad, run, sads);
	pb_stop(run);
	sad_verify(run, sads);

	pb_free(d_frame);
	pb_free(d_sads);
	pb_host_free(frame);
	pb_host_free(sads);
	sad_close(&sad);
}
