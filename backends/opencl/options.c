/* SPDX-License-Identifier: MIT */
/* opencl/options.c - rows of the options of the opencl backend, also in a library that was built without it. */
#include "options.h"

#include "list.h"

struct adsm_opencl_options adsm_opencl_options;

struct adsm_option adsm_opencl_rows[] = {
	{ "OPENCL_DEVICE", "all", "all, or platform:device, each an index or part of a name",
	  "opencl: which devices to use; an empty part matches every platform or device",
	  ADSM_FIELD(adsm_opencl_options.device), adsm_parse_text, .zero = "all", .class = "OpenCL" },
	{ "OPENCL_MEMORY", "auto", "auto, buffer, usm, address, svm, unified",
	  "opencl: how a device stores objects; auto: usm or address, which give objects device addresses, else "
	  "buffer; not usm if the program itself uses OpenCL; unified: the library copies nothing",
	  ADSM_FIELD(adsm_opencl_options.memory), adsm_parse_index, .class = "OpenCL" },
	{ "OPENCL_MEMORY_SIZE", "auto", "auto, or bytes up to 65536G",
	  "opencl: maximum bytes of memory that the library uses on each device; auto: all of the device's memory",
	  ADSM_FIELD(adsm_opencl_options.memory_size), adsm_parse_number, 0, (uint64_t)1 << 46, .zero = "auto",
	  .class = "OpenCL" },
	{ "OPENCL_CACHE", "auto", "auto, off, or a folder",
	  "opencl: folder of compiled programs; auto: adsm/opencl in the user's cache folder; off: no folder",
	  ADSM_FIELD(adsm_opencl_options.cache), adsm_parse_text, .zero = "auto", .class = "OpenCL" },
	{ "OPENCL_LIBRARY", "auto", "auto, or a file",
	  "opencl: file of the ICD loader; auto: libOpenCL.so.1",
	  ADSM_FIELD(adsm_opencl_options.library), adsm_parse_text, .zero = "auto", .class = "OpenCL", .expert = true },
	{ 0 }
};
