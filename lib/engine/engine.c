/* SPDX-License-Identifier: MIT */
/* engine/engine.c - the choice among the fault engines. */
#include "engine/engine.h"

#include "engine/list.h"

static const struct adsm_engine *const engines[] = { ADSM_ENGINES };
static unsigned wanted;			/* ADSM_ENGINE: an index */
const struct adsm_engine *adsm_engine;

struct adsm_option adsm_engine_rows[] = {
	{ "ENGINE", "sigsegv", ADSM_ENGINE_NAMES,
	  "how accesses to closed pages are caught",
	  ADSM_FIELD(wanted), adsm_parse_index },
	{ 0 }
};

void adsm_engine_choose(void)
{
	adsm_engine = engines[wanted];
}
