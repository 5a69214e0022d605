/* SPDX-License-Identifier: MIT */
/* rival.h - variants without the library, which it is measured against: in plain OpenCL, and on CUDA's driver. */
#ifndef PARBOIL_RIVAL_H
#define PARBOIL_RIVAL_H

#include "job.h"

static inline bool pb_is_opencl(enum pb_variant variant)
{
	return variant == PB_OPENCL || variant == PB_SVM;
}

static inline bool pb_is_rival(enum pb_variant variant)
{
	return variant >= PB_OPENCL;
}

/* What they are written in, for messages. */
const char *pb_rival_about(enum pb_variant variant);
/* Take the device, build the kernels, say which device it is. All that goes wrong ends the program. */
void pb_rival_open(struct pb_run *run, struct pb_setup *setup);
void pb_rival_close(struct pb_run *run);

#endif
