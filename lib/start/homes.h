/* SPDX-License-Identifier: MIT */
/* homes.h - homes are opened and closed. All with start.c's mutex. */
#ifndef ADSM_HOMES_H
#define ADSM_HOMES_H

#include "backend.h"

/* The homes of a backend's devices, and the engine, with an arena for which there is room. All of it, or nothing. */
int adsm_homes_open(const struct adsm_backend *backend, int n_devices);
/* One home more. */
int adsm_homes_add(const struct adsm_backend *backend, int index);
void adsm_homes_close(void);
/* Around what asks drivers for devices: they take signals of the program's. @backend: the chosen one, or NULL. */
void adsm_homes_keep_actions(void);
void adsm_homes_restore_actions(const struct adsm_backend *backend);

#endif
