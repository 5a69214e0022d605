/* SPDX-License-Identifier: MIT */
/* process/once.h - write-once objects: the process of a device has them mapped, too. */
#ifndef ADSM_PROCESS_ONCE_H
#define ADSM_PROCESS_ONCE_H

#include "backend.h"

extern const struct adsm_once_ops adsm_process_once;

#endif
