/* SPDX-License-Identifier: MIT */
/* options.c - rows of the options that choose a backend. */
#include "list.h"

struct adsm_backend_options adsm_backend_options;

struct adsm_option adsm_backend_rows[] = {
	{ "BACKEND", "auto", "auto, " ADSM_BACKEND_NAMES,
	  "which devices to use; auto: CUDA devices, else OpenCL devices that are not CPUs, else cpu; never cluster "
	  "or scratchpad",
	  ADSM_FIELD(adsm_backend_options.name), adsm_parse_word, .class = "general" },
	{ "TASK_WORKERS", "256", "a number from 1 to 1024",
	  "cpu device: maximum number of workers of a task; each worker is a thread",
	  ADSM_FIELD(adsm_backend_options.task_workers), adsm_parse_number, 1, 1024, .class = "cpu" },
	{ 0 }
};

struct adsm_option adsm_wrap_rows[] = {
	{ "WRAP", "off", "off, or a plan",
	  "for tests: plan that traces operations of the backend and injects errors",
	  ADSM_FIELD(adsm_backend_options.wrap), adsm_parse_text, .zero = "off", .class = "general", .expert = true },
	{ 0 }
};
