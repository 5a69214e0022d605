/* SPDX-License-Identifier: MIT */
/* greet.h - the first message of a device's program, which says its version. */
#pragma once

#include <stdint.h>

#define ADSM_PROCESS_VERSION 48		/* bytes of a version, terminator included */
#define ADSM_PROCESS_MAGIC 0x61636770u

/* "0.2.0 (1a2b3c4d)": the library's version, and a hash of the headers that describe what both sides share
 * (version.py). */
extern const char adsm_process_version[ADSM_PROCESS_VERSION];

/* The first message, from the device's program. Programs of all versions send it: so this format must never change. */
struct adsm_process_greeting {
	uint32_t magic;			/* ADSM_PROCESS_MAGIC */
	char version[ADSM_PROCESS_VERSION];
};

/* For the device's program, as early as possible. */
void adsm_process_greet(int sock);
