/* SPDX-License-Identifier: MIT */
/* Two factors: of a header, which the module depends on, and of an option. */
#include <adsm_kernel.h>
#include "factor.h"

ADSM_KERNEL(scale, ADSM_INOUT(int, a))
{
	ADSM_THREADS {
		a[0] *= FACTOR * FACTOR_BY_OPTION;
	}
}
