/* SPDX-License-Identifier: MIT */
/* fault.h - the function that the engine calls when an access to a closed block faults. */
#pragma once

#include "engine/engine.h"

adsm_fault_handler adsm_on_fault;
