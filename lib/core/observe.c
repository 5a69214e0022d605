/* SPDX-License-Identifier: MIT */
/* observe.c - the observer, and what it observes. */
#include "core/observe.h"

unsigned adsm_observing;
const struct adsm_observer *adsm_observer;
