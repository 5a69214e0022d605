/* SPDX-License-Identifier: MIT */
/* at_exit.h - the end of the process, if a driver ends before the library. */
#pragma once

/*
 * Call this after the initialization of a driver that ends in exit(). Before that driver ends, the bytes that only its
 * devices have are fetched; afterwards the devices are lost. Only the first call matters, and it must come as early as
 * possible.
 */
void adsm_at_exit_watch(void);
