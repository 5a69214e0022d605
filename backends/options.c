/* SPDX-License-Identifier: MIT */
/* options.c - rows of the options that choose a backend. */
#include "list.h"

struct adsm_backend_options adsm_backend_options;

struct adsm_option adsm_backend_rows[] = {
	{ "BACKEND", "auto", "auto, " ADSM_BACKEND_NAMES,
	  "which accelerators to use; auto: the first that is there, never a cluster or scratchpad, nor an OpenCL "
	  "device that is the CPU",
	  ADSM_FIELD(adsm_backend_options.name), adsm_parse_word },
	{ "TASK_WORKERS", "256", "a number from 1 to 1024",
	  "cpu device: how many workers a task may have, each a thread of its own",
	  ADSM_FIELD(adsm_backend_options.task_workers), adsm_parse_number, 1, 1024 },
	{ 0 }
};

struct adsm_option adsm_wrap_rows[] = {
	{ "WRAP", "off", "off, or a plan",
	  "for tests: trace the backend and inject errors",
	  ADSM_FIELD(adsm_backend_options.wrap), adsm_parse_text, .zero = "off" },
	{ 0 }
};
