/* SPDX-License-Identifier: MIT */
/* process/once.h - write-once objects, which the process of a device maps, too. */
#pragma once

#include "backend.h"

extern const struct adsm_once_ops adsm_process_once;
