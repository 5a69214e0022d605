/* SPDX-License-Identifier: MIT */
/* error.h - texts of errors. */
#pragma once

/* What a negative errno, or 0, means in this library. Any thread, also in signal handlers. */
const char *adsm_error_string(int error);
/* "error 7", for an error of a driver that has no name. The text is the thread's own until its next call. */
const char *adsm_error_number(int error);
