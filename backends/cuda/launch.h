/* SPDX-License-Identifier: MIT */
/* launch.h - launches. */
#pragma once

#include "code.h"

/* Free the memory of a module's constants. None of its launches may be outstanding. */
void adsm_cuda_constants_destroy(struct adsm_cuda_code *code);
int adsm_cuda_launch(struct adsm_entry *entry, const struct adsm_launch *launch, struct adsm_device_event *ret_event);
