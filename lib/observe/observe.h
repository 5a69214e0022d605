/* SPDX-License-Identifier: MIT */
/* observe.h - the observer that the library's points call (core/observe.h): its life. */
#ifndef ADSM_OBSERVE_H
#define ADSM_OBSERVE_H

struct adsm_device;

/* With the options in force, before the devices are opened: 0, or a negative errno and its sentence. */
int adsm_observe_start(void);
/* A device has been opened, of which there are so many before it. */
void adsm_observe_device(int index, struct adsm_device *device);
/* The library ends, or the process does: what is written is whole. May be called again. */
void adsm_observe_end(void);

#endif
