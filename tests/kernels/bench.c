/* SPDX-License-Identifier: MIT */
/* bench.c - a kernel that does nothing, and does not say what it does with its argument. */
#include <adsm_kernel.h>

ADSM_KERNEL(nothing, ADSM_PTR(char, p))
{
}
