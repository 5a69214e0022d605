/* SPDX-License-Identifier: MIT */
/* observe.h - the life of the observer, which gets the library's events (core/observe.h). */
#pragma once

struct adsm_device;

/* Start it, after the options are read and before devices are opened. Returns 0, or a negative errno with an error
 * text. */
int adsm_observe_start(void);
/* Device @index was opened. */
void adsm_observe_device(int index, struct adsm_device *device);
/* The library stops, or the process ends: complete all files. It may be called again. */
void adsm_observe_end(void);
