/* SPDX-License-Identifier: MIT */
/* fault.h - touches of closed blocks: what the engine calls. */
#ifndef ADSM_FAULT_H
#define ADSM_FAULT_H

#include "engine/engine.h"

adsm_fault_handler adsm_on_fault;

#endif
