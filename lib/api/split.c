/* SPDX-License-Identifier: MIT */
/* api/split.c - the public functions of adsm_split.h. */
#include "adsm_split.h"

#include "api/sized.h"
#include "api/told.h"
#include "run/call/split.h"

static const struct adsm_sized sized = ADSM_SIZED(adsmSplit, "struct_size", n_devices);

static int split(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmSplit *given, const adsmArg *args, size_t n,
		 const void *where)
{
	adsmSplit own = ADSM_SPLIT_INIT;
	int error = given ? adsm_sized_take(&sized, &own, given, given->struct_size) :
		adsm_fail(-EINVAL, "the pointer to adsmSplit is NULL");

	return error ? error : adsm_call_split(kernel, grid, block, &own, args, n, where);
}

int adsmCallSplitArgs(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmSplit *given, const adsmArg *args,
		      size_t n)
{
	return ADSM_AFTER_LOOK_BACK(split(kernel, grid, block, given, args, n, __builtin_return_address(0)));
}
