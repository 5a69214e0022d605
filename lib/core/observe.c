/* SPDX-License-Identifier: MIT */
/* observe.c - who observes. */
#include "core/observe.h"

unsigned adsm_observing;
const struct adsm_observer *adsm_observer;
