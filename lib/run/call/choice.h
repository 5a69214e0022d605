/* SPDX-License-Identifier: MIT */
/*
 * choice.h - the device of a call, if the thread leaves the choice to the library (ADSM_DEVICE_ANY): the one where the
 * call can begin first. That is the time for the bytes that would have to move, at the rates measured so far, after the
 * time until the calls before it have ended.
 */
#pragma once

#include "run/call/bind.h"

/*
 * Choose a home for a call that is bound to its objects' home, or to any. The caller holds no lock. Returns NULL if the
 * call can run where it is bound, and no object has to move.
 */
struct adsm_home *adsm_choose(const struct adsm_bound *bound);
