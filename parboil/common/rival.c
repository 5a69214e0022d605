/* SPDX-License-Identifier: MIT */
/* rival.c - which of the variants without the library is written in what. */
#include "rival.h"

#include "cuda.h"
#ifdef PB_HAVE_OPENCL
#include "opencl.h"
#endif

const char *pb_rival_about(enum pb_variant variant)
{
	return pb_is_opencl(variant) ? "in plain OpenCL" : "on CUDA's driver";
}

void pb_rival_open(struct pb_run *run, struct pb_setup *setup)
{
	bool opencl = pb_is_opencl(setup->variant);

	if (!opencl)
		pb_cuda_open(run, setup->variant, setup->device, sizeof(setup->device));
#ifdef PB_HAVE_OPENCL
	else
		pb_opencl_open(run, setup->variant, setup->device, sizeof(setup->device));
#endif
	snprintf(setup->backend, sizeof(setup->backend), "%s", opencl ? "opencl" : "cuda");
	snprintf(setup->protocol, sizeof(setup->protocol), "none");
	snprintf(setup->link, sizeof(setup->link), "off");
}

void pb_rival_close(struct pb_run *run)
{
	if (run->cuda)
		pb_cuda_close(run);
#ifdef PB_HAVE_OPENCL
	if (run->opencl)
		pb_opencl_close(run);
#endif
}
