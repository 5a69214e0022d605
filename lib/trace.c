/* SPDX-License-Identifier: MIT */
/* trace.c - rings of events, and the file they go to. */
#include "trace.h"

void adsm_trace_put(const struct adsm_trace_event *event)
{
}

int adsm_trace_open(const char *path)
{
	return 0;
}

void adsm_trace_flush(void)
{
}

void adsm_trace_close(const char *why)
{
}

void adsm_trace_reopen(void)
{
}
