/* SPDX-License-Identifier: MIT */
/*
 * split.h - a call whose grid is split over devices. The objects that it writes are at home on the first device, which
 * runs a part as an ordinary call. The other devices run theirs on replicas (core/replica.h): whole copies of what the
 * call reads, and memory for what it writes. At the end the rows of these parts go to the home's device memory.
 */
#pragma once

#include "adsm_split.h"

/* As adsmCallSplitArgs(). @where: the caller's code address. */
int adsm_call_split(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmSplit *asked, const adsmArg *args,
		    size_t n, const void *where);
