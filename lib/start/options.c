/* SPDX-License-Identifier: MIT */
/* start/options.c - all options, in the order of the listing. */
#include "start/options.h"

#include "core/options.h"
#include "engine/list.h"
#include "observe/options.h"
#include "list.h"
#include "protocols/list.h"

struct adsm_option *const adsm_option_owners[] = {
	ADSM_PROTOCOL_ROWS, adsm_backend_rows, adsm_touch_rows, ADSM_ENGINE_ROWS, adsm_observe_rows, adsm_memory_rows,
	ADSM_BACKEND_ROWS, adsm_wrap_rows, adsm_base_rows, NULL,
};
