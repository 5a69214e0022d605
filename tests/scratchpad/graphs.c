/* SPDX-License-Identifier: MIT */
/* graphs.c - see graphs.h: its functions as an image, compiled by adsmcc --image. */
#include <adsm_kernel.h>

#include "graphs.h"
