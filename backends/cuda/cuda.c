/* SPDX-License-Identifier: MIT */
/* cuda.c - CUDA devices: which there are, opening and closing them, what their errors mean. */
#include "cuda.h"

#include "list.h"

static int adsm_cuda_probe(void)
{
	return 0;
}

const struct adsm_backend adsm_backend_cuda = {
	.version = ADSM_BACKEND_VERSION,
	.name = "cuda",
	.probe = adsm_cuda_probe,
};
