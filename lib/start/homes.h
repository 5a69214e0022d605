/* SPDX-License-Identifier: MIT */
/* homes.h - open and close homes. The caller has start.c's mutex. */
#pragma once

#include "backend.h"

/* Open the homes of a backend's devices, and start the engine. If there is too little room for the arena, it is made
 * smaller. After an error nothing is open. */
int adsm_homes_open(const struct adsm_backend *backend, int n_devices);
/* Open one more home. */
int adsm_homes_add(const struct adsm_backend *backend, int index);
void adsm_homes_close(void);
/* Call these before and after drivers are asked for devices: drivers change the program's signal actions. @backend: the
 * chosen one, or NULL. */
void adsm_homes_keep_actions(void);
void adsm_homes_restore_actions(const struct adsm_backend *backend);
