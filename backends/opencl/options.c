/* SPDX-License-Identifier: MIT */
/* opencl/options.c - rows of the options of the opencl backend, also of a library that was built without. */
#include "options.h"

#include "list.h"

struct adsm_opencl_options adsm_opencl_options;

struct adsm_option adsm_opencl_rows[] = {
	{ "OPENCL_DEVICE", "all", "all, or platform:device, each an index or part of a name",
	  "opencl: which devices; a part left out stands for any",
	  ADSM_FIELD(adsm_opencl_options.device), adsm_parse_text, .zero = "all" },
	{ "OPENCL_MEMORY", "auto", "auto, buffer, usm, address, svm, unified",
	  "opencl: how objects are kept; auto: usm or address, which give them device addresses, else buffer; no usm "
	  "where the program uses OpenCL, too; unified: nothing is copied",
	  ADSM_FIELD(adsm_opencl_options.memory), adsm_parse_index },
	{ "OPENCL_CACHE", "auto", "auto, off, or a folder",
	  "opencl: where compiled programs are kept; auto: adsm/opencl in the user's cache folder",
	  ADSM_FIELD(adsm_opencl_options.cache), adsm_parse_text, .zero = "auto" },
	{ "OPENCL_LIBRARY", "auto", "auto, or a file",
	  "opencl: the ICD loader; auto: libOpenCL.so.1",
	  ADSM_FIELD(adsm_opencl_options.library), adsm_parse_text, .zero = "auto" },
	{ 0 }
};
