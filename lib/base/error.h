/* SPDX-License-Identifier: MIT */
/* error.h - what errors are called. */
#ifndef ADSM_ERROR_H
#define ADSM_ERROR_H

/* What a negative errno, or 0, means here. Any thread, signal handlers. */
const char *adsm_error_string(int error);
/* "error 7": of a driver's that has no name. The thread's until it asks again. */
const char *adsm_error_number(int error);

#endif
