/* SPDX-License-Identifier: MIT */
/* opencl/options.h - options of the opencl backend. */
#pragma once

#include "base/options.h"

enum adsm_opencl_memory {
	ADSM_OPENCL_AUTO, ADSM_OPENCL_BUFFER, ADSM_OPENCL_USM, ADSM_OPENCL_ADDRESS, ADSM_OPENCL_SVM, ADSM_OPENCL_UNIFIED
};

struct adsm_opencl_options {
	const char *device;		/* ADSM_OPENCL_DEVICE: "": all devices; or platform:device */
	enum adsm_opencl_memory memory;
	uint64_t memory_size;		/* ADSM_OPENCL_MEMORY_SIZE: bytes; 0: the device's */
	const char *cache;		/* ADSM_OPENCL_CACHE: "": the user's; "off", or a folder */
	const char *library;		/* ADSM_OPENCL_LIBRARY: "": libOpenCL.so.1 */
};

extern struct adsm_opencl_options adsm_opencl_options;
