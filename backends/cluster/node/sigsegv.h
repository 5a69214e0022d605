/* SPDX-License-Identifier: MIT */
/* node/sigsegv.h - tracker: mprotect(), and twins. Everywhere. */
#ifndef ADSM_CLUSTER_SIGSEGV_H
#define ADSM_CLUSTER_SIGSEGV_H

#include "tracker.h"

extern const struct adsm_tracker adsm_tracker_sigsegv;

#endif
