/* SPDX-License-Identifier: MIT */
/* once/place.h - distributions: where each page of a write-once object lies. */
#pragma once

#include "once/once.h"

/* Get the runs of an object of @count units of @size bytes, in @n_pages; the caller frees them. @n_devices: the number
 * of devices. Returns -EINVAL if the distribution is invalid or has too many runs. */
int adsm_once_distribute(const adsmOnceDistribution *distribution, size_t count, size_t size, size_t n_pages,
			 int n_devices, struct adsm_once_run **ret_runs, size_t *ret_n);
