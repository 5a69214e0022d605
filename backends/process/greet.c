/* SPDX-License-Identifier: MIT */
/* greet.c - see greet.h. */
#include "process/greet.h"

#include <string.h>

#include "process/shared.h"
#include "process/version.inc"	/* written by version.py */

const char adsm_process_version[ADSM_PROCESS_VERSION] = ADSM_PROCESS_VERSION_TEXT;

void adsm_process_greet(int sock)
{
	struct adsm_process_greeting greeting = { .magic = ADSM_PROCESS_MAGIC };

	strcpy(greeting.version, adsm_process_version);
	/* If the application has ended, the next receive reports it. */
	adsm_process_send(sock, &greeting, sizeof(greeting), NULL, 0);
}
