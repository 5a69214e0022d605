/* SPDX-License-Identifier: MIT */
/* rival.h - variants written in plain OpenCL, which the library is measured against; they do without it. */
#ifndef PARBOIL_RIVAL_H
#define PARBOIL_RIVAL_H

#include "job.h"

/* Where the build found OpenCL. Else no benchmark has such variants, and these are never called. */
#ifdef PB_HAVE_OPENCL
#define PB_RIVALS_BUILT true
/* Take the device, build the kernels, say which device it is. All that goes wrong ends the program. */
void pb_rival_open(struct pb_run *run, struct pb_setup *setup);
void pb_rival_close(struct pb_run *run);
#else
#define PB_RIVALS_BUILT false
static inline void pb_rival_open(struct pb_run *run, struct pb_setup *setup)
{
	(void)run;
	(void)setup;
}

static inline void pb_rival_close(struct pb_run *run)
{
	(void)run;
}
#endif

static inline bool pb_is_rival(enum pb_variant variant)
{
	return variant == PB_OPENCL || variant == PB_SVM;
}

#endif
