/* SPDX-License-Identifier: MIT */
/* once/place.h - distributions: in whose memory each page of a write-once object is. */
#ifndef ADSM_ONCE_PLACE_H
#define ADSM_ONCE_PLACE_H

#include "once/once.h"

/*
 * The runs of an object of so many units of @size bytes, in @n_pages; the caller frees them. @n_devices: there are.
 * -EINVAL where the distribution is none, or has too many runs.
 */
int adsm_once_distribute(const adsmOnceDistribution *distribution, size_t count, size_t size, size_t n_pages,
			 int n_devices, struct adsm_once_run **ret_runs, size_t *ret_n);

#endif
