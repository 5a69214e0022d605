/* SPDX-License-Identifier: MIT */
/* cuda.c - sad on CUDA's driver: the reference image is sent while the frame is read from its file. */
#include "../common/cuda.h"
#include "sad.h"

#include <string.h>

void sad_cuda(struct pb_run *run)
{
	void *search = pb_cu_kernel(run, "Search"), *sum_to_8x8 = pb_cu_kernel(run, "SumTo8x8");
	void *sum_to_16x16 = pb_cu_kernel(run, "SumTo16x16");
	struct pb_array reference, frame, sads;
	adsmDim grid, block;
	struct sad sad;

	sad_open(&sad, run);
	reference = pb_cu_alloc(run, sad.frame_bytes);
	frame = pb_cu_alloc(run, sad.frame_bytes);
	sads = pb_cu_alloc(run, sad.sads_bytes);

	memcpy(reference.host, sad.reference, sad.frame_bytes);
	pb_cu_send(run, reference, 0, sad.frame_bytes);
	pb_cu_zero(run, sads);
	pb_cu_read(run, sad.in, run->inputs[1], frame);

	grid = (adsmDim){ sad.width / 4, sad.height / 4, 1 };
	block = (adsmDim){ SAD_SEARCH_THREADS, 1, 1 };
	pb_cu_call(run, search, grid, block, &reference.device, &frame.device, &sads.device, &sad.width, &sad.height);
	grid = (adsmDim){ sad.width / 16, sad.height / 16, 1 };
	block = (adsmDim){ SAD_SUM_THREADS, 4, 1 };
	pb_cu_call(run, sum_to_8x8, grid, block, &sads.device);
	block = (adsmDim){ SAD_SUM_THREADS, 1, 1 };
	pb_cu_call(run, sum_to_16x16, grid, block, &sads.device);
	pb_cu_fetch(run, sads, 0, sad.sads_bytes);

	sad_write(&sad, run, sads.host);
	pb_stop(run);
	sad_verify(run, sads.host);

	pb_cu_free(run, reference);
	pb_cu_free(run, frame);
	pb_cu_free(run, sads);
	sad_close(&sad);
}
